// The steps of dictionary rows that name none, by the progress bar drawn around them. Sure at the end of the log only:
// until then they are what the rows so far show, and a revision of them is reported.
#pragma once

#include <cstdint>
#include <vector>

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
  // A row without a step: returns the step it stands at until Settle.
  std::int64_t Add(RowKind kind, double epoch, bool after_wipe);
  // The training ended in order after so many epochs and steps (0: not stated).
  void EndSession(double epoch, std::int64_t steps) { rows_.EndSession(epoch, steps); }
  // Gives the rows of `part` and its events their steps: those that the bar was drawn behind, or `all`.
  void Settle(model::Run& part, std::int64_t total_steps, bool all);
  // Whether rows wait for the bar.
  bool waits() const { return given_.size() < rows_.size(); }
  // The step that was given to a row, by the one it stood at; kNoStep when it has none.
  std::int64_t StepOf(std::int64_t unresolved) const;
  model::Axis axis() const {
    if (rows_.counted_as_epochs()) return model::Axis::kEpoch;
    return rows_.counted_as_rows() ? model::Axis::kRow : model::Axis::kStep;
  }
  // Whether the steps are numbers of rows, for want of anything better.
  bool counted_as_rows() const { return rows_.counted_as_rows(); }
  // Whether rows were given steps that later lines showed to be others.
  bool was_revised() const { return was_revised_; }

  bool empty() const { return rows_.size() == 0; }
  bool has_bar() const { return bar_.count() >= 0; }
  std::int64_t bar_total() const { return bar_.total(); }  // 0 before the first bar
  // Rows behind those that decide: their steps are counted on.
  std::uint64_t counted_on() const { return counted_on_; }

 private:
  void GiveSteps(const RowContext& context, std::size_t rows);
  void Place(model::Series& series) const;

  TrainingBar bar_;
  DictRows rows_;
  std::uint64_t counted_on_ = 0;
  std::vector<std::int64_t> given_;  // the steps of the rows that have one
  bool was_revised_ = false;
};

}  // namespace vigil::textlog
