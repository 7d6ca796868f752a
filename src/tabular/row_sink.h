// From rows of numbers to the series of a part: which column is the step, what a null stands for, which rows are
// summaries.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ingest/ingest.h"
#include "tabular/json_rows.h"

namespace vigil::tabular {

// What a column is for, by its name. The roles up to kMeanLoss become series.
enum class ColumnRole : std::uint8_t {
  kMetric,
  kLoss,
  kLearningRate,
  kEpoch,
  kRunTime,   // train_runtime and train_loss stand together in the last row of HF Trainer: the time and the mean loss
  kMeanLoss,  // of the whole run
  kStep,
  kPlannedSteps,
  kTime,
  kRank,
  kAside,
};
struct ColumnUse {
  ColumnRole role = ColumnRole::kMetric;
  int priority = 0;  // of several step columns in a row, the highest counts
};
ColumnUse UseOfColumn(std::string_view name);

// Takes rows in the order of the file. Steps come from the row's step column; when no row has one, from whole epochs,
// else from the number of the row.
class RowSink {
 public:
  RowSink(ingest::PartBuilder& builder, const Columns& columns) : builder_(builder), columns_(columns) {}

  // `fingerprint`: of the data of the row's step.
  void Add(const std::vector<Cell>& cells, std::optional<std::uint64_t> fingerprint = std::nullopt);
  // No more rows for now: places what was held back and notes what was left out.
  void Finish();

 private:
  struct Column {
    ColumnUse use;
    bool is_open = false;  // `series` is the one its values go to, unless the row names a rank
    ingest::PartBuilder::SeriesId series = 0;
    std::uint64_t gaps = 0;         // rows with a null that means "not in this row"
    std::uint64_t latest_row = 0;   // with a number, counted from 1; 0 when there was none
    std::uint64_t earlier_row = 0;  // the one before that
  };
  // What one row says beside its metrics; NaN for what it does not say.
  struct Roles {
    double step = model::kNoValue;
    int step_priority = -1;
    double planned_steps = model::kNoValue;
    double epoch = model::kNoValue;
    double time = model::kNoValue;
    double rank = model::kNoValue;
    bool has_loss = false;
    bool has_run_time = false;
    bool has_mean_loss = false;
    bool lacks_learning_rate = false;  // it is null, in a column that has had numbers

    bool IsSummary() const { return has_run_time && has_mean_loss && !has_loss; }
  };

  void LearnColumns();
  Roles FindRoles(const std::vector<Cell>& cells) const;
  void TakeRole(const Cell& cell, const Column& column, Roles& roles) const;
  bool HoldBack(const std::vector<Cell>& cells);
  void PlaceHeldBack();
  void StateHeader();
  void MarkNumbers(const std::vector<Cell>& cells);
  void Place(const std::vector<Cell>& cells, const Roles& roles);
  void PlaceFingerprint(std::uint64_t fingerprint, const Roles& roles);
  bool IsLaterEvaluation(const Roles& roles);
  std::int64_t StepOf(const Roles& roles) const;
  void PlaceCell(const Cell& cell, const std::vector<Cell>& row, const Roles& roles, std::int64_t step);
  bool HidesNumber(const Column& column, const std::vector<Cell>& row, const Roles& roles) const;
  void PlaceValue(const Cell& cell, const Roles& roles, std::int64_t step);
  ingest::PartBuilder::SeriesId OpenSeries(Columns::Id id, const Roles& roles);
  void StateEnd(const std::vector<Cell>& cells, const Roles& roles);
  void StateFacts(const std::vector<Cell>& cells);

  ingest::PartBuilder& builder_;
  const Columns& columns_;
  std::vector<Column> uses_;
  std::vector<std::vector<Cell>> held_back_;  // rows before the axis is known
  bool axis_known_ = false;
  model::Axis axis_ = model::Axis::kStep;
  std::uint64_t rows_ = 0;
  std::int64_t latest_step_ = model::kNoStep;
  double planned_steps_ = model::kNoValue;
  std::uint64_t repeats_ = 0;
  std::uint64_t rows_without_step_ = 0;
};

}  // namespace vigil::tabular
