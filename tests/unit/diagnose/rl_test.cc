// Reinforcement learning: rewards, collapse, truncation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

RunMaker Grpo(std::uint32_t seed = 1) {
  RunMaker run("trl", seed);
  run.Method("grpo").Planned(60).Fact("num_generations", "8").Fact("max_completion_length", "256");
  return run;
}

RunMaker ConstantReward() {
  RunMaker run = Grpo();
  run.Series("reward", 60, [](int) { return 0.0; });
  run.Series("reward_std", 60, [](int) { return 0.0; });
  run.Series("zero_std_share", 60, [](int) { return 1.0; });
  run.Series("entropy", 60, [&](int) { return 0.4 + run.Noise(0.02); });
  run.Series("loss", 60, [](int) { return 0.0; });
  run.Series("grad_norm", 60, [](int) { return 0.0; });
  run.Series("completion_length", 60, [&](int) { return 120 + run.Noise(8); });
  run.Found("rl/reward-flat", 1, 60)
      .Found("rl/no-signal", 1, 60)
      .Found("grad/zero", 1, 60)
      .Found("loss/collapse", 1, 60);
  return run;
}

TEST(Rl, ARewardThatIsAlwaysZeroIsABrokenRewardOrATaskTooHard) {
  const RunMaker run = ConstantReward();
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 1U) << "one incident, reported once";
  EXPECT_EQ(run.findings[diagnoses[0].findings[0]].id, "rl/reward-flat") << "the gradient is 0 because the reward is";
  EXPECT_EQ(diagnoses[0].cause, "reward-broken") << Describe(diagnoses[0]);
  EXPECT_LT(diagnoses[0].confidence, 0.85);
  EXPECT_THAT(Words(diagnoses[0].summary), HasSubstr("task-too-hard"));
  EXPECT_THAT(Words(diagnoses[0].next), HasSubstr("reward function alone"));
  EXPECT_EQ(diagnoses[0].family, model::Family::kRl);
}

TEST(Rl, MaskedLabelsAreNoAnswerToAZeroLossInReinforcement) {
  for (const model::Diagnosis& diagnosis : ConstantReward().Diagnoses()) EXPECT_NE(diagnosis.cause, "label-masking");
}

TEST(Rl, ARewardThatDependsOnThePromptAloneIsBroken) {
  RunMaker run = Grpo();
  run.Series("reward", 60, [&](int) { return 0.5 + run.Noise(0.15); });
  run.Series("reward_std", 60, [](int) { return 0.0; });
  run.Series("zero_std_share", 60, [](int) { return 1.0; });
  run.Series("entropy", 60, [&](int) { return 0.6 + run.Noise(0.02); });
  run.Series("grad_norm", 60, [](int) { return 0.0; });
  run.Found("rl/no-signal", 1, 60).Found("grad/zero", 1, 60);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "reward-broken") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.75);
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("never between completions"));
}

TEST(Rl, EntropyThatFallsToNothingIsModeCollapse) {
  RunMaker run = Grpo();
  run.Fact("lr", "5e-6").Fact("temperature", "0.7");
  run.Series("entropy", 60, [&](int s) { return 0.5 * std::exp(-s / 8.0) * run.Factor(0.1); });
  run.Series("reward", 60, [&](int s) { return 0.3 + 0.2 * (1 - std::exp(-s / 10.0)) + run.Noise(0.03); });
  run.Series("zero_std_share", 60, [&](int s) { return std::min(1.0, s / 40.0); });
  run.Found("rl/entropy-collapse", 30, 60).Found("rl/no-signal", 35, 60);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "mode-collapse") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.7);
  const model::Remedy* temperature = FindRemedyIn(diagnosis, "raise-temperature");
  ASSERT_NE(temperature, nullptr);
  EXPECT_EQ(temperature->file, "GRPOConfig");
  EXPECT_EQ(temperature->setting, "temperature");
  EXPECT_EQ(temperature->current, "0.7");
  const model::Remedy* penalty = FindRemedyIn(diagnosis, "add-kl-penalty");
  ASSERT_NE(penalty, nullptr);
  EXPECT_EQ(penalty->setting, "beta");
}

