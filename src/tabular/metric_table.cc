#include "tabular/metric_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "ingest/secrets.h"
#include "tabular/digits.h"
#include "tabular/row_batch.h"

namespace vigil::tabular {
namespace {

// Rows that may come before the first one with a step: a header, a configuration.
constexpr std::size_t kRowsToFindAStep = 64;
constexpr double kMostRanks = 1e6;

// Rows of an evaluation measure what the others do, on other data; counts are the same in both.
bool DiffersInEvaluation(const ColumnSpec& spec) {
  const ColumnRole role = spec.use.role;
  if (role != ColumnRole::kMetric && role != ColumnRole::kLoss && role != ColumnRole::kMeanLoss) return false;
  const std::string_view name = spec.name;
  return !StartsWithIgnoringCase(name, "val") && !StartsWithIgnoringCase(name, "eval") &&
         !StartsWithIgnoringCase(name, "test");
}

// `_step` counts calls of a tracker's log function.
bool CountsCalls(const ColumnSpec& spec) { return spec.name.starts_with('_'); }

}  // namespace

MetricTable::MetricTable(ingest::PartBuilder& builder, std::uint64_t most_points)
    : builder_(builder), thinning_(builder, most_points), batch_(std::make_unique<RowBatch>()) {}

MetricTable::~MetricTable() = default;

ColumnId MetricTable::AddColumn(ColumnSpec spec) {
  const bool is_eval = catalogue::TakeApart(spec.name).is_eval;
  columns_.push_back({std::move(spec), is_eval, false, false, 0, {}, kNoColumn, 0, {}});
  return static_cast<ColumnId>(columns_.size() - 1);
}

void MetricTable::UseAxis(const AxisChoice& choice) {
  axis_ = choice;
  axis_known_ = true;
  plan_.clear();
  for (ColumnId i = 0; i < columns_.size(); ++i) {
    if (columns_[i].spec.use.role != ColumnRole::kStep) continue;
    const bool counts = std::find(choice.steps.begin(), choice.steps.end(), i) != choice.steps.end();
    if (!counts) columns_[i].spec.use.role = ColumnRole::kBookkeeping;
  }
}

void MetricTable::BeginSegment() {
  FlushBatch();
  plan_.clear();
  ++segment_;
}

void MetricTable::RetireColumns() {
  FlushBatch();
  plan_.clear();
  used_.clear();
  columns_.clear();
  of_ranks_.clear();
}

void MetricTable::Add(const Row& row) {
  if (row.cells.empty() || (!plan_.empty() && TakeIntoBatch(row))) return;
  FlushBatch();
  if (!axis_known_ && HoldBack(row)) return;
  Place(row);
}

// ---- what the row says

MetricTable::Roles MetricTable::FindRoles(std::span<const Cell> cells) const {
  Roles roles;
  for (const Cell& cell : cells) {
    const Column& column = columns_[cell.column];
    const ColumnRole role = column.spec.use.role;
    if (cell.is_null || (fills_with_nan_ && std::isnan(cell.value))) {
      roles.lacks_learning_rate |= role == ColumnRole::kLearningRate && column.fill.numbers != 0;
    } else if (role != ColumnRole::kMetric) {
      TakeRole(cell, column, roles);
    }
    if (axis_known_ && cell.column == axis_.column && !cell.is_null) roles.step = cell.value;
  }
  return roles;
}

void MetricTable::TakeStep(const Cell& cell, const Column& column, Roles& roles) const {
  if (!IsWholeStep(cell.value) || (any_step_ && CountsCalls(column.spec))) return;
  const bool better =
      roles.step_column == kNoColumn || column.spec.use.priority > columns_[roles.step_column].spec.use.priority;
  if (!better) return;
  roles.step = cell.value;
  roles.step_column = cell.column;
}

void MetricTable::TakeRole(const Cell& cell, const Column& column, Roles& roles) const {
  switch (column.spec.use.role) {
    case ColumnRole::kStep:
      return TakeStep(cell, column, roles);
    case ColumnRole::kLoss:
      roles.has_loss = true;
      break;
    case ColumnRole::kRunTime:
      roles.has_run_time = true;
      break;
    case ColumnRole::kMeanLoss:
      roles.has_mean_loss = true;
      break;
    case ColumnRole::kEpoch:
      if (std::isnan(roles.epoch)) roles.epoch = cell.value;
      break;
    case ColumnRole::kPlannedSteps:
      if (IsWholeStep(cell.value) && cell.value > 0) roles.planned_steps = cell.value;
      break;
    case ColumnRole::kTime:
      if (std::isnan(roles.time)) roles.time = TimeOf(cell);
      break;
    case ColumnRole::kRank:
      if (IsWholeStep(cell.value) && cell.value < kMostRanks) roles.rank = cell.value;
      break;
    default:
      break;
  }
}

// ---- rows before the axis is known

// True when the row waits until it is known what rows are counted by.
bool MetricTable::HoldBack(const Row& row) {
  if (FindRoles(row.cells).step_column != kNoColumn) {
    AxisChoice choice;
    choice.axis = model::Axis::kStep;
    // Later rows may have steps under other names: what counts is decided row by row.
    axis_ = choice;
    axis_known_ = true;
    StateHeader();
    return false;
  }
  HeldRow& held = held_back_.emplace_back(HeldRow{{row.cells.begin(), row.cells.end()}, row});
  held.row.cells = {};
  if (held_back_.size() >= kRowsToFindAStep) PlaceHeldBack();
  return true;
}

// The rows before the first one with a step: one is a header with hyperparameters, more are not understood.
void MetricTable::StateHeader() {
  if (held_back_.size() == 1 && !FindRoles(held_back_.front().cells).has_loss) {
    StateFacts(held_back_.front().cells);
  } else {
    rows_without_step_ += held_back_.size();
  }
  held_back_.clear();
}

// No row has a step.
void MetricTable::PlaceHeldBack() {
  std::vector<ColumnUse> uses;
  uses.reserve(columns_.size());
  for (const Column& column : columns_) uses.push_back(column.spec.use);
  std::vector<SampleRow> sample;
  bool is_long = false;
  for (const HeldRow& held : held_back_) {
    SampleRow& row = sample.emplace_back(columns_.size());
    is_long = is_long || held.row.is_long;
    for (const Cell& cell : held.cells) {
      if (!cell.is_null) row[cell.column] = cell.value;
    }
  }
  UseAxis(ChooseAxis(uses, sample, is_long));
  const auto rows = std::move(held_back_);
  held_back_.clear();
  for (const HeldRow& held : rows) {
    Row row = held.row;
    row.cells = held.cells;
    Place(row);
  }
}

// ---- placing

// Some writers count the rows of an evaluation in epochs, under the name of the step (mmengine): rows without the
// epoch and the learning rate that the others have, whose step is the epoch that has just been trained.
bool MetricTable::IsEvaluationOfEpoch(std::span<const Cell> cells) const {
  if (std::isnan(last_epoch_)) return false;
  const Roles roles = FindRoles(cells);
  if (!std::isnan(roles.epoch) || roles.step != last_epoch_ || roles.step >= static_cast<double>(last_step_))
    return false;
  const auto is_rate = [&](ColumnId id) { return columns_[id].spec.use.role == ColumnRole::kLearningRate; };
  const bool has_rate = std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) { return is_rate(cell.column); });
  return !has_rate && std::any_of(columns_.begin(), columns_.end(), [](const Column& column) {
    return column.spec.use.role == ColumnRole::kLearningRate;
  });
}

