// The course of a loss for the detectors that judge its level over the whole run. Private to detect.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "detect/detectors.h"
#include "stats/stats.h"

namespace vigil::detect {

// The loss on the logarithm in bounded memory; not judged when it goes to zero or below, or in RL.
class Curve {
 public:
  // `of_policies`: judged in reinforcement learning too, by a detector that knows what such a loss means.
  explicit Curve(const Context& context, bool of_policies = false) : judged_(!context.reinforcement || of_policies) {}

  void Add(const Sample& sample) {
    if (!std::isfinite(sample.value)) return;
    if (sample.value <= 0) {
      // Exact zeros are a collapse or a hidden NaN; a negative loss is one whose ratio means nothing.
      if (sample.value < 0) judged_ = false;
      return;
    }
    const Point point = {sample.step, std::log(sample.value)};
    history_.Add(point.step, point.log);
    if (first_.size() < kFirst) first_.push_back(point);
    recent_.push_back(point);
    if (recent_.size() > kRecent) recent_.pop_front();
  }
  void ForgetFrom(std::int64_t step) {
    history_.ForgetFrom(step);
    while (!recent_.empty() && recent_.back().step >= step) recent_.pop_back();
    while (!first_.empty() && first_.back().step >= step) first_.pop_back();
  }

  bool judged() const { return judged_; }
  std::uint64_t points() const { return history_.points(); }
  std::vector<double> Logs() const { return history_.Means(); }
  const stats::Bucket& At(std::size_t i) const { return history_.buckets()[i]; }
  std::int64_t last_step() const { return history_.buckets().empty() ? 0 : history_.buckets().back().last_step; }

  // The last points one by one: in a long run a bucket holds hundreds.
  struct Point {
    std::int64_t step = 0;
    double log = 0;
  };
  const std::deque<Point>& recent() const { return recent_; }
  double FirstPoint() const { return first_.empty() ? 0 : first_.front().log; }
  // Where it began: in a long run the first bucket has most of the learning in it.
  double FirstLog() const {
    std::vector<double> logs;
    logs.reserve(first_.size());
    for (const Point& point : first_) logs.push_back(point.log);
    return stats::Median(std::move(logs));
  }

 private:
  static constexpr std::size_t kRecent = 64;
  static constexpr std::size_t kFirst = 3;
  bool judged_;
  stats::BucketHistory history_{128};
  std::deque<Point> recent_;
  std::vector<Point> first_;
};

inline std::span<const double> Tail(std::span<const double> values, std::size_t count) {
  return values.last(std::min(count, values.size()));
}
inline double MedianOf(std::span<const double> values) { return stats::Median({values.begin(), values.end()}); }

}  // namespace vigil::detect
