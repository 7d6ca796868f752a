// Views of a series that evidence tests reason with: one segment of it, its last course, levels and noise that a few
// wild or non-finite values do not move.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "diagnose/view.h"
#include "model/position.h"
#include "model/run.h"

namespace vigil::diagnose {

// Consecutive points of one segment, borrowed from the series, with the axis they are counted on. Places on another
// axis are brought to it by the run's map; where nothing leads there, a part "before" or "after" such a place is empty.
struct Stretch {
  std::span<const std::int64_t> steps;  // counts on `axis`
  std::span<const double> values;
  double interval = 0;  // typical distance of two points on `axis`, 0 with fewer than two
  model::Axis axis = model::Axis::kStep;
  const model::AxisMap* axes = nullptr;

  std::size_t size() const { return values.size(); }
  bool empty() const { return values.empty(); }
  model::Position PositionOf(std::size_t index) const { return {axis, steps[index]}; }

  Stretch Between(model::Position first, model::Position last) const;  // both included
  Stretch Before(model::Position at) const;
  Stretch UpTo(model::Position at) const;  // itself included
  Stretch From(model::Position at) const;
  Stretch After(model::Position at) const;
  // From `before` ahead of the place to `after` behind it, counted on the axis of the stretch.
  Stretch Around(model::Position at, std::int64_t before, std::int64_t after) const;
  Stretch Last(std::size_t count) const;
  Stretch First(std::size_t count) const;
  // Index of the first point at or after a place; size() when there is none, or nothing leads there.
  std::size_t IndexFrom(model::Position at) const;
};

// The segment in which the place was logged; when several hold it, the one with a non-finite value there, else the
// last. Empty for a null series.
Stretch SegmentAt(const RunView& run, const model::Series* series, model::Position at);

// The points that count in the end: where a restart overwrote steps, the later ones. Borrowed from a series without
// restarts, put together from one with them.
class Course {
 public:
  Course(const RunView& run, const model::Series* series);
  Course(Course&&) = default;  // the spans follow the vectors' memory
  Course& operator=(Course&&) = default;
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  ~Course() = default;

  std::size_t size() const { return values.size(); }
  Stretch View() const;
  model::Position PositionOf(std::size_t index) const { return {axis, steps[index]}; }

  std::span<const std::int64_t> steps;
  std::span<const double> values;
  model::Axis axis = model::Axis::kStep;

 private:
  const model::AxisMap* axes_ = nullptr;
  std::vector<std::int64_t> own_steps_;
  std::vector<double> own_values_;
};
inline Course LastCourse(const RunView& run, std::string_view signal) { return {run, run.Find(signal)}; }

// Typical distance of two points of a series on its own axis; 0 with fewer than two.
double IntervalOf(const model::Series& series);

// Whether the points are at most `steps` steps apart. One point per epoch is not, unless the run's map says so; rows
// are taken for steps, because nothing better is known of them.
bool IsLoggedEvery(const Stretch& stretch, double steps);

// The value at a place, or the nearest before it; NaN when there is none.
double ValueAt(const Stretch& stretch, model::Position at);
// The last value before a place; NaN when there is none.
double ValueBefore(const Stretch& stretch, model::Position at);

// The finite values in order. Of a very long stretch an even sample: levels and noise are as good in some thousands of
// points as in millions.
std::vector<double> FiniteValues(const Stretch& stretch);
// Extremes of all finite values; NaN when there are none.
double Largest(const Stretch& stretch);
double Smallest(const Stretch& stretch);
// Of finite values; NaN when there are none. `share` 0..1.
double Quantile(std::vector<double> values, double share);
double Median(std::vector<double> values);
// The logarithms of the positive values.
std::vector<double> Logs(std::span<const double> values);

// Whether the run left that metric at all.
bool Logged(const RunView& run, std::string_view signal);

}  // namespace vigil::diagnose
