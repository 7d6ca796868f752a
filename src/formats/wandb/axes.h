// What the points of a W&B run are counted against: the trainer's own step where it logs one, or what the user declared
// with define_metric.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/position.h"

namespace vigil::formats::wandb {

class Axes {
 public:
  // A MetricRecord: "loss is counted against updates", or the same for "train/*".
  void Declare(std::string_view metric_record);

  // Whether the key counts steps, by its name or because something was declared to be counted against it.
  bool IsStep(std::string_view key) const;
  // A row begins; then the steps in it, by key.
  void BeginRow(std::int64_t row_step);
  void SetRowStep(std::int64_t row_step) { row_step_ = row_step; }
  // The number of the row, where it is one.
  void TakeRowStep(double value);
  void TakeStep(std::string_view key, double value);
  // The axis that a metric was declared to be counted against, kNone without such a declaration.
  std::size_t AxisFor(std::string_view key) const;
  // The step in this row on that axis. One that is not in the row stands where it stood last.
  std::int64_t StepOn(std::size_t axis) const {
    if (axis < axes_.size() && axes_[axis].last) return *axes_[axis].last;
    return own_step_.value_or(row_step_);
  }

  // What is counted on that axis, by the name it was declared under.
  model::Axis KindOf(std::size_t axis) const;

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

 private:
  struct Axis {
    std::string key;
    std::optional<std::int64_t> last;
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };
  using AxisByKey = std::unordered_map<std::string, std::size_t, KeyHash, std::equal_to<>>;

  std::size_t AxisOf(std::string_view key);

  std::vector<Axis> axes_;
  AxisByKey ids_;        // of the axes, by their keys
  AxisByKey exact_;      // by metric
  AxisByKey by_prefix_;  // by the beginning of metrics: of "train/*", empty for "*"
  std::set<std::size_t, std::greater<>> prefix_sizes_;
  std::int64_t row_step_ = 0;
  std::optional<std::int64_t> own_step_;  // of this row, under the best of the names that trainers use
  int own_priority_ = 0;
};

}  // namespace vigil::formats::wandb
