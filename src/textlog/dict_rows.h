// Steps of dictionary lines. HF Trainer prints no step: it has to be read off the progress bar drawn around the line,
// or, where standard output was buffered and its lines come in heaps behind the bars, be counted from the lines
// themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "model/run.h"
#include "textlog/progress_bar.h"

namespace vigil::textlog {

// Follows the bars without a description. One of them counts the training; bars of evaluations are nested in it and
// have another total. A count that goes back opens a new session (a restart).
class TrainingBar {
 public:
  // True when this bar is the training's.
  bool Observe(const ProgressBar& bar);
  // A training line came: when another bar has taken the place of the one followed, a new training has begun.
  void ObserveTrainingRow();

  std::int64_t count() const { return current_.count; }  // -1 before the first bar
  std::int64_t total() const { return current_.total; }  // 0 before the first bar
  std::uint32_t session() const { return session_; }

 private:
  struct Counter {
    std::int64_t count = -1;
    std::int64_t total = 0;
  };
  Counter current_;
  Counter other_;  // a bar with another total, since the training's was last drawn
  std::uint32_t session_ = 0;
};

enum class RowKind : std::uint8_t { kTraining, kEvaluation };

// What is known of the run beside its rows.
struct RowContext {
  std::int64_t total_steps = 0;    // planned or made, 0 when unknown
  std::int64_t logging_steps = 0;  // stated in the log, 0 when unknown
  double epochs = 0;               // planned, 0 when unknown
};

// The rows of a log in the order of its lines, and the steps they get.
class DictRows {
 public:
  // A row, drawn while the training bar stood at `bar_count`. `cleared`: the bar was wiped for the line, so it is drawn
  // again right behind it, with the exact count.
  void Add(RowKind kind, double epoch, bool cleared, const TrainingBar& bar);
  // The training bar was drawn.
  void ObserveBar(std::int64_t count);
  // The training ended in order after so many epochs and steps (0: not stated).
  void EndSession(double epoch, std::int64_t steps);

  std::size_t size() const { return rows_.size(); }
  // Rows at the front behind which the bar was drawn.
  std::size_t before_bar() const { return awaiting_bar_; }
  // Whether the rows are to be counted as lines, for want of anything better: steps are then row numbers.
  bool counted_as_rows() const { return counted_as_rows_; }
  // Whether each training row is that of an epoch of its own: steps are then epochs.
  bool counted_as_epochs() const { return counted_as_epochs_ && !counted_as_rows_; }
  // The step of each row.
  std::vector<std::int64_t> Resolve(const RowContext& context);

 private:
  struct Row {
    std::int64_t bar_before = -1;
    std::int64_t bar_after = -1;
    double epoch = -1;
    std::uint32_t session = 0;
    RowKind kind = RowKind::kTraining;
    bool cleared = false;
  };
  struct End {
    std::uint32_t session = 0;
    double epoch = 0;
    std::int64_t steps = 0;
  };
  using Steps = std::vector<std::int64_t>;

  static std::int64_t PositionOf(const Row& row);
  bool AreBetweenBars(std::size_t begin, std::size_t end) const;
  bool AreBeforeTheirBars(std::size_t begin, std::size_t end) const;
  bool AreEpochs(std::size_t begin, std::size_t end) const;
  bool CountByEpochs(std::size_t begin, std::size_t end, const RowContext& context, Steps& steps) const;
  std::int64_t WithoutABarBehind(std::size_t row, std::size_t begin, const Steps& steps) const;
  void ResolveSession(std::size_t begin, std::size_t end, const RowContext& context, Steps& steps);
  void CountRows(std::size_t begin, std::size_t end, const RowContext& context, Steps& steps);
  const End* FindEnd(std::uint32_t session) const;

  std::vector<Row> rows_;
  std::vector<End> ends_;
  std::size_t awaiting_bar_ = 0;  // rows from here on have seen no bar behind them
  std::uint32_t finished_ = 0;    // trainings that ended before the latest row's
  bool is_over_ = false;          // the training ended in order; evaluations may still follow
  double last_epoch_ = -1;
  bool counted_as_rows_ = false;
  bool counted_as_epochs_ = false;
};

}  // namespace vigil::textlog
