// An evaluation that is far above the training loss from the start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect {
namespace {

using testing::Describe;
using testing::Get;
using ::testing::HasSubstr;
using testing::RunMaker;
using testing::Words;

std::vector<model::Finding> FindWith(const testing::Value& eval, std::uint32_t seed = 1) {
  RunMaker maker(seed);
  maker.Series("loss", 1000, maker.Falling(4, 1, 0.03));
  maker.Series("eval_loss", 1000, eval, 100, 100);
  return maker.Find();
}

double Healthy(int step) { return 1 + 3 * std::pow(step, -0.5); }

TEST(EvalGap, IsANoteWhenTheEvaluationIsFarAboveFromTheStart) {
  const auto findings = FindWith([](int step) { return 2.5 * Healthy(step); });
  const model::Finding* found = Get(findings, "loss/eval-gap");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->severity, model::Severity::kInfo);
  EXPECT_EQ(found->first.value(), 100);
  EXPECT_THAT(Words(*found), HasSubstr("from step 100 to step 1000, and is not rising"));
  EXPECT_NEAR(found->MeasureOr("ratio", 0), 2.5, 0.2);
}

TEST(EvalGap, LeavesOverfittingToItsOwnFinding) {
  const auto findings = FindWith([](int step) { return 2.5 * Healthy(step) * (step > 500 ? step / 500.0 : 1); });
  EXPECT_EQ(Get(findings, "loss/eval-gap"), nullptr) << Describe(findings);
}

TEST(EvalGap, LeavesAGapThatOpenedOnTheWay) {
  EXPECT_EQ(Get(FindWith([](int step) { return (step < 300 ? 1.2 : 2.5) * Healthy(step); }), "loss/eval-gap"), nullptr);
}

TEST(EvalGap, SilentOnHealthyRunsAndWithoutATrainingLoss) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed)
    EXPECT_EQ(Get(FindWith([](int step) { return 1.1 * Healthy(step); }, seed), "loss/eval-gap"), nullptr) << seed;
  RunMaker maker;
  maker.Series("eval_loss", 1000, maker.Level(3, 0.01), 100, 100);
  EXPECT_EQ(Get(maker.Find(), "loss/eval-gap"), nullptr);
}

}  // namespace
}  // namespace vigil::detect
