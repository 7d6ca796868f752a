#include "accuracy/scale_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/cases.h"
#include "accuracy/markdown.h"
#include "accuracy/page.h"
#include "accuracy/tables.h"
#include "accuracy/twins.h"
#include "scale/read_set.h"
#include "support/paths.h"

namespace vigil::accuracy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

scale::HeldOut Part(const std::string& name, int fatal, int found) {
  scale::HeldOut part = {name, {}, {}};
  part.tally.fatal = part.tally.causes = fatal;
  part.tally.found = part.tally.cause_right = found;
  part.tally.healthy = 200;
  part.tally.healthy_errors = 1;
  part.tally.healthy_steps = 50'000;
  return part;
}

TEST(HeldOutTables, HaveARowForEachPartAndTheSumBesideTheTargets) {
  const std::string text =
      HeldOutTables({{"task", {Part("lm", 10, 9), Part("gan", 10, 6)}}, {"framework", {}}}, "Fitted without it.");
  EXPECT_THAT(text, HasSubstr("Fitted without it."));
  EXPECT_THAT(text, HasSubstr("| target | >= 95% | >= 85% |"));
  EXPECT_THAT(text, HasSubstr("| each task (2) | 75.0% (15 of 20) | 75.0% (15 of 20) |"));
  EXPECT_THAT(text, HasSubstr("| 0.5% (2 of 400) | 2.0 |"));
  EXPECT_THAT(text, HasSubstr("| held out: gan | 60.0% (6 of 10) |"));
  EXPECT_THAT(text, HasSubstr("| each framework | not run: the set has one |"));
}

TEST(CalibrationDiagrams, LeaveBinsWithFewCasesBlank) {
  scale::Calibration calibration;
  calibration.bins[9] = {100, 50, 95};
  calibration.bins[2] = {scale::kFewCases - 1, 10, 7};
  const std::string diagram = CalibrationDiagram(calibration);
  EXPECT_THAT(diagram, HasSubstr(" 100% |                                     ooo\n")) << "0.95 was stated";
  EXPECT_THAT(diagram, HasSubstr("  50% |                                     ###\n")) << "half was right";
  EXPECT_THAT(diagram, HasSubstr("  60% |\n"));
}

TEST(ScaleTables, CoverAWholeSet) {
  const auto records = scale::ReadSet(std::string(testing_support::kSourceDir) + "/tests/fixtures/scale");
  ASSERT_TRUE(records);
  const std::string text = ScaleTables(scale::JudgeAll(*records, catalogue::Thresholds(), 2));
  for (const char* part : {"### By fault", "### By task", "### By family of model", "### By optimizer",
                           "### Found, by strength of the fault", "### Ahead of the harm",
                           "### Confidence against truth", "### Published rules on the same runs"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("| healthy (9) | no error |"));
  EXPECT_THAT(text, HasSubstr("too few cases"));
  EXPECT_THAT(text, HasSubstr("| OLMo-core, 6 sigma |"));
}

// ---- twins

Rendering Twin(const std::string& run, const std::string& style, const std::string& error, const std::string& cause) {
  Rendering rendering = {run, style, {}};
  rendering.verdict.read = true;
  rendering.verdict.cause = cause;
  if (!error.empty()) rendering.verdict.errors = rendering.verdict.findings = {error};
  return rendering;
}

TEST(Twins, AreComparedWithTheSameRunAsJsonLines) {
  const std::vector<Rendering> renderings = {Twin("a", "jsonl", "loss/spike", "lr-too-high"),
                                             Twin("b", "jsonl", "loss/spike", "lr-too-high"),
                                             Twin("a", "csv", "loss/spike", "lr-too-high"),
                                             Twin("b", "csv", "loss/spike", "bad-sample"),
                                             Twin("a", "bars", "", ""),
                                             Twin("c", "csv", "loss/spike", "")};
  const std::string table = TwinTable(renderings, ParseStyles("csv    yaml   \nbars  -  lossy\n"));
  EXPECT_THAT(table, HasSubstr("2 runs, 2 of them with a finding as JSON lines, each in 2 other styles."));
  EXPECT_THAT(table, HasSubstr("| csv | yaml | 50.0% (1 of 2) | 100.0% (2 of 2) | 100.0% (2 of 2) | - | 0 |"));
  EXPECT_THAT(table, HasSubstr("| bars (lossy) | - | 0.0% (0 of 1) |"));
  EXPECT_THAT(table, HasSubstr("| **all that lose nothing** |  | 50.0% (1 of 2) |"));
}

TEST(Twins, ThatSayNothingAreNoAgreementOfVerdicts) {
  std::vector<Rendering> renderings;
  for (const char* run : {"a", "b", "c"}) {
    renderings.push_back(Twin(run, "jsonl", "", ""));
    renderings.push_back(Twin(run, "csv", "", ""));
  }
  renderings[5].verdict.read = false;
  const std::string table = TwinTable(renderings, {});
  EXPECT_THAT(table, HasSubstr("| csv | - | - | - | - | 66.7% (2 of 3) | 1 |"));
}

// ---- lists and page

TEST(MadeRuns, HaveACauseAndAnOnset) {
  const auto cases = ParseMadeManifest(
      "path\tkind\tlabel\texpect\tcause\tonset\tconfidence\n"
      "runs/a\tdpo\tlr-too-high\tloss/spike grad/spike\tlr-too-high no-warmup\t40\thigh\n"
      "runs/b\tdpo\thealthy\tnone\t-\t-\thigh\n",
      "m");
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 2U);
  EXPECT_THAT((*cases)[0].causes, ElementsAre("lr-too-high", "no-warmup"));
  EXPECT_EQ((*cases)[0].onset_step, 40);
  EXPECT_TRUE((*cases)[1].causes.empty());
  EXPECT_EQ((*cases)[1].expectation.kind, Expectation::Kind::kHealthy);
}

