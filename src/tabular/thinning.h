// tabular/thinning: series of more points than memory has room for: every second point goes, again and again. The first
// and the last point of a series, its smallest and largest value, the first that is not finite, and what leaves the
// level of its neighbours stay.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::tabular {

// Points of one source that are kept, of all its series together: some hundred megabytes with all that is made of them.
inline constexpr std::uint64_t kMostPoints = 5'000'000;

// Whether one of two finite values is more than three times the other.
inline bool IsFarFrom(double value, double before) {
  constexpr double kFar = 3;
  return std::max(std::abs(value), std::abs(before)) > kFar * std::min(std::abs(value), std::abs(before));
}
// Whether a value is on another level than the one kept before it: not finite, or far from it. Asked for every point of
// a long table: nothing of what is not finite is NaN, which one comparison shows for both.
inline bool LeavesLevel(double value, double before) {
  if (value * 0 + before * 0 == 0) return IsFarFrom(value, before);
  return std::isfinite(value) != std::isfinite(before);
}
// The smallest and the largest finite value; infinite where there is none.
struct Extremes {
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();
};
// Keeps every second point, the last one, both extremes and the first that is not finite; with `spikes` also those that
// leave the level of the one kept before, and the first of each segment. `extra`: the places of points, in order, that
// are there for such a reason. They are not counted, so that series of the same rows keep the same rows; filled with
// those that are left. Returns the extremes.
Extremes KeepEverySecond(model::Series& series, bool spikes, std::vector<std::uint32_t>& extra);
// The note of a source that was thinned.
model::Statement ThinnedNote(std::uint64_t stride);

// Takes each point of a source, as it comes, and decides whether it stays. Even over the source: what came before is
// thinned as much as what comes later.
class Thinning {
 public:
  explicit Thinning(ingest::PartBuilder& builder, std::uint64_t most_points = kMostPoints)
      : builder_(builder), most_points_(most_points) {}

  // 1 while every point is kept.
  std::uint64_t stride() const { return stride_; }
  // The next point of the series. One that has no place of its own waits until the next comes, or Finish: the points in
  // the part stay, so that those who follow it have seen them.
  void Add(ingest::PartBuilder::SeriesId id, std::int64_t step, double value, double time = model::kNoValue,
           std::uint32_t line = 0) {
    if (stride_ == 1 || HasPlace(id, step, value, time, line)) builder_.Add(id, step, value, time, line);
  }
  // The same for a step that stands for one not known yet, which may be beyond the steps that a part takes.
  void AddUnresolved(ingest::PartBuilder::SeriesId id, std::int64_t step, double value, std::uint32_t line) {
    if (stride_ == 1 || HasPlace(id, step, value, model::kNoValue, line))
      builder_.series(id).Append(step, value, model::kNoValue, line);
  }
  // The last point of a series that came, kept or not. The series must not be empty.
  std::int64_t LastStep(ingest::PartBuilder::SeriesId id) const {
    return IsWaiting(id) ? latest_[id].waiting.step : builder_.series(id).steps.back();
  }
  double LastValue(ingest::PartBuilder::SeriesId id) const {
    return IsWaiting(id) ? latest_[id].waiting.value : builder_.series(id).values.back();
  }
  // The next point opens a segment, though its step goes on. It gets a place, and so does the one before it.
  void OpenSegment(ingest::PartBuilder::SeriesId id);
  // Nothing more comes: every series ends with its last point.
  void Finish();
  // How many points of the series came so far.
  std::uint64_t Seen(ingest::PartBuilder::SeriesId id) const {
    return stride_ == 1 ? builder_.series(id).size() : id < latest_.size() ? latest_[id].seen : 0;
  }
  // Thins all series when they hold more points than there is room for.
  void MakeRoom();

 private:
  struct Point {
    std::int64_t step = 0;
    double value = 0;
    double time = model::kNoValue;
    std::uint32_t line = 0;
  };
  struct Latest {
    std::uint64_t seen = 0;  // points, kept or not
    double kept = 0;
    Extremes extremes;      // of all that came
    bool is_least = false;  // the last point was below, or above, all before it
    bool is_most = false;
    std::vector<std::uint32_t> extra;  // places of the points that are kept for what they are, not for their turn
    bool is_waiting = false;           // the last point has no place of its own
    bool opens_segment = false;        // the next one is the first of a segment
    Point waiting;
  };
  bool IsWaiting(ingest::PartBuilder::SeriesId id) const { return id < latest_.size() && latest_[id].is_waiting; }
  std::uint64_t CountPoints() const;
  bool HasPlace(ingest::PartBuilder::SeriesId id, std::int64_t step, double value, double time, std::uint32_t line);
  void PlaceWaiting(ingest::PartBuilder::SeriesId id);
  void Thin(bool spikes);

  ingest::PartBuilder& builder_;
  std::uint64_t most_points_;
  std::uint64_t stride_ = 1;
  bool spikes_ = true;
  std::vector<Latest> latest_;  // by series
};

}  // namespace vigil::tabular
