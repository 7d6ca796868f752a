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

// The points that count in the end: where a restart overwrote steps, the later ones.
struct Course {
  std::vector<std::int64_t> steps;
  std::vector<double> values;

  std::size_t size() const { return values.size(); }
  Stretch View() const;
};
Course LastCourse(const model::Series* series);

// A value as steps saw it last: the point at `step` or the nearest before it; NaN when there is none.
double ValueAt(const Stretch& stretch, std::int64_t step);

std::vector<double> FiniteValues(const Stretch& stretch);
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
