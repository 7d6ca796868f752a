// The program as a gate: two runs compared, every report in one folder, clear errors where it cannot.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsed.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "support/shell.h"

namespace vigil::report {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_support::Outcome;
using testing_support::RunVigil;

class ProgramGate : public ScratchTest {
 protected:
  void SetUp() override {
    ScratchTest::SetUp();
    WriteRun("good", 0, 1);
    WriteRun("again", 0, 2);
    WriteRun("worse", 0.8, 3);
  }
  // Falls to a level, with a little noise that is not the same for every seed.
  void WriteRun(const std::string& name, double above, unsigned seed) const {
    std::string log;
    unsigned noise = seed * 7919;
    for (int step = 1; step <= 200; ++step) {
      noise = noise * 1664525U + 1013904223U;
      const double loss = above + 1.5 + 3.0 / (1 + step / 10.0) + 0.05 * (noise >> 16U) / 65536.0;
      log += fmt::format("{{\"step\": {}, \"loss\": {:.5f}, \"grad_norm\": {:.4f}}}\n", step, loss,
                         0.5 + 0.1 * (noise >> 16U) / 65536.0);
    }
    Write(name + "/metrics.jsonl", log);
  }
  Outcome Diagnose(const std::string& arguments) const {
    return RunVigil(testing_support::kProgram,
                    fmt::format("diagnose {} 2>&1", testing_support::ReplaceAll(arguments, "@", Folder())));
  }
};

TEST_F(ProgramGate, PassesARunThatIsAsGoodAndFailsOneThatIsWorse) {
  const Outcome good = Diagnose("@/again --baseline @/good");
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_THAT(good.output, HasSubstr("no worse than good in loss"));
  const Outcome worse = Diagnose("@/worse --baseline @/good");
  EXPECT_EQ(worse.code, 1) << worse.output;
  EXPECT_THAT(worse.output, HasSubstr("baseline/loss"));
  EXPECT_EQ(Diagnose("@/worse --baseline @/good --fail-on fatal").code, 0);
  EXPECT_EQ(Diagnose("@/good --baseline @/worse").code, 0) << "a better run passes";
}

TEST_F(ProgramGate, ComparesEachOfSeveralRuns) {
  const Outcome outcome = Diagnose("@/worse @/again --baseline @/good --json");
  EXPECT_EQ(outcome.code, 1);
  const Parsed json(outcome.output);
  EXPECT_EQ(json.Text("/runs/0/baseline/name"), "good");
  EXPECT_EQ(json.Text("/runs/1/baseline/name"), "good");
}

TEST_F(ProgramGate, RefusesABaselineThatIsNone) {
  Write("empty/notes.bin", "");
  Write("several/a/metrics.jsonl", BytesOf(folder_ / "good/metrics.jsonl"));
  Write("several/b/metrics.jsonl", BytesOf(folder_ / "worse/metrics.jsonl"));
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"@/good --baseline @/missing", "@/missing: "},
      {"@/good --baseline @/empty", "no run"},
      {"@/good --baseline @/several", "holds 2 runs (a, b)"},
      {"@/good --baseline ''", "an empty path was given"},
      {"- --baseline - </dev/null", "standard input can be read only once"},
  };
  for (const auto& [arguments, message] : cases) {
    const Outcome outcome = Diagnose(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_THAT(outcome.output, HasSubstr(testing_support::ReplaceAll(message, "@", Folder()))) << arguments;
  }
}

TEST_F(ProgramGate, LetsNothingPassThatItCouldNotCompare) {
  std::string rewards;
  for (int step = 1; step < 100; ++step) rewards += fmt::format("{{\"step\": {}, \"custom\": {}}}\n", step, step % 7);
  Write("other/metrics.jsonl", rewards);
  const Outcome outcome = Diagnose("@/good --baseline @/other");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("nothing could be compared with other"));
}