TEST(Rl, CompletionsCutFromTheStartNeedMoreRoom) {
  RunMaker run = Grpo();
  run.Series("truncated_share", 60, [&](int) { return std::min(1.0, 0.96 + run.Noise(0.02)); });
  run.Series("completion_length", 60, [&](int) { return 254 + run.Noise(1); });
  run.Series("reward", 60, [&](int) { return 0.02 + std::abs(run.Noise(0.01)); });
  run.Found("rl/truncated", 1, 60);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "max-length-too-short") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.7);
  const model::Remedy* remedy = FindRemedyIn(diagnosis, "lengthen-completions");
  ASSERT_NE(remedy, nullptr);
  EXPECT_EQ(remedy->setting, "max_completion_length");
  EXPECT_EQ(remedy->current, "256");
  EXPECT_EQ(remedy->proposed, "1024");
}

TEST(Rl, CompletionsThatGrowToTheLimitWithTheRewardAreGamed) {
  RunMaker run = Grpo();
  run.Planned(200);
  run.Series("truncated_share", 200, [&](int s) { return std::clamp(s / 150.0 + run.Noise(0.03), 0.0, 1.0); });
  run.Series("completion_length", 200, [&](int s) { return std::min(256.0, 60 + 1.4 * s); });
  run.Series("reward", 200, [&](int s) { return 0.2 + 0.004 * s + run.Noise(0.02); });
  run.Found("rl/truncated", 130, 200);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "reward-hacking") << Describe(diagnosis);
}

TEST(Rl, AGameHasNoCompletionsToCutOff) {
  RunMaker run("");
  run.Series("reward", 200, [&](int) { return 800 + run.Noise(300); });
  run.Found("rl/reward-flat", 1, 200);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, kUnknownCause) << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.summary), Not(HasSubstr("max-length")));
}

TEST(Rl, PairsRankedByChanceWhileThePolicyMovesAreSwapped) {
  RunMaker run("trl");
  run.Method("dpo").Planned(150);
  run.Series("loss", 150, [&](int) { return 0.693 + run.Noise(0.01); });
  run.Series("preference_accuracy", 150, [&](int) { return 0.5 + run.Noise(0.08); });
  run.Series("preference_margin", 150, [&](int s) { return run.Noise(0.0002 * s); });
  run.Series("grad_norm", 150, [&](int) { return 0.5 * run.Factor(0.1); });
  run.Series("lr", 150, [](int s) { return CosineLr(3e-6, s, 10, 150); });
  run.Found("rl/preference-no-signal", 1, 150).Found("loss/not-decreasing", 1, 150);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "wrong-targets") << Describe(diagnosis);
}

TEST(Rl, APolicyThatLeavesItsReferenceAtAHighRateIsTheRate) {
  RunMaker run = Grpo();
  run.Fact("lr", "1e-3");
  run.Series("lr", 60, [](int s) { return CosineLr(1e-3, s, 5, 60); });
  run.Series("kl", 60, [&](int s) { return std::exp(0.2 * s) * 0.01 * run.Factor(0.2); });
  run.Series("reward", 60, [&](int) { return 0.3 + run.Noise(0.05); });
  run.Series("grad_norm", 60, [&](int s) { return 0.3 * run.Factor(0.2) * (1 + 0.2 * s); });
  run.Found("rl/kl-blowup", 30, 60);
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "lr-too-high") << Describe(diagnosis);
}

// ---- policies that play

RunMaker Playing(double kl) {
  RunMaker run;
  run.Series("reward", 60, [&](int) { return 22 + run.Noise(1); });
  run.Series("entropy", 60, [&](int) { return 0.69 + run.Noise(0.001); });
  run.Series("policy_kl", 60, [=](int) { return kl; });
  run.Found("rl/reward-flat", 1, 60);
  return run;
}

TEST(PlayingPolicy, UpdatesThatHardlyChangeThePolicyComeFromARateThatIsTooLow) {
  const model::Diagnosis diagnosis = Playing(1e-6).First();
  EXPECT_EQ(diagnosis.cause, "lr-too-low") << Describe(diagnosis);
}

TEST(PlayingPolicy, APolicyThatIsHeldRandomHasAnObjectiveOfItsOwn) {
  const model::Diagnosis diagnosis = Playing(8e-4).First();
  EXPECT_EQ(diagnosis.cause, "objective-mismatch") << Describe(diagnosis);
}

TEST(PlayingPolicy, UpdatesOfTheUsualSizeThatBringNothingAreATaskOutOfReach) {
  const model::Diagnosis diagnosis = Playing(8e-3).First();
  EXPECT_EQ(diagnosis.cause, "task-too-hard") << Describe(diagnosis);
}

}  // namespace
}  // namespace vigil::diagnose
