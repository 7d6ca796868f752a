// What measures are taken from: the course of each metric in a few numbers, computed once for a run, however many
// measures ask for it.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "diagnose/view.h"

namespace vigil::diagnose {

// The points of one metric that count in the end, as an even sample, and levels of them.
struct Digest {
  std::vector<double> values;  // finite, in order
  double first = 0;            // the first finite value
  double start = 0;            // median of the first points, at most three
  double late = 0;             // median of the last quarter
  double end = 0;              // median of the last tenth, at least three points
  double best = 0;             // lowest of the smoothed curve
  double top = 0;              // highest of the smoothed curve
  double best_at = 0;          // where the lowest is, 0..1 of the curve
  double noise = 0;            // of neighbouring points, as a standard deviation; 0 with fewer than five
  double scale = 0;            // |first| or |start|, the larger: what relative changes refer to
  std::size_t points = 0;      // all, with those that are not finite

  // Of values that are not finite: where the first is (0..1 of the points), the share of them from there on, how many
  // times the usual level the last finite values before it were. Unknown where all values are finite.
  std::optional<double> non_finite_at;
  std::optional<double> non_finite_rest;
  std::optional<double> grew_before;

  bool empty() const { return values.empty(); }
  std::size_t size() const { return values.size(); }
  // The point of the metric that one of the values stands for: of a long metric the values are an even sample, so that
  // a place among them is no place in the metric.
  std::size_t PointOf(std::size_t value) const;
  // Median of the values between two shares of the curve, of one value at least.
  double Level(double from, double to) const;
  // Share of the last half of the values that are exactly this.
  double ShareAtEnd(double value) const;
};

class RunDigest {
 public:
  explicit RunDigest(const RunView& run) : run_(&run) {}

  const RunView& run() const { return *run_; }
  // Null when the run has not logged the metric, or no finite value of it and none that is not.
  const Digest* Of(std::string_view signal) const;
  // The first of these that was logged.
  const Digest* OfAny(std::initializer_list<std::string_view> signals) const;
  // A setting as a number, by its canonical key.
  std::optional<double> Setting(std::string_view key) const { return run_->FactNumber(key); }
  bool IsReinforcement() const;
  // How many answers there are to guess among: classes, tokens, or the two of a preference. At least 2.
  std::optional<double> Choices() const;
  // The highest learning rate that was logged, else the configured one.
  std::optional<double> PeakRate() const;

 private:
  const RunView* run_;
  mutable std::map<std::string_view, Digest, std::less<>> digests_;
};

}  // namespace vigil::diagnose
