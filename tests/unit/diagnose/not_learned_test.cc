// Runs that learned nothing, by all that measures learning, and runs that only look like it; data that come in blocks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numbers>

#include "diagnose/period.h"
#include "run_maker.h"

namespace vigil::diagnose {
namespace {

bool Reports(const RunMaker& maker, std::string_view id, bool ended = true) {
  std::vector<model::Finding> findings = maker.findings;
  Review(maker.run, findings, catalogue::Thresholds(), ended);
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.id == id && finding.severity >= model::Severity::kWarning;
  });
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, ALossThatLostAFewPerCentOfItsFirstValueDidNotLearn) {
  RunMaker run("torch");
  run.Series("loss", 140, [&](int s) { return 44.9 - 0.005 * s + run.Noise(0.15); }, 5);
  run.Series("eval_loss", 140, [](int s) { return 44.8 - 0.005 * s; }, 10);
  EXPECT_TRUE(Reports(run, "loss/not-decreasing"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, SoDidOneThatIsNegativeAndStays) {
  RunMaker run("torch");
  run.Series("loss", 200, [&](int) { return -0.2386 + run.Noise(0.006); }, 5);
  run.Series("eval_loss", 200, [](int) { return -0.2386; }, 40);
  EXPECT_TRUE(Reports(run, "loss/not-decreasing"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, EvaluationsThatNeverImproveShowItWhateverTheTrainingLossDoes) {
  RunMaker run("torch");
  run.Series("loss", 200, [](int s) { return 2.1 - 0.005 * s; }, 5);
  run.Series("eval_loss", 200, [](int s) { return 2.08 + 0.0001 * s; }, 20);
  run.Series("eval_accuracy", 200, [](int) { return 0.125; }, 20);
  EXPECT_TRUE(Reports(run, "loss/plateau") || Reports(run, "loss/at-chance") || Reports(run, "loss/overfit"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, AnEvaluationBeforeTheFirstStepHidesNoLevelLoss) {
  RunMaker run("torch");
  run.Series("loss", 200, [&](int s) { return (s < 12 ? 4.0 - 0.05 * s : 3.35) + run.Noise(0.03); }, 4);
  run.Series("eval_loss", 200, [](int s) { return s <= 40 ? 4.0 : 3.33; }, 40);
  EXPECT_TRUE(Reports(run, "loss/plateau"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, AccuraciesThatPartShowOverfittingWithoutAnEvaluationLoss) {
  RunMaker run("torch");
  run.Series("loss", 20, [](int s) { return 1.5 / s; });
  run.Series("accuracy", 20, [](int s) { return std::min(1.0, 0.4 + 0.1 * s); });
  run.Series("eval_accuracy", 20, [](int s) { return s < 5 ? 0.5 + 0.03 * s : 0.62 - 0.002 * s; });
  EXPECT_TRUE(Reports(run, "loss/overfit"));
}

TEST(GuardsAgainstFalseErrors, AccuraciesAFewPointsApartAreSound) {
  RunMaker run("torch");
  run.Series("loss", 20, [](int s) { return 1.5 / s; });
  run.Series("accuracy", 20, [](int s) { return std::min(1.0, 0.4 + 0.1 * s); });
  run.Series("eval_accuracy", 20, [](int s) { return std::min(0.91, 0.4 + 0.08 * s); });
  EXPECT_FALSE(Reports(run, "loss/overfit"));
}

TEST(GuardsAgainstFalseErrors, AnEvaluationAccuracyThatStillRisesIsNotOverfitted) {
  RunMaker run("torch");
  run.Series("loss", 20, [](int s) { return 1.5 / s; });
  run.Series("accuracy", 20, [](int s) { return std::min(1.0, 0.4 + 0.1 * s); });
  run.Series("eval_accuracy", 20, [](int s) { return 0.3 + 0.02 * s; });
  EXPECT_FALSE(Reports(run, "loss/overfit"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, LossesThatPartShowOverfittingWhereTheEvaluationDoesNotRise) {
  RunMaker run("torch");
  run.Series("loss", 400, [](int s) { return 4.0 / (1 + 0.02 * s); }, 5);
  run.Series("eval_loss", 400, [](int s) { return s < 100 ? 4.0 / (1 + 0.02 * s) : 1.42; }, 20);
  EXPECT_TRUE(Reports(run, "loss/overfit"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, LossAndAccuracyOfGuessingSayThatNothingWasLearned) {
  RunMaker run("torch");
  run.Series("loss", 18, [](int s) { return s == 1 ? 1.16 : 0.72 - 0.003 * s; });
  run.Series("eval_loss", 18, [](int s) { return s == 1 ? 0.75 : 0.692 + 0.001 * (s % 3); });
  run.Series("eval_accuracy", 18, [](int s) { return s < 9 ? 0.39 : 0.55; });
  EXPECT_TRUE(Reports(run, "loss/at-chance"));
}

TEST(TooGoodToBeTrue, TextOfALanguageModelIsNotThatPredictable) {
  RunMaker run("torch");
  run.Series("tokens_per_s", 400, [](int) { return 12000.0; }, 5);
  run.Series("loss", 400, [](int s) { return Falling(4.2, 0.1, s, 60); }, 5);
  run.Series("eval_loss", 400, [](int s) { return Falling(4.2, 0.12, s, 60); }, 40);
  EXPECT_TRUE(Reports(run, "loss/too-good"));
}

TEST(AFactOutweighsTheShapeOfACurve, ANormThatClimbsAllAlongIsThatOfGradientsThatAreAddedUp) {
  RunMaker run("torch");
  run.Series("loss", 400, [](int s) { return 2.0 / (1 + 0.01 * s); }, 5);
  run.Series("grad_norm", 400, [](int s) { return 0.5 + 0.05 * s; }, 5);
  run.Series("lr", 400, [](int) { return 0.001; }, 5);
  EXPECT_TRUE(Reports(run, "grad/unstable"));
}

TEST(GuardsAgainstFalseErrors, ANormThatDoublesWhileTheLossFallsIsSound) {
  RunMaker run("torch");
  run.Series("loss", 400, [](int s) { return 2.0 / (1 + 0.01 * s); }, 5);
  run.Series("grad_norm", 400, [](int s) { return 0.8 + 0.003 * s; }, 5);
  EXPECT_FALSE(Reports(run, "grad/unstable"));
}

TEST(LearningIsJudgedByEverythingThatMeasuresIt, AKlTermOfNothingBesideAReconstructionIsAnUnusedCode) {
  RunMaker run("torch");
  run.Series("loss", 200, [](int s) { return 26 + 18 * std::exp(-0.05 * s); }, 2);
  run.Series("recon_loss", 200, [](int s) { return 26 + 18 * std::exp(-0.05 * s); }, 2);
  run.Series("kl", 200, [](int s) { return 0.02 / s; }, 2);
  EXPECT_TRUE(Reports(run, "loss/collapse"));
}

TEST(GuardsAgainstFalseErrors, AFineTunedModelMayGainLittle) {
  RunMaker run("hf-trainer");
  run.Method("sft");
  run.Series("loss", 200, [&](int s) { return Falling(1.62, 1.55, s, 60) + run.Noise(0.01); }, 5);
  run.Series("eval_loss", 200, [](int s) { return Falling(1.6, 1.56, s, 60); }, 40);
  EXPECT_FALSE(Reports(run, "loss/not-decreasing"));
  EXPECT_FALSE(Reports(run, "loss/plateau"));
}

TEST(GuardsAgainstFalseErrors, ALossBesideARewardMeasuresNoLearning) {
  RunMaker run("torch");
  run.Series("loss", 200, [&](int) { return 41.0 + run.Noise(0.5); }, 5);
  run.Series("eval_reward", 200, [](int s) { return 40 + 0.3 * s; }, 20);
  EXPECT_FALSE(Reports(run, "loss/not-decreasing"));
}

TEST(GuardsAgainstFalseErrors, WhatARunThatGoesOnHasNotLearnedYetItMayLearn) {
  RunMaker run("torch");
  run.Series("loss", 60, [&](int) { return 2.3 + run.Noise(0.02); }, 5);
  EXPECT_FALSE(Reports(run, "loss/not-decreasing", false));
}

// Ten classes come one after another, every epoch of 50 points.
double Sawing(int s) { return 1.2 + 0.5 * (s % 50) / 50.0 + 3 * std::exp(-s / 20.0); }

TEST(DataInBlocks, ALossThatRepeatsItselfIsASawtoothOfDataThatAreNotShuffled) {
  RunMaker run("torch");
  run.Series("loss", 500, [&](int s) { return Sawing(s) + run.Noise(0.02); });
  EXPECT_TRUE(Reports(run, "loss/sawtooth"));
  std::vector<model::Finding> findings;
  Review(run.run, findings, catalogue::Thresholds());
  const auto diagnoses = Diagnose(run.run, findings, catalogue::Thresholds());
  ASSERT_FALSE(diagnoses.empty());
  EXPECT_EQ(diagnoses.front().cause, "data-not-shuffled");
}

TEST(DataInBlocks, OneSpikeHidesNoRepetition) {
  RunMaker run("torch");
  run.Series("loss", 500, [&](int s) { return s == 320 ? 8.0 : Sawing(s) + run.Noise(0.02); });
  EXPECT_TRUE(Reports(run, "loss/sawtooth"));
}

TEST(DataInBlocks, ARateThatGoesUpAndDownExplainsIt) {
  RunMaker run("torch");
  run.Series("loss", 500, [&](int s) { return Sawing(s) + run.Noise(0.02); });
  run.Series("lr", 500, [](int s) { return 1e-3 + 1e-3 * (s % 50) / 50.0; });
  EXPECT_FALSE(Reports(run, "loss/sawtooth"));
}

TEST(DataInBlocks, NoiseDoesNotRepeat) {
  RunMaker run("torch");
  run.Series("loss", 500, [&](int s) { return Falling(3, 1, s, 80) + run.Noise(0.3); });
  EXPECT_FALSE(Reports(run, "loss/sawtooth"));
}

model::Diagnosis FirstOf(const RunMaker& run) {
  std::vector<model::Finding> findings = run.findings;
  Review(run.run, findings, catalogue::Thresholds());
  const auto diagnoses = Diagnose(run.run, findings, catalogue::Thresholds());
  return diagnoses.empty() ? model::Diagnosis() : diagnoses.front();
}

TEST(DataInBlocks, BatchesThatAreAllRightOrAllWrongHoldOneClass) {
  RunMaker run("torch");
  run.Series("loss", 400, [&](int s) { return 2.3 + 0.1 * ((s / 10) % 5) + run.Noise(0.05); }, 10);
  run.Series("accuracy", 400, [](int s) { return (s / 10) % 5 == 2 ? 1.0 : 0.0; }, 10);
  run.Series("eval_accuracy", 400, [](int) { return 0.1; }, 40);
  EXPECT_TRUE(Reports(run, "loss/sawtooth"));
  EXPECT_EQ(FirstOf(run).cause, "data-not-shuffled");
}

TEST(DataInBlocks, BatchesOfASampleAreAllRightOrAllWrongInAnyOrder) {
  RunMaker run("torch");
  run.Fact("batch_size", "1");
  run.Series("loss", 400, [&](int) { return 2.3 + run.Noise(0.2); }, 10);
  run.Series("accuracy", 400, [](int s) { return (s / 10) % 3 == 2 ? 1.0 : 0.0; }, 10);
  run.Series("eval_accuracy", 400, [](int) { return 0.1; }, 40);
  EXPECT_FALSE(Reports(run, "loss/sawtooth"));
}

TEST(EarlyAndShortRunsAreJudgedByBounds, ALikelihoodByItsNameCannotBeginAboveAnyVocabulary) {
  for (const auto& [raw, bad] : {std::pair("train/nll", true), std::pair("loss", false)}) {
    RunMaker run("torch");
    run.Series("loss", 100, [&](int s) { return Falling(19.3, 6, s, 40) + run.Noise(0.05); });
    run.run.series.back().raw = raw;
    EXPECT_EQ(Reports(run, "loss/bad-start"), bad) << raw;
  }
}

TEST(AFactOutweighsTheShapeOfACurve, APolicyThatIsStillItsReferenceDoesNotTrain) {
  RunMaker run("trl");
  run.Method("dpo");
  run.Series("loss", 250, [](int) { return 0.6931; }, 10);
  run.Series("lr", 250, [](int) { return 2e-3; }, 10);
  run.Series("grad_norm", 250, [&](int) { return 0.4 + run.Noise(0.03); }, 10);
  for (const char* signal : {"preference_chosen", "preference_rejected", "preference_margin", "preference_accuracy"})
    run.Series(signal, 250, [](int) { return 0.0; }, 10);
  run.Found("rl/preference-no-signal", 10, 250);
  EXPECT_EQ(FirstOf(run).cause, "frozen-params") << Describe(FirstOf(run));
}

TEST(FindPeriod, FindsTheDistanceOfTwoRepetitions) {
  std::vector<double> values;
  for (int i = 0; i < 300; ++i) values.push_back(2 + std::sin(2 * std::numbers::pi * i / 25));
  const Period period = FindPeriod(values);
  EXPECT_EQ(period.points % 25, 0U);
  EXPECT_GT(period.strength, 0.95);
  EXPECT_GT(period.swing, 0.5);
}

TEST(FindPeriod, TakesShortAndConstantCurvesForWhatTheyAre) {
  EXPECT_EQ(FindPeriod(std::vector<double>{}).points, 0U);
  EXPECT_EQ(FindPeriod(std::vector<double>(15, 1.0)).points, 0U);
  EXPECT_EQ(FindPeriod(std::vector<double>(400, 1.0)).points, 0U);
  EXPECT_EQ(FindPeriod(std::vector<double>(400, 0.0)).strength, 0.0);
}

}  // namespace
}  // namespace vigil::diagnose
