// tabular/metric_table: the one table of metrics: rows of numbers under named columns become the series of a part.
// Which column places a row, what a null stands for, which rows are summaries, what is kept of too many points: the
// same for every reader of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ingest/ingest.h"
#include "tabular/column_roles.h"
#include "tabular/row.h"
#include "tabular/step_policy.h"
#include "tabular/thinning.h"

namespace vigil::tabular {

class RowBatch;

struct ColumnSpec {
  std::string name;
  ColumnUse use;
  std::string meaning = {};  // a name that the vocabulary knows better than `name`, or empty
  model::Labels labels = {};
};

// Numbers and gaps of one column: a gap hides a number only in a column that has had some, and hardly ever a gap.
// Loggers that fill every column of every row write null for what a row does not have, too.
struct Fill {
  static constexpr std::uint64_t kNumbersToTrust = 3;
  static constexpr std::uint64_t kNumbersPerGap = 4;

  std::uint64_t numbers = 0;
  std::uint64_t gaps = 0;
  std::uint64_t latest_row = 0;  // with a number, counted from 1; 0 when there was none

  bool IsFull() const { return numbers >= kNumbersToTrust && numbers >= kNumbersPerGap * gaps; }
};

// The same for a list of one metric that was read whole: nulls (model::kNoValue) stay where they hide a number, others
// are left out, and the points keep their places.
void KeepLikelyGaps(model::Series& series);

// Takes rows in the order of the file. Steps come from the best named step column of the row; where no row has one,
// from whole epochs, from tokens or samples that rise, or from the number of the row (from 0).
class MetricTable {
 public:
  explicit MetricTable(ingest::PartBuilder& builder, std::uint64_t most_points = kMostPoints);
  ~MetricTable();
  MetricTable(const MetricTable&) = delete;
  MetricTable& operator=(const MetricTable&) = delete;
  MetricTable(MetricTable&&) = delete;
  MetricTable& operator=(MetricTable&&) = delete;

  // Columns are numbered in the order in which they are added.
  ColumnId AddColumn(ColumnSpec spec);
  ColumnId AddColumn(std::string_view name) { return AddColumn({std::string(name), UseOfColumn(name)}); }
  std::size_t column_count() const { return columns_.size(); }
  // What rows are counted by, where the reader has seen rows before it hands them over. Without it the first rows
  // decide, and wait until they have.
  void UseAxis(const AxisChoice& choice);
  // Cells that read `nan` may be blanks, as some writers of tables fill them: those of columns that are mostly so, and
  // of rows of another kind, are left out. A training loss that never was a number is one that is not finite. Where
  // cells are left empty as well, those are the blanks, and every `nan` is a value.
  void MayFillWithNan() { fills_with_nan_ = true; }
  // Times in the rows are relative to it (unix seconds).
  void SetTimeOrigin(double seconds) { time_origin_ = seconds; }
  // A header stands there again: what follows is another start, even where the step goes on.
  void BeginSegment();
  // The columns so far are no longer used: others of the same names go on with their series.
  void RetireColumns();

  void Add(const Row& row);
  // All rows are in their series, as far as it is known where they belong. To be called when the bytes at hand end.
  void Flush();
  // No more rows for now: places what was held back and notes what was left out.
  void Finish();

 private:
  using SeriesId = ingest::PartBuilder::SeriesId;
  // What one row says beside its metrics; NaN for what it does not say.
  struct Roles {
    double step = model::kNoValue;
    ColumnId step_column = kNoColumn;
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
  // The numbers of a row with a cell that reads `nan`.
  struct Neighbours {
    bool any = false;
    bool learning_rate = false;
    bool eval = false;             // a number of an evaluation
    std::size_t eval_columns = 0;  // with a number or without
    bool loss_is_nan = false;
    std::uint64_t newest_row = 0;  // in which one of their columns had a number before
  };
  struct EarlyNan {
    Cell cell;
    Roles roles;
    RowStep step;
  };
  struct Column {
    ColumnSpec spec;
    bool is_eval = false;    // its name says that it was measured on other data than those of the training
    bool is_open = false;    // `series` is the one its values go to, unless the row names a rank
    bool is_closed = false;  // another column has its series
    SeriesId series = 0;
    Fill fill;
    ColumnId evaluation = kNoColumn;        // the column of the same name in rows of an evaluation
    std::uint64_t planned_in = 0;           // the plan that has the column
    std::vector<EarlyNan> early_nans = {};  // cells that read `nan` before the first number
  };
  // A row that waits until it is known what rows are counted by.
  struct HeldRow {
    std::vector<Cell> cells;
    Row row;
  };
  // What a cell of a row like the one before is for.
  struct Planned {
    enum class Kind : std::uint8_t { kValue, kStep, kEpoch, kTime, kPlainTime, kPlannedSteps, kIgnored };
    ColumnId column = kNoColumn;
    Kind kind = Kind::kIgnored;
    bool is_null = false;
    std::uint32_t slot = kNoSlot;  // in the batch
  };
  static constexpr std::uint32_t kNoSlot = static_cast<std::uint32_t>(-1);

