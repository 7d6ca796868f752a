// How a value compares with those before it, on the logarithm: what makes a spike. Private to detect.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

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
  // `tall`: a ratio over the level that makes a value stand out whatever the largest ones of the window are.
  explicit LogBaseline(const SpikeLimits& limits, double tall = std::numeric_limits<double>::infinity())
      : limits_(limits),
        least_(LogOf(std::min(limits.min_ratio, tall))),
        tall_(LogOf(tall)),
        window_(limits.window),
        residuals_(limits.window) {}

  bool Ready() const { return window_.size() >= limits_.min_points; }

  // False only for values that are no spike and not tall, by what the extremes of the window and its median show. That
  // is nearly all values, and their spread need not be known.
  bool MayStandOut(double log) const {
    if (MayStandIn(window_, log, least_, tall_)) return true;
    return HasLocalView() &&
           MayStandIn(residuals_, log - local_.Median(), std::max(least_, kTallInView), std::max(tall_, kTallInView));
  }
  Height Measure(double log) const {
    const Height whole = Above(window_, log - window_.Median(), std::exp(window_.Median()));
    if (!HasLocalView()) return whole;
    const double level = local_.Median() + residuals_.Median();
    if (log - level < kTallInView) return whole;
    const Height local = Above(residuals_, log - level, std::exp(level));
    return local.z > whole.z ? local : whole;
  }
  bool IsSpike(const Height& height, double z) const {
    return height.z > z && height.ratio >= limits_.min_ratio && height.beyond_max >= limits_.beyond_max;
  }
  void Push(double log) {
    if (local_.IsFull()) residuals_.Push(log - local_.Median());
    local_.Push(log);
    window_.Push(log);
  }
  void Clear() {
    window_.Clear();
    local_.Clear();
    residuals_.Clear();
  }
  // What was pushed before the last so many values has no effect.
  std::size_t reach() const { return limits_.window + kLocal; }

 private:
  static Height Above(const stats::RobustWindow& values, double excess, double level) {
    // A floor for the spread: logs round to a few digits, and a spread of nothing makes everything a spike.
    const double sigma = std::max(values.Sigma(), kSmallestSigma);
    const double largest = std::max(values.Largest() - values.Median(), sigma);
    return {excess / sigma, std::exp(excess), excess / largest, level};
  }

  // Thresholds may be anything: a ratio of 0 or below is passed by every value.
  static double LogOf(double ratio) { return std::log(std::max(ratio, std::numeric_limits<double>::min())); }

  bool HasLocalView() const { return residuals_.size() >= limits_.min_points; }

  // From what is known at once to what takes a look at all values. With a limit above 1 a value has to stand above the
  // largest one before it.
  bool MayStandIn(const stats::RobustWindow& values, double value, double least, double tall) const {
    const double most = value - values.Smallest();  // above the median, at the most
    if (most < least - kRounding) return false;
    const bool may_be_tall = most >= tall - kRounding;
    if (!may_be_tall && limits_.beyond_max > 1 + kRounding && value <= values.Largest()) return false;
    const double median = values.Median();
    const double excess = value - median;
    if (excess >= tall - kRounding) return true;
    return excess >= least - kRounding && excess >= limits_.beyond_max * (values.Largest() - median) - kRounding;
  }

  static constexpr double kSmallestSigma = 0.005;
  static constexpr double kRounding = 1e-9;  // far beyond what sums and logarithms round, and far below any limit
  static constexpr std::size_t kLocal = 15;
  static constexpr double kTallInView =
      0.405;  // 1.5 times: what nobody would miss on a chart, however steep it is there
  SpikeLimits limits_;
  double least_;  // the logarithms of the ratios that are asked for
  double tall_;
  stats::RobustWindow window_;
  stats::MovingMedian<kLocal> local_;  // the last few values: the level here
  stats::RobustWindow residuals_;      // what each value stood above the few before it
};

// A baseline that is asked about few of its values: it keeps them as they come, and works out what they stand above
// only when asked.
class RarelyAskedBaseline {
 public:
  explicit RarelyAskedBaseline(const SpikeLimits& limits) : baseline_(limits), waiting_(baseline_.reach() + 1) {}

  void Add(std::int64_t step, double value) {
    waiting_[next_] = {step, value};
    next_ = next_ + 1 == waiting_.size() ? 0 : next_ + 1;
    ++count_;
  }
  // Whether a value that was added at that step, with none of another step after it, stood more than `z` above those
  // before it.
  bool StoodAbove(std::int64_t step, double z) {
    Settle(step, z);
    return above_at_ == step;
  }
  void Clear() {
    baseline_.Clear();
    count_ = 0;
    above_at_ = model::kNoStep;
  }

 private:
  struct Point {
    std::int64_t step = 0;
    double value = 0;
  };

  void Settle(std::int64_t step, double z) {
    // What no longer fits is beyond the reach of the baseline, and so is all that it has.
    if (count_ > waiting_.size()) baseline_.Clear();
    count_ = std::min(count_, waiting_.size());
    for (; count_ > 0; --count_) {
      const Point& point = waiting_[(next_ + waiting_.size() - count_) % waiting_.size()];
      const double log = std::log(point.value);
      if (point.step == step && baseline_.Ready() && baseline_.Measure(log).z > z) above_at_ = step;
      baseline_.Push(log);
    }
  }

  LogBaseline baseline_;
  std::vector<Point> waiting_;  // a ring, as long as the reach of the baseline and the value that is asked about
  std::size_t next_ = 0;
  std::size_t count_ = 0;  // since the last settling; more than fit when some were overwritten
  std::int64_t above_at_ = model::kNoStep;
};

}  // namespace vigil::detect
