#include "detect/mapped_series.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace vigil::detect {
namespace {

// A map that has learned more may put earlier points elsewhere.
bool GoesOn(const model::Series& before, const model::Series& now) {
  return before.size() <= now.size() && std::equal(before.steps.begin(), before.steps.end(), now.steps.begin());
}

// Adds the points of `series` that were not taken.
void MapPoints(const model::AxisMap& axes, const model::Series& series, MappedCopy& mapped) {
  model::Series& copy = *mapped.series;
  const std::size_t first = mapped.taken;
  auto segment = std::lower_bound(series.segment_starts.begin(), series.segment_starts.end(), first);
  bool& opens = mapped.opens_segment;
  for (std::size_t i = first; i < series.size(); ++i) {
    if (segment != series.segment_starts.end() && *segment == i) {
      opens = true;
      ++segment;
    }
    const model::Position at = axes.To(copy.axis, series.PositionOf(i));
    if (!at.known()) continue;
    // Many steps of one epoch have the same count there, and belong to one segment as before.
    if (std::exchange(opens, false)) copy.segment_starts.push_back(static_cast<std::uint32_t>(copy.size()));
    copy.steps.push_back(at.value());
    copy.values.push_back(series.values[i]);
    if (!series.lines.empty()) copy.lines.push_back(series.lines[i]);
  }
}

bool IsBeginningOf(const MappedCopy& before, const model::Series& series) {
  return before.series != nullptr && before.taken > 0 && before.taken <= series.size() &&
         series.steps[before.taken - 1] == before.last &&
         std::bit_cast<std::uint64_t>(series.values[before.taken - 1]) ==
             std::bit_cast<std::uint64_t>(before.last_value);
}

}  // namespace

MappedCopy MapOnto(const model::AxisMap& axes, const model::Series& series, model::Axis axis, std::uint64_t id,
                   MappedCopy* before, bool same_map) {
  constexpr std::uint64_t kNext = 0x9e3779b97f4a7c15U;
  MappedCopy copy;
  if (before != nullptr && same_map && IsBeginningOf(*before, series)) {
    copy = std::move(*before);
    MapPoints(axes, series, copy);
  } else {
    copy.series = std::make_unique<model::Series>();
    copy.series->axis = axis;
    MapPoints(axes, series, copy);
    if (copy.series->empty()) return {};
    const bool was_there = before != nullptr && before->series != nullptr;
    const bool goes_on = was_there && GoesOn(*before->series, *copy.series);
    copy.id = !was_there ? id + kNext : goes_on ? before->id : before->id + kNext;
  }
  copy.taken = series.size();
  copy.last = series.steps.back();
  copy.last_value = series.values.back();
  return copy;
}

}  // namespace vigil::detect