  Roles FindRoles(std::span<const Cell> cells) const;
  void TakeRole(const Cell& cell, const Column& column, Roles& roles) const;
  void TakeStep(const Cell& cell, const Column& column, Roles& roles) const;
  bool HoldBack(const Row& row);
  void PlaceHeldBack();
  void StateHeader();
  std::span<const Cell> AsEvaluation(std::span<const Cell> cells);
  void Place(Row row);
  void PlaceCells(const Row& row, const Roles& roles, RowStep step);
  void PlaceFingerprint(std::uint64_t fingerprint, const Roles& roles);
  bool IsLaterEvaluation(const Roles& roles);
  std::optional<RowStep> StepOf(const Roles& roles);
  void LookForEmptyCells(std::span<const Cell> cells);
  std::uint64_t CountNumbers(std::span<const Cell> cells);
  bool HoldsValues(const Cell& cell, const Column& column) const;
  double TimeOf(const Cell& cell) const;  // unix seconds; NaN when it is no time of this century
  void Put(const Cell& cell, const Row& row, const Roles& roles, RowStep step);
  bool IsEvaluationOfEpoch(std::span<const Cell> cells) const;
  Neighbours NeighboursIn(std::span<const Cell> cells) const;
  static bool IsBlank(const Column& column, const Neighbours& beside);
  bool WaitsForNumber(const Cell& cell, const Row& row, const Roles& roles, RowStep step, const Neighbours& beside);
  void PutEarlyNans(Column& column);
  bool IsDoubtful(std::string_view text, SeriesId id) const;
  bool OpensSegment(SeriesId id, std::int64_t step);
  SeriesId SeriesOf(ColumnId id, const Roles& roles);
  void StateEnd(std::span<const Cell> cells, const Roles& roles);
  void StateFacts(std::span<const Cell> cells);
  // Rows like the one before.
  void LearnPlan(const Row& row, const Roles& roles);
  bool PlanCell(const Cell& cell, const Roles& roles, std::vector<SeriesId>& series);
  bool TakeIntoBatch(const Row& row);
  bool GoBack(double stated, double epoch);
  void AppendBatch();
  void FlushBatch();

  ingest::PartBuilder& builder_;
  Thinning thinning_;
  std::vector<Column> columns_;
  std::vector<HeldRow> held_back_;
  AxisChoice axis_;
  bool axis_known_ = false;
  bool any_step_ = false;  // a step that is more than a count of log calls
  StepCounter steps_;
  double time_origin_ = 0;
  std::uint64_t rows_ = 0;
  std::int64_t last_step_ = model::kNoStep;
  bool had_loss_ = false;
  double last_epoch_ = model::kNoValue;
  double planned_steps_ = model::kNoValue;
  std::uint64_t repeats_ = 0;
  std::uint64_t rows_without_step_ = 0;
  std::uint32_t segment_ = 0;                             // how often a header came again
  std::vector<std::uint32_t> segments_;                   // by series: the segment its last value belongs to
  std::unordered_set<SeriesId> used_;                     // by a column in use
  std::unordered_map<std::uint64_t, SeriesId> of_ranks_;  // by column and rank
  std::vector<Cell> evaluation_cells_;
  std::vector<Planned> plan_;
  std::uint64_t plans_ = 0;
  bool plan_counts_whole_run_ = false;  // its steps do not begin again with an epoch
  std::uint64_t plain_rows_ = 0;        // since the fills of their columns were counted
  bool fills_with_nan_ = false;
  std::uint64_t rows_with_empty_cells_ = 0;
  bool fills_are_old_ = false;       // steps went back before those rows: the fills are to begin from nothing
  std::unique_ptr<RowBatch> batch_;  // rows like the one before
};

}  // namespace vigil::tabular