void MetricTable::Place(Row row) {
  const bool of_epoch = !row.is_evaluation && !row.is_long && IsEvaluationOfEpoch(row.cells);
  row.is_evaluation = row.is_evaluation || of_epoch;
  if (row.is_evaluation) row.cells = AsEvaluation(row.cells);
  Roles roles = FindRoles(row.cells);
  if (of_epoch) {
    roles.step = model::kNoValue;  // it stands where the training is
    roles.step_column = kNoColumn;
  }
  if (!std::isnan(roles.epoch)) last_epoch_ = roles.epoch;
  had_loss_ = had_loss_ || roles.has_loss;
  if (IsLaterEvaluation(roles)) return;
  if (roles.IsSummary()) return StateEnd(row.cells, roles);
  const auto step = StepOf(roles);
  if (!step) {
    ++rows_without_step_;
    return;
  }
  PlaceCells(row, roles, *step);
  if (row.fingerprint) PlaceFingerprint(*row.fingerprint, roles);
  last_step_ = step->step;
  if (!step->borrowed) LearnPlan(row, roles);
}

std::span<const Cell> MetricTable::AsEvaluation(std::span<const Cell> cells) {
  evaluation_cells_.assign(cells.begin(), cells.end());
  for (Cell& cell : evaluation_cells_) {
    if (!DiffersInEvaluation(columns_[cell.column].spec)) continue;
    if (columns_[cell.column].evaluation == kNoColumn) {
      const ColumnId made = AddColumn("val/" + columns_[cell.column].spec.name);
      columns_[cell.column].evaluation = made;
    }
    cell.column = columns_[cell.column].evaluation;
  }
  return evaluation_cells_;
}

