// `vigil watch` on a log that another process writes: the findings are those of the finished log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "support/paths.h"
#include "support/shell.h"

namespace vigil {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::QuoteForShell;
using testing_support::RunShell;
using testing_support::RunVigil;

class WatchTest : public testing::Test {
 protected:
  WatchTest() : folder_(fs::temp_directory_path() / ("vigil_watch_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~WatchTest() override { fs::remove_all(folder_); }

  // A shell that writes the log of a run in pieces of some lines, in the background.
  std::string Writer(const std::string& run) const {
    const std::string source = std::string(testing_support::kSourceDir) + "/tests/fixtures/runs/" + run + "/train.log";
    return "( split -l 60 --filter='cat; sleep 0.05' " + QuoteForShell(source) + " > " +
           QuoteForShell((folder_ / "train.log").string()) + " ) & ";
  }

  fs::path folder_;
};

TEST_F(WatchTest, EndsWithTheVerdictOfTheFinishedLog) {
  const std::string watch = QuoteForShell(testing_support::kProgram) + " watch " + QuoteForShell(folder_.string()) +
                            " --interval 0.02 --until-idle 2 --width 100 --color never";
  const auto live = RunShell(Writer("torch/lr-too-high-s12") + watch + " 2>&1; echo code $?");
  EXPECT_THAT(live.output, HasSubstr("loss/divergence")) << "the alarm";
  EXPECT_THAT(live.output, HasSubstr("code 1"));
  const auto after =
      RunVigil(testing_support::kProgram, "diagnose " + QuoteForShell(folder_.string()) + " --quiet --width 100");
  EXPECT_THAT(live.output, HasSubstr(after.output)) << "the same words as afterwards";
}

TEST_F(WatchTest, AnInterruptLeavesTheVerdict) {
  const std::string watch = "timeout --signal INT 6 " + QuoteForShell(testing_support::kProgram) + " watch " +
                            QuoteForShell(folder_.string()) + " --interval 0.05 --color never";
  const auto live = RunShell(Writer("hf/nan-hidden-s12") + watch + " 2>&1");
  EXPECT_THAT(live.output, HasSubstr("loss/non-finite"));
  EXPECT_THAT(live.output, HasSubstr("restart"));
}

TEST_F(WatchTest, AlarmsAreLinesOfJson) {
  const std::string watch = QuoteForShell(testing_support::kProgram) + " watch " + QuoteForShell(folder_.string()) +
                            " --interval 0.02 --until-idle 2 --json";
  const auto live = RunShell(Writer("hf/nan-hidden-s12") + watch + " 2>/dev/null");
  EXPECT_THAT(live.output, testing::StartsWith("{\"schema\":\"vigil.alarm/1\""));
  EXPECT_THAT(live.output, HasSubstr("\"id\":\"loss/non-finite\""));
}

TEST_F(WatchTest, SaysThatNothingCame) {
  const auto live =
      RunShell(QuoteForShell(testing_support::kProgram) + " watch " + QuoteForShell((folder_ / "none").string()) +
               " --interval 0.02 --until-idle 0.1 2>&1; echo code $?");
  EXPECT_THAT(live.output, HasSubstr("does not exist; waiting for it"));
  EXPECT_THAT(live.output, HasSubstr("code 2"));
}

}  // namespace
}  // namespace vigil
