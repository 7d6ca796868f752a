// The healthy range and the red flag of each signal of fine-tuning and of reinforcement learning.
#include <gmock/gmock.h>

#include "story.h"

namespace vigil::rules {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;

Story Tuning(std::uint32_t seed = 1) {
  Story story("sft", "hf-trainer", seed);
  story.Planned(400).Fact("lr", "2e-5");
  story.Series("lr", 400, [](int s) { return Story::Cosine(2e-5, s, 20, 400); });
  return story;
}

// ---- fine-tuning

TEST(TrainLoss, FallingWithinChatFineTuningIsHealthy) {
  Story story = Tuning();
  story.Series("loss", 400, [&](int s) { return story.TunedLoss(s); });
  story.Series("grad_norm", 400, [&](int) { return 0.8 * story.Factor(0.15); });
  story.Series("eval_loss", 400, [&](int s) { return story.TunedLoss(s) + 0.04; }, 40);
  ExpectSound(story, "falling, within 0.5 to 2");
}

TEST(EvalLoss, ThatTurnsUpWhileTrainingFallsIsOverfitting) {
  Story story = Tuning();
  story.Series("loss", 400, [&](int s) { return 1.9 * std::exp(-s / 150.0) + 0.1 + story.Noise(0.01); });
  story.Series("eval_loss", 400, [](int s) { return s < 160 ? 1.9 - 0.004 * s : 1.26 + 0.003 * (s - 160); }, 20);
  ExpectCause(story, "loss/overfit", "overfitting");
}

TEST(GradNormOfFineTuning, BetweenATenthAndTenIsHealthy) {
  for (const double level : {0.12, 1.0, 8.0}) {
    Story story = Tuning();
    story.Series("loss", 400, [&](int s) { return story.TunedLoss(s); });
    story.Series("grad_norm", 400, [&](int) { return level * story.Factor(0.05); });
    ExpectSound(story, "a norm of " + std::to_string(level));
  }
}

TEST(GradNormOfFineTuning, AboveAHundredIsAnExplosion) {
  Story story("sft");
  story.Planned(400).Fact("lr", "5e-3");
  story.Series("lr", 400, [](int s) { return Story::Cosine(5e-3, s, 20, 400); });
  story.Series("grad_norm", 400,
               [&](int s) { return s < 100 ? 2 * story.Factor(0.1) : 2 * std::exp(0.05 * (s - 100)); });
  story.Series("loss", 400, [&](int s) { return s < 100 ? story.TunedLoss(s) : 1.3 + 0.02 * (s - 100); });
  ExpectCause(story, "grad/explosion", "lr-too-high");
}

TEST(GradNormOfFineTuning, RegularlyAboveTenIsUnstable) {
  Story story = Tuning();
  story.Series("loss", 400, [&](int) { return 1.6 + story.Noise(0.05); });
  story.Series("grad_norm", 400, [&](int s) { return s % 3 == 0 ? 18 * story.Factor(0.1) : 3 * story.Factor(0.1); });
  ExpectFound(story, "grad/unstable");
}

TEST(LearningRate, ThatFollowsItsScheduleIsHealthyAndOneThatJumpsIsNot) {
  Story sound = Tuning();
  sound.Series("loss", 400, [&](int s) { return sound.TunedLoss(s); });
  ExpectSound(sound, "warm-up and cosine");
  Story broken("sft");
  broken.Planned(400).Fact("lr", "2e-5");
  broken.Series("loss", 400, [&](int s) { return broken.TunedLoss(s); });
  broken.Series("lr", 400, [](int s) { return Story::Cosine(2e-5, s < 250 ? s : s - 230, 20, 400); });
  ExpectCause(broken, "lr/schedule-break", "bad-schedule");
}

// ---- reinforcement learning: a healthy chart, to which each rule adds its own signal

Story Grpo(std::uint32_t seed = 1) {
  Story story("grpo", "trl", seed);
  story.Planned(100).Fact("num_generations", "8").Fact("max_completion_length", "256").Fact("lr", "1e-6");
  return story;
}

// What is not under test is as the guides describe it: not monotonic, within its range.
Story HealthyGrpo(std::string_view without = "") {
  Story story = Grpo();
  const auto add = [&](std::string_view signal, const Story::Value& value) {
    if (signal != without) story.Series(signal, 100, value);
  };
  add("reward", [&](int s) { return 0.1 + 0.4 * (1 - std::exp(-s / 30.0)) + story.Noise(0.03); });
  add("reward_std", [&](int) { return 0.25 + std::abs(story.Noise(0.03)); });
  add("zero_std_share", [&](int) { return std::clamp(0.3 + story.Noise(0.08), 0.0, 0.7); });
  add("grad_norm", [&](int s) { return s % 17 == 0 ? 0.0 : 0.2 * story.Factor(0.3); });
  add("entropy", [&](int s) { return 0.5 - 0.002 * s + story.Noise(0.01); });
  add("kl", [&](int s) { return 0.003 * s * story.Factor(0.1); });
  add("sampling_gap", [&](int) { return 0.03 * story.Factor(0.2); });
  add("importance_ratio_min", [&](int) { return 0.5 * story.Factor(0.1); });
  add("clip_share", [&](int) { return 0.03 * story.Factor(0.3); });
  add("completion_length", [&](int) { return 120 + story.Noise(8); });
  add("truncated_share", [&](int) { return std::clamp(0.05 + story.Noise(0.02), 0.0, 1.0); });
  return story;
}

TEST(HealthyGrpoCharts, RaiseNothing) { ExpectSound(HealthyGrpo(), "all eleven within their ranges"); }

TEST(RewardMean, ThatStaysAtZeroIsABrokenRewardOrATaskTooHard) {
  Story story = HealthyGrpo("reward");
  story.Series("reward", 100, [](int) { return 0.0; });
  const model::RunReport report = ExpectFound(story, "rl/reward-flat", model::Severity::kError);
  EXPECT_THAT(CauseOf(report, "rl/reward-flat"), AnyOf("reward-broken", "task-too-hard")) << Describe(report);
}

TEST(RewardMean, OfEachFunctionIsJudgedAndNotOnlyTheSum) {
  Story story = HealthyGrpo();
  story.Series("reward_of", 100, [&](int s) { return 0.1 + 0.004 * s + story.Noise(0.02); }, 1, {{"reward", "format"}});
  story.Series("reward_of", 100, [](int) { return 0.0; }, 1, {{"reward", "accuracy"}});
  const model::RunReport report = ExpectFound(story, "rl/reward-dead");
  EXPECT_EQ(model::FindLabel(Find(report, "rl/reward-dead")->labels, "reward"), "accuracy");
  EXPECT_THAT(NamedFor(report, "rl/reward-dead"), Contains(AnyOf("reward-broken", "task-too-hard")))
      << Describe(report);
}

TEST(RewardStd, ThatIsAlwaysZeroIsNoSignal) {
  Story story = Grpo();
  story.Series("reward", 100, [&](int) { return 0.5 + story.Noise(0.1); });
  story.Series("reward_std", 100, [](int) { return 0.0; });
  story.Series("entropy", 100, [&](int) { return 0.4 + story.Noise(0.01); });
  story.Series("grad_norm", 100, [](int) { return 0.0; });
  ExpectCause(story, "rl/no-signal", "reward-broken");
}

TEST(ZeroStdShare, OfOneOnEveryStepIsNoSignal) {
  Story story = Grpo();
  story.Series("reward", 100, [&](int) { return 0.5 + story.Noise(0.1); });
  story.Series("zero_std_share", 100, [](int) { return 1.0; });
  story.Series("entropy", 100, [&](int) { return 0.4 + story.Noise(0.01); });
  story.Series("grad_norm", 100, [](int) { return 0.0; });
  ExpectCause(story, "rl/no-signal", "reward-broken");
}

TEST(GradNormOfGrpo, AboveTenIsAnExplosionAndAnOccasionalZeroIsNot) {
  Story story = HealthyGrpo("grad_norm");
  story.Series("grad_norm", 100, [&](int s) { return s < 60 ? 0.3 * story.Factor(0.2) : 25 * story.Factor(0.2); });
  ExpectFound(story, "grad/explosion");
  ExpectSound(HealthyGrpo(), "a zero now and then is the skip of a batch without advantage");
}

TEST(Entropy, BelowAHundredthIsModeCollapse) {
  Story story = HealthyGrpo("entropy");
  story.Series("entropy", 100, [&](int s) { return 0.5 * std::exp(-s / 12.0) * story.Factor(0.1); });
  ExpectCause(story, "rl/entropy-collapse", "mode-collapse");
}

TEST(Entropy, AboveOneThatDoesNotFallIsNotConverging) {
  Story story = Grpo();
  story.Series("reward", 100, [&](int) { return 0.2 + story.Noise(0.03); });
  story.Series("entropy", 100, [&](int s) { return 1.2 + 0.004 * s + story.Noise(0.01); });
  story.Series("completion_length", 100, [&](int) { return 120 + story.Noise(8); });
  ExpectFound(story, "rl/entropy-high");
}

TEST(Entropy, BetweenRangeAndFlagIsWatched) {
  Story story = HealthyGrpo("entropy");
  story.Series("entropy", 100, [&](int) { return 0.03 * story.Factor(0.05); });
  ExpectWatched(story, "rl/entropy-collapse");
}

TEST(Kl, AboveTwoHasLeftItsReference) {
  Story story = HealthyGrpo("kl");
  story.Fact("lr", "1e-3");
  story.Series("lr", 100, [](int s) { return Story::Cosine(1e-3, s, 5, 100); });
  story.Series("kl", 100, [&](int s) { return 0.01 * std::exp(0.07 * s) * story.Factor(0.1); });
  ExpectFound(story, "rl/kl-blowup", model::Severity::kError);
}

TEST(Kl, BetweenRangeAndFlagIsWatched) {
  Story story = HealthyGrpo("kl");
  story.Series("kl", 100, [&](int) { return 0.9 * story.Factor(0.05); });
  ExpectWatched(story, "rl/kl-blowup");
}

TEST(SamplingDifference, AboveOneFromTheFirstStepIsAnotherModel) {
  Story story = HealthyGrpo("sampling_gap");
  story.Series("sampling_gap", 100, [&](int) { return 2.4 * story.Factor(0.1); });
  ExpectCause(story, "rl/off-policy", "wrong-served-model");
}

TEST(SamplingDifference, ThatGrowsAboveOneWhileWeightsAreSentRarelyIsAStaleSampler) {
  Story story = HealthyGrpo("sampling_gap");
  story.Fact("sync_interval", "16");
  story.Series("sampling_gap", 100, [&](int s) { return 0.03 * std::exp(0.05 * s) * story.Factor(0.1); });
  ExpectCause(story, "rl/off-policy", "stale-sampler");
}

TEST(SamplingDifference, BetweenRangeAndFlagIsWatched) {
  Story story = HealthyGrpo("sampling_gap");
  story.Series("sampling_gap", 100, [&](int) { return 0.4 * story.Factor(0.1); });
  ExpectWatched(story, "rl/off-policy");
}

TEST(ImportanceRatio, WhoseSmallestValueIsNearZeroIsOffPolicy) {
  Story story = HealthyGrpo("importance_ratio_min");
  story.Fact("sync_interval", "16");
  story.Series("importance_ratio_min", 100, [&](int s) { return s < 50 ? 0.4 : 0.001 * story.Factor(0.3); });
  ExpectCause(story, "rl/off-policy", "stale-sampler");
}

TEST(ClipRegion, AboveThreeTenthsIsClippedTooMuch) {
  Story story = HealthyGrpo("clip_share");
  story.Fact("sync_interval", "16");
  story.Series("clip_share", 100, [&](int) { return 0.45 * story.Factor(0.1); });
  ExpectCause(story, "rl/over-clipped", "stale-sampler");
}

TEST(ClipRegion, BetweenRangeAndFlagIsWatched) {
  Story story = HealthyGrpo("clip_share");
  story.Series("clip_share", 100, [&](int) { return 0.2 * story.Factor(0.05); });
  ExpectWatched(story, "rl/over-clipped");
}

TEST(CompletionLength, ThatClimbsToTheMaximumWithTheRewardIsHacked) {
  Story story = Grpo();
  story.Series("reward", 100, [&](int s) { return 0.1 + 0.006 * s + story.Noise(0.01); });
  story.Series("reward_std", 100, [&](int s) { return 0.3 - 0.0025 * s; });
  story.Series("entropy", 100, [&](int s) { return 0.5 - 0.002 * s + story.Noise(0.01); });
  story.Series("completion_length", 100, [&](int s) { return std::min(252.0, 70 + 2.2 * s + story.Noise(3)); });
  story.Series("truncated_share", 100, [](int s) { return std::min(0.75, s / 130.0); });
  ExpectCause(story, "rl/length-hacking", "reward-hacking");
}

TEST(CompletionLength, ThatIsTheTasksIsHealthy) {
  Story story = HealthyGrpo("completion_length");
  story.Series("completion_length", 100, [&](int) { return 200 + story.Noise(20); });
  ExpectSound(story, "lengths that vary around the task's own");
}

TEST(ClippedCompletions, AboveFourFifthsFromTheStartNeedMoreRoom) {
  Story story = Grpo();
  story.Series("reward", 100, [&](int) { return 0.05 + std::abs(story.Noise(0.02)); });
  story.Series("truncated_share", 100, [&](int) { return std::min(1.0, 0.95 + story.Noise(0.02)); });
  story.Series("completion_length", 100, [&](int) { return 253 + story.Noise(1); });
  ExpectCause(story, "rl/truncated", "max-length-too-short");
}

TEST(ClippedCompletions, BetweenRangeAndFlagAreWatched) {
  Story story = HealthyGrpo("truncated_share");
  story.Series("truncated_share", 100, [&](int) { return std::clamp(0.5 + story.Noise(0.03), 0.0, 1.0); });
  ExpectWatched(story, "rl/truncated");
}

// ---- energy-based fine-tuning

Story Ebft(const Story::Value& alignment, const Story::Value& diversity, const Story::Value& cfm) {
  Story story("ebft", "axolotl");
  story.Series("ebft_alignment", 120, alignment).Series("ebft_diversity", 120, diversity).Series("ebft_cfm", 120, cfm);
  return story;
}

double Rising(int s) { return 0.4 + 0.003 * s; }
double Diverse(int s) { return 0.05 + 0.01 * std::sin(s); }
double FallingCfm(int s) { return 8 * std::exp(-s / 80.0) + 0.1 * std::sin(s); }

TEST(EnergyBasedTuning, WithinItsRangesIsHealthy) {
  ExpectSound(Ebft(Rising, Diverse, FallingCfm), "alignment rises, diversity small, CFM falls");
}

TEST(EnergyBasedTuning, AlignmentThatIsLowAndDoesNotRiseOrFallsIsFound) {
  ExpectFound(Ebft([](int s) { return 0.1 + 0.01 * std::sin(s); }, Diverse, FallingCfm), "ebft/alignment");
  ExpectFound(Ebft([](int s) { return 0.8 - 0.003 * s; }, Diverse, FallingCfm), "ebft/alignment");
}

TEST(EnergyBasedTuning, DiversityAboveOneIsModeCollapse) {
  ExpectCause(
      Ebft(Rising, [](int s) { return s < 60 ? 0.05 : 1.4; }, FallingCfm), "ebft/diversity-collapse", "mode-collapse");
  ExpectWatched(Ebft(Rising, [](int) { return 0.5; }, FallingCfm), "ebft/diversity-collapse");
}

TEST(EnergyBasedTuning, AFeatureMatchingLossThatDoesNotFallIsFound) {
  ExpectFound(Ebft(Rising, Diverse, [](int s) { return 3.0 + 0.1 * std::sin(s); }), "ebft/cfm");
  ExpectFound(Ebft(Rising, Diverse, [](int s) { return 400 - 1.5 * s; }), "ebft/cfm");
}

}  // namespace
}  // namespace vigil::rules
