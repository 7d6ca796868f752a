// The step of each row: from its column, counted where there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/csv/layout.h"

namespace vigil::formats::csv {

struct RowStep {
  std::int64_t step = 0;
  bool borrowed = false;  // the row has none of its own: that of the row before it
};

class StepCounter {
 public:
  // Nothing when the row has no step and none came before it.
  std::optional<RowStep> Next(std::span<const Cell> cells, const Layout& layout) {
    if (layout.step == kNoColumn) return RowStep{row_++, false};
    const bool has_step = layout.step < cells.size() && cells[layout.step].is_number;
    const double number = has_step ? cells[layout.step].number : -1;
    if (number >= 0 && number <= kMaxStep && number == static_cast<double>(static_cast<std::int64_t>(number))) {
      const auto step = static_cast<std::int64_t>(number);
      if (layout.epoch != layout.step && layout.epoch < cells.size() && cells[layout.epoch].is_number)
        FollowEpoch(step, cells[layout.epoch].number);
      last_ = step;
      return RowStep{step + (epochs_.empty() ? 0 : epochs_.back().offset), false};
    }
    if (last_ < 0) return std::nullopt;
    return RowStep{last_ + (epochs_.empty() ? 0 : epochs_.back().offset), true};
  }

 private:
  struct Epoch {
    double number = 0;
    std::int64_t offset = 0;  // what its steps are counted from
  };
  static constexpr double kMaxStep = 9007199254740992.0;  // 2^53

  // Some loggers count steps anew in each epoch. A step that goes back while the epoch goes on is no restart: it is
  // counted on. An epoch that goes back is one, and takes its old place.
  void FollowEpoch(std::int64_t step, double epoch) {
    const std::int64_t before = epochs_.empty() ? 0 : epochs_.back().offset;
    if (epoch > epoch_ && step < last_ && before < static_cast<std::int64_t>(kMaxStep)) {
      epochs_.push_back({epoch, before + last_ + 1});
    }
    while (epoch < epoch_ && !epochs_.empty() && epochs_.back().number > epoch) epochs_.pop_back();
    epoch_ = epoch;
  }

  std::int64_t row_ = 0;
  std::int64_t last_ = -1;
  double epoch_ = 0;
  std::vector<Epoch> epochs_;
};

}  // namespace vigil::formats::csv
