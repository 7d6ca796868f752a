// Runs that do not learn, or learn the wrong thing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(NoLearning, ALossOfExactlyZeroFromTheStartIsMaskedLabels) {
  RunMaker run;
  run.Method("sft").Planned(80);
  run.Series("loss", 80, [](int) { return 0.0; });
  run.Series("grad_norm", 80, [](int) { return 0.0; });
  run.Series("lr", 80, [](int s) { return CosineLr(2e-5, s, 5, 80); });
  run.Found("loss/collapse", 1, 80).Found("grad/zero", 1, 80);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "label-masking") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.8);
  EXPECT_EQ(run.Diagnoses().size(), 1U);
}

TEST(NoLearning, ANanFromTheVeryFirstStepOfALanguageModelIsMaskedLabels) {
  RunMaker run("torch");
  run.Fact("vocab_size", "32000");
  run.Series("loss", 60, [](int) { return kNan; });
  run.Series("grad_norm", 60, [](int) { return kNan; });
  run.Found("loss/non-finite", 1, 60).Found("grad/non-finite", 1, 60);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "label-masking") << Describe(diagnosis);
  EXPECT_LE(diagnosis.confidence, 0.95);
}

// No labels that could be masked are in sight.
TEST(NonFiniteValuesAreValues, ANanFromTheVeryFirstStepIsMaskedLabelsInALanguageModelOnly) {
  RunMaker run("torch");
  run.Series("loss", 60, [](int) { return kNan; });
  run.Series("grad_norm", 60, [](int) { return kNan; });
  run.Found("loss/non-finite", 1, 60).Found("grad/non-finite", 1, 60);
  EXPECT_NE(run.First().cause, "label-masking") << Describe(run.First());
}

TEST(NoLearning, ASmallFirstGainAndThenAFlatLineIsWrongTargets) {
  RunMaker run;
  run.Method("pretrain").Planned(300).Fact("lr", "3e-4");
  run.Series("loss", 300, [&](int s) { return 4.17 + 0.4 * std::exp(-s / 15.0) + run.Noise(0.02); });
  run.Series("grad_norm", 300, [&](int s) { return (0.25 + 0.6 * std::exp(-s / 20.0)) * run.Factor(0.1); });
  run.Series("lr", 300, [](int s) { return CosineLr(3e-4, s, 20, 300); });
  run.Found("loss/plateau", 40, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "wrong-targets") << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.next), HasSubstr("one batch"));
}

// A pretrained model that meets labels from elsewhere begins worse than guessing and ends at the frequency of words.
TEST(NoLearning, ALanguageModelThatSettlesAtTheLossOfSingleWordsHasWrongTargets) {
  RunMaker run;
  run.Planned(300);
  run.Series("loss", 300, [&](int s) { return 5.9 + 13 * std::exp(-s / 20.0) + run.Noise(0.1); }, 5);
  run.Series("grad_norm", 300, [&](int) { return 1.3 * run.Factor(0.2); }, 5);
  run.Series("lr", 300, [](int s) { return CosineLr(2e-4, s, 20, 300); }, 5);
  run.Found("loss/plateau", 100, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "wrong-targets") << Describe(diagnosis);
}

TEST(NoLearning, NoiseThatHidesAnyMovementIsNoProofOfFrozenParameters) {
  RunMaker run("");
  run.Series("loss", 60, [&](int) { return 1.0 + run.Noise(0.4); });
  run.Found("loss/plateau", 3, 60);
  EXPECT_NE(run.First().cause, "frozen-params") << Describe(run.First());
}

TEST(NoLearning, AccuracyThatGrowsExcludesWrongTargets) {
  RunMaker run;
  run.Method("sft").Planned(300);
  run.Series("loss", 300, [&](int s) { return 1.9 + 0.6 * std::exp(-s / 15.0) + run.Noise(0.02); });
  run.Series("accuracy", 300, [&](int s) { return 0.7 - 0.4 * std::exp(-s / 15.0) + run.Noise(0.01); });
  run.Found("loss/plateau", 40, 300);
  for (const model::Diagnosis& diagnosis : run.Diagnoses())
    EXPECT_NE(diagnosis.cause, "wrong-targets") << Describe(diagnosis);
}

