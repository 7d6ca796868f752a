// Losses under other names, and losses that rise at the start.
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect::testing {
namespace {

TEST(NonFiniteLoss, IsSeenInThePartsOfALossAndInRewards) {
  for (const char* signal : {"policy_loss", "value_loss", "reward"}) {
    RunMaker maker;
    maker.Method("ppo").Series(signal, 300, [&](int step) { return step < 200 ? 0.1 + maker.Gauss(0.02) : NAN; });
    const auto findings = maker.Find();
    const auto* found = Get(findings, "loss/non-finite");
    ASSERT_NE(found, nullptr) << signal;
    EXPECT_EQ(found->first.value(), 200);
    EXPECT_EQ(Words(*found).rfind(std::string(signal) + " is nan", 0), 0U) << Words(*found);
  }
}

TEST(NonFiniteLoss, IsSeenInALossThatNoVocabularyKnowsWhenItStays) {
  RunMaker lasting;
  lasting.Series("Loss_D", 300, [](int step) { return step < 200 ? 0.7 : NAN; });
  EXPECT_NE(Get(lasting.Find(), "loss/non-finite"), nullptr);
  RunMaker passing;
  passing.Series("box_loss", 300, [](int step) { return step % 7 != 0 ? 0.7 : NAN; });
  EXPECT_EQ(Get(passing.Find(), "loss/non-finite"), nullptr) << "batches without boxes";
}

TEST(Divergence, IsALossFarAboveItsStartThoughItComesBack) {
  RunMaker maker;
  const auto hump = [&](int step) {
    const double level = step > 5 && step < 16 ? 4.2 * (1 + 0.2 * std::min(step - 5, 16 - step)) : 4.2 - 0.008 * step;
    return level * std::exp(maker.Gauss(0.02));
  };
  maker.Series("loss", 150, hump);
  const auto findings = maker.Find();
  const auto* found = Get(findings, "loss/divergence");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->severity, model::Severity::kWarning);
}

}  // namespace
}  // namespace vigil::detect::testing
