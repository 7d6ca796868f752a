#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect::testing {
namespace {

TEST(RewardFlat, AConstantRewardIsAnError) {
  RunMaker maker;
  maker.Method("grpo").Series("reward", 40, [](int) { return 0.0; });
  const auto findings = maker.Find();
  ASSERT_NE(Get(findings, "rl/reward-flat"), nullptr);
  EXPECT_EQ(Get(findings, "rl/reward-flat")->severity, model::Severity::kError);
}

TEST(RewardFlat, ARewardThatRisesOrIsSaturatedIsNone) {
  RunMaker rising;
  rising.Series("reward", 200, [&](int step) { return 0.002 * step + rising.Gauss(0.1); });
  EXPECT_EQ(Get(rising.Find(), "rl/reward-flat"), nullptr);
  RunMaker saturated;
  saturated.Series("reward", 200, [&](int) { return 0.95 + saturated.Gauss(0.01); });
  EXPECT_EQ(Get(saturated.Find(), "rl/reward-flat"), nullptr);
}

TEST(RewardFlat, ANoisyRewardWithoutGainIsAWarning) {
  RunMaker maker(4);
  maker.Series("reward", 300, [&](int) { return -100 + maker.Gauss(40); });
  const auto findings = maker.Find();
  ASSERT_NE(Get(findings, "rl/reward-flat"), nullptr);
  EXPECT_EQ(Get(findings, "rl/reward-flat")->severity, model::Severity::kWarning);
}

TEST(RewardCollapse, IsFoundAfterARiseAndAFall) {
  RunMaker maker(2);
  maker.Series("reward", 200, [&](int step) { return (step < 120 ? 0.006 * step : 0.05) + maker.Gauss(0.03); });
  EXPECT_NE(Get(maker.Find(), "rl/reward-collapse"), nullptr) << Describe(maker.Find());
}

TEST(NoSignal, IsAnErrorWhenMostStepsHaveNoVariance) {
  RunMaker maker;
  maker.Method("grpo").Series("zero_std_share", 50, [](int step) { return step % 5 == 0 ? 0.75 : 1.0; });
  maker.Series("reward", 50, [&](int) { return 0.3 + maker.Gauss(0.1); });
  ASSERT_NE(Get(maker.Find(), "rl/no-signal"), nullptr);
  EXPECT_EQ(Get(maker.Find(), "rl/no-signal")->severity, model::Severity::kError);
}

TEST(NoSignal, ATaskLearnedToTheEndIsOnlyWorthANote) {
  RunMaker maker;
  maker.Method("grpo").Series("zero_std_share", 200, [](int step) { return step < 60 ? 0.2 : 1.0; });
  maker.Series("reward", 200, [&](int step) { return std::min(1.0, 0.1 + step / 60.0); });
  const auto findings = maker.Find();
  ASSERT_NE(Get(findings, "rl/no-signal"), nullptr);
  EXPECT_EQ(Get(findings, "rl/no-signal")->severity, model::Severity::kInfo);
}

TEST(NoSignal, OlderLogsWithOnlyTheDeviationAreReadToo) {
  RunMaker maker;
  maker.Method("grpo").Series("reward_std", 50, [](int) { return 0.0; }).Series("reward", 50, [](int) { return 1.0; });
  EXPECT_NE(Get(maker.Find(), "rl/no-signal"), nullptr);
}

TEST(EntropyCollapse, IsFoundBelowTheFloorAndNotAboveIt) {
  RunMaker collapsed;
  collapsed.Method("grpo").Series("entropy", 100, [](int step) { return 0.5 * std::exp(-step / 10.0); });
  collapsed.Series("reward", 100, [&](int) { return 0.2 + collapsed.Gauss(0.02); });
  EXPECT_NE(Get(collapsed.Find(), "rl/entropy-collapse"), nullptr);
  RunMaker healthy;
  healthy.Method("grpo").Series("entropy", 100, [](int step) { return 0.4 - 0.003 * step; });
  EXPECT_EQ(Get(healthy.Find(), "rl/entropy-collapse"), nullptr);
}

TEST(EntropyCollapse, TheEntropyThatSupervisedTrainersLogIsNoPolicy) {
  RunMaker maker;
  maker.Method("sft")
      .Series("entropy", 100, [](int) { return 0.004; })
      .Series("loss", 100, maker.Falling(1, 0.01, 0.02));
  EXPECT_EQ(Get(maker.Find(), "rl/entropy-collapse"), nullptr);
}

TEST(KlBlowup, SingleOutliersInALongRunAreNone) {
  RunMaker maker(6);
  maker.Method("grpo").Series("kl", 5000, [&](int step) { return step % 1500 == 0 ? 3.0 : 0.1 + maker.Gauss(0.01); });
  EXPECT_EQ(Get(maker.Find(), "rl/kl-blowup"), nullptr);
}

TEST(KlBlowup, TheLimitIsForTheKlPerTokenOfGrpo) {
  RunMaker grpo;
  grpo.Method("grpo").Series("kl", 100, [](int step) { return 0.05 * step; });
  EXPECT_NE(Get(grpo.Find(), "rl/kl-blowup"), nullptr);
  RunMaker ppo;
  ppo.Method("ppo").Series("kl", 100, [&](int) { return 10 + ppo.Gauss(1); });
  EXPECT_EQ(Get(ppo.Find(), "rl/kl-blowup"), nullptr);
}

TEST(Truncated, IsFoundWhenMostCompletionsAreCut) {
  RunMaker maker;
  maker.Method("grpo").Series("truncated_share", 40, [](int) { return 1.0; });
  EXPECT_NE(Get(maker.Find(), "rl/truncated"), nullptr);
  RunMaker learned;
  learned.Method("grpo").Series("truncated_share", 100, [](int step) { return std::max(0.0, 1.0 - step / 40.0); });
  EXPECT_EQ(Get(learned.Find(), "rl/truncated"), nullptr);
}

TEST(PreferenceNoSignal, IsFoundAtLnTwo) {
  RunMaker maker;
  maker.Method("dpo")
      .Series("preference_margin", 60, [&](int) { return maker.Gauss(0.005); })
      .Series("preference_accuracy", 60, [&](int) { return 0.5 + maker.Gauss(0.05); });
  EXPECT_NE(Get(maker.Find(), "rl/preference-no-signal"), nullptr);
}

TEST(Settings, CanChangeAThresholdAndSwitchADetectorOff) {
  RunMaker maker;
  maker.Method("grpo").Series("truncated_share", 40, [](int) { return 0.7; });
  const auto watched = maker.Find();
  ASSERT_NE(Get(watched, "rl/truncated"), nullptr);
  EXPECT_EQ(Get(watched, "rl/truncated")->severity, model::Severity::kInfo) << "between the range and the flag";
  const auto stricter =
      catalogue::Thresholds::Parse("[\"rl/truncated\"]\nlimit = 0.5\nseverity = \"error\"\n", "test.toml");
  ASSERT_TRUE(stricter) << stricter.error().Text();
  const auto findings = Detect(maker.run(), *stricter);
  ASSERT_NE(Get(findings, "rl/truncated"), nullptr);
  EXPECT_EQ(Get(findings, "rl/truncated")->severity, model::Severity::kError);
  const auto off = catalogue::Thresholds::Parse("[\"rl/truncated\"]\nenabled = false\nlimit = 0.5\n", "test.toml");
  ASSERT_TRUE(off);
  EXPECT_EQ(Get(Detect(maker.run(), *off), "rl/truncated"), nullptr);
}

// ---- policies that play: no language model

double Settling(int step, double from, double to) { return to + (from - to) * std::exp(-step / 8.0); }

TEST(PlayingPolicy, AFlatRewardOfFewPreciseMeansIsAWarningAndASolvedGameIsNone) {
  RunMaker flat(3);
  flat.Series("reward", 17, [&](int) { return 21 + flat.Gauss(0.4); });
  ASSERT_NE(Get(flat.Find(), "rl/reward-flat"), nullptr) << Describe(flat.Find());
  EXPECT_EQ(Get(flat.Find(), "rl/reward-flat")->severity, model::Severity::kWarning);
  RunMaker solved;
  solved.Series("reward", 17, [](int step) { return step % 7 == 0 ? 498.0 : 500.0; });
  EXPECT_EQ(Get(solved.Find(), "rl/reward-flat"), nullptr) << "the points press against the largest return";
}

TEST(PlayingPolicy, ARewardThatWandersWhileThePolicyStaysRandomIsFlat) {
  RunMaker maker(5);
  maker.Series("reward", 50, [&](int step) { return 24 + 0.08 * step + maker.Gauss(2.5); });
  maker.Series("entropy", 50, [&](int) { return 0.69 + maker.Gauss(0.001); });
  const auto findings = maker.Find();
  EXPECT_NE(Get(findings, "rl/reward-flat"), nullptr) << Describe(findings);
  EXPECT_NE(Get(findings, "rl/entropy-high"), nullptr) << Describe(findings);
}

TEST(PlayingPolicy, ARewardThatGrowsManifoldIsNoneEvenWithoutLossOfEntropy) {
  RunMaker maker(5);
  maker.Series("reward", 50, [&](int step) { return 20 + 4.0 * step + maker.Gauss(2.5); });
  maker.Series("entropy", 50, [&](int) { return 0.69 + maker.Gauss(0.001); });
  const auto findings = maker.Find();
  EXPECT_EQ(Get(findings, "rl/reward-flat"), nullptr);
  EXPECT_EQ(Get(findings, "rl/entropy-high"), nullptr);
}

TEST(PlayingPolicy, ARewardThatFallsFromItsStartIsAWarning) {
  RunMaker maker(2);
  maker.Series("reward", 30, [&](int step) { return Settling(step, 20, 10) + maker.Gauss(0.1); });
  ASSERT_NE(Get(maker.Find(), "rl/reward-collapse"), nullptr) << Describe(maker.Find());
  EXPECT_EQ(Get(maker.Find(), "rl/reward-collapse")->severity, model::Severity::kWarning);
  EXPECT_EQ(Get(maker.Find(), "rl/reward-collapse")->MeasureOr("from_start", 0), 1);
}

TEST(PlayingPolicy, AnEntropyBelowATenthOfItsStartIsAWarningWhateverTheReward) {
  RunMaker maker;
  maker.Series("entropy", 30, [](int step) { return Settling(step, 0.69, 0.02); });
  maker.Series("reward", 30, [](int step) { return 20.0 + 5 * step; });
  ASSERT_NE(Get(maker.Find(), "rl/entropy-collapse"), nullptr) << Describe(maker.Find());
  EXPECT_EQ(Get(maker.Find(), "rl/entropy-collapse")->severity, model::Severity::kWarning);
}

TEST(PlayingPolicy, AnEntropyThatWasLostBeforeTheFirstPointIsFoundByTheChoiceBetweenTwo) {
  RunMaker maker;
  maker.Series("entropy", 30, [](int) { return 1e-8; }).Series("reward", 30, [&](int) { return 9 + maker.Gauss(1); });
  EXPECT_NE(Get(maker.Find(), "rl/entropy-collapse"), nullptr);
}

TEST(PlayingPolicy, HalfOfTheEntropyOrOneOfContinuousActionsIsNoCollapse) {
  RunMaker half;
  half.Series("entropy", 30, [](int step) { return Settling(step, 0.69, 0.35); });
  half.Series("reward", 30, [](int step) { return 20.0 + 5 * step; });
  EXPECT_EQ(Get(half.Find(), "rl/entropy-collapse"), nullptr);
  RunMaker continuous;
  continuous.Series("entropy", 30, [](int step) { return 1.4 - 0.1 * step; });
  continuous.Series("reward", 30, [](int step) { return 20.0 + 5 * step; });
  EXPECT_EQ(Get(continuous.Find(), "rl/entropy-collapse"), nullptr) << "it goes below 0 and means something else";
}

TEST(PlayingPolicy, AValueLossMayRiseWithTheRewardButNotByOrdersWithoutIt) {
  RunMaker learning(7);
  learning.Series("reward", 50, [](int step) { return 20.0 + 5 * step; });
  learning.Series("loss", 50, [&](int step) { return 0.1 * std::exp(step / 7.0 + learning.Gauss(0.3)); });
  EXPECT_EQ(Get(learning.Find(), "loss/divergence"), nullptr) << Describe(learning.Find());
  RunMaker lost(7);
  lost.Series("reward", 50, [&](int) { return 20 + lost.Gauss(1); });
  lost.Series("loss", 50, [&](int step) { return 0.1 * std::exp(step / 5.0 + lost.Gauss(0.3)); });
  EXPECT_NE(Get(lost.Find(), "loss/divergence"), nullptr) << Describe(lost.Find());
  RunMaker slow(7);
  slow.Series("reward", 50, [&](int) { return 20 + slow.Gauss(1); });
  slow.Series("loss", 50, [&](int step) { return 0.1 + 0.02 * step + slow.Gauss(0.005); });
  EXPECT_EQ(Get(slow.Find(), "loss/divergence"), nullptr) << "tenfold is what returns of three times do";
}

}  // namespace
}  // namespace vigil::detect::testing
