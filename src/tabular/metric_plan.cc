// Rows like the one before go a short way: their shape is learned once, and their numbers are gathered and appended in
// blocks. Every row of a plain log is one, which makes this the speed of reading tables.
#include <cmath>

#include "tabular/metric_table.h"
#include "tabular/row_batch.h"

namespace vigil::tabular {
namespace {

// Unix seconds, from seconds, milliseconds, microseconds or nanoseconds of this century; NaN for anything else.
double UnixSeconds(double value) {
  for (const double unit : {1.0, 1e3, 1e6, 1e9}) {
    const double seconds = value / unit;
    if (seconds > 9.4e8 && seconds < 4.2e9) return seconds;
  }
  return model::kNoValue;
}

}  // namespace

double MetricTable::TimeOf(const Cell& cell) const { return UnixSeconds(time_origin_ + cell.value); }

// Learns the shape of a row that was placed: the next ones of that shape go the short way.
void MetricTable::LearnPlan(const Row& row, const Roles& roles) {
  plan_.clear();
  const bool plain =
      !row.is_long && !row.is_evaluation && !row.last_may_be_cut && !row.fingerprint && std::isnan(roles.rank);
  if (!plain) return;
  ++plans_;
  plan_counts_whole_run_ = roles.step_column != kNoColumn && CountsWholeRun(columns_[roles.step_column].spec.name);
  std::vector<SeriesId> series;
  for (const Cell& cell : row.cells) {
    if (PlanCell(cell, roles, series)) continue;
    plan_.clear();
    return;
  }
  if (series.empty()) plan_.clear();
  batch_->Begin(std::move(series));
}

// False when rows with such a cell need care.
bool MetricTable::PlanCell(const Cell& cell, const Roles& roles, std::vector<SeriesId>& series) {
  using Kind = Planned::Kind;
  Column& column = columns_[cell.column];
  const ColumnRole role = column.spec.use.role;
  Planned& planned = plan_.emplace_back(Planned{cell.column, Kind::kIgnored, cell.is_null, kNoSlot});
  if (column.planned_in == plans_) return false;  // a duplicate key in one row
  column.planned_in = plans_;
  if (cell.is_null) return !column.is_open;
  const bool is_value = HoldsValues(cell, column);
  if (cell.column == axis_.column || cell.column == roles.step_column)
    planned.kind = Kind::kStep;
  else if (role == ColumnRole::kPlannedSteps)
    planned.kind = Kind::kPlannedSteps;
  else if (role == ColumnRole::kTime)
    planned.kind = is_value ? Kind::kPlainTime : Kind::kTime;
  else if (role == ColumnRole::kEpoch)
    planned.kind = Kind::kEpoch;
  else if (is_value)
    planned.kind = Kind::kValue;
  if (!is_value) return true;
  if (!column.is_open) return false;
  planned.slot = static_cast<std::uint32_t>(series.size());
  series.push_back(column.series);
  return true;
}

// A row of the shape of the one before, with a number in the same cells. False, and nothing taken, for any other, and
// for one whose step is that of the row before: which value counts is decided with care.
bool MetricTable::TakeIntoBatch(const Row& row) {
  using Kind = Planned::Kind;
  if (row.cells.size() != plan_.size() || row.is_evaluation || row.fingerprint || row.last_may_be_cut || row.is_long)
    return false;
  if (batch_->full()) {
    AppendBatch();
    batch_->MakeRoom();
  }
  double stated = model::kNoValue;
  double epoch = model::kNoValue;
  double time = model::kNoValue;
  for (std::size_t i = 0; i < plan_.size(); ++i) {
    const Cell& cell = row.cells[i];
    const Planned& planned = plan_[i];
    if (cell.column != planned.column || cell.is_null != planned.is_null) return false;
    if (fills_with_nan_ && std::isnan(cell.value)) return false;
    if (planned.slot != kNoSlot) batch_->Set(planned.slot, cell.value, cell.line);
    if (planned.kind == Kind::kValue || planned.kind == Kind::kIgnored) continue;
    if (planned.kind == Kind::kStep) stated = cell.value;
    if (planned.kind == Kind::kEpoch && std::isnan(epoch)) epoch = cell.value;
    if (planned.kind == Kind::kPlannedSteps && cell.value != planned_steps_) return false;
    if (planned.kind == Kind::kTime || planned.kind == Kind::kPlainTime) {
      const double seconds = TimeOf(cell);
      if (std::isnan(seconds) != (planned.kind == Kind::kPlainTime)) return false;
      if (std::isnan(time)) time = seconds;
    }
  }
  if (axis_.axis == model::Axis::kRow)
    last_step_ = steps_.NextRow();
  else if (steps_.GoesOn(stated, epoch))
    last_step_ = steps_.TakeNext(stated, epoch);
  else if (!GoBack(stated, epoch))
    return false;
  if (!std::isnan(epoch)) last_epoch_ = epoch;
  batch_->Close(last_step_, time);
  ++plain_rows_;
  return true;
}

// The step of a row where the step or the epoch went back. All series of the plan end at the step before, so that a
// lower step is a restart in each of them. False, and nothing changed, where Place has to look: asking the counter
// twice for the same row gives the same step.
bool MetricTable::GoBack(double stated, double epoch) {
  // What is beyond the steps that a part takes is in no series.
  constexpr auto kMostStep = static_cast<std::int64_t>(ingest::PartBuilder::kMaxStep);
  if (!IsWholeStep(stated) || last_step_ > kMostStep) return false;
  const auto next =
      steps_.Next(stated, axis_.axis == model::Axis::kEpoch ? model::kNoValue : epoch, plan_counts_whole_run_);
  if (!next || next->step == last_step_ || next->step > kMostStep) return false;
  if (next->step < last_step_) {
    // What was known of gaps is forgotten, as in PlaceCells: later, once, however often steps go back until then.
    rows_ += plain_rows_;
    plain_rows_ = 0;
    fills_are_old_ = true;
  }
  last_step_ = next->step;
  return true;
}

// Whole blocks, as long as every point is kept.
void MetricTable::AppendBatch() {
  if (thinning_.stride() == 1) return batch_->Flush(builder_);
  batch_->FlushPoints([&](SeriesId id, std::int64_t step, double value, double time, std::uint32_t line) {
    thinning_.Add(id, step, value, time, line);
  });
}

// Appends what waits, and counts its numbers.
void MetricTable::FlushBatch() {
  AppendBatch();
  if (fills_are_old_) {
    for (Column& column : columns_) column.fill = {};
    fills_are_old_ = false;
  }
  if (plain_rows_ == 0) return;
  rows_ += plain_rows_;
  for (const Planned& planned : plan_) {
    if (planned.slot == kNoSlot) continue;
    Fill& fill = columns_[planned.column].fill;
    fill.numbers += plain_rows_;
    fill.latest_row = rows_;
  }
  plain_rows_ = 0;
}

}  // namespace vigil::tabular