// LLaMA-Factory evaluates again after the training, with steps that count evaluation batches.
bool MetricTable::IsLaterEvaluation(const Roles& roles) {
  if (std::isnan(roles.planned_steps)) return false;
  const bool changed = !std::isnan(planned_steps_) && planned_steps_ != roles.planned_steps;
  if (changed && !roles.has_loss && had_loss_) return true;
  planned_steps_ = roles.planned_steps;
  return false;
}

std::optional<RowStep> MetricTable::StepOf(const Roles& roles) {
  if (axis_.counts_rows() && axis_.axis == model::Axis::kRow) return RowStep{steps_.NextRow(), false};
  const bool own = roles.step_column != kNoColumn;
  if (own) any_step_ = any_step_ || !CountsCalls(columns_[roles.step_column].spec);
  const bool whole_run = own && CountsWholeRun(columns_[roles.step_column].spec.name);
  return steps_.Next(roles.step, axis_.axis == model::Axis::kEpoch ? model::kNoValue : roles.epoch, whole_run);
}

// Whether the cell is of a series rather than of what places the row.
bool MetricTable::HoldsValues(const Cell& cell, const Column& column) const {
  const ColumnRole role = column.spec.use.role;
  if (column.is_closed || cell.column == axis_.column) return false;
  if (role == ColumnRole::kTime) return !cell.is_null && std::isnan(TimeOf(cell));
  return BecomesSeries(role);
}

// Counts the numbers of the row, and returns the row that is longest ago of those in which its columns had their latest
// number before.
std::uint64_t MetricTable::CountNumbers(std::span<const Cell> cells) {
  std::uint64_t oldest = ++rows_;
  for (const Cell& cell : cells) {
    Column& column = columns_[cell.column];
    if (cell.is_null || !HoldsValues(cell, column) || (fills_with_nan_ && std::isnan(cell.value))) continue;
    oldest = std::min(oldest, column.fill.latest_row);
    ++column.fill.numbers;
    column.fill.latest_row = rows_;
  }
  return oldest;
}