Outcome Faulty(std::string_view split, const std::string& said, const std::string& cause) {
  Outcome outcome;
  outcome.labelled.path = "runs/a";
  outcome.labelled.split = split;
  outcome.labelled.label = "lr-too-high";
  outcome.labelled.group = "keras";
  outcome.labelled.expectation = ParseExpectation("loss/spike");
  outcome.labelled.causes = {"lr-too-high"};
  outcome.read = true;
  outcome.expected_found = said == "loss/spike";
  outcome.cause = cause;
  return outcome;
}

TEST(FixtureTables, CountRunsThatWereNeverTunedOnApart) {
  const std::string without = FixtureTables({Faulty("score", "loss/spike", "lr-too-high")});
  EXPECT_THAT(without, Not(HasSubstr("never tuned on")));
  const std::string_view apart = kNeverTunedOn;
  const std::string with =
      FixtureTables({Faulty("score", "loss/spike", "lr-too-high"), Faulty(apart, "loss/spike", "bad-sample")});
  EXPECT_THAT(with, HasSubstr("| never tuned on | 1 of 1 | 0 of 1 | 0 | 1 | 0 | 0 |"));
  EXPECT_THAT(with, HasSubstr("| scored | 1 of 1 | 1 of 1 | 0 | 0 | 0 | 0 |"));
  EXPECT_THAT(with, HasSubstr("### Runs never tuned on, by trainer"));
}

TEST(Tallies, DistinguishWrongCausesFromPairsUnknownAndNone) {
  Tally tally;
  Outcome paired = Faulty("score", "loss/spike", "bad-sample");
  paired.rivals = {"lr-too-high"};
  for (const Outcome& outcome :
       {paired, Faulty("score", "", ""), Faulty("score", "", "unknown"), Faulty("score", "", "bad-sample")})
    tally.Add(outcome, Unread::kMissed);
  EXPECT_EQ(tally.cause_labelled, 4);
  EXPECT_EQ(tally.cause_in_pair, 1);
  EXPECT_EQ(tally.no_diagnosis, 1);
  EXPECT_EQ(tally.undecided, 1);
  EXPECT_EQ(tally.cause_wrong, 1);
  paired.cause = "unknown";
  tally.Add(paired, Unread::kMissed);
  EXPECT_EQ(tally.cause_in_pair, 2) << "an open question that names the right one";
}

TEST(Page, KeepsWhatWasNotComputedAndSaysWhatNeverWas) {
  const std::string empty = EmptyPage();
  for (const std::string_view part : kParts) EXPECT_THAT(PartOf(empty, std::string(part)), HasSubstr("Not run"));
  const std::string old_page = ReplacePart(empty, "twins", "old twins\n");
  const std::string new_page = ReplacePart(empty, "scale", "new scale\n");
  std::array<bool, kParts.size()> is_computed = {};
  is_computed[1] = true;
  const std::string page = KeepParts(new_page, old_page, is_computed);
  EXPECT_EQ(PartOf(page, "twins"), "old twins\n");
  EXPECT_EQ(PartOf(page, "scale"), "new scale\n");
}

TEST(Page, OpensWithWhatWasHeldOut) {
  const std::string page = EmptyPage();
  for (const std::string_view part : kParts)
    EXPECT_LE(page.find("<!-- begin held-out -->"), page.find("<!-- begin " + std::string(part) + " -->"));
}

}  // namespace
}  // namespace vigil::accuracy
