// How a value compares with those before it, on the logarithm: what makes a spike. Private to detect.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "stats/stats.h"

namespace vigil::detect {

// A number of points that a settings file may give as anything.
inline std::size_t Count(double points) { return static_cast<std::size_t>(std::clamp(points, 3.0, 65536.0)); }

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
class LogBaseline {
 public:
  explicit LogBaseline(const SpikeLimits& limits) : limits_(limits), window_(limits.window) {}

  bool Ready() const { return window_.size() >= limits_.min_points; }

  Height Measure(double value) const {
    const double median = window_.Median();
    const double excess = std::log(value) - median;
    // A floor for the spread: logs round to a few digits, and a spread of nothing makes everything a spike.
    const double sigma = std::max(window_.Sigma(), kSmallestSigma);
    const double largest = std::max(window_.Largest() - median, sigma);
    return {excess / sigma, std::exp(excess), excess / largest, std::exp(median)};
  }
  bool IsSpike(const Height& height, double z) const {
    return height.z > z && height.ratio >= limits_.min_ratio && height.beyond_max >= limits_.beyond_max;
  }
  void Push(double value) { window_.Push(std::log(value)); }
  void Clear() { window_.Clear(); }

 private:
  static constexpr double kSmallestSigma = 0.005;
  SpikeLimits limits_;
  stats::RobustWindow window_;
};

}  // namespace vigil::detect