// A writer that leaves cells empty has no need of `nan` for them: from the second such row on its `nan` are values. One
// row alone may be cut.
void MetricTable::LookForEmptyCells(std::span<const Cell> cells) {
  constexpr std::uint64_t kRowsToBelieve = 2;
  if (!fills_with_nan_) return;
  const bool has_empty = std::any_of(cells.begin(), cells.end(), [&](const Cell& cell) {
    return cell.is_null && BecomesSeries(columns_[cell.column].spec.use.role);
  });
  rows_with_empty_cells_ += has_empty ? 1 : 0;
  if (rows_with_empty_cells_ < kRowsToBelieve) return;
  fills_with_nan_ = false;
  for (Column& column : columns_) PutEarlyNans(column);
}

// A null stands for a number that the logger could not write (orjson writes NaN so, pandas an empty cell). It does not
// where columns are often empty, nor in a row of another kind: one that has numbers which the row of this column's
// latest number did not have, or that lacks the learning rate, which is never NaN.
void MetricTable::PlaceCells(const Row& row, const Roles& roles, RowStep step) {
  const bool restarts = step.step < last_step_ && !row.is_long;
  LookForEmptyCells(row.cells);
  if (restarts) {
    for (Column& column : columns_) column.fill = {};
  }
  const bool has_gaps = std::any_of(row.cells.begin(), row.cells.end(),
                                    [](const Cell& cell) { return cell.is_null || std::isnan(cell.value); });
  const bool goes_on = row.is_long || (!step.borrowed && step.step > last_step_);
  const Neighbours beside = has_gaps ? NeighboursIn(row.cells) : Neighbours();
  const std::uint64_t oldest = CountNumbers(row.cells);
  for (const Cell& cell : row.cells) {
    Column& column = columns_[cell.column];
    if (!HoldsValues(cell, column)) continue;
    if (cell.is_null) {
      if (!goes_on) continue;
      const bool is_skipped = column.is_eval && !beside.eval;  // no evaluation was made
      const bool hides =
          !roles.lacks_learning_rate && !is_skipped && column.fill.IsFull() && column.fill.latest_row <= oldest;
      if (!hides || !column.is_open) {
        ++column.fill.gaps;
        continue;
      }
    }
    if (fills_with_nan_ && std::isnan(cell.value) && !cell.is_null) {
      if (WaitsForNumber(cell, row, roles, step, beside)) continue;
      if (roles.lacks_learning_rate || IsBlank(column, beside)) {
        ++column.fill.gaps;
        continue;
      }
    }
    Put(cell, row, roles, step);
  }
}

namespace {

bool IsLossRole(ColumnRole role) { return role == ColumnRole::kLoss || role == ColumnRole::kMeanLoss; }

}  // namespace

MetricTable::Neighbours MetricTable::NeighboursIn(std::span<const Cell> cells) const {
  Neighbours beside;
  for (const Cell& cell : cells) {
    const Column& column = columns_[cell.column];
    beside.eval_columns += column.is_eval ? 1 : 0;
    beside.loss_is_nan |= IsLossRole(column.spec.use.role) && !cell.is_null && std::isnan(cell.value);
    if (cell.is_null || std::isnan(cell.value) || !HoldsValues(cell, column)) continue;
    beside.any = true;
    beside.eval |= column.is_eval;
    beside.learning_rate |= column.spec.use.role == ColumnRole::kLearningRate;
    beside.newest_row = std::max(beside.newest_row, column.fill.latest_row);
  }
  return beside;
}

// Whether a cell that reads `nan` is one that the writer had nothing for: in a column that is mostly so, and in a row
// of another kind, none of whose numbers stood beside the latest one of this column. The loss is what a row is logged
// for: once there, it is blank only in rows of another kind.
bool MetricTable::IsBlank(const Column& column, const Neighbours& beside) {
  const Fill& fill = column.fill;
  const bool is_sparse = fill.gaps >= std::max<std::uint64_t>(fill.numbers, 1);
  // Several metrics of an evaluation and not one number: there was none.
  if (column.is_eval && !beside.eval && beside.eval_columns > 1) return true;
  const bool is_other_kind = beside.any && !beside.learning_rate && beside.newest_row < fill.latest_row;
  return (is_sparse && !IsLossRole(column.spec.use.role)) || is_other_kind;
}