TEST(NoLearning, ALossThatDoesNotMoveUnderSoundGradientsIsFrozenParameters) {
  RunMaker run("torch");
  run.Method("pretrain").Planned(300);
  run.Series("loss", 300, [&](int) { return 4.74 + run.Noise(0.03); });
  run.Series("grad_norm", 300, [&](int) { return 1.1 * run.Factor(0.05); });
  run.Series("lr", 300, [](int s) { return CosineLr(1e-3, s, 20, 300); });
  run.Found("loss/not-decreasing", 1, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "frozen-params") << Describe(diagnosis);
  EXPECT_LT(diagnosis.confidence, 0.9);
}

TEST(NoLearning, AVanishinglySmallRateIsTheRate) {
  RunMaker run;
  run.Method("sft").Planned(300).Fact("lr", "3e-8");
  run.Series("loss", 300, [&](int s) { return 2.4 - 0.0001 * s + run.Noise(0.02); });
  run.Series("grad_norm", 300, [&](int) { return 1.4 * run.Factor(0.1); });
  run.Series("lr", 300, [](int s) { return CosineLr(3e-8, s, 20, 300); });
  run.Found("loss/not-decreasing", 1, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "lr-too-low") << Describe(diagnosis);
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "raise-lr");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->current, "3e-8") << "as the user wrote it";
  EXPECT_EQ(remedy->proposed, "1e-05");
}

TEST(NoLearning, AZeroRateIsCertain) {
  RunMaker run;
  run.Planned(80);
  run.Series("loss", 80, [&](int) { return 4.4 + run.Noise(0.03); });
  run.Series("grad_norm", 80, [&](int) { return 1.1 * run.Factor(0.05); });
  run.Series("lr", 80, [](int) { return 0.0; });
  run.Found("lr/zero", 1, 80, "learning rate is 0 on 80 of 80 points").Found("loss/not-decreasing", 1, 80);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "lr-zero") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.95);
  EXPECT_LT(diagnosis.confidence, 1);
  EXPECT_EQ(run.findings[diagnosis.findings[0]].id, "lr/zero");
}

TEST(NoLearning, AFlatLossAloneNamesNoCause) {
  RunMaker run("");
  run.Series("loss", 100, [&](int) { return 2.4 + run.Noise(0.2); });
  run.Found("loss/not-decreasing", 1, 100);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_LT(diagnosis.confidence, 0.6) << Describe(diagnosis);
  EXPECT_FALSE(diagnosis.missing.empty());
}

TEST(NoLearning, EvaluationThatTurnsOverSeveralEpochsIsOverfitting) {
  RunMaker run;
  run.Method("sft").Planned(600).Fact("epochs", "10").Fact("save_steps", "100");
  run.Series("loss", 600, [&](int s) {
    return 2.5 * std::exp(-s / 200.0) - 0.1 * std::floor(s / 60.0) * 0.3 + 0.4 + run.Noise(0.01);
  });
  run.Series("epoch", 600, [](int s) { return s / 60.0; });
  run.Series("eval_loss", 600, [](int s) { return 1.8 + 0.00001 * (s - 220) * (s - 220) / 2; }, 40);
  run.Found("loss/overfit", 240, 600);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "overfitting") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.8);
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "fewer-epochs");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->setting, "num_train_epochs");
  EXPECT_EQ(remedy->current, "10");
  EXPECT_EQ(remedy->proposed, "3.3");
  EXPECT_THAT(Words(diagnosis.restart), HasSubstr("checkpoint-200"));
}

TEST(NoLearning, APlateauAfterRealLearningIsNoWrongTargets) {
  RunMaker run;
  run.Method("pretrain").Planned(2000);
  run.Series("loss", 2000, [&](int s) { return 1.4 + 3 * std::exp(-s / 60.0) + run.Noise(0.03); }, 10);
  run.Series("grad_norm", 2000, [&](int) { return run.HealthyNorm(); }, 10);
  run.Found("loss/plateau", 400, 2000);
  for (const model::Diagnosis& diagnosis : run.Diagnoses())
    EXPECT_NE(diagnosis.cause, "wrong-targets") << Describe(diagnosis);
}

}  // namespace
}  // namespace vigil::diagnose
