// Where a row of numbers stands: its step on an axis, its rank, its line, and the kind of line it came from.
#pragma once

#include <cstdint>

#include "model/position.h"

namespace vigil::textlog {

// Which kind of line a number came from. The same name in two kinds of lines is mostly two things,
// and a series stands on one axis: lines that name an epoch and no step are a kind of their own.
enum class Origin : std::uint8_t {
  kLine,
  kEpochLine,
  kBar,
  kDictRow,
  kDictWithStep,
  kSummary,
  kTable,
  kUnplaced,
  kPlain
};

struct RowPlace {
  std::int64_t step = 0;
  std::int32_t rank = -1;
  std::uint32_t line = 0;
  Origin origin = Origin::kLine;
  bool evaluation = false;  // the names are those of an evaluation: "loss" is its loss
  model::Axis axis = model::Axis::kStep;
  bool replaces = false;  // a later value of the same step is the better one
};

// Beyond it a number in text is no count of steps.
inline constexpr double kLargestStep = 9e15;
// Rows of dictionaries stand at kUnresolved plus their number until the end of the log, when their steps are known.
inline constexpr std::int64_t kUnresolved = std::int64_t{1} << 60U;

}  // namespace vigil::textlog
