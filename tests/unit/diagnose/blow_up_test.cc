// Runs that blow up: which cause is named, and which rivals are distinguished.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// LoRA at 3e-3 (ten times its usual range): gradients climb from step 180, the loss from 190, NaN at 205.
RunMaker LrTooHigh(std::uint32_t seed = 1) {
  RunMaker run("hf-trainer", seed);
  run.Planned(1000).Method("lora").Fact("lr", "3e-3").Fact("max_grad_norm", "1.0");
  run.Series("lr", 400, [](int s) { return CosineLr(3e-3, s, 100, 1000); });
  run.Series("grad_norm", 400,
             [&](int s) { return s >= 205 ? kNan : run.HealthyNorm() * (s < 180 ? 1 : std::exp(0.25 * (s - 180))); });
  run.Series("loss", 400,
             [&](int s) { return s >= 205 ? kNan : run.HealthyLoss(s) * (s < 190 ? 1 : 1 + 0.2 * (s - 190)); });
  run.Found("grad/explosion", 182, 204)
      .Found("loss/divergence", 191, 204)
      .Found("loss/non-finite", 205, 400)
      .Found("grad/non-finite", 205, 400);
  return run;
}

TEST(BlowUp, AClimbingGradientNormAtAHighRateIsALearningRateTooHigh) {
  const model::Diagnosis diagnosis = LrTooHigh().First();
  EXPECT_EQ(diagnosis.cause, "lr-too-high") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.6);
  EXPECT_LE(diagnosis.confidence, 0.95);
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("the gradient norm rises 24 points in a row"));
  EXPECT_EQ(diagnosis.first.value(), 182);
}

TEST(BlowUp, OneIncidentIsReportedOnceAtItsRoot) {
  const RunMaker run = LrTooHigh();
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 1U);
  ASSERT_EQ(diagnoses[0].findings.size(), 4U);
  EXPECT_EQ(run.findings[diagnoses[0].findings[0]].id, "grad/explosion");
}

TEST(BlowUp, TheRemedyIsALowerRateInTheTrainersOwnWords) {
  const model::Diagnosis diagnosis = LrTooHigh().First();
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "lower-lr");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->setting, "learning_rate");
  EXPECT_EQ(remedy->file, "TrainingArguments");
  EXPECT_EQ(remedy->current, "3e-3") << "as the user wrote it";
  EXPECT_EQ(remedy->proposed, "0.0003");
  EXPECT_EQ(FindRemedyIn(diagnosis, "clip-gradients"), nullptr) << "gradients are clipped already";
}

TEST(BlowUp, ANanOutOfFlatGradientsIsNoMatterOfTheLearningRate) {
  RunMaker run("torch");
  run.Planned(300);
  run.Series("lr", 300, [](int s) { return CosineLr(3e-4, s, 20, 300); });
  run.Series("loss", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 120, 300).Found("grad/non-finite", 120, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_THAT(diagnosis.cause, AnyOf("layer-numerics", "bad-sample"));
  EXPECT_LT(diagnosis.confidence, 0.8) << "the log cannot distinguish a layer from a sample";
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("Cannot be distinguished"));
  EXPECT_THAT(Words(diagnosis.summary),
              AllOf(HasSubstr(diagnosis.cause == "bad-sample" ? "layer-numerics" : "bad-sample")));
  EXPECT_FALSE(Words(diagnosis.next).empty());
}

TEST(BlowUp, ANanThatHealsIsABadBatch) {
  RunMaker run("torch");
  run.Planned(300);
  run.Series("loss", 300, [&](int s) { return s == 120 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s == 120 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 120, 120);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "bad-sample") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.6);
}

TEST(BlowUp, BadStepsOnceAnEpochAreABadSampleForSure) {
  RunMaker run("torch");
  run.Series("loss", 500, [&](int s) { return s % 100 == 37 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 500, [&](int s) { return s % 100 == 37 ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", 37, 437);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "bad-sample") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.85);
}

TEST(BlowUp, AGradientThatBreaksBeforeTheLossPointsAtALayer) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return s >= 121 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s >= 120 ? kNan : run.HealthyNorm(); });
  run.Found("grad/non-finite", 120, 300).Found("loss/non-finite", 121, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "layer-numerics") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.6);
}

TEST(BlowUp, ASingleSpikeThatHealsIsABadBatch) {
  RunMaker run;
  run.Planned(300).Method("sft").Fact("lr", "2e-5");
  run.Series("loss", 300, [&](int s) { return s == 150 ? 6.5 : run.HealthyLoss(s); });
  run.Series("grad_norm", 300, [&](int s) { return s == 150 ? 25 : run.HealthyNorm(); });
  run.Series("lr", 300, [](int s) { return CosineLr(2e-5, s, 20, 300); });
  run.Found("loss/spike", 150, 150).Found("grad/spike", 150, 150);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "bad-sample") << Describe(diagnosis);
  EXPECT_EQ(run.Diagnoses().size(), 1U);
}