TEST_F(ProgramGate, WritesEveryReportIntoOneFolder) {
  const Outcome outcome = Diagnose("@/worse --baseline @/good --artifacts @/made/here -q");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  const fs::path made = folder_ / "made/here";
  for (const char* name : {"report.html", "report.json", "report.txt", "junit.xml", "sarif.json"})
    EXPECT_GT(fs::file_size(made / name), 100U) << name;
  EXPECT_FALSE(fs::exists(made / "fix.diff")) << "the run has no config";
  EXPECT_THAT(BytesOf(made / "junit.xml"), HasSubstr("name=\"baseline\""));
  EXPECT_THAT(BytesOf(made / "junit.xml"), HasSubstr("type=\"baseline/loss\""));
  EXPECT_THAT(BytesOf(made / "sarif.json"), HasSubstr("\"ruleId\": \"baseline/loss\""));
  EXPECT_THAT(BytesOf(made / "report.txt"), HasSubstr("worse than good"));
  EXPECT_THAT(BytesOf(made / "report.html"), HasSubstr("<h3>Beside good</h3>"));
  EXPECT_EQ(BytesOf(made / "report.json"),
            RunVigil(testing_support::kProgram,
                     fmt::format("diagnose {0}/worse --baseline {0}/good --json 2>/dev/null", Folder()))
                .output);
}

TEST_F(ProgramGate, WritesTheDiffOfTheFixAndTakesAnOldOneAway) {
  Write("configured/train.log",
        BytesOf(fs::path(testing_support::kSourceDir) / "tests/fixtures/runs/torch/lr-too-high-s12/train.log"));
  const std::string config = Write("configured/config.yml", "learning_rate: 0.9\nmax_steps: 300\n");
  EXPECT_EQ(Diagnose("@/configured --artifacts @/made").code, 1);
  EXPECT_THAT(BytesOf(folder_ / "made/fix.diff"), HasSubstr("-learning_rate: 0.9\n+learning_rate: "));
  EXPECT_EQ(BytesOf(config), "learning_rate: 0.9\nmax_steps: 300\n");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "configured"), fs::directory_iterator()), 2);
  EXPECT_EQ(Diagnose("@/good --artifacts @/made").code, 0);
  EXPECT_FALSE(fs::exists(folder_ / "made/fix.diff"));
}

TEST_F(ProgramGate, WritesNoReportAmongTheFilesThatAreRead) {
  for (const char* arguments : {"@/good --artifacts @/good", "@/good --artifacts @/good/reports",
                                "@/again --baseline @/good --artifacts @/good/reports", "@/good --artifacts -",
                                "@/good --artifacts @/x --html @/x/report.html"}) {
    const Outcome outcome = Diagnose(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << outcome.output;
  }
  EXPECT_FALSE(fs::exists(folder_ / "good/reports"));
  // A file of the run that has the name of a report.
  Write("odd/report.json", BytesOf(folder_ / "good/metrics.jsonl"));
  const std::string before = BytesOf(folder_ / "odd/report.json");
  EXPECT_EQ(Diagnose("@/odd/report.json --artifacts @/odd").code, 2);
  EXPECT_EQ(BytesOf(folder_ / "odd/report.json"), before);
  EXPECT_EQ(Diagnose("@/again --baseline @/odd/report.json --artifacts @/odd").code, 2);
  EXPECT_EQ(BytesOf(folder_ / "odd/report.json"), before);
}

TEST_F(ProgramGate, WritesTheFolderAlsoWhereNothingCouldBeRead) {
  EXPECT_EQ(Diagnose("@/missing --artifacts @/made").code, 2);
  EXPECT_THAT(BytesOf(folder_ / "made/junit.xml"), HasSubstr("errors=\"1\""));
}

TEST_F(ProgramGate, FillsInTheChecklist) {
  const Outcome text = Diagnose("@/good --checklist");
  EXPECT_EQ(text.code, 0) << text.output;
  EXPECT_THAT(text.output, HasSubstr("done: 200 points of grad_norm"));
  EXPECT_THAT(text.output, HasSubstr("not possible"));
  EXPECT_THAT(Diagnose("@/good --checklist --html -").output, HasSubstr("<h3>Checklist: "));
  const Parsed json(Diagnose("@/good --checklist --json").output);
  EXPECT_EQ(json.Text("/runs/0/checklist/0/id"), "checklist/seed");
  EXPECT_EQ(json.Text("/runs/0/checklist/0/state"), "not_possible");
}

}  // namespace
}  // namespace vigil::report
