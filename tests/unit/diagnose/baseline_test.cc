// A run beside a reference: worse beyond noise is said, seeds are not.
#include "diagnose/baseline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using model::Aspect;
using model::Standing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

model::RunReport ReportOf(RunMaker& maker, const std::string& name = "run") {
  model::RunReport report;
  maker.run.name = name;
  report.run = maker.run;
  report.findings = maker.findings;
  return report;
}

// A loss that falls, with an offset, of so many steps.
RunMaker Healthy(std::uint32_t seed, double offset = 0, int steps = 400) {
  RunMaker maker("hf-trainer", seed);
  maker.Series("loss", steps, [&](int step) { return offset + maker.HealthyLoss(step); });
  return maker;
}

model::RunReport Compared(RunMaker run, RunMaker reference, const catalogue::Thresholds& thresholds = {}) {
  model::RunReport report = ReportOf(run);
  CompareWithBaseline(report, ReportOf(reference, "good"), thresholds);
  return report;
}

std::vector<std::string> IdsOf(const model::RunReport& report) {
  std::vector<std::string> ids;
  for (const model::Finding& finding : report.findings) ids.push_back(finding.id);
  return ids;
}

const model::ComparedMetric* Find(const model::RunReport& report, std::string_view signal, Aspect aspect) {
  for (const model::ComparedMetric& metric : report.baseline->metrics) {
    if (metric.signal == signal && metric.aspect == aspect) return &metric;
  }
  return nullptr;
}

TEST(Baseline, SeedsAreAlike) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    const model::RunReport report = Compared(Healthy(seed), Healthy(seed + 100));
    EXPECT_THAT(IdsOf(report), IsEmpty()) << seed;
    EXPECT_EQ(Find(report, "loss", Aspect::kFinal)->standing, Standing::kAlike);
    EXPECT_TRUE(report.baseline->IsOfUse());
  }
}

TEST(Baseline, AWorseEndIsAnErrorWithItsNumbers) {
  const model::RunReport report = Compared(Healthy(1, 0.4), Healthy(2));
  ASSERT_THAT(IdsOf(report), ElementsAre("baseline/loss"));
  const model::Finding& finding = report.findings.front();
  EXPECT_EQ(finding.severity, model::Severity::kError);
  EXPECT_THAT(Words(finding.says), HasSubstr("of good at step 400"));
  EXPECT_THAT(Words(finding.says), HasSubstr("above"));
  EXPECT_EQ(finding.last.value(), 400);
}

TEST(Baseline, ABetterRunIsNoFinding) {
  const model::RunReport report = Compared(Healthy(1, -0.4), Healthy(2));
  EXPECT_THAT(IdsOf(report), IsEmpty());
  EXPECT_EQ(Find(report, "loss", Aspect::kFinal)->standing, Standing::kBetter);
}

TEST(Baseline, HigherIsBetterWhereTheMetricSaysSo) {
  const auto accuracy = [](std::uint32_t seed, double level) {
    RunMaker maker("hf-trainer", seed);
    maker.Series("eval_accuracy", 400, [&](int) { return level + maker.Noise(0.01); }, 20);
    return maker;
  };
  EXPECT_THAT(IdsOf(Compared(accuracy(1, 0.6), accuracy(2, 0.8))), ElementsAre("baseline/eval"));
  EXPECT_THAT(IdsOf(Compared(accuracy(1, 0.8), accuracy(2, 0.6))), IsEmpty());
}

TEST(Baseline, RunsOfDifferentLengthAreComparedUpToTheCommonStepAndThatIsSaid) {
  const model::RunReport report = Compared(Healthy(1, 0, 100), Healthy(2, 0, 400));
  EXPECT_THAT(IdsOf(report), IsEmpty());
  EXPECT_EQ(Find(report, "loss", Aspect::kFinal)->over.last.value(), 100);
  EXPECT_THAT(Words(report.baseline->remarks),
              ElementsAre("the run ends at step 100, good at step 400: compared up to the first"));
}

TEST(Baseline, AnEndThatIsNotFiniteIsWorseThanAnyNumber) {
  RunMaker lost("hf-trainer", 1);
  lost.Series("loss", 400, [&](int step) { return step < 200 ? lost.HealthyLoss(step) : kNan; });
  const model::RunReport report = Compared(lost, Healthy(2));
  ASSERT_THAT(IdsOf(report), Contains("baseline/loss"));
  EXPECT_THAT(Words(report.findings.front().says), HasSubstr("not finite at the end"));
}

