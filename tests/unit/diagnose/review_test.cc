// What the whole run says about its findings: absolute bounds, suspicion by the fitted model, and findings that are no
// trouble. Suites are named after the principle that they hold up.
#include <gtest/gtest.h>

#include <algorithm>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

const model::Finding* FindIn(const std::vector<model::Finding>& findings, std::string_view id) {
  const auto at =
      std::find_if(findings.begin(), findings.end(), [&](const model::Finding& finding) { return finding.id == id; });
  return at == findings.end() ? nullptr : &*at;
}

std::vector<model::Finding> Reviewed(const RunMaker& maker, bool ended = true) {
  std::vector<model::Finding> findings = maker.findings;
  Review(maker.run, findings, catalogue::Thresholds(), ended);
  return findings;
}

bool Alarms(const std::vector<model::Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const model::Finding& finding) { return finding.severity >= model::Severity::kWarning; });
}

TEST(EarlyAndShortRunsAreJudgedByBounds, AFirstLossAboveTheLogarithmOfAnyVocabularyIsABadStart) {
  RunMaker run("torch");
  run.Series("loss", 60, [](int s) { return Falling(368, 90, s, 20); });
  run.Series("eval_accuracy", 60, [](int s) { return 0.2 + 0.005 * s; }, 10);
  const auto findings = Reviewed(run);
  const model::Finding* start = FindIn(findings, "loss/bad-start");
  ASSERT_NE(start, nullptr);
  EXPECT_EQ(start->severity, model::Severity::kWarning);
}

TEST(EarlyAndShortRunsAreJudgedByBounds, ASumOfSeveralLossesHasNoLevelOfGuessing) {
  RunMaker run("torch");
  run.Series("loss", 60, [](int s) { return Falling(40, 3, s, 20); });
  run.Series("loss_box", 60, [](int s) { return Falling(30, 2, s, 20); });
  run.Series("loss_class", 60, [](int s) { return Falling(10, 1, s, 20); });
  run.Series("eval_accuracy", 60, [](int s) { return 0.2 + 0.01 * s; }, 10);
  EXPECT_EQ(FindIn(Reviewed(run), "loss/bad-start"), nullptr);
}

TEST(EarlyAndShortRunsAreJudgedByBounds, ALossThatLeavesItsStartUpwardsInTheFirstStepsIsASpike) {
  RunMaker run("torch");
  run.Fact("vocab_size", "4000");
  run.Series("loss", 100, [&](int s) { return s >= 4 && s <= 8 ? 20.5 : 8.3 + run.Noise(0.02); });
  const auto findings = Reviewed(run);
  const model::Finding* spike = FindIn(findings, "loss/spike");
  ASSERT_NE(spike, nullptr);
  EXPECT_EQ(spike->first.value(), 4);
}

TEST(TooGoodToBeTrue, NotOneMistakeFromTheFirstEvaluationOn) {
  RunMaker run("keras");
  run.Series("loss", 8, [](int s) { return Falling(1.0, 0.001, s, 1); });
  run.Series("eval_accuracy", 8, [](int s) { return s == 1 ? 0.985 : 1.0; });
  run.Series("eval_loss", 8, [](int s) { return Falling(0.4, 0.001, s, 1); });
  EXPECT_NE(FindIn(Reviewed(run), "loss/too-good"), nullptr);
}

TEST(TooGoodToBeTrue, AnAccuracyThatWasLearnedIsNone) {
  RunMaker run("keras");
  run.Series("loss", 12, [](int s) { return Falling(2.3, 0.1, s, 4); });
  run.Series("eval_accuracy", 12, [](int s) { return std::min(0.97, 0.3 + 0.08 * s); });
  EXPECT_EQ(FindIn(Reviewed(run), "loss/too-good"), nullptr);
}

TEST(TooGoodToBeTrue, ARegressionWithoutNoiseCanBeSolved) {
  RunMaker run("torch");
  run.Series("loss", 400, [](int s) { return Falling(1, 1e-5, s, 20); });
  EXPECT_EQ(FindIn(Reviewed(run), "loss/too-good"), nullptr);
}

TEST(GuardsAgainstFalseErrors, HeldOutScoresThatImproveToTheEndTakeADivergenceBack) {
  RunMaker run("spacy");
  run.Series("loss", 300, [](int s) { return s == 20 ? 0.2 : 4.0 - 0.006 * s; }, 20);
  run.Series("eval_accuracy", 300, [](int s) { return std::min(0.91, 0.2 + 0.005 * s); }, 20);
  run.Found("loss/divergence", 40, 300);
  const auto findings = Reviewed(run);
  ASSERT_NE(FindIn(findings, "loss/divergence"), nullptr);
  EXPECT_LT(FindIn(findings, "loss/divergence")->severity, model::Severity::kWarning);
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, TrainingThatLooksSoundHidesNoBreakOfTheEvaluation) {
  RunMaker run("torch");
  run.Series("loss", 400, [&](int s) { return run.HealthyLoss(s); });
  run.Series("eval_loss", 400, [&](int s) { return s < 250 ? run.HealthyLoss(s) : 3.3; }, 10);
  run.Found("loss/eval-break", 250, 400);
  const auto findings = Reviewed(run);
  ASSERT_NE(FindIn(findings, "loss/eval-break"), nullptr);
  EXPECT_GE(FindIn(findings, "loss/eval-break")->severity, model::Severity::kWarning);
}

