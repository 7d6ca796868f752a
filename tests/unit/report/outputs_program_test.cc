// Where the program writes its reports: over nothing that it read, through no link it was not given, and one to
// standard output.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/paths.h"
#include "support/scratch.h"
#include "support/shell.h"

namespace vigil::report {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::Outcome;
using testing_support::RunVigil;

class ProgramOutputs : public ScratchTest {
 protected:
  void SetUp() override {
    ScratchTest::SetUp();
    std::string log;
    for (int step = 1; step < 60; ++step) log += fmt::format("step {} loss {:.4f}\n", step, 4.0 / step);
    Write("run/train.log", log);
  }
  // In the scratch folder, whose name needs no quotes.
  Outcome Diagnose(const std::string& arguments) const {
    return RunVigil(testing_support::kProgram, fmt::format("diagnose {0}/run {1} 2>&1", Folder(), arguments));
  }
};

TEST_F(ProgramOutputs, OverwriteNoInput) {
  const std::string before = BytesOf(folder_ / "run/train.log");
  const std::string settings = Write("mine.toml", "");
  fs::create_symlink("mine.toml", folder_ / "link.toml");
  for (const std::string& target : {Folder() + "/run/train.log", settings, Folder() + "/link.toml"}) {
    const Outcome outcome = Diagnose(fmt::format("--settings {} --html {}", settings, target));
    EXPECT_EQ(outcome.code, 2) << target;
    EXPECT_THAT(outcome.output, HasSubstr("is one of the files that were read, and is left as it is")) << target;
  }
  EXPECT_EQ(BytesOf(folder_ / "run/train.log"), before);
  EXPECT_EQ(BytesOf(settings), "");
}

TEST_F(ProgramOutputs, OverwriteNotWhatWasPipedIn) {
  const std::string log = Folder() + "/run/train.log";
  const std::string before = BytesOf(log);
  const Outcome outcome = testing_support::RunShell(fmt::format(
      "{} diagnose - --html {} <{} 2>&1", testing_support::QuoteForShell(testing_support::kProgram), log, log));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(BytesOf(log), before);
}

TEST_F(ProgramOutputs, AreNamedOnceAndNotByNothing) {
  const Outcome twice = Diagnose(fmt::format("--html {0}/x --junit {0}/x", Folder()));
  EXPECT_EQ(twice.code, 2);
  EXPECT_THAT(twice.output, HasSubstr("is given for two outputs"));
  EXPECT_FALSE(fs::exists(folder_ / "x"));
  for (const char* option : {"--html", "--junit", "--sarif", "--openmetrics"}) {
    const Outcome outcome = Diagnose(fmt::format("{} ''", option));
    EXPECT_EQ(outcome.code, 2) << option;
    EXPECT_THAT(outcome.output, HasSubstr("an empty path was given")) << option;
  }
}

// Values that differ by less than can be divided by: a share of nothing is no number.
TEST_F(ProgramOutputs, PlotValuesThatDifferByNextToNothing) {
  for (const std::vector<const char*>& values : std::vector<std::vector<const char*>>{{"0", "5e-324"},
                                                                                      {"5e-324", "1e-323"},
                                                                                      {"2.2e-308", "2.3e-308"},
                                                                                      {"-5e-324", "5e-324"},
                                                                                      {"1e-310", "1e-300"}}) {
    std::string rows;
    for (std::size_t step = 1; step < 60; ++step)
      rows += fmt::format("{{\"step\": {}, \"loss\": {}}}\n", step, values[step % 2]);
    Write("tiny/train.jsonl", rows);
    const Outcome outcome =
        RunVigil(testing_support::kProgram, fmt::format("diagnose -v {0}/tiny --html {0}/tiny.html 2>&1", Folder()));
    EXPECT_LT(outcome.code, 2) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("loss")) << values[0];
  }
}

TEST_F(ProgramOutputs, OnlyOneGoesToStandardOutput) {
  for (const std::string options : {"--html - --json", "--html /dev/stdout --json", "--html /dev/fd/1 --junit -",
                                    "--sarif /proc/self/fd/1 --openmetrics /dev/stdout"}) {
    const Outcome outcome = Diagnose(options);
    EXPECT_EQ(outcome.code, 2) << options;
    EXPECT_THAT(outcome.output, HasSubstr("would all write to standard output")) << options;
  }
  for (const std::string options : {"-q --html -", "-q --html /dev/stdout"})
    EXPECT_THAT(Diagnose(options).output, StartsWith("<!doctype html>")) << options;
  EXPECT_FALSE(fs::exists("-"));
}

TEST_F(ProgramOutputs, AreWrittenToWhatTheUserNamedAndThePermissionsAreThoseOfTheMask) {
  fs::create_symlink("real.html", folder_ / "link.html");
  const Outcome outcome = RunVigil("/usr/bin/env", fmt::format("sh -c 'umask 077; \"$0\" diagnose {0}/run --html "
                                                               "{0}/link.html --junit /dev/null' {1} 2>&1",
                                                               Folder(), testing_support::kProgram));
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.html"));
  EXPECT_EQ(fs::status(folder_ / "real.html").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(ProgramOutputs, InsideAFolderThatWasReadFollowNoLink) {
  ASSERT_EQ(Diagnose("--tensorboard").code, 0);
  fs::path made;
  for (const auto& entry : fs::directory_iterator(folder_ / "run")) {
    if (entry.path().extension() == ".vigil") made = entry.path();
  }
  ASSERT_FALSE(made.empty());
  fs::remove(made);
  Write("precious", "old");
  fs::create_symlink(folder_ / "precious", made);
  ASSERT_EQ(Diagnose("--tensorboard").code, 0);
  EXPECT_EQ(BytesOf(folder_ / "precious"), "old");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(made)));
}

}  // namespace
}  // namespace vigil::report
