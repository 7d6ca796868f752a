// Where a value stands against a limit and a range to watch before it: over the last points, and since when. Private to
// detect.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "detect/detect.h"
#include "stats/stats.h"

namespace vigil::detect {

// Values above `limit` are flagged, those between `watch` and it are watched. Constant memory. A value that is to stay
// high is given with kBelow.
template <bool kBelow>
class RecentLevel {
 public:
  RecentLevel(double limit, double watch) : limit_(limit), watch_(watch) {}

  void Add(const Sample& sample) {
    recent_[points_++ % recent_.size()] = sample.value;
    last_step_ = sample.step;
    if (points_ == 1) first_step_ = sample.step;
    if (!IsBeyond(sample.value, limit_)) return;
    if (flagged_++ == 0) first_flagged_ = sample.step;
    if (points_ <= kStart) ++flagged_at_start_;
  }

  // The last points lie beyond the limit, and as many as asked for did in all: one batch is no level.
  bool IsFlagged(double fewest) const { return static_cast<double>(flagged_) >= fewest && IsBeyond(level(), limit_); }
  bool IsWatched(double fewest) const {
    return static_cast<double>(points_) >= std::max(fewest, kFewestWatched) && IsBeyond(level(), watch_);
  }
  bool IsFlaggedFromStart() const { return flagged_at_start_ >= std::min<std::uint64_t>(points_, kStart) - 1; }

  // The median of the last points.
  double level() const {
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(points_, recent_.size()));
    return stats::Median({recent_.begin(), recent_.begin() + count});
  }
  std::int64_t first_flagged() const { return flagged_ == 0 ? first_step_ : first_flagged_; }
  std::int64_t last_step() const { return last_step_; }
  std::uint64_t points() const { return points_; }

 private:
  static bool IsBeyond(double value, double limit) { return kBelow ? value < limit : value > limit; }

  static constexpr std::uint64_t kStart = 3;
  static constexpr double kFewestWatched = 10;
  double limit_;
  double watch_;
  std::array<double, 8> recent_{};
  std::uint64_t points_ = 0;
  std::uint64_t flagged_ = 0;
  std::uint64_t flagged_at_start_ = 0;
  std::int64_t first_step_ = 0;
  std::int64_t first_flagged_ = 0;
  std::int64_t last_step_ = 0;
};

using Recent = RecentLevel<false>;
using RecentBelow = RecentLevel<true>;

}  // namespace vigil::detect