// Before the first number of a column: true when the cell is kept back or left out. A training loss that reads `nan`
// where nothing but it or the learning rate was measured, or again and again, is not finite; any other column was not
// measured.
bool MetricTable::WaitsForNumber(const Cell& cell, const Row& row, const Roles& roles, RowStep step,
                                 const Neighbours& beside) {
  constexpr std::size_t kRowsToBelieve = 3;
  Column& column = columns_[cell.column];
  if (column.fill.numbers != 0 || column.is_open) return false;
  const bool is_sure = !beside.any || beside.learning_rate;
  // A gradient norm is logged with the loss, and is not finite where that is not.
  const bool goes_with_loss = is_sure && beside.loss_is_nan && !column.is_eval;
  if ((!IsLossRole(column.spec.use.role) && !goes_with_loss) || row.is_long) {
    ++column.fill.gaps;
    return true;
  }
  column.early_nans.push_back({cell, roles, step});
  if (is_sure || column.early_nans.size() >= kRowsToBelieve) PutEarlyNans(column);
  return true;
}

void MetricTable::PutEarlyNans(Column& column) {
  Row row;
  for (const EarlyNan& early : std::exchange(column.early_nans, {})) Put(early.cell, row, early.roles, early.step);
}

void MetricTable::Put(const Cell& cell, const Row& row, const Roles& roles, RowStep step) {
  const SeriesId id = SeriesOf(cell.column, roles);
  if (columns_[cell.column].is_closed) return;
  const double value = cell.is_null ? model::kNoValue : cell.value;
  if (row.last_may_be_cut && &cell == &row.cells.back() && IsDoubtful(row.last_text, id)) return;
  model::Series& series = builder_.series(id);
  // Rows of several metrics share a row number in the long form: each metric counts its own.
  if (row.is_long && axis_.axis == model::Axis::kRow) step.step = static_cast<std::int64_t>(thinning_.Seen(id));
  const bool starts = segment_ != 0 && OpensSegment(id, step.step);
  if (!series.empty() && !starts) {
    const double before = thinning_.LastValue(id);
    const bool differs = value != before && !(std::isnan(value) && std::isnan(before));
    if (thinning_.LastStep(id) == step.step) {
      // Every row states the epoch, and a row without a step of its own says nothing new.
      const bool counts = differs && !step.borrowed && columns_[cell.column].spec.use.role != ColumnRole::kEpoch;
      repeats_ += counts ? 1 : 0;
      return;
    }
    if (cell.is_null && thinning_.LastStep(id) > step.step) return;
  }
  thinning_.Add(id, step.step, value, roles.time, cell.line);
}

// Whether a number that the file ends with may have lost an exponent or digits: by how those before it were written.
bool MetricTable::IsDoubtful(std::string_view text, SeriesId id) const {
  if (text.empty()) return false;
  const model::Column<double>& values = builder_.series(id).values;
  // Without any before it, what cannot be all of a number: "0", "0.00", "2.".
  if (values.empty()) return text.find_first_of("123456789") == std::string_view::npos || text.ends_with('.');
  return !HasAllDigits(text, {values.begin(), values.size()});
}

// The header stood there again since the last value of this series: a restart, even if the step goes on.
bool MetricTable::OpensSegment(SeriesId id, std::int64_t step) {
  if (segments_.size() <= id) segments_.resize(id + std::size_t{1});
  if (segments_[id] == segment_) return false;
  segments_[id] = segment_;
  // A step that is none is not added, and opens nothing.
  const bool is_step = step <= static_cast<std::int64_t>(ingest::PartBuilder::kMaxStep);
  if (is_step && !builder_.series(id).empty() && step > thinning_.LastStep(id)) thinning_.OpenSegment(id);
  return true;
}

