// Positions know their axis; only a map of the run leads from one axis to another.
#include "model/position.h"

#include <gtest/gtest.h>

namespace vigil::model {
namespace {

TEST(Position, IsOrderedOnItsOwnAxisOnly) {
  EXPECT_TRUE(CompareOnAxis(Position(Axis::kStep, 3), Position(Axis::kStep, 5)) < 0);
  EXPECT_TRUE(CompareOnAxis(Position(Axis::kStep, 3), Position(Axis::kEpoch, 5)) == std::partial_ordering::unordered);
  EXPECT_TRUE(CompareOnAxis(Position(), Position(Axis::kStep, 5)) == std::partial_ordering::unordered);
}

TEST(AxisMap, LeadsFromEpochsToStepsAndBack) {
  AxisMap map;
  map.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {1, 120}, {2, 240}});
  EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, 2)).value(), 240);
  EXPECT_EQ(map.To(Axis::kEpoch, Position(Axis::kStep, 120)).value(), 1);
  EXPECT_TRUE(map.Compare(Position(Axis::kEpoch, 1), Position(Axis::kStep, 121)) < 0);
  EXPECT_NEAR(map.Distance(Position(Axis::kStep, 100), Position(Axis::kEpoch, 1))->amount, 20, 1e-9);
}

TEST(AxisMap, GoesOnWithTheLastSlope) {
  AxisMap map;
  map.Learn(Axis::kEpoch, Axis::kStep, {{1, 100}, {2, 200}});
  EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, 5)).value(), 500);
}

TEST(AxisMap, LeadsOverAnAxisInBetween) {
  AxisMap map;
  map.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {1, 100}});
  map.Learn(Axis::kStep, Axis::kTokens, {{0, 0}, {100, 51200}});
  EXPECT_EQ(map.To(Axis::kTokens, Position(Axis::kEpoch, 1)).value(), 51200);
}

TEST(AxisMap, IsSilentWhereNothingWasLogged) {
  const AxisMap map;
  EXPECT_FALSE(map.To(Axis::kStep, Position(Axis::kEpoch, 2)).known());
  EXPECT_TRUE(map.Compare(Position(Axis::kEpoch, 1), Position(Axis::kStep, 1)) == std::partial_ordering::unordered);
  EXPECT_EQ(map.To(Axis::kEpoch, Position(Axis::kEpoch, 2)).value(), 2);
}

TEST(AxisMap, LeavesOutPairsThatDoNotRise) {
  AxisMap map;
  map.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {1, 100}, {1, 90}, {2, 80}, {3, 300}});
  EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, 2)).value(), 200);
}

TEST(AxisMap, LosesOnePairToAnOutlierAndNotAllBehindIt) {
  AxisMap map;
  map.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {1, 1e9}, {2, 200}, {3, 300}, {4, 450}});
  EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, 3)).value(), 300);
  EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, 4)).value(), 450);
  EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, 1)).value(), 100);
}

TEST(AxisMap, TakesTheFirstStepOfAnEpochThatStandsBesideAllItsSteps) {
  AxisMap map;
  std::vector<AxisMap::Pair> pairs;
  for (int step = 0; step < 1000; ++step) pairs.push_back({static_cast<double>(step / 100), static_cast<double>(step)});
  map.Learn(Axis::kEpoch, Axis::kStep, pairs);
  for (int epoch = 0; epoch < 10; ++epoch)
    EXPECT_EQ(map.To(Axis::kStep, Position(Axis::kEpoch, epoch)).value(), 100 * epoch);
}

TEST(AxisMap, LearnsManyPairsWithOutliersAtOnce) {
  AxisMap map;
  std::vector<AxisMap::Pair> pairs;
  for (int i = 0; i < 500'000; ++i) pairs.push_back({static_cast<double>(i), i % 3 == 0 ? 1e6 - i : 10.0 * i});
  map.Learn(Axis::kSamples, Axis::kTokens, std::move(pairs));
  EXPECT_EQ(map.To(Axis::kTokens, Position(Axis::kSamples, 400'000)).value(), 4'000'000);
}

}  // namespace
}  // namespace vigil::model
