// stats: streaming and robust statistics. Pure; memory bounded by the capacity asked for. Non-finite values are the
// caller's to keep out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vigil::stats {

// Scales a median absolute deviation to the standard deviation of a Gaussian.
inline constexpr double kMadToSigma = 1.4826;

// The last `capacity` values: median, spread and extremes of the window at any time. A value is judged against the
// window before it is pushed, so that it never hides itself. A push and the extremes take constant time. The median and
// the spread sort what was pushed since they were last asked for: constant time each when asked for after each push,
// and nothing for the pushes in between when asked for rarely. No allocation after the constructor.
class RobustWindow {
 public:
  explicit RobustWindow(std::size_t capacity);

  void Push(double value) {
    if (!IsFull()) return Fill(value);
    if (behind_ < most_behind_) removed_[behind_] = ring_[next_];
    ++behind_;
    ring_[next_] = value;
    largest_since_ = largest_since_ < value ? value : largest_since_;
    smallest_since_ = value < smallest_since_ ? value : smallest_since_;
    if (++next_ == capacity_) BeginRound();
  }
  void Clear();
  std::size_t size() const { return ring_.size(); }
  double Median() const;  // of an empty window: 0
  double Sigma() const;   // median absolute deviation, scaled; 0 for fewer than two values
  double Largest() const {
    if (!IsFull()) return ring_.empty() ? 0 : largest_since_;
    return largest_since_ < largest_from_[next_] ? largest_from_[next_] : largest_since_;
  }
  double Smallest() const {
    if (!IsFull()) return ring_.empty() ? 0 : smallest_since_;
    return smallest_from_[next_] < smallest_since_ ? smallest_from_[next_] : smallest_since_;
  }

 private:
  bool IsFull() const { return ring_.size() == capacity_; }
  void Fill(double value);
  void BeginRound();
  void Settle() const;
  void Replace(double removed, double value) const;

  std::size_t capacity_;
  std::size_t most_behind_;
  std::vector<double> ring_;
  std::size_t next_ = 0;
  // Extremes of ring_[i] and what stands behind it, as they were when the ring was last at its beginning: what is left
  // of that round and what was pushed since make up the window.
  std::vector<double> largest_from_;
  std::vector<double> smallest_from_;
  double largest_since_ = 0;
  double smallest_since_ = 0;
  // The window in order, as it was `behind_` pushes ago. Not worth following any more when that is over most_behind_.
  mutable std::vector<double> sorted_;
  mutable std::vector<double> removed_;  // by each of those pushes
  mutable std::size_t behind_ = 0;
};

// The median of the last kCount values. An odd few: all of them are looked at for each push, in a fixed order that the
// processor does not have to guess.
template <std::size_t kCount>
class MovingMedian {
  static_assert(kCount % 2 == 1);

 public:
  bool IsFull() const { return size_ == kCount; }
  double Median() const { return sorted_[kCount / 2]; }  // IsFull
  void Push(double value) {
    if (!IsFull()) return Insert(value);
    const double oldest = ring_[next_];
    ring_[next_] = value;
    next_ = next_ + 1 == kCount ? 0 : next_ + 1;
    double below = value;
    for (std::size_t i = 0; i + 1 < kCount; ++i) {
      const double left = sorted_[i] < oldest ? sorted_[i] : sorted_[i + 1];  // in order, without the oldest
      const double smaller = left < value ? left : value;
      sorted_[i] = i == 0 || below < smaller ? smaller : below;
      below = left;
    }
    sorted_[kCount - 1] = below < value ? value : below;
  }
  void Clear() { size_ = next_ = 0; }

 private:
  void Insert(double value) {
    ring_[size_] = value;
    std::size_t at = size_++;
    for (; at > 0 && value < sorted_[at - 1]; --at) sorted_[at] = sorted_[at - 1];
    sorted_[at] = value;
  }

  std::array<double, kCount> ring_ = {};
  std::array<double, kCount> sorted_ = {};
  std::size_t size_ = 0;
  std::size_t next_ = 0;
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

  // Inline, because nearly every detector spends its time here.
  void Add(std::int64_t step, double value) {
    ++points_;
    if (buckets_.empty() || buckets_.back().count >= width_) return Begin(step, value);
    Bucket& last = buckets_.back();
    last.last_step = step;
    ++last.count;
    // Weighted by shares, so that means at both ends of the range do not overflow.
    const double share = 1.0 / static_cast<double>(last.count);
    last.mean = last.mean * (1 - share) + value * share;
    last.smallest = value < last.smallest ? value : last.smallest;
    last.largest = last.largest < value ? value : last.largest;
  }
  // Forgets what lies at or after `step` (a restart overwrites it), to the resolution of the buckets.
  void ForgetFrom(std::int64_t step);
  void Clear();

  const std::vector<Bucket>& buckets() const { return buckets_; }
  std::uint64_t points() const { return points_; }
  std::uint64_t points_per_bucket() const { return width_; }
  std::vector<double> Means() const;

 private:
  void Begin(std::int64_t step, double value);

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
