#include "tabular/row_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/catalogue.h"

namespace vigil::tabular {
namespace {

// Rows that may come before the first one with a step: a header, a configuration.
constexpr std::size_t kRowsToFindAStep = 64;
// A null stands for a hidden number only in a column that has had so many, and hardly ever a gap: loggers that fill
// every column of every row write null for what a row does not have, too.
constexpr std::uint64_t kNumbersToTrust = 3;
constexpr std::uint64_t kNumbersPerGap = 4;
constexpr double kLargestStep = 9e15;  // whole numbers up to here are exact in a double
constexpr double kMostRanks = 1e6;

struct NamedUse {
  std::string_view name;
  ColumnUse use;
};

// Step columns that count optimizer steps come before W&B's `_step`, which counts log calls.
constexpr std::array<NamedUse, 38> kUses = {{
    {"train/global_step", {ColumnRole::kStep, 9}},
    {"trainer/global_step", {ColumnRole::kStep, 9}},
    {"global_step", {ColumnRole::kStep, 8}},
    {"current_steps", {ColumnRole::kStep, 8}},
    {"training/global_step", {ColumnRole::kStep, 7}},
    {"step", {ColumnRole::kStep, 6}},
    {"steps", {ColumnRole::kStep, 5}},
    {"train_step", {ColumnRole::kStep, 5}},
    {"train/step", {ColumnRole::kStep, 5}},
    {"training_step", {ColumnRole::kStep, 5}},
    {"iteration", {ColumnRole::kStep, 4}},
    {"iter", {ColumnRole::kStep, 4}},
    {"num_updates", {ColumnRole::kStep, 4}},
    {"_step", {ColumnRole::kStep, 1}},
    {"total_steps", {ColumnRole::kPlannedSteps, 0}},
    {"max_steps", {ColumnRole::kPlannedSteps, 0}},
    {"train_runtime", {ColumnRole::kRunTime, 0}},
    {"train_loss", {ColumnRole::kMeanLoss, 0}},
    {"epoch", {ColumnRole::kEpoch, 0}},
    {"train/epoch", {ColumnRole::kEpoch, 0}},
    {"_timestamp", {ColumnRole::kTime, 0}},
    {"timestamp", {ColumnRole::kTime, 0}},
    {"wall_time", {ColumnRole::kTime, 0}},
    {"time", {ColumnRole::kTime, 0}},
    {"ts", {ColumnRole::kTime, 0}},
    {"rank", {ColumnRole::kRank, 0}},
    {"global_rank", {ColumnRole::kRank, 0}},
    {"local_rank", {ColumnRole::kAside, 0}},
    {"_runtime", {ColumnRole::kAside, 0}},
    {"_wandb/runtime", {ColumnRole::kAside, 0}},
    {"percentage", {ColumnRole::kAside, 0}},
    {"elapsed_time", {ColumnRole::kAside, 0}},
    {"remaining_time", {ColumnRole::kAside, 0}},
    {"pid", {ColumnRole::kAside, 0}},
    {"tid", {ColumnRole::kAside, 0}},
    {"seed", {ColumnRole::kAside, 0}},
    {"seq_id", {ColumnRole::kAside, 0}},
    {"world_size", {ColumnRole::kAside, 0}},
}};

bool IsWhole(double value) { return value >= 0 && value < kLargestStep && value == std::floor(value); }

// Unix seconds, from seconds, milliseconds, microseconds or nanoseconds of this century; NaN for anything else.
double UnixSeconds(double value) {
  for (const double unit : {1.0, 1e3, 1e6, 1e9}) {
    const double seconds = value / unit;
    if (seconds > 9.4e8 && seconds < 4.2e9) return seconds;
  }
  return model::kNoValue;
}

bool BecomesSeries(ColumnRole role) { return role <= ColumnRole::kMeanLoss; }

}  // namespace

ColumnUse UseOfColumn(std::string_view name) {
  const auto at = std::find_if(kUses.begin(), kUses.end(), [&](const NamedUse& known) { return known.name == name; });
  if (at != kUses.end()) return at->use;
  const auto meaning = catalogue::Interpret(name);
  if (!meaning) return {};
  if (meaning->signal == "loss") return {ColumnRole::kLoss, 0};
  if (meaning->signal == "lr") return {ColumnRole::kLearningRate, 0};
  return {};
}

void RowSink::Add(const std::vector<Cell>& cells, std::optional<std::uint64_t> fingerprint) {
  if (cells.empty()) return;
  LearnColumns();
  if (!axis_known_ && HoldBack(cells)) return;
  ++rows_;
  MarkNumbers(cells);
  const Roles roles = FindRoles(cells);
  Place(cells, roles);
  if (fingerprint) PlaceFingerprint(*fingerprint, roles);
}

// Data are those of an optimizer step; rows and epochs have no data of their own.
void RowSink::PlaceFingerprint(std::uint64_t fingerprint, const Roles& roles) {
  if (axis_ != model::Axis::kStep || !IsWhole(roles.step)) return;
  const std::int32_t rank = std::isnan(roles.rank) ? -1 : static_cast<std::int32_t>(roles.rank);
  builder_.part().batches.Append(static_cast<std::int64_t>(roles.step), fingerprint, rank);
}

void RowSink::LearnColumns() {
  for (std::size_t id = uses_.size(); id < columns_.size(); ++id) {
    Column column;
    column.use = UseOfColumn(columns_.name(static_cast<Columns::Id>(id)));
    uses_.push_back(column);
  }
}

RowSink::Roles RowSink::FindRoles(const std::vector<Cell>& cells) const {
  Roles roles;
  for (const Cell& cell : cells) {
    const Column& column = uses_[cell.column];
    if (cell.is_null) {
      roles.lacks_learning_rate |= column.use.role == ColumnRole::kLearningRate && column.latest_row != 0;
    } else if (column.use.role != ColumnRole::kMetric) {
      TakeRole(cell, column, roles);
    }
  }
  return roles;
}

void RowSink::TakeRole(const Cell& cell, const Column& column, Roles& roles) const {
  switch (column.use.role) {
    case ColumnRole::kStep:
      if (column.use.priority <= roles.step_priority || !IsWhole(cell.value)) break;
      roles.step = cell.value;
      roles.step_priority = column.use.priority;
      break;
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
      roles.epoch = cell.value;
      break;
    case ColumnRole::kPlannedSteps:
      if (IsWhole(cell.value) && cell.value > 0) roles.planned_steps = cell.value;
      break;
    case ColumnRole::kTime:
      if (std::isnan(roles.time)) roles.time = UnixSeconds(cell.value);
      break;
    case ColumnRole::kRank:
      if (IsWhole(cell.value) && cell.value < kMostRanks) roles.rank = cell.value;
      break;
    case ColumnRole::kMetric:
    case ColumnRole::kLearningRate:
    case ColumnRole::kAside:
      break;
  }
}

// True when the row waits until it is known what rows are counted by.
bool RowSink::HoldBack(const std::vector<Cell>& cells) {
  if (!std::isnan(FindRoles(cells).step)) {
    axis_known_ = true;
    StateHeader();
    return false;
  }
  held_back_.push_back(cells);
  if (held_back_.size() >= kRowsToFindAStep) PlaceHeldBack();
  return true;
}

// The rows before the first one with a step: one is a header with settings, more are not understood.
void RowSink::StateHeader() {
  if (held_back_.size() == 1 && !FindRoles(held_back_.front()).has_loss) {
    StateFacts(held_back_.front());
  } else {
    rows_without_step_ += held_back_.size();
  }
  held_back_.clear();
}

// No step in sight: whole epochs that rise count the rows, or their number does.
void RowSink::PlaceHeldBack() {
  axis_known_ = true;
  axis_ = model::Axis::kEpoch;
  double before = -1;
  for (const auto& cells : held_back_) {
    const double epoch = FindRoles(cells).epoch;
    if (!IsWhole(epoch) || epoch <= before) axis_ = model::Axis::kRow;
    before = epoch;
  }
  const auto rows = std::move(held_back_);
  held_back_.clear();
  for (const auto& cells : rows) Add(cells);
}

void RowSink::MarkNumbers(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    if (cell.is_null) continue;
    Column& column = uses_[cell.column];
    column.earlier_row = column.latest_row;
    column.latest_row = rows_;
  }
}

