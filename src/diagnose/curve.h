// Views of a series that evidence tests reason with: one segment of it, its last course, levels and noise that a few
// wild or non-finite values do not move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace vigil::diagnose {

// Consecutive points of one segment. Borrowed from the series.
struct Stretch {
  std::span<const std::int64_t> steps;
  std::span<const double> values;
  double interval = 0;  // typical steps between two points, 0 with fewer than two

  std::size_t size() const { return values.size(); }
  bool empty() const { return values.empty(); }
  Stretch Between(std::int64_t first, std::int64_t last) const;  // both included
  Stretch Before(std::int64_t step) const;
  Stretch From(std::int64_t step) const;
  Stretch Last(std::size_t count) const;
  Stretch First(std::size_t count) const;
};

// The segment in which `step` was logged; when several hold it, the one with a non-finite value there, else the last.
// Empty for a null series.
Stretch SegmentAt(const model::Series* series, std::int64_t step);

// The points that count in the end: where a restart overwrote steps, the later ones. Borrowed from a series without
// restarts, put together from one with them.
class Course {
 public:
  explicit Course(const model::Series* series);
  Course(Course&&) = default;  // the spans follow the vectors' memory
  Course& operator=(Course&&) = default;
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  ~Course() = default;

  std::size_t size() const { return values.size(); }
  Stretch View() const;

  std::span<const std::int64_t> steps;
  std::span<const double> values;

 private:
  std::vector<std::int64_t> own_steps_;
  std::vector<double> own_values_;
};
inline Course LastCourse(const model::Series* series) { return Course(series); }

// Typical steps between two points of a series; 0 with fewer than two.
double IntervalOf(const model::Series& series);

// A value as steps saw it last: the point at `step` or the nearest before it; NaN when there is none.
double ValueAt(const Stretch& stretch, std::int64_t step);

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
std::vector<double> Logs(const std::vector<double>& values);

// Whether the run left that signal at all.
bool Logged(const model::Run& run, std::string_view signal);
// The last step of any series, kNoStep without one.
std::int64_t LastStep(const model::Run& run);
// Planned steps where known, else those that were logged; 0 when neither is known.
std::int64_t PlannedOrSeenSteps(const model::Run& run);

}  // namespace vigil::diagnose
