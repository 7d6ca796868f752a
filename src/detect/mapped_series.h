// Companions that are counted on another axis than the series they go with. Private to detect.
#pragma once

#include <cstdint>
#include <memory>

#include "model/run.h"

namespace vigil::detect {

// A series as a detector is given it, and what it is (0 for none).
struct MappedSeries {
  const model::Series* series = nullptr;
  std::uint64_t id = 0;
};

// A copy of a series whose points stand on another axis.
struct MappedCopy {
  std::unique_ptr<model::Series> series;  // null when nothing leads from its axis to the other
  std::uint64_t id = 0;                   // another one whenever points that were there have moved
  std::size_t taken = 0;                  // points of the series that the copy was made of
  std::int64_t last = 0;                  // the step of the last of them
  double last_value = 0;
  bool opens_segment = false;  // the next point that has a place opens one

  MappedSeries View() const { return series == nullptr ? MappedSeries{} : MappedSeries{series.get(), id}; }
};

// The points of `series` where the map puts them on `axis`; those that it puts nowhere are left out. `id`: what the
// series is. `before`: the copy of the last look or null, which is added to when the map is the same.
MappedCopy MapOnto(const model::AxisMap& axes, const model::Series& series, model::Axis axis, std::uint64_t id,
                   MappedCopy* before, bool same_map);

}  // namespace vigil::detect