MetricTable::SeriesId MetricTable::SeriesOf(ColumnId id, const Roles& roles) {
  Column& column = columns_[id];
  const std::string& name = column.spec.meaning.empty() ? column.spec.name : column.spec.meaning;
  if (std::isnan(roles.rank)) {
    if (column.is_open) return column.series;
    column.series = builder_.OpenSeries(name, column.spec.labels);
    // Two columns may come to mean the same; the first one has it.
    column.is_closed = !used_.insert(column.series).second;
    column.is_open = !column.is_closed;
    if (column.is_closed) return column.series;
    builder_.series(column.series).raw = ingest::WithoutSecrets(column.spec.name);
    builder_.series(column.series).axis = axis_.axis;
    return column.series;
  }
  const auto rank = static_cast<std::int32_t>(roles.rank);
  const std::uint64_t key = (std::uint64_t{id} << 32U) | static_cast<std::uint32_t>(rank);
  if (const auto at = of_ranks_.find(key); at != of_ranks_.end()) return at->second;
  builder_.part().ranks = std::max(builder_.part().ranks, rank + 1);
  model::Labels labels = column.spec.labels;
  labels.emplace_back("rank", std::to_string(rank));
  const SeriesId series = builder_.OpenSeries(name, labels);
  builder_.series(series).axis = axis_.axis;
  of_ranks_.emplace(key, series);
  return series;
}

// Data are those of an optimizer step; rows and epochs have no data of their own.
void MetricTable::PlaceFingerprint(std::uint64_t fingerprint, const Roles& roles) {
  if (axis_.axis != model::Axis::kStep || !IsWholeStep(roles.step)) return;
  const std::int32_t rank = std::isnan(roles.rank) ? -1 : static_cast<std::int32_t>(roles.rank);
  builder_.part().batches.Append(model::StepAt(static_cast<std::int64_t>(roles.step)), fingerprint, rank);
}

// The last row of HF Trainer is written when the training is through.
void MetricTable::StateEnd(std::span<const Cell> cells, const Roles& roles) {
  StateFacts(cells);
  model::Event event;
  event.kind = model::EventKind::kExit;
  event.name = "finished";
  event.says = says::EventSummary{};
  if (IsWholeStep(roles.step)) {
    event.at = model::Position(axis_.axis, static_cast<std::int64_t>(roles.step));
  } else if (last_step_ != model::kNoStep) {
    event.at = model::Position(axis_.axis, last_step_);
  }
  event.place.line = cells.front().line;
  builder_.AddEvent(std::move(event));
}

void MetricTable::StateFacts(std::span<const Cell> cells) {
  for (const Cell& cell : cells) {
    const ColumnRole role = columns_[cell.column].spec.use.role;
    if (cell.is_null || role == ColumnRole::kStep || role == ColumnRole::kEpoch || role == ColumnRole::kTime) continue;
    builder_.AddFact(columns_[cell.column].spec.name, FormatExact(cell.value), cell.line);
  }
}

// ---- the end

void MetricTable::Flush() {
  FlushBatch();
  thinning_.MakeRoom();
}

void MetricTable::Finish() {
  Flush();
  if (!axis_known_ && !held_back_.empty()) PlaceHeldBack();
  for (Column& column : columns_) {
    if (column.fill.numbers == 0) PutEarlyNans(column);
  }
  thinning_.Finish();
  if (!std::isnan(planned_steps_))
    builder_.part().planned_steps = model::StepAt(static_cast<std::int64_t>(planned_steps_));
  if (rows_without_step_ != 0) builder_.AddNote(says::NoteRowsWithoutStep{.count = rows_without_step_});
  if (repeats_ != 0) builder_.AddNote(says::NoteRepeatedSteps{.count = repeats_});
  if (thinning_.stride() > 1) builder_.AddNote(ThinnedNote(thinning_.stride()));
  rows_without_step_ = 0;
  repeats_ = 0;
}

}  // namespace vigil::tabular