void RowSink::Place(const std::vector<Cell>& cells, const Roles& roles) {
  if (IsLaterEvaluation(roles)) return;
  if (roles.IsSummary()) return StateEnd(cells, roles);
  const std::int64_t step = StepOf(roles);
  if (step == model::kNoStep) {
    ++rows_without_step_;
    return;
  }
  for (const Cell& cell : cells) PlaceCell(cell, cells, roles, step);
  latest_step_ = step;
}

// LLaMA-Factory evaluates again after the training, with steps that count evaluation batches.
bool RowSink::IsLaterEvaluation(const Roles& roles) {
  if (std::isnan(roles.planned_steps)) return false;
  const bool changed = !std::isnan(planned_steps_) && planned_steps_ != roles.planned_steps;
  if (changed && !roles.has_loss) return true;
  planned_steps_ = roles.planned_steps;
  return false;
}

std::int64_t RowSink::StepOf(const Roles& roles) const {
  if (axis_ == model::Axis::kRow) return static_cast<std::int64_t>(rows_);
  const double stated = axis_ == model::Axis::kEpoch ? roles.epoch : roles.step;
  // A row without a step of its own belongs to the step before it.
  return IsWhole(stated) ? static_cast<std::int64_t>(stated) : latest_step_;
}

void RowSink::PlaceCell(const Cell& cell, const std::vector<Cell>& row, const Roles& roles, std::int64_t step) {
  Column& column = uses_[cell.column];
  const ColumnRole role = column.use.role;
  const bool plain_time = role == ColumnRole::kTime && std::isnan(UnixSeconds(cell.value));
  if (!BecomesSeries(role) && !plain_time) return;
  if (role == ColumnRole::kEpoch && axis_ == model::Axis::kEpoch) return;
  if (cell.is_null && !HidesNumber(column, row, roles)) {
    ++column.gaps;
    return;
  }
  PlaceValue(cell, roles, step);
}