// Some loggers write 0 for NaN: the smallest loss there is, and the worst.
TEST(Baseline, ALossThatIsHiddenAsZeroIsNotBetter) {
  RunMaker hidden("hf-trainer", 1);
  hidden.Series("loss", 400, [&](int step) { return step < 200 ? hidden.HealthyLoss(step) : 0; });
  hidden.Found("loss/non-finite", 200, 400);
  hidden.findings.back().signal = "loss";
  EXPECT_THAT(IdsOf(Compared(hidden, Healthy(2))), Contains("baseline/loss"));
  const model::RunReport beside = Compared(Healthy(2), hidden);
  EXPECT_FALSE(beside.baseline->IsOfUse());
  EXPECT_THAT(beside.findings, IsEmpty());
}

// The loss of a policy is no measure of it: the reward is.
TEST(Baseline, AnRlRunIsComparedByItsRewardAndNotByItsLoss) {
  const auto policy = [](std::uint32_t seed, double reward, double loss) {
    RunMaker maker("trl", seed);
    maker.Series("loss", 400, [&](int) { return loss + maker.Noise(0.01); });
    maker.Series("reward", 400, [&](int step) { return Falling(0, reward, step, 50) + maker.Noise(0.1); });
    return maker;
  };
  EXPECT_THAT(IdsOf(Compared(policy(1, 2, 1), policy(2, 2, 0.1))), IsEmpty());
  EXPECT_THAT(IdsOf(Compared(policy(1, 1, 0.1), policy(2, 2, 0.1))), ElementsAre("baseline/score"));
}

TEST(Baseline, SpeedAndMemoryAreWarnings) {
  const auto machine = [](std::uint32_t seed, double seconds, double gib) {
    RunMaker maker("torch", seed);
    maker.Series("step_time_s", 200, [&](int) { return seconds * maker.Factor(0.05); });
    maker.Series("mem_allocated", 200, [&](int) { return gib * maker.Factor(0.01); });
    return maker;
  };
  const model::RunReport slow = Compared(machine(1, 0.5, 30), machine(2, 0.3, 20));
  EXPECT_THAT(IdsOf(slow), ElementsAre("baseline/speed", "baseline/memory"));
  for (const model::Finding& finding : slow.findings) EXPECT_EQ(finding.severity, model::Severity::kWarning);
  EXPECT_THAT(IdsOf(Compared(machine(1, 0.31, 20.5), machine(2, 0.3, 20))), IsEmpty());
}

// The times at which points were written stand for a step time that was not logged.
TEST(Baseline, StepsAreTimedByTheirPointsWhereNoTimeIsLogged) {
  const auto timed = [](std::uint32_t seed, double seconds) {
    RunMaker maker = Healthy(seed);
    model::Series with_times;
    with_times.TakeHeaderOf(maker.run.series.front());
    double now = 1e9;
    for (std::size_t i = 0; i < maker.run.series.front().size(); ++i) {
      now += seconds * maker.Factor(0.05);
      with_times.Append(maker.run.series.front().steps[i], maker.run.series.front().values[i], now);
    }
    maker.run.series.front() = with_times;
    return maker;
  };
  EXPECT_THAT(IdsOf(Compared(timed(1, 2), timed(2, 1))), ElementsAre("baseline/speed"));
  EXPECT_THAT(IdsOf(Compared(timed(1, 1), timed(2, 1))), IsEmpty());
}

TEST(Baseline, WhatCannotBeComparedHasItsReason) {
  RunMaker by_epochs("hf-trainer", 1);
  by_epochs.CountedOn(model::Axis::kEpoch).Series("loss", 40, [&](int step) { return by_epochs.HealthyLoss(step); });
  const model::RunReport other_axis = Compared(by_epochs, Healthy(2));
  EXPECT_FALSE(other_axis.baseline->IsOfUse());
  EXPECT_EQ(Words(other_axis.baseline->metrics.front().reason), "counted in epochs here and in steps there");

  RunMaker rewards("trl", 1);
  rewards.Series("reward", 100, [&](int) { return rewards.Noise(1); });
  const model::RunReport nothing = Compared(rewards, Healthy(2));
  EXPECT_FALSE(nothing.baseline->IsOfUse());
  EXPECT_THAT(nothing.findings, IsEmpty());

  const model::RunReport few = Compared(Healthy(1, 0, 3), Healthy(2));
  EXPECT_EQ(Words(few.baseline->metrics.front().reason), "3 points here and 3 there are too few");
}

