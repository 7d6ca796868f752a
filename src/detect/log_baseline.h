// How a value compares with those before it, on the logarithm: what makes a spike. Private to detect.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "detect/detectors.h"
#include "stats/stats.h"

namespace vigil::detect {

struct SpikeLimits {
  double z = 8;
  double min_ratio = 1.25;  // over the median, whatever z says
  double beyond_max = 1.5;  // over the largest excess in the window
  std::size_t window = 128;
  std::size_t min_points = 24;
};

// How far a value stands above the window of values before it, on the logarithm.
struct Height {
  double z = 0;
  double ratio = 1;
  double beyond_max = 0;
  double baseline = 0;
};

// A baseline of log values. Values that were judged to be spikes stay out of it, until they have become the new level.
// Two views of it: the whole window, and what its values stood above the few before them. While a loss falls, the
// window is as wide as the fall, and hides a spike that the second view shows.
class LogBaseline {
 public:
  explicit LogBaseline(const SpikeLimits& limits)
      : limits_(limits), window_(limits.window), local_(kLocal), residuals_(limits.window) {}

  bool Ready() const { return window_.size() >= limits_.min_points; }

  Height Measure(double value) const {
    const double log = std::log(value);
    const Height whole = Above(window_, log - window_.Median(), std::exp(window_.Median()));
    if (residuals_.size() < limits_.min_points) return whole;
    const double level = local_.Median() + residuals_.Median();
    if (log - level < kTallInView) return whole;  // nearly all values: their spread need not be known
    const Height local = Above(residuals_, log - level, std::exp(level));
    return local.z > whole.z ? local : whole;
  }
  bool IsSpike(const Height& height, double z) const {
    return height.z > z && height.ratio >= limits_.min_ratio && height.beyond_max >= limits_.beyond_max;
  }
  void Push(double value) {
    const double log = std::log(value);
    if (local_.size() == kLocal) residuals_.Push(log - local_.Median());
    local_.Push(log);
    window_.Push(log);
  }
  void Clear() {
    window_.Clear();
    local_.Clear();
    residuals_.Clear();
  }

 private:
  static Height Above(const stats::RobustWindow& values, double excess, double level) {
    // A floor for the spread: logs round to a few digits, and a spread of nothing makes everything a spike.
    const double sigma = std::max(values.Sigma(), kSmallestSigma);
    const double largest = std::max(values.Largest() - values.Median(), sigma);
    return {excess / sigma, std::exp(excess), excess / largest, level};
  }

  static constexpr double kSmallestSigma = 0.005;
  static constexpr std::size_t kLocal = 15;
  static constexpr double kTallInView =
      0.405;  // 1.5 times: what nobody would miss on a chart, however steep it is there
  SpikeLimits limits_;
  stats::RobustWindow window_;
  stats::RobustWindow local_;      // the last few values: the level here
  stats::RobustWindow residuals_;  // what each value stood above the few before it
};

}  // namespace vigil::detect
