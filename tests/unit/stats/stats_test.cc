#include "stats/stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

namespace vigil::stats {
namespace {

// The obvious twins of the streaming window.
double SlowSigma(const std::deque<double>& window) {
  std::vector<double> values(window.begin(), window.end());
  const double median = Median(values);
  std::vector<double> deviations;
  for (const double value : values) deviations.push_back(std::abs(value - median));
  std::sort(deviations.begin(), deviations.end());
  return kMadToSigma * deviations[(deviations.size() + 1) / 2 - 1];
}

TEST(RobustWindow, AgreesWithSortingTheWindowEachTime) {
  std::mt19937 random(1);
  std::student_t_distribution<double> noise(3);
  for (const std::size_t capacity : {1U, 2U, 7U, 128U}) {
    RobustWindow window(capacity);
    std::deque<double> twin;
    for (int i = 0; i < 500; ++i) {
      const double value = i % 5 == 0 ? 1.0 : noise(random);
      window.Push(value);
      twin.push_back(value);
      if (twin.size() > capacity) twin.pop_front();
      ASSERT_DOUBLE_EQ(window.Median(), Median({twin.begin(), twin.end()}));
      ASSERT_EQ(window.Largest(), *std::max_element(twin.begin(), twin.end()));
      ASSERT_EQ(window.Smallest(), *std::min_element(twin.begin(), twin.end()));
      if (twin.size() > 1) {
        ASSERT_DOUBLE_EQ(window.Sigma(), SlowSigma(twin));
      }
    }
  }
}

TEST(RobustWindow, AgreesWithSortingWhenItIsAskedOnlyNowAndThen) {
  std::mt19937 random(2);
  std::student_t_distribution<double> noise(3);
  for (const std::size_t capacity : {1U, 3U, 64U, 128U}) {
    // From each push to fewer than one in a window: what is pushed in between is followed, or sorted again.
    for (const int interval : {1, 2, 31, 33, 100, 300}) {
      RobustWindow window(capacity);
      std::deque<double> twin;
      for (int i = 0; i < 1500; ++i) {
        const double value = i % 5 == 0 ? 1.0 : noise(random) + (i > 700 ? 0.01 * i : 0);
        window.Push(value);
        twin.push_back(value);
        if (twin.size() > capacity) twin.pop_front();
        ASSERT_EQ(window.Largest(), *std::max_element(twin.begin(), twin.end()));
        ASSERT_EQ(window.Smallest(), *std::min_element(twin.begin(), twin.end()));
        if (i % interval != 0 || twin.size() < 2) continue;
        if (i % 2 == 0) {
          ASSERT_DOUBLE_EQ(window.Median(), Median({twin.begin(), twin.end()}));
        }
        ASSERT_DOUBLE_EQ(window.Sigma(), SlowSigma(twin));
        ASSERT_DOUBLE_EQ(window.Median(), Median({twin.begin(), twin.end()}));
      }
    }
  }
}

TEST(RobustWindow, BeginsFromNothingWhenItIsCleared) {
  RobustWindow window(4);
  for (const double value : {9.0, 8.0, 7.0, 6.0, 5.0}) window.Push(value);
  window.Clear();
  EXPECT_EQ(window.size(), 0U);
  EXPECT_EQ(window.Median(), 0);
  EXPECT_EQ(window.Largest(), 0);
  for (const double value : {1.0, 2.0, 3.0}) window.Push(value);
  EXPECT_EQ(window.Median(), 2.0);
  EXPECT_EQ(window.Largest(), 3.0);
  EXPECT_EQ(window.Smallest(), 1.0);
}

TEST(MovingMedian, AgreesWithSortingTheLastValues) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> few(0, 6);  // many are equal
  MovingMedian<15> median;
  std::deque<double> twin;
  for (int i = 0; i < 2000; ++i) {
    if (i == 1000) {
      median.Clear();
      twin.clear();
    }
    const double value = i % 3 == 0 ? few(random) : 0.37 * few(random) - i % 11;
    median.Push(value);
    twin.push_back(value);
    if (twin.size() > 15) twin.pop_front();
    ASSERT_EQ(median.IsFull(), twin.size() == 15);
    if (median.IsFull()) {
      ASSERT_EQ(median.Median(), Median({twin.begin(), twin.end()}));
    }
  }
}

TEST(BucketHistory, KeepsAShortSeriesPointByPoint) {
  BucketHistory history(8);
  for (int i = 0; i < 8; ++i) history.Add(i * 10, i);
  ASSERT_EQ(history.buckets().size(), 8U);
  EXPECT_EQ(history.buckets()[3].first_step, 30);
  EXPECT_EQ(history.buckets()[3].mean, 3.0);
}

TEST(BucketHistory, MergesNeighboursAndLosesNoPointNorExtreme) {
  BucketHistory history(16);
  double sum = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = i == 777 ? 50.0 : std::sin(i);
    history.Add(i, value);
    sum += value;
  }
  std::uint64_t count = 0;
  double weighted = 0;
  double largest = 0;
  for (const Bucket& bucket : history.buckets()) {
    count += bucket.count;
    weighted += bucket.mean * static_cast<double>(bucket.count);
    largest = std::max(largest, bucket.largest);
  }
  EXPECT_EQ(count, 1000U);
  EXPECT_NEAR(weighted, sum, 1e-9);
  EXPECT_EQ(largest, 50.0);
  EXPECT_LE(history.buckets().size(), 16U);
}

TEST(BucketHistory, ForgetsWhatARestartOverwrites) {
  BucketHistory history(64);
  for (int i = 0; i < 20; ++i) history.Add(i, i);
  history.ForgetFrom(10);
  EXPECT_EQ(history.points(), 10U);
  EXPECT_EQ(history.buckets().back().last_step, 9);
}

TEST(TrendZ, SeesATrendInNoiseAndNoneInNoiseAlone) {
  std::mt19937 random(7);
  std::normal_distribution<double> noise;
  std::vector<double> falling;
  for (int i = 0; i < 100; ++i) falling.push_back(-0.05 * i + noise(random));
  EXPECT_LT(TrendZ(falling), -5);
  int alarms = 0;
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> flat;
    for (int i = 0; i < 60; ++i) flat.push_back(noise(random));
    alarms += std::abs(TrendZ(flat)) > 3 ? 1 : 0;
  }
  EXPECT_LE(alarms, 8);
}

TEST(TrendZ, IsNotFooledByAutocorrelatedNoise) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise;
  int alarms = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> walk;
    double level = 0;
    for (int i = 0; i < 80; ++i) walk.push_back(level = 0.7 * level + noise(random));
    alarms += std::abs(TrendZ(walk)) > 3 ? 1 : 0;
  }
  EXPECT_LE(alarms, 6);
}

TEST(TrendZ, IsZeroForConstantsAndTinySeries) {
  EXPECT_EQ(TrendZ(std::vector<double>(50, 2.5)), 0);
  EXPECT_EQ(TrendZ(std::vector<double>{1, 2, 3}), 0);
}

TEST(TheilSenSlope, IgnoresOutliers) {
  std::vector<double> line;
  for (int i = 0; i < 40; ++i) line.push_back(2.0 * i);
  line[5] = 1e6;
  line[20] = -1e6;
  EXPECT_NEAR(TheilSenSlope(line), 2.0, 1e-9);
}

TEST(NoiseSigma, DoesNotCountTheTrend) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<double> falling;
  for (int i = 0; i < 400; ++i) falling.push_back(10.0 - 0.02 * i + noise(random));
  EXPECT_NEAR(NoiseSigma(falling), 0.1, 0.03);
}

}  // namespace
}  // namespace vigil::stats