TEST(BlowUp, SpikesThatKeepComingAreReportedOnceAndAreNoSingleBatch) {
  RunMaker run;
  run.Planned(2000).Method("pretrain").Fact("lr", "6e-3");
  run.Series("loss", 1500,
             [&](int s) { return run.HealthyLoss(s) * (s % 230 < 6 && s > 200 ? 1.2 + 0.3 * (s % 230) : 1); });
  run.Series("grad_norm", 1500, [&](int s) { return run.HealthyNorm() * (s > 200 && (s + 4) % 230 < 10 ? 8 : 1); });
  run.Series("lr", 1500, [](int s) { return CosineLr(6e-3, s, 100, 2000); });
  run.Found("loss/spike", 230, 1380).Found("grad/spike", 226, 1376);
  for (model::Finding& finding : run.findings) finding.measures.push_back({"count", 6});
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 1U);
  EXPECT_EQ(diagnoses[0].cause, "lr-too-high");
}

TEST(BlowUp, ABlowUpInTheFirstStepsAtTheFullRateIsAMissingWarmup) {
  RunMaker run("torch");
  run.Planned(1000).Method("pretrain");
  run.Series("lr", 200, [](int s) { return CosineLr(6e-4, s, 0, 1000); });
  run.Series("loss", 200, [&](int s) {
    return s < 6 ? 9.1 + run.Noise(0.05) : 9.1 + std::min(4.0, 0.5 * (s - 6)) + run.Noise(0.3);
  });
  run.Series("grad_norm", 200, [&](int s) { return run.HealthyNorm() * (s < 5 ? 1 : 20); });
  run.Found("lr/no-warmup", 1, 1).Found("loss/divergence", 7, 200).Found("grad/explosion", 5, 200);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "no-warmup") << Describe(diagnosis);
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "add-warmup");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->proposed, "60");
  EXPECT_EQ(diagnosis.findings.size(), 3U) << "the missing warm-up is part of the incident";
  EXPECT_NE(run.findings[diagnosis.findings[0]].id, "lr/no-warmup") << "and not its root";
}

TEST(BlowUp, ARateFarTooHighFromTheFirstStepIsTheRateAndNotTheWarmup) {
  RunMaker run;
  run.Planned(150);
  run.Series("lr", 150, [](int) { return 0.9; });
  run.Series("loss", 150, [&](int s) { return s < 3 ? 4.4 : 4.4 + std::min(6.0, 1.0 * s) + run.Noise(0.5); });
  run.Series("grad_norm", 150, [&](int s) { return 1.2 * run.Factor(0.2) * (s < 3 ? 1 : 3); });
  run.Found("loss/divergence", 3, 150).Found("lr/no-warmup", 1, 1);
  EXPECT_EQ(run.First().cause, "lr-too-high");
}

TEST(BlowUp, ALossThatComesBackAsTheRateFallsWasHeldUpByTheRate) {
  RunMaker run("torch");
  run.Planned(200);
  run.Series("lr", 200, [](int s) { return CosineLr(0.9, s, 60, 200); });
  run.Series("loss", 200, [&](int s) { return 4.2 + 5 * CosineLr(1, s, 60, 200) + run.Noise(0.4); });
  run.Found("loss/divergence", 20, 200);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "lr-too-high") << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("as it fell"));
}

TEST(BlowUp, RareHugeGradientsWithoutClippingAreMissingClipping) {
  RunMaker run("torch");
  run.Planned(500).Fact("max_grad_norm", "0");
  run.Series("lr", 300, [](int s) { return CosineLr(3e-4, s, 30, 500); });
  run.Series("grad_norm", 300,
             [&](int s) { return s >= 200 ? 500.0 : 1.5 * run.Factor(0.3) * (s % 40 == 11 ? 60 : 1); });
  run.Series("loss", 300, [&](int s) { return s >= 201 ? 9 + run.Noise(0.4) : run.HealthyLoss(s); });
  run.Found("grad/spike", 200, 200).Found("loss/divergence", 201, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "no-clipping") << Describe(diagnosis);
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "clip-gradients");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->proposed, "1.4") << "the usual norm of this run";
  EXPECT_THAT(remedy->setting, HasSubstr("clip_grad_norm_"));
}

