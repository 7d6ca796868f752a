// tabular/step_policy: what the rows of a table are counted by, and the step of each row.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/position.h"
#include "tabular/column_roles.h"
#include "tabular/row.h"

namespace vigil::tabular {

// Beyond it whole numbers are not exact in a double.
inline constexpr double kLargestStep = 9007199254740992.0;  // 2^53
// Inline, and through an integer, since floor is a call on plain x86-64: it is asked for every row.
inline bool IsWholeStep(double value) {
  return value >= 0 && value <= kLargestStep && value == static_cast<double>(static_cast<std::int64_t>(value));
}

struct AxisChoice {
  model::Axis axis = model::Axis::kRow;
  std::vector<ColumnId> steps;  // columns that count steps; of those with a number in a row the best named counts
  ColumnId column = kNoColumn;  // without them: the column that counts instead
  bool counts_rows() const { return steps.empty() && column == kNoColumn; }
};

// A row of the sample that the choice is made from, by column; nullopt where there is no number.
using SampleRow = std::vector<std::optional<double>>;
// Columns of steps count when they hold whole numbers that do not stand still; without one whole epochs do, then tokens
// and samples that rise, and else the rows are counted. In the long form several rows share a step.
AxisChoice ChooseAxis(std::span<const ColumnUse> uses, std::span<const SampleRow> sample, bool is_long);
// Whether a column can be what the others are counted by.
bool CanCount(std::span<const SampleRow> sample, std::size_t column, bool is_long);

struct RowStep {
  std::int64_t step = 0;
  bool borrowed = false;  // the row has none of its own: that of the row before it
};

// The step of each row. A step that goes back while the epoch goes on is counted on: some loggers begin again with each
// epoch. An epoch that goes back is a restart, and takes its old place.
class StepCounter {
 public:
  // `stated` and `epoch` are NaN where the row has none. Nothing when there is no step and none came before it.
  std::optional<RowStep> Next(double stated, double epoch, bool counts_whole_run);
  std::int64_t NextRow() { return row_++; }

  // A row of the common kind: `stated` is whole and above the one before, in the same epoch or a later one.
  bool GoesOn(double stated, double epoch) const {
    return stated > static_cast<double>(last_) && IsWholeStep(stated) && !(epoch < epoch_);
  }
  std::int64_t TakeNext(double stated, double epoch) {
    last_ = static_cast<std::int64_t>(stated);
    if (epoch == epoch) epoch_ = epoch;
    return last_ + offset();
  }

 private:
  struct Epoch {
    double number = 0;
    std::int64_t offset = 0;  // what its steps are counted from
  };
  std::int64_t offset() const { return epochs_.empty() ? 0 : epochs_.back().offset; }
  void FollowEpoch(std::int64_t step, double epoch, bool counts_whole_run);

  std::int64_t row_ = 0;
  std::int64_t last_ = -1;
  double epoch_ = 0;
  std::vector<Epoch> epochs_;
};

}  // namespace vigil::tabular