TEST(GuardsAgainstFalseErrors, ARunThatIsResumedInItsMiddleIsNotComparedWithWholeRuns) {
  RunMaker run("torch");
  model::Series loss;
  loss.signal = loss.raw = "loss";
  for (int step = 31; step <= 60; ++step) loss.Append(step, 2.6 - 0.004 * (step - 30) + run.Noise(0.01));
  run.run.series.push_back(loss);
  EXPECT_FALSE(Alarms(Reviewed(run)));
}

TEST(GuardsAgainstFalseErrors, TheLossesOfAGanNeedNotFall) {
  RunMaker run("torch");
  run.Series("discriminator_loss", 400, [&](int) { return 1.3 + run.Noise(0.1); });
  run.Series("generator_loss", 400, [&](int) { return 0.9 + run.Noise(0.2); });
  run.Series("loss", 400, [&](int) { return 2.2 + run.Noise(0.2); });
  run.Found("loss/not-decreasing", 1, 400);
  for (const model::Finding& finding : Reviewed(run))
    EXPECT_LT(finding.severity, model::Severity::kError) << finding.id;
}

TEST(GuardsAgainstFalseErrors, AHealthyRunStaysWithoutAlarm) {
  RunMaker run;
  run.Planned(1000).Fact("lr", "3e-4").Fact("optimizer", "adamw");
  run.Series("loss", 1000, [&](int s) { return run.HealthyLoss(s); });
  run.Series("grad_norm", 1000, [&](int) { return run.HealthyNorm(); });
  run.Series("lr", 1000, [](int s) { return CosineLr(3e-4, s, 50, 1000); });
  run.Series("eval_loss", 1000, [&](int s) { return run.HealthyLoss(s) + 0.05; }, 100);
  EXPECT_FALSE(Alarms(Reviewed(run)));
}

RunMaker NeverLearned() {
  RunMaker run("torch");
  run.Fact("num_classes", "10").Fact("lr", "1e-3").Fact("optimizer", "adam");
  run.Series("loss", 400, [&](int) { return std::log(10.0) + run.Noise(0.01); }, 5);
  run.Series("accuracy", 400, [&](int) { return 0.1 + run.Noise(0.01); }, 5);
  run.Series("eval_loss", 400, [&](int) { return std::log(10.0) + run.Noise(0.004); }, 40);
  run.Series("eval_accuracy", 400, [&](int) { return 0.1 + run.Noise(0.005); }, 40);
  return run;
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, ALossAndAnAccuracyAtTheLevelOfGuessingAreAnError) {
  const auto findings = Reviewed(NeverLearned());
  ASSERT_TRUE(Alarms(findings));
  EXPECT_EQ(findings.front().id, "loss/not-decreasing");
  EXPECT_EQ(findings.front().severity, model::Severity::kError);
  EXPECT_FALSE(findings.front().evidence.empty()) << "a finding has its reasons";
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, ARunThatGoesOnIsWarnedAboutAtMost) {
  for (const model::Finding& finding : Reviewed(NeverLearned(), false))
    EXPECT_LE(finding.severity, model::Severity::kWarning) << finding.id;
}

// NaN out of nothing is what overflow in fp16 looks like too; nothing here shows fp16.
TEST(AFactOutweighsTheShapeOfACurve, ACauseThatNothingShowsIsNotNamed) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 120, 300).Found("grad/non-finite", 120, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_NE(diagnosis.cause, "fp16-overflow") << Describe(diagnosis);
  EXPECT_NE(diagnosis.cause, "weight-decay-too-high") << Describe(diagnosis);
  EXPECT_NE(diagnosis.cause, "label-masking") << Describe(diagnosis);
}

TEST(AFactOutweighsTheShapeOfACurve, AWeightDecayFarAboveAnyUseIsTheCause) {
  RunMaker run("torch");
  run.Fact("weight_decay", "60").Fact("lr", "1e-3").Fact("optimizer", "adamw").Fact("vocab_size", "500");
  run.Series("lr", 400, [](int) { return 1e-3; });
  run.Series("loss", 400, [&](int s) { return Falling(6.6, 6.2, s, 10) + run.Noise(0.01); });
  run.Found("loss/not-decreasing", 1, 400);
  EXPECT_EQ(run.First().cause, "weight-decay-too-high") << Describe(run.First());
}

}  // namespace
}  // namespace vigil::diagnose
