// What part of an axis a run covers. Plots, tables and verdicts take positions from here, so that all count alike.
#pragma once

#include <cstdint>
#include <optional>

#include "model/run.h"

namespace vigil::report {

// From the lowest to the highest position of the series on one axis. `logged` counts the points of the longest.
struct Span {
  model::Axis axis = model::Axis::kStep;
  std::int64_t first = model::kNoStep;
  std::int64_t last = model::kNoStep;
  std::uint64_t logged = 0;

  bool empty() const { return logged == 0; }
  model::Position First() const { return empty() ? model::Position() : model::Position(axis, first); }
  model::Position Last() const { return empty() ? model::Position() : model::Position(axis, last); }
  model::PositionRange Range() const { return {First(), Last()}; }
};

Span SpanOn(const model::Run& run, model::Axis axis);
// On the run's main axis.
Span SpanOf(const model::Run& run);

// The count of `position` on `axis`; nothing when the position is unknown or nothing that was logged leads there.
std::optional<std::int64_t> CountOn(const model::Run& run, model::Axis axis, model::Position position);

}  // namespace vigil::report
