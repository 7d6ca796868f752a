#include "textlog/step_tracker.h"

#include <cmath>

namespace vigil::textlog {

std::int64_t EpochCounter::CountAside(const MetricLine& line) {
  const double epoch = line.epoch >= 0 ? line.epoch : header_;
  if (epoch < 0 || line.step_is_global) return line.step;
  if (first_ < 0) first_ = epoch == 0 ? 0 : 1;
  const bool within_epoch = line.step_within_epoch || (line.step_opens_line && line.epoch < 0);
  if (within_epoch && line.total_steps > 0) {
    // The total is that of one epoch: the start of each follows from it, also where a log begins late.
    const double start = std::max(0.0, std::floor(epoch) - first_) * static_cast<double>(line.total_steps);
    start_ = start < kLargestStep ? static_cast<std::int64_t>(start) : 0;
  } else if (epoch < epoch_) {
    start_ = 0;  // a restart
  } else if (epoch > epoch_ && epoch_ >= 0 && line.step <= step_) {
    start_ += line.total_steps > 0 ? line.total_steps : step_ + gap_;
  }
  epoch_ = epoch;
  return start_ + line.step;
}

std::int64_t EpochCounter::Count(const MetricLine& line) {
  const std::int64_t step = CountAside(line);
  if (line.step > step_ && step_ >= 0) gap_ = line.step - step_;
  step_ = line.step;
  return step;
}

void StepTracker::Place(const MetricLine& line, RowPlace& place) {
  if (line.counted) {
    place.step = line.step;
    return;
  }
  if (line.step < 0 && (line.epoch_is_part || part_epochs_ > 0)) {
    // An epoch has many such lines, which are counted; what comes at the same one stands beside it.
    if (part_epochs_ == 0 || line.epoch != part_epoch_) ++part_epochs_;
    part_epoch_ = line.epoch;
    place.step = part_epochs_ - 1;
    place.axis = model::Axis::kRow;
    return;
  }
  if (line.step < 0) {
    place.step = line.epoch < kLargestStep ? static_cast<std::int64_t>(line.epoch) : 0;
    place.axis = model::Axis::kEpoch;
    return;
  }
  place.step = epochs_.Count(line);
  // A total beside an epoch is that of the epoch, not of the run.
  if (line.total_steps > 0 && line.epoch < 0 && !epochs_.has_header()) total_ = line.total_steps;
}

}  // namespace vigil::textlog
