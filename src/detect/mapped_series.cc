#include "detect/mapped_series.h"

#include <algorithm>
#include <utility>

namespace vigil::detect {
namespace {

// A map that has learned more may put earlier points elsewhere.
bool GoesOn(const model::Series& before, const model::Series& now) {
  return before.size() <= now.size() && std::equal(before.steps.begin(), before.steps.end(), now.steps.begin());
}

}  // namespace

MappedCopy MapOnto(const model::AxisMap& axes, const model::Series& series, model::Axis axis, std::uint64_t id,
                   const MappedCopy* before) {
  auto copy = std::make_unique<model::Series>();
  copy->axis = axis;
  std::size_t segment = 0;
  bool opens = false;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (segment < series.segment_starts.size() && series.segment_starts[segment] == i) {
      opens = true;
      ++segment;
    }
    const model::Position at = axes.To(axis, series.PositionOf(i));
    if (!at.known()) continue;
    // Many steps of one epoch have the same count there, and belong to one segment as before.
    if (std::exchange(opens, false)) copy->segment_starts.push_back(static_cast<std::uint32_t>(copy->size()));
    copy->steps.push_back(at.value());
    copy->values.push_back(series.values[i]);
    if (!series.lines.empty()) copy->lines.push_back(series.lines[i]);
  }
  if (copy->empty()) return {};
  constexpr std::uint64_t kNext = 0x9e3779b97f4a7c15U;
  if (before == nullptr || before->series == nullptr) return {std::move(copy), id + kNext};
  const std::uint64_t now = GoesOn(*before->series, *copy) ? before->id : before->id + kNext;
  return {std::move(copy), now};
}

}  // namespace vigil::detect