TEST(Baseline, FindingsThatTheReferenceDoesNotHaveAreNamedAndAsSevereAsTheWorst) {
  RunMaker bad = Healthy(1);
  bad.Found("loss/spike", 100, 101).Found("loss/non-finite", 300, 400);
  RunMaker good = Healthy(2);
  good.Found("loss/spike", 50, 51);
  const model::RunReport report = Compared(bad, good);
  const auto at = std::find_if(report.findings.begin(), report.findings.end(),
                               [](const model::Finding& finding) { return finding.id == "baseline/new-findings"; });
  ASSERT_NE(at, report.findings.end());
  EXPECT_EQ(at->severity, model::Severity::kFatal);
  EXPECT_EQ(Words(at->says), "1 kind of finding that good does not have: loss/non-finite");
  EXPECT_THAT(Compared(good, bad).baseline->missing_findings, ElementsAre("loss/non-finite"));
}

TEST(Baseline, DiagnosesStillReferToTheirFindings) {
  RunMaker bad = Healthy(1, 1);
  bad.Found("loss/spike", 100, 101);
  model::RunReport report = ReportOf(bad);
  report.diagnoses.emplace_back();
  report.diagnoses.front().findings = {0};
  RunMaker good = Healthy(2);
  CompareWithBaseline(report, ReportOf(good, "good"), {});
  EXPECT_EQ(report.findings.front().id, "baseline/loss");
  EXPECT_EQ(report.findings[report.diagnoses.front().findings.front()].id, "loss/spike");
}

TEST(Baseline, SettingsThatDifferAreEvidence) {
  RunMaker fast = Healthy(1, 1);
  fast.Fact("lr", "3e-2").Fact("seed", "1").Fact("weight_decay", "0.10");
  RunMaker good = Healthy(2);
  good.Fact("lr", "0.001").Fact("seed", "2").Fact("weight_decay", "0.1");
  const model::RunReport report = Compared(fast, good);
  ASSERT_EQ(report.baseline->settings.size(), 1U);
  EXPECT_EQ(report.baseline->settings.front().setting, "lr");
  std::vector<std::string> evidence;
  for (const model::Evidence& each : report.findings.front().evidence) evidence.push_back(Words(each.says));
  EXPECT_THAT(evidence, Contains("lr is 3e-2 here, 0.001 in good"));
}

TEST(Baseline, ThresholdsAndSeveritiesAreTheUsers) {
  const auto calm = catalogue::Thresholds::Parse("[\"baseline/loss\"]\nmargin = 0.5\n", "mine.toml");
  ASSERT_TRUE(calm.has_value());
  EXPECT_THAT(IdsOf(Compared(Healthy(1, 0.4), Healthy(2), *calm)), IsEmpty());
  const auto off = catalogue::Thresholds::Parse("[\"baseline/loss\"]\nenabled = false\n", "mine.toml");
  ASSERT_TRUE(off.has_value());
  EXPECT_THAT(IdsOf(Compared(Healthy(1, 0.4), Healthy(2), *off)), IsEmpty());
}

// A restart overwrote the bad end: what counts is what the run has in the end.
TEST(Baseline, ARestartCountsAndNotWhatItOverwrote) {
  RunMaker restarted("hf-trainer", 1);
  model::Series loss;
  loss.signal = loss.raw = "loss";
  for (int step = 1; step <= 300; ++step) loss.Append(step, step < 200 ? restarted.HealthyLoss(step) : 9.0);
  for (int step = 200; step <= 400; ++step) loss.Append(step, restarted.HealthyLoss(step));
  restarted.run.series.push_back(loss);
  EXPECT_THAT(IdsOf(Compared(restarted, Healthy(2))), IsEmpty());
}

}  // namespace
}  // namespace vigil::diagnose
