// stats: streaming and robust statistics. Pure; memory bounded by the capacity asked for. Non-finite values are the
// caller's to keep out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vigil::stats {

// Scales a median absolute deviation to the standard deviation of a Gaussian.
inline constexpr double kMadToSigma = 1.4826;

// The last `capacity` values, always sorted: median, spread and extremes of the window at any time. A value is judged
// against the window before it is pushed, so that it never hides itself. O(capacity) memory moves per push, no
// allocation.
class RobustWindow {
 public:
  explicit RobustWindow(std::size_t capacity);

  void Push(double value);
  void Clear();
  std::size_t size() const { return sorted_.size(); }
  double Median() const;  // of an empty window: 0
  double Sigma() const;   // median absolute deviation, scaled; 0 for fewer than two values
  double Largest() const { return sorted_.empty() ? 0 : sorted_.back(); }
  double Smallest() const { return sorted_.empty() ? 0 : sorted_.front(); }

 private:
  std::size_t capacity_;
  std::vector<double> ring_;
  std::size_t next_ = 0;
  std::vector<double> sorted_;
};

// A stretch of a series: what its points had in common.
struct Bucket {
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::uint64_t count = 0;
  double mean = 0;
  double smallest = 0;
  double largest = 0;
};

// A whole series in at most `capacity` buckets of equal numbers of points. When they are full, neighbours are merged
// and the width doubles: a short series is kept point by point, a long one at the resolution that a chart would have.
class BucketHistory {
 public:
  explicit BucketHistory(std::size_t capacity = 256);

  void Add(std::int64_t step, double value);
  // Forgets what lies at or after `step` (a restart overwrites it), to the resolution of the buckets.
  void ForgetFrom(std::int64_t step);
  void Clear();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::uint64_t points() const { return points_; }
  std::uint64_t points_per_bucket() const { return width_; }
  std::vector<double> Means() const;

 private:
  std::size_t capacity_;
  std::uint64_t width_ = 1;
  std::uint64_t points_ = 0;
  std::vector<Bucket> buckets_;
};

double Mean(std::span<const double> values);
double Median(std::vector<double> values);  // 0 when empty
// Scaled median absolute deviation around the median.
double RobustSigma(std::span<const double> values);
// Scale of the noise around a slowly moving level: from differences of neighbours, so that a trend does not count.
double NoiseSigma(std::span<const double> values);

// Mann-Kendall test for a monotonic trend: a standard-normal deviation, negative when values fall. Ties are allowed
// for, and the deviation is shrunk by the lag-1 autocorrelation of the residuals, so that smooth noise is no trend.
double TrendZ(std::span<const double> values);
// Theil-Sen: the median slope between all pairs, per index.
double TheilSenSlope(std::span<const double> values);
// Running median over an odd number of neighbours (fewer at the ends).
std::vector<double> SmoothByMedian(std::span<const double> values, std::size_t neighbours);

}  // namespace vigil::stats