TEST(BlowUp, ACollapsingLossScaleIsAnOverflowInFp16) {
  RunMaker run("torch");
  run.Planned(150).Fact("precision", "float16");
  run.Series("loss", 150, [&](int s) { return s >= 40 ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 150, [&](int s) { return s >= 40 ? kNan : run.HealthyNorm(); });
  run.Series("loss_scale", 150, [](int s) { return s < 40 ? 65536.0 : 65536.0 / std::pow(2.0, s - 39); });
  run.Found("numerics/loss-scale-collapse", 40, 150)
      .Found("loss/non-finite", 40, 150)
      .Found("grad/non-finite", 40, 150);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "fp16-overflow") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.8);
  ASSERT_NE(FindRemedyIn(diagnosis, "use-bf16"), nullptr);
}

// Half precision without a logged scale: the scaler skips the first steps, and the schedule waits with it.
TEST(BlowUp, ARateThatStandsStillWhileGradientsAreNonFiniteIsALossScaler) {
  RunMaker run;
  run.Planned(300);
  run.Series("lr", 60, [](int s) { return s <= 12 ? 0.0 : CosineLr(1e-4, s - 12, 20, 300); });
  run.Series("grad_norm", 60, [&](int s) { return s <= 12 ? kNan : run.HealthyNorm(); });
  run.Series("loss", 60, [&](int) { return 10.1 + run.Noise(0.1); });
  run.Found("grad/non-finite", 1, 12).Found("lr/zero", 1, 11).Found("loss/not-decreasing", 1, 60);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "fp16-overflow") << Describe(diagnosis);
}

TEST(BlowUp, AFewStepsAreNoScheduleToJudgeAWarmupBy) {
  RunMaker run("");
  run.Series("lr", 10, [](int) { return 0.01; });
  run.Series("loss", 10, [&](int s) { return 10.8 + 2.0 * s + run.Noise(0.1); });
  run.Found("loss/divergence", 2, 10);
  for (const model::Diagnosis& diagnosis : run.Diagnoses())
    EXPECT_NE(diagnosis.cause, "no-warmup") << Describe(diagnosis);
}

TEST(BlowUp, ARunInBf16NeverOverflowsInFp16) {
  RunMaker run;
  run.Fact("bf16", "True").Fact("fp16", "False");
  run.Series("loss", 150, [&](int s) { return s >= 40 ? kNan : run.HealthyLoss(s); });
  run.Found("loss/non-finite", 40, 150);
  for (const model::Diagnosis& diagnosis : run.Diagnoses()) EXPECT_NE(diagnosis.cause, "fp16-overflow");
}

TEST(BlowUp, ADivergenceAtAJumpOfTheRateIsABrokenSchedule) {
  RunMaker run;
  run.Planned(400);
  run.Series("lr", 400, [](int s) { return s < 250 ? CosineLr(3e-4, s, 20, 400) : 3e-4; });
  run.Series("loss", 400, [&](int s) { return run.HealthyLoss(s) + (s < 250 ? 0 : 1.5); });
  run.Found("lr/schedule-break", 250, 250, "the learning rate jumped from 9.1e-05 to 0.0003")
      .Found("loss/divergence", 251, 400);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "bad-schedule") << Describe(diagnosis);
  EXPECT_EQ(run.Diagnoses().size(), 1U);
}

TEST(BlowUp, WithoutGradientsOrRateADivergenceNamesNoCauseButWhatWouldDecide) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return run.HealthyLoss(s) + (s < 150 ? 0.0 : 0.02 * (s - 150)); });
  run.Found("loss/divergence", 150, 300);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, kUnknownCause) << Describe(diagnosis);
  EXPECT_EQ(diagnosis.confidence, 0);
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("cannot tell"));
  EXPECT_THAT(Words(diagnosis.next), HasSubstr("To tell "));
  EXPECT_FALSE(diagnosis.missing.empty());
  for (const model::Remedy& remedy : diagnosis.remedies)
    EXPECT_THAT(Words(remedy.reason), HasSubstr("should it be ")) << remedy.id;
}

TEST(BlowUp, ADivergenceAboveTheStartIsStillNoVerdict) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return run.HealthyLoss(s) + (s < 150 ? 0.0 : 0.2 * (s - 150)); });
  run.Found("loss/divergence", 150, 300);
  EXPECT_EQ(run.First().cause, kUnknownCause) << Describe(run.First());
}

TEST(BlowUp, ACoarseLogIsNoProofOfFlatGradients) {
  RunMaker run("torch");
  run.Series("loss", 3000, [&](int s) { return s >= 1500 ? kNan : run.HealthyLoss(s); }, 50);
  run.Series("grad_norm", 3000, [&](int s) { return s >= 1500 ? kNan : run.HealthyNorm(); }, 50);
  run.Found("loss/non-finite", 1500, 3000).Found("grad/non-finite", 1500, 3000);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_LT(diagnosis.confidence, 0.6) << Describe(diagnosis);
  EXPECT_FALSE(diagnosis.rivals.empty()) << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.missing), ::testing::Contains(HasSubstr("every step")));
}

}  // namespace
}  // namespace vigil::diagnose
