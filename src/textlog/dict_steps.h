// The steps of dictionary rows that name none, by the progress bar drawn around them. Known at the end of the log only.
#pragma once

#include <cstdint>

#include "model/run.h"
#include "textlog/dict_rows.h"
#include "textlog/progress_bar.h"
#include "textlog/row_place.h"
#include "textlog/step_tracker.h"

namespace vigil::textlog {

class DictSteps {
 public:
  // A bar was drawn. True when it is the training's.
  bool ObserveBar(const ProgressBar& progress);
  // A row without a step: returns the step it stands at until Resolve, -1 when there are too many of them.
  std::int64_t Add(RowKind kind, double epoch, bool after_wipe);
  // The training ended in order after so many epochs and steps (0: not stated).
  void EndSession(double epoch, std::int64_t steps) { rows_.EndSession(epoch, steps); }
  // Gives the rows of `part`, its events and the latest step their steps. True when they are numbers of rows, for want
  // of anything better.
  bool Resolve(model::Run& part, StepTracker& steps);

  bool empty() const { return rows_.size() == 0; }
  bool has_bar() const { return bar_.count() >= 0; }
  std::int64_t bar_total() const { return bar_.total(); }  // 0 before the first bar
  std::uint64_t left_out() const { return left_out_; }

 private:
  TrainingBar bar_;
  DictRows rows_;
  std::uint64_t left_out_ = 0;
};

}  // namespace vigil::textlog
