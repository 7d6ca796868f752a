// Where the training is: the latest step and its axis, steps that start again in every epoch counted through, and the
// planned number of steps.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/position.h"
#include "textlog/metric_line.h"
#include "textlog/row_place.h"

namespace vigil::textlog {

// Counts steps through that start again in every epoch: "Epoch 2, step 10", "Epoch [2][40/500]", Keras' bars.
class EpochCounter {
 public:
  // The step through all epochs, remembered for the next line.
  std::int64_t Count(const MetricLine& line);
  // The same of a line whose own count must not be remembered.
  std::int64_t CountAside(const MetricLine& line);
  // "Epoch 3/10" alone in a line: the epoch of the lines below that name none.
  void ObserveHeader(double epoch) { header_ = epoch; }
  bool has_header() const { return header_ >= 0; }
  double header() const { return header_; }

 private:
  double epoch_ = -1;  // of the latest line
  double header_ = -1;
  double first_ = -1;  // whether epochs are counted from 0 or 1
  std::int64_t start_ = 0;
  std::int64_t step_ = -1;  // as the latest line wrote it
  std::int64_t gap_ = 1;    // between two lines, for the last one of an epoch
};

class StepTracker {
 public:
  // Gives the row of a metric line its step or, where it names none, its epoch.
  void Place(const MetricLine& line, RowPlace& place);
  // A row or bar at that place was read.
  void Observe(const RowPlace& place) { Observe(place.step, place.axis); }
  void Observe(std::int64_t step, model::Axis axis) {
    latest_ = step;
    axis_ = axis;
  }
  void ObserveTotal(std::int64_t total) { total_ = total; }
  EpochCounter& epochs() { return epochs_; }

  // The latest step that a line or bar named, -1 before any; kUnresolved and more for rows that name none.
  std::int64_t latest() const { return latest_; }
  model::Axis axis() const { return axis_; }
  // Whether numbers without a place of their own can stand at the latest step.
  bool has_latest() const { return latest_ >= 0 && latest_ < kUnresolved; }
  // A place at the latest step.
  RowPlace Latest(std::int32_t rank, std::uint32_t line) const {
    const Origin origin = axis_ == model::Axis::kStep ? Origin::kLine : Origin::kEpochLine;
    return {latest_, rank, line, origin, false, axis_};
  }
  // Planned steps, 0 when unknown.
  std::int64_t total() const { return total_; }

 private:
  EpochCounter epochs_;
  std::int64_t latest_ = -1;
  model::Axis axis_ = model::Axis::kStep;
  std::int64_t total_ = 0;
  double part_epoch_ = -1;        // the latest epoch that was written with its fraction
  std::int64_t part_epochs_ = 0;  // how many of them came
};

}  // namespace vigil::textlog
