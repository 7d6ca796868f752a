// What a restart lost: the schedule, the optimizer, the position in the data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect {
namespace {

using testing::Describe;
using testing::Get;
using testing::RunMaker;

double Cosine(int step, int total) { return 1e-3 * 0.5 * (1 + std::cos(3.14159 * step / total)); }

TEST(Restarts, AScheduleThatBeginsAgainAtAResumeIsFound) {
  RunMaker maker;
  maker.Series("loss", 400, maker.Falling(4, 1, 0.03)).Resumed(200);
  maker.Series("lr", 400, [](int step) { return Cosine(step <= 200 ? step : step - 200, 400); });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "resume/schedule-restart");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->first.value(), 201);
}

TEST(Restarts, AScheduleThatGoesOnIsNotBlamed) {
  RunMaker maker;
  maker.Series("loss", 400, maker.Falling(4, 1, 0.03)).Resumed(200);
  maker.Series("lr", 400, [](int step) { return Cosine(step, 400); }, 1, 10);
  EXPECT_EQ(Get(maker.Find(), "resume/schedule-restart"), nullptr);
  RunMaker warming;
  warming.Resumed(20).Series("lr", 100, [](int step) { return 1e-5 * step; }, 10, 10);
  EXPECT_EQ(Get(warming.Find(), "resume/schedule-restart"), nullptr) << "a warm-up grows by itself";
}

TEST(Restarts, AnOptimizerWithoutItsAveragesThrowsTheModelBack) {
  RunMaker maker;
  const auto burst = [](int step) { return step > 200 && step < 230 ? 1 + 2 * std::exp(-(step - 201) / 8.0) : 1.0; };
  maker.Series("loss", 400, [&](int step) { return 0.5 * burst(step) * std::exp(maker.Gauss(0.03)); }).Resumed(200);
  maker.Series("lr", 400, [](int) { return 1e-3; });
  const auto findings = maker.Find();
  ASSERT_NE(Get(findings, "resume/optimizer-reset"), nullptr) << Describe(findings);
  RunMaker sound;
  sound.Series("loss", 400, sound.Level(0.5, 0.03)).Resumed(200);
  EXPECT_EQ(Get(sound.Find(), "resume/optimizer-reset"), nullptr);
}

TEST(Restarts, ACountOfDataThatGoesBackIsALostPosition) {
  RunMaker maker;
  maker.Resumed(130);
  maker.Series("data_position", 400, [](int step) { return 32.0 * (step <= 130 ? step : step - 130); });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "resume/data-restart");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->first.value(), 131);
}

TEST(Restarts, ACountThatBeginsAgainWithTheEpochIsNone) {
  RunMaker epochs;
  epochs.Resumed(100);
  epochs.Series("data_position", 400, [](int step) { return 32.0 * ((step - 1) % 100); });
  EXPECT_EQ(Get(epochs.Find(), "resume/data-restart"), nullptr) << "the data ended where the run was stopped";
  RunMaker unbroken;
  unbroken.Series("data_position", 400, [](int step) { return 32.0 * (step % 150); });
  EXPECT_EQ(Get(unbroken.Find(), "resume/data-restart"), nullptr);
}

TEST(Restarts, CheckpointsOfWeightsOnlyAreIncomplete) {
  RunMaker maker;
  maker.Fact("save_only_model", "True").Series("loss", 100, maker.Falling(4, 1, 0.03));
  EXPECT_EQ(Get(maker.Find(), "resume/incomplete-checkpoint"), nullptr) << "nobody resumed from one";
  maker.Resumed(50);
  EXPECT_NE(Get(maker.Find(), "resume/incomplete-checkpoint"), nullptr);
}

}  // namespace
}  // namespace vigil::detect
