// Causes of one symptom, and what distinguishes them: plateaus, spikes, NaN, and what never learns.
#include <gmock/gmock.h>

#include "story.h"

namespace vigil::rules {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;

// ---- a loss that stops early, well above what was expected

TEST(Plateau, AtARateFarBelowTheMethodIsTheRate) {
  Story story("lora");
  story.Planned(400).Fact("lr", "2e-7").Fact("adapter", "lora");
  story.Series("lr", 400, [](int s) { return Story::Cosine(2e-7, s, 20, 400); });
  story.Series("loss", 400, [&](int s) { return 2.4 - 0.00004 * s + story.Noise(0.015); });
  story.Series("grad_norm", 400, [&](int) { return 1.2 * story.Factor(0.1); });
  const model::RunReport report = story.Report();
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  EXPECT_EQ(report.diagnoses.front().cause, "lr-too-low") << Describe(report);
}

TEST(Plateau, BehindABlowUpInTheFirstStepsWithoutWarmupIsTheWarmup) {
  Story story("pretrain", "torch");
  story.Planned(400).Fact("warmup_steps", "0").Fact("lr", "6e-4");
  story.Series("lr", 400, [](int s) { return Story::Cosine(6e-4, s, 0, 400); });
  story.Series("loss", 400, [&](int s) { return 9.1 + (s < 6 ? 0 : std::min(4.0, 0.5 * (s - 6))) + story.Noise(0.1); });
  story.Series("grad_norm", 400, [&](int s) { return 0.9 * (s < 5 ? 1 : 20) * story.Factor(0.15); });
  ExpectCause(story, "loss/divergence", "no-warmup");
}

TEST(Plateau, OfAFineTuneThatWasThrownInItsFirstStepsIsTheWarmup) {
  Story story("sft");
  story.Planned(400).Fact("warmup_steps", "0").Fact("lr", "4e-5");
  story.Series("lr", 400, [](int s) { return Story::Cosine(4e-5, s, 0, 400); });
  story.Series("loss", 400, [&](int s) { return s < 4 ? 2.0 : (s < 12 ? 9.0 : 6.4) + story.Noise(0.04); });
  story.Series("grad_norm", 400, [&](int s) { return (s < 4 ? 2.0 : s < 12 ? 60.0 : 1.0) * story.Factor(0.1); });
  const model::RunReport report = ExpectFound(story, "loss/divergence");
  EXPECT_THAT(NamedFor(report, "loss/divergence"), Contains("no-warmup")) << Describe(report);
}

TEST(Plateau, AtExactlyZeroIsTheMaskingOfLabels) {
  Story story("sft");
  story.Planned(200).Fact("lr", "2e-5");
  story.Series("lr", 200, [](int s) { return Story::Cosine(2e-5, s, 10, 200); });
  story.Series("loss", 200, [](int) { return 0.0; });
  story.Series("grad_norm", 200, [](int) { return 0.0; });
  ExpectCause(story, "loss/collapse", "label-masking");
}

TEST(Plateau, UnderAWeightDecayFarAboveUseIsTheDecay) {
  Story story("lora");
  story.Planned(400).Fact("lr", "2e-4").Fact("weight_decay", "20").Fact("adapter", "lora").Fact("optimizer", "adamw");
  story.Series("lr", 400, [](int s) { return Story::Cosine(2e-4, s, 20, 400); });
  story.Series("loss", 400, [&](int s) { return 2.3 + 0.2 * std::exp(-s / 12.0) + story.Noise(0.01); });
  story.Series("grad_norm", 400, [&](int) { return 1.2 * story.Factor(0.1); });
  const model::RunReport report = story.Report();
  EXPECT_NE(Find(report, "config/weight-decay-high"), nullptr);
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  EXPECT_EQ(report.diagnoses.front().cause, "weight-decay-too-high") << Describe(report);
}

// ---- spikes of two to ten times

Story Pretraining(std::string_view lr = "3e-4") {
  Story story("pretrain", "torch");
  story.Planned(600).Fact("lr", lr).Fact("max_grad_norm", "1.0");
  return story;
}

TEST(Spike, OfOneStepOutOfFlatGradientsIsASample) {
  Story story = Pretraining();
  story.Series("lr", 600, [](int s) { return Story::Cosine(3e-4, s, 40, 600); });
  story.Series("loss", 600,
               [&](int s) { return (s == 320 ? 4.0 : 1.0) * (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.008); });
  story.Series("grad_norm", 600, [&](int s) { return (s == 320 ? 9.0 : 1.0) * 0.9 * story.Factor(0.1); });
  ExpectCause(story, "loss/spike", "bad-sample");
}

TEST(Spike, WithAnExtremelyLongExampleInItsBatchIsThatExample) {
  Story story = Pretraining();
  story.Series("lr", 600, [](int s) { return Story::Cosine(3e-4, s, 40, 600); });
  story.Series("loss", 600,
               [&](int s) { return (s == 320 ? 3.0 : 1.0) * (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.008); });
  story.Series("grad_norm", 600, [&](int s) { return (s == 320 ? 6.0 : 1.0) * 0.9 * story.Factor(0.1); });
  story.Series("sequence_length_max", 600, [&](int s) { return s == 320 ? 16000 : 500 + 300 * std::abs(std::sin(s)); });
  ExpectCause(story, "data/length-outlier", "bad-sample");
}

TEST(Spike, AfterSpikeAtTheTopOfAHighRateIsTheRate) {
  Story story = Pretraining("3e-2");
  story.Series("lr", 600, [](int s) { return Story::Cosine(3e-2, s, 40, 600); });
  const auto burst = [](int s) { return s > 45 && s < 400 && s % 60 < 6 ? 1 + 0.5 * (6 - s % 60) : 1.0; };
  story.Series("loss", 600, [&](int s) { return burst(s) * (3 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.01); });
  story.Series("grad_norm", 600, [&](int s) { return burst(s + 2) * burst(s + 2) * 1.5 * story.Factor(0.15); });
  const model::RunReport report = ExpectFound(story, "loss/spike");
  EXPECT_THAT(NamedFor(report, "loss/spike"), Contains("lr-too-high")) << Describe(report);
}

TEST(Spike, WithACollapsingLossScaleIsThePrecision) {
  Story story = Pretraining();
  story.Fact("fp16", "true");
  story.Series("lr", 600, [](int s) { return Story::Cosine(3e-4, s, 40, 600); });
  story.Series("loss", 600,
               [&](int s) { return (s > 300 ? 2.5 : 1.0) * (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.01); });
  story.Series("loss_scale", 600,
               [](int s) { return s < 300 ? 65536.0 : std::max(1.0, 65536.0 / std::pow(2.0, (s - 300) / 2)); });
  story.Series("grad_norm", 600, [&](int s) { return s >= 300 && s % 2 == 0 ? kInf : 0.9 * story.Factor(0.1); });
  ExpectCause(story, "numerics/loss-scale-collapse", "fp16-overflow");
}

// The rule on accumulation: what a run states must give a batch that groups fit into.
TEST(Spike, EffectiveBatchThatDoesNotHoldWholeGroupsIsNamed) {
  Story story("grpo", "trl");
  story.Fact("num_generations", "16").Fact("batch_size", "3").Fact("accumulation", "4");
  story.Series("reward", 60, [&](int s) { return 0.2 + 0.005 * s + story.Noise(0.03); });
  ExpectFound(story, "config/generations-indivisible");
}

// ---- NaN

Story Nan(const Story::Value& norm, int at = 300) {
  Story story("pretrain", "torch");
  story.Planned(600).Fact("lr", "3e-4");
  story.Series("lr", 600, [](int s) { return Story::Cosine(3e-4, s, 40, 600); });
  story.Series("loss", 600, [&story, at](int s) {
    return s >= at ? kNan : (2 + 3 / std::sqrt(1 + s / 10.0)) * story.Factor(0.008);
  });
  story.Series("grad_norm", 600, norm);
  return story;
}

TEST(NanCause, ASpikeOfTheGradientBeforeIsABlowUpOfTheOptimisation) {
  Story noise;
  const Story story = Nan([&](int s) {
    return s >= 300 ? kNan : s < 270 ? 0.9 * noise.Factor(0.1) : 0.9 * std::exp(0.25 * (s - 270));
  });
  const model::RunReport report = ExpectFound(story, "loss/non-finite", model::Severity::kFatal);
  EXPECT_THAT(CauseOf(report, "loss/non-finite"), AnyOf("lr-too-high", "no-clipping")) << Describe(report);
}

TEST(NanCause, FlatGradientsBeforeAreASampleOrALayer) {
  Story noise;
  const Story story = Nan([&](int s) { return s >= 300 ? kNan : 0.9 * noise.Factor(0.1); });
  const model::RunReport report = ExpectFound(story, "loss/non-finite", model::Severity::kFatal);
  EXPECT_THAT(CauseOf(report, "loss/non-finite"), AnyOf("bad-sample", "layer-numerics")) << Describe(report);
}

TEST(NanCause, AtOnceWithFp8IsAScaleOfZero) {
  Story story("grpo", "axolotl");
  story.Fact("fp8", "true").Fact("lr", "1e-6");
  story.Series("loss", 60, [](int) { return kNan; });
  story.Series("grad_norm", 60, [](int) { return kNan; });
  ExpectCause(story, "loss/non-finite", "fp8-zero-scale");
  Story later("sft", "axolotl");
  later.Fact("fp8", "true");
  later.Series("loss", 400, [&](int s) { return s < 200 ? later.TunedLoss(s) : kNan; });
  later.Series("grad_norm", 400, [&](int s) { return s < 200 ? 0.8 * later.Factor(0.1) : kNan; });
  const model::RunReport report = later.Report();
  EXPECT_NE(CauseOf(report, "loss/non-finite"), "fp8-zero-scale") << Describe(report);
}

TEST(NanCause, InParticularBatchesOnlyIsTheData) {
  Story story("sft");
  story.Planned(600);
  story.Series("lr", 600, [](int s) { return Story::Cosine(2e-5, s, 30, 600); });
  story.Series("loss", 600, [&](int s) { return s % 150 == 70 ? kNan : story.TunedLoss(s); });
  story.Series("grad_norm", 600, [&](int s) { return s % 150 == 70 ? kNan : 0.8 * story.Factor(0.1); });
  ExpectCause(story, "loss/non-finite", "bad-sample");
}

TEST(NanCause, HugeNegativeLogProbabilitiesAreAnOverflowInTheLogSoftmax) {
  Story story("dpo", "trl");
  story.Fact("lr", "5e-7");
  story.Series("loss", 200, [&](int s) { return s >= 150 ? kNan : 0.69 - 0.001 * s + story.Noise(0.01); });
  story.Series("preference_logp_chosen", 200,
               [&](int s) { return s < 140 ? -180 + story.Noise(5) : -180 * std::exp(0.9 * (s - 139)); });
  story.Series("preference_logp_rejected", 200, [&](int) { return -190 + story.Noise(5); });
  ExpectCause(story, "loss/non-finite", "log-softmax-overflow");
}

TEST(NanCause, ALossFirstIsTheForwardPassAndAGradientFirstTheBackwardPass) {
  Story forward("sft");
  forward.Series("loss", 400, [&](int s) { return s < 200 ? forward.TunedLoss(s) : kNan; });
  forward.Series("grad_norm", 400, [&](int s) { return s < 205 ? 0.8 * forward.Factor(0.1) : kNan; });
  const model::RunReport of_loss = ExpectFound(forward, "grad/non-finite");
  EXPECT_THAT(Describe(of_loss) + report::Sentence(Find(of_loss, "grad/non-finite")->evidence.front().says),
              HasSubstr("forward pass failed"));
  Story backward("sft");
  backward.Series("loss", 400, [&](int s) { return s < 205 ? backward.TunedLoss(s) : kNan; });
  backward.Series("grad_norm", 400, [&](int s) { return s < 200 ? 0.8 * backward.Factor(0.1) : kNan; });
  const model::RunReport of_grad = ExpectFound(backward, "grad/non-finite");
  EXPECT_THAT(report::Sentence(Find(of_grad, "grad/non-finite")->evidence.front().says),
              HasSubstr("backward pass failed"));
  EXPECT_THAT(NamedFor(of_grad, "grad/non-finite"), Contains("layer-numerics")) << Describe(of_grad);
}

// ---- other courses

TEST(Leakage, ShowsAsAnEvaluationWithoutAMistakeFromTheStart) {
  Story story("", "keras");
  story.Series("loss", 12, [](int s) { return 1.2 * std::exp(-1.2 * s) + 0.0005; });
  story.Series("eval_loss", 12, [](int s) { return 0.5 * std::exp(-1.2 * s) + 0.0004; });
  story.Series("eval_accuracy", 12, [](int s) { return s == 1 ? 0.99 : 1.0; });
  ExpectCause(story, "loss/too-good", "leakage");
}

TEST(LossCollapse, ToAConstantIsFound) {
  Story story("sft");
  story.Series("loss", 300, [&](int s) { return s < 150 ? story.TunedLoss(s) : 0.0; });
  story.Series("grad_norm", 300, [&](int s) { return s < 150 ? 0.8 * story.Factor(0.1) : kNan; });
  const model::RunReport report = story.Report();
  EXPECT_TRUE(Find(report, "loss/collapse") != nullptr || Find(report, "loss/non-finite") != nullptr)
      << Describe(report);
  EXPECT_GE(WorstOf(report), model::Severity::kError);
}

TEST(WildOscillation, ThatDoesNotSettleAtAHighRateIsTheRate) {
  Story story("", "torch");
  story.Planned(300).Fact("lr", "1.0").Fact("optimizer", "sgd");
  story.Series("lr", 300, [](int) { return 1.0; });
  story.Series("loss", 300, [&](int s) { return (s % 2 == 0 ? 4.0 : 1.6) * story.Factor(0.2); });
  const model::RunReport report = story.Report();
  EXPECT_NE(Find(report, "loss/oscillation"), nullptr) << Describe(report);
  EXPECT_THAT(NamedFor(report, "loss/oscillation"), Contains("lr-too-high")) << Describe(report);
}

TEST(PlateauAndThenDivergence, IsReportedAsTheDivergence) {
  Story story("sft");
  story.Planned(600).Fact("lr", "2e-3");
  story.Series("lr", 600, [](int s) { return Story::Cosine(2e-3, s, 300, 600); });
  story.Series("loss", 600, [&](int s) {
    return (s < 350 ? 1.5 + 0.3 * std::exp(-s / 20.0) : 1.5 + 0.02 * (s - 350)) + story.Noise(0.02);
  });
  story.Series("grad_norm", 600,
               [&](int s) { return s < 340 ? 0.8 * story.Factor(0.1) : 0.8 * std::exp(0.015 * (s - 340)); });
  const model::RunReport report = ExpectFound(story, "loss/divergence", model::Severity::kError);
  EXPECT_EQ(CauseOf(report, "loss/divergence"), "lr-too-high") << Describe(report);
}

TEST(Forgetting, IsOneEvaluationSetThatRisesWhileTheTunedOneFalls) {
  Story story("sft");
  story.Series("loss", 400, [&](int s) { return story.TunedLoss(s); });
  story.Series("eval_loss", 400, [&](int s) { return 1.9 - 0.0015 * s + story.Noise(0.004); }, 40,
               {{"dataset", "medical"}});
  story.Series("eval_loss", 400, [&](int s) { return 2.1 + 0.001 * s + story.Noise(0.004); }, 40,
               {{"dataset", "general"}});
  const model::RunReport report = ExpectFound(story, "loss/forgetting");
  EXPECT_EQ(model::FindLabel(Find(report, "loss/forgetting")->labels, "dataset"), "general");
  Story both("sft");
  both.Series("loss", 400, [&](int s) { return both.TunedLoss(s); });
  for (const char* set : {"medical", "general"})
    both.Series("eval_loss", 400, [&](int s) { return 1.9 - 0.0015 * s + both.Noise(0.004); }, 40, {{"dataset", set}});
  EXPECT_EQ(Find(both.Report(), "loss/forgetting"), nullptr);
}

TEST(SilentNoLearning, UnderAnOddObjectiveIsTheObjective) {
  Story story("", "torch");
  story.Planned(400)
      .Fact("label_smoothing", "0.99")
      .Fact("num_classes", "10")
      .Fact("lr", "1e-3")
      .Fact("optimizer", "adam");
  story.Series("lr", 400, [](int) { return 1e-3; });
  story.Series("loss", 400, [&](int) { return std::log(10.0) + story.Noise(0.003); });
  story.Series("accuracy", 400, [&](int) { return 0.1 + story.Noise(0.01); });
  const model::RunReport report = story.Report();
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  EXPECT_EQ(report.diagnoses.front().cause, "objective-mismatch") << Describe(report);
}

// ---- a rate far too high that does not explode

TEST(ALearningRateFarTooHighNeedNotExplode, AdamAtATenthSettlesNearTheLogarithmOfTheVocabulary) {
  Story story("", "torch");
  const double chance = std::log(4000.0);
  story.Planned(400).Fact("lr", "0.1").Fact("optimizer", "adamw").Fact("vocab_size", "4000");
  story.Series("lr", 400, [](int) { return 0.1; });
  story.Series("loss", 400, [&](int s) { return 0.88 * chance + (s < 6 ? 3.0 / s : 0) + story.Noise(0.04); });
  const model::RunReport report = story.Report();
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  EXPECT_EQ(report.diagnoses.front().cause, "lr-too-high") << Describe(report);
}

TEST(ALearningRateFarTooHighNeedNotExplode, SgdAtOneStaysWhereItBegan) {
  Story story("", "torch");
  story.Planned(400).Fact("lr", "1.0").Fact("optimizer", "sgd").Fact("num_classes", "10");
  story.Series("lr", 400, [](int) { return 1.0; });
  story.Series("loss", 400, [&](int s) { return (s == 1 ? 2.31 : s < 5 ? 2.33 + 4.0 / s : 2.33) + story.Noise(0.03); });
  story.Series("eval_accuracy", 400, [&](int) { return 0.1 + story.Noise(0.004); }, 40);
  const model::RunReport report = story.Report();
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  std::vector<std::string> named = {report.diagnoses.front().cause};
  for (const model::Rival& rival : report.diagnoses.front().rivals) named.push_back(rival.cause);
  EXPECT_THAT(named, Contains("lr-too-high")) << Describe(report);
}

TEST(ALearningRateFarTooHighNeedNotExplode, OneThatKilledTheUnitsLeavesGradientsOfZero) {
  Story story("", "torch");
  story.Planned(400).Fact("lr", "0.5").Fact("optimizer", "adam").Fact("num_classes", "10");
  story.Series("lr", 400, [](int) { return 0.5; });
  story.Series("loss", 400, [&](int s) { return (s < 10 ? 40.0 / s : std::log(10.0)) + story.Noise(0.004); });
  story.Series("grad_norm", 400, [&](int s) { return s < 10 ? 90 * story.Factor(0.3) : 1e-6 * story.Factor(0.2); });
  const model::RunReport report = story.Report();
  ASSERT_FALSE(report.diagnoses.empty()) << Describe(report);
  std::vector<std::string> named = {report.diagnoses.front().cause};
  for (const model::Rival& rival : report.diagnoses.front().rivals) named.push_back(rival.cause);
  EXPECT_THAT(named, Contains(AnyOf("lr-too-high", "dead-units"))) << Describe(report);
}

}  // namespace
}  // namespace vigil::rules
