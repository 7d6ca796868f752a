#include "scale/peers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vigil::scale {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// A series with a point a step, from step 1 on.
model::Series SeriesOf(const std::vector<double>& values) {
  model::Series series;
  for (std::size_t i = 0; i < values.size(); ++i) series.Append(static_cast<std::int64_t>(i + 1), values[i]);
  return series;
}

// Falls a little, with noise that comes again every seven points.
std::vector<double> Falling(int count) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) values.push_back(3.0 - 0.005 * i + 0.02 * ((i * 5) % 7 - 3));
  return values;
}

TEST(PublishedRules, DoNotFireWithoutTheirSeries) {
  for (const PeerRule& rule : PeerRules()) {
    EXPECT_FALSE(rule.fires({})) << rule.name;
    EXPECT_FALSE(rule.applies({})) << rule.name;
  }
}

TEST(OlmoSixSigma, NeedsSixtyFourValuesAndSixDeviations) {
  std::vector<double> values = Falling(63);
  values.push_back(100);
  EXPECT_FALSE(OlmoSixSigma({.loss = nullptr, .grad_norm = nullptr}));
  const model::Series early = SeriesOf(values);
  EXPECT_FALSE(OlmoSixSigma({.loss = &early})) << "63 values before it";
  values = Falling(64);
  values.push_back(100);
  const model::Series late = SeriesOf(values);
  EXPECT_EQ(OlmoSixSigma({.loss = &late}), 65);
  EXPECT_EQ(OlmoSixSigma({.grad_norm = &late}), 65);
}

TEST(MegatronTenTimes, FiresAtTenTimesTheLargestOfTheFirstHundredOrAtNan) {
  std::vector<double> values = Falling(50);
  values.push_back(29);
  const model::Series below = SeriesOf(values);
  EXPECT_FALSE(MegatronTenTimes({.loss = &below}));
  values.back() = 31;
  const model::Series above = SeriesOf(values);
  EXPECT_EQ(MegatronTenTimes({.loss = &above}), 51);
  values.back() = kNan;
  const model::Series nan = SeriesOf(values);
  EXPECT_EQ(MegatronTenTimes({.loss = &nan}), 51);
}

TEST(KillLossSpike, NeedsFiveOutliersInARow) {
  std::vector<double> values = Falling(120);
  for (int i = 0; i < 4; ++i) values.push_back(8);
  const model::Series four = SeriesOf(values);
  EXPECT_FALSE(KillLossSpike({.loss = &four}));
  values.push_back(8);
  const model::Series five = SeriesOf(values);
  EXPECT_EQ(KillLossSpike({.loss = &five}), 125);
}

TEST(ZClip, FiresAfterItsWarmupAtTwoAndAHalfDeviations) {
  std::vector<double> values;
  values.reserve(40);
  for (int i = 0; i < 40; ++i) values.push_back(i % 2 == 0 ? 0.9 : 1.1);
  const model::Series calm = SeriesOf(values);
  EXPECT_FALSE(ZClip({.grad_norm = &calm}));
  values[10] = 5;
  values[30] = 9;
  const model::Series spiked = SeriesOf(values);
  EXPECT_EQ(ZClip({.grad_norm = &spiked}), 31) << "the one in the warm-up does not count";
}

TEST(AxolotlWatchdog, NeedsThreeLossesInARowAboveTwiceTheFirst) {
  const model::Series two = SeriesOf({3, 7, 7, 3, 7, 7});
  EXPECT_FALSE(AxolotlWatchdog({.loss = &two}));
  const model::Series three = SeriesOf({3, 7, 7, 7});
  EXPECT_EQ(AxolotlWatchdog({.loss = &three}), 4);
}

TEST(LossNotDecreasing, ComparesWithTenStepsBefore) {
  std::vector<double> values;
  values.reserve(31);
  for (int i = 0; i < 31; ++i) values.push_back(3.0 - 0.01 * i);
  const model::Series falling = SeriesOf(values);
  EXPECT_FALSE(LossNotDecreasing({.loss = &falling}));
  for (double& value : values) value = 3;
  const model::Series flat = SeriesOf(values);
  EXPECT_EQ(LossNotDecreasing({.loss = &flat}), 11);
}

TEST(SageMakerRules, LookAtTheirOwnSeries) {
  const model::Series nan = SeriesOf({1, kNan});
  EXPECT_EQ(ExplodingTensor({.grad_norm = &nan}), 2);
  const model::Series tiny = SeriesOf({1, 1e-8});
  EXPECT_EQ(VanishingGradient({.grad_norm = &tiny}), 2);
  const model::Series train = SeriesOf({1, 1, 1});
  const model::Series worse = SeriesOf({1, 1.2, 1.2});
  const model::Series once = SeriesOf({1, 1.2, 1});
  EXPECT_EQ(Overfit({.loss = &train, .eval_loss = &worse}), 3) << "more than one evaluation in a row";
  EXPECT_FALSE(Overfit({.loss = &train, .eval_loss = &once}));
  const model::Series flat = SeriesOf(std::vector<double>(12, 1.0));
  EXPECT_EQ(Overtraining({.loss = &flat, .eval_loss = &flat}), 11);
}

}  // namespace
}  // namespace vigil::scale
