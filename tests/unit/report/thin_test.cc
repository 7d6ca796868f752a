#include "report/thin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::Contains;

TEST(Thin, KeepsAllOfAShortSeries) { EXPECT_EQ(Thin(samples::LongSeries(2000, 5, 6), 2000).size(), 2000U); }

TEST(Thin, KeepsEndsSpikeAndNan) {
  const std::vector<std::size_t> kept = Thin(samples::LongSeries(100'000, 77'777, 31'416), 500);
  EXPECT_LE(kept.size(), 502U);
  for (const std::size_t index : std::vector<std::size_t>{0, 77'777, 31'416, 99'999})
    EXPECT_THAT(kept, Contains(index));
}

// The slow and obvious twin: every stretch's extremes must be among the points kept.
TEST(Thin, KeepsTheExtremesOfEveryStretchOfRandomSeries) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  for (int round = 0; round < 50; ++round) {
    model::Series series = samples::LongSeries(1000 + random() % 5000, 0, 1);
    for (double& value : series.values.Mutable())
      value = random() % 20 == 0 ? std::numeric_limits<double>::quiet_NaN() : noise(random);
    const std::size_t most = 40 + random() % 400;
    const std::vector<std::size_t> kept = Thin(series, most);
    ASSERT_TRUE(std::is_sorted(kept.begin(), kept.end()));
    ASSERT_EQ(std::adjacent_find(kept.begin(), kept.end()), kept.end());
    const std::size_t stretches = most / 4;
    for (std::size_t i = 0; i < stretches; ++i) {
      const std::size_t from = series.size() * i / stretches;
      const std::size_t to = series.size() * (i + 1) / stretches;
      double high = -1e300;
      for (std::size_t j = from; j < to; ++j)
        high = std::isfinite(series.values[j]) ? std::max(high, series.values[j]) : high;
      const bool found = std::any_of(kept.begin(), kept.end(), [&](std::size_t index) {
        return index >= from && index < to && series.values[index] == high;
      });
      ASSERT_TRUE(found || high == -1e300) << "stretch " << i << " of " << stretches;
    }
  }
}

}  // namespace
}  // namespace vigil::report