void RowSink::PlaceValue(const Cell& cell, const Roles& roles, std::int64_t step) {
  Column& column = uses_[cell.column];
  const bool open = column.is_open && std::isnan(roles.rank);
  model::Series& series = builder_.series(open ? column.series : OpenSeries(cell.column, roles));
  if (!series.empty() && (series.steps.back() == step || (cell.is_null && series.steps.back() > step))) {
    repeats_ += column.use.role == ColumnRole::kEpoch ? 0 : 1;  // every row states the epoch
    return;
  }
  series.Append(step, cell.is_null ? model::kNoValue : cell.value, roles.time, cell.line);
}

// Whether a null stands for a number that the logger could not write (orjson writes NaN so). It does not where columns
// are often empty, nor in a row of another kind: one that has numbers which the row of this column's latest number did
// not have, or that lacks the learning rate, which is never NaN.
bool RowSink::HidesNumber(const Column& column, const std::vector<Cell>& row, const Roles& roles) const {
  const std::size_t numbers = column.is_open ? builder_.series(column.series).size() : 0;
  if (numbers < kNumbersToTrust || numbers < kNumbersPerGap * column.gaps) return false;
  if (roles.lacks_learning_rate || roles.IsSummary()) return false;
  return std::all_of(row.begin(), row.end(), [&](const Cell& other) {
    return other.is_null || uses_[other.column].earlier_row >= column.latest_row;
  });
}

ingest::PartBuilder::SeriesId RowSink::OpenSeries(Columns::Id id, const Roles& roles) {
  ingest::PartBuilder::SeriesId series = 0;
  if (std::isnan(roles.rank)) {
    series = builder_.OpenSeries(columns_.name(id));
    uses_[id].is_open = true;
    uses_[id].series = series;
  } else {
    const auto rank = static_cast<std::int32_t>(roles.rank);
    builder_.part().ranks = std::max(builder_.part().ranks, rank + 1);
    series = builder_.OpenSeries(columns_.name(id), {{"rank", std::to_string(rank)}});
  }
  builder_.series(series).axis = axis_;
  return series;
}

// The last row of HF Trainer is written when the training is through.
void RowSink::StateEnd(const std::vector<Cell>& cells, const Roles& roles) {
  StateFacts(cells);
  model::Event event;
  event.kind = model::EventKind::kExit;
  event.name = "finished";
  event.text = "the trainer's summary of the whole run";
  event.step = IsWhole(roles.step) ? static_cast<std::int64_t>(roles.step) : latest_step_;
  event.place.line = cells.front().line;
  builder_.AddEvent(std::move(event));
}

void RowSink::StateFacts(const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    const ColumnRole role = uses_[cell.column].use.role;
    if (cell.is_null || role == ColumnRole::kStep || role == ColumnRole::kEpoch || role == ColumnRole::kTime) continue;
    builder_.AddFact(columns_.name(cell.column), FormatExact(cell.value), cell.line);
  }
}

void RowSink::Finish() {
  if (!axis_known_ && !held_back_.empty()) PlaceHeldBack();
  if (!std::isnan(planned_steps_)) builder_.part().planned_steps = static_cast<std::int64_t>(planned_steps_);
  if (rows_without_step_ != 0)
    builder_.AddNote(fmt::format("{} rows before the first step are left out", FormatCount(rows_without_step_)));
  if (repeats_ != 0)
    builder_.AddNote(fmt::format("{} values repeat the step before them; the first is kept", FormatCount(repeats_)));
  if (columns_.full())
    builder_.AddNote(
        fmt::format("more than {} different keys; the rest is not read", FormatCount(Columns::kMostColumns)));
  rows_without_step_ = 0;
  repeats_ = 0;
}

}  // namespace vigil::tabular
