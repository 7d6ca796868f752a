// Two networks against each other: neither loss falls in a healthy run.
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect::testing {
namespace {

TEST(Adversaries, InBalanceAreSilent) {
  RunMaker maker(3);
  maker.Series("discriminator_loss", 80, [&](int step) { return 1.0 + 0.004 * step + maker.Gauss(0.08); });
  maker.Series("generator_loss", 80, [&](int step) { return 1.2 - 0.005 * step + maker.Gauss(0.1); });
  EXPECT_TRUE(maker.Find().empty()) << Describe(maker.Find());
}

TEST(Adversaries, ADiscriminatorThatRecognisesEverySampleWhileTheGeneratorsLossClimbsHasWon) {
  RunMaker maker;
  maker.Series("discriminator_loss", 50, [](int step) { return 0.5 * std::exp(-step / 3.0); });
  maker.Series("generator_loss", 50, [](int step) { return 1.4 + 0.2 * step; });
  const auto findings = maker.Find();
  ASSERT_NE(Get(findings, "loss/divergence"), nullptr) << Describe(findings);
  EXPECT_EQ(Get(findings, "loss/divergence")->severity, model::Severity::kWarning);
  EXPECT_EQ(Get(findings, "loss/divergence")->MeasureOr("adversarial", 0), 1);
}

TEST(Adversaries, OfTheSaturatingLossNothingIsLeftWhereTheDiscriminatorHasWon) {
  RunMaker maker;
  maker.Series("discriminator_loss", 50, [](int step) { return 0.5 * std::exp(-step / 3.0); });
  maker.Series("generator_loss", 50, [](int step) { return -0.56 * std::exp(-step / 2.0); });
  const auto findings = maker.Find();
  EXPECT_NE(Get(findings, "loss/divergence"), nullptr) << Describe(findings);
}

TEST(Adversaries, ALeadForAWhileIsNoVictory) {
  RunMaker maker(2);
  maker.Series("discriminator_loss", 60, [&](int step) { return step < 20 ? 0.05 : 1.1 + maker.Gauss(0.05); });
  maker.Series("generator_loss", 60, [&](int step) { return step < 20 ? 4.0 : 1.0 + maker.Gauss(0.05); });
  EXPECT_TRUE(maker.Find().empty()) << Describe(maker.Find());
}

TEST(Adversaries, TheLossOfACriticGoesBelowZeroAndSaysNothing) {
  RunMaker maker;
  maker.Series("discriminator_loss", 50, [](int step) { return step < 4 ? 0.01 : -0.05 * step; });
  maker.Series("generator_loss", 50, [](int step) { return 1.0 + 0.2 * step; });
  EXPECT_EQ(Get(maker.Find(), "loss/divergence"), nullptr);
}

TEST(Adversaries, ADiscriminatorThatIsNeverBetterThanGuessingIsAWarning) {
  RunMaker never(4);
  never.Series("discriminator_loss", 50, [&](int) { return 1.43 + never.Gauss(0.02); });
  never.Series("generator_loss", 50, [&](int) { return 0.75 + never.Gauss(0.04); });
  EXPECT_NE(Get(never.Find(), "loss/at-chance"), nullptr) << Describe(never.Find());
  RunMaker late(4);
  late.Series("discriminator_loss", 50, [&](int step) { return (step < 15 ? 1.0 : 1.4) + late.Gauss(0.02); });
  late.Series("generator_loss", 50, [&](int) { return 0.75 + late.Gauss(0.04); });
  EXPECT_EQ(Get(late.Find(), "loss/at-chance"), nullptr) << "good samples are hard to tell apart";
}

}  // namespace
}  // namespace vigil::detect::testing
