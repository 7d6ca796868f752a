#include "diagnose/places.h"

#include <algorithm>
#include <compare>

#include "diagnose/curve.h"

namespace vigil::diagnose {
namespace {

using model::Axis;
using model::Position;

// A count that a setting states; larger ones are placeholders for "no limit".
Position Stated(const RunView& run, std::string_view key, Axis axis) {
  constexpr double kMost = 1e12;
  const auto number = run.FactNumber(key);
  if (!number || !(*number >= 1) || *number >= kMost) return {};
  return {axis, static_cast<std::int64_t>(*number)};
}

Position PlannedEnd(const RunView& run, Axis axis) {
  const Position steps = run->planned_steps ? run->Planned() : Stated(run, "max_steps", Axis::kStep);
  if (const Position end = run.axes().To(axis, steps); end.known()) return end;
  // Epochs need no map on their own axis. On the axis of steps they are no plan: how long an epoch is shows only later.
  return axis == Axis::kEpoch ? Stated(run, "epochs", Axis::kEpoch) : Position();
}

// How many of the axis lie between two points of the loss; 1 where nothing says it.
double IntervalOn(const RunView& run, Axis axis) {
  const model::Series* loss = run.Find("loss");
  if (loss == nullptr) return 1;
  const auto interval = run.axes().To(axis, model::Extent{loss->axis, IntervalOf(*loss)});
  return interval ? std::max(1.0, interval->amount) : 1;
}

}  // namespace

Position Later(const model::AxisMap& axes, Position a, Position b) {
  if (!a.known()) return b;
  return std::is_lt(axes.Compare(a, b)) ? b : a;
}

Position Earlier(const model::AxisMap& axes, Position a, Position b) {
  if (!a.known()) return b;
  return std::is_gt(axes.Compare(a, b)) ? b : a;
}

// The highest count, not the last written: a restart goes back.
Position LastSeen(const RunView& run, Axis axis) {
  std::int64_t last = model::kNoStep;
  for (const model::Series& series : run->series) {
    if (series.axis != axis || series.empty() || !run.Has(series)) continue;
    last = std::max(last, series.steps.back());
    // Steps rise within a segment, so its last point is its highest.
    for (const std::uint32_t start : series.segment_starts) {
      if (start > 0) last = std::max(last, series.steps[start - 1]);
    }
  }
  return last == model::kNoStep ? Position() : Position(axis, last);
}

RunEnd EndOf(const RunView& run, Axis axis) {
  if (const Position planned = PlannedEnd(run, axis); planned.known()) return {planned, true};
  return {LastSeen(run, axis), false};
}

std::optional<double> StepsOn(const model::AxisMap& axes, Axis axis, double steps) {
  if (axis == Axis::kRow) return steps;
  const auto extent = axes.To(axis, model::Extent{Axis::kStep, steps});
  return extent ? std::optional(extent->amount) : std::nullopt;
}

std::optional<double> StepsUntil(const model::AxisMap& axes, Position at) {
  if (!at.known()) return std::nullopt;
  const Position step = at.axis() == Axis::kRow ? at : axes.To(Axis::kStep, at);
  return step.known() ? std::optional(static_cast<double>(step.value())) : std::nullopt;
}

model::Extent SlackOn(const RunView& run, Axis axis) {
  const Position end = LastSeen(run, axis);
  const double length = end.known() ? static_cast<double>(end.value()) : 0;
  constexpr double kFewSteps = 5;
  const double few = StepsOn(run.axes(), axis, kFewSteps).value_or(0);
  return {axis, std::max({few, 3 * IntervalOn(run, axis), length / 100})};
}

}  // namespace vigil::diagnose
