// Metric rows of all shapes become points: names to series, and each row its step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/ingest.h"
#include "textlog/dict_rows.h"
#include "textlog/line.h"
#include "textlog/line_shape.h"
#include "textlog/metric_line.h"
#include "textlog/plain_numbers.h"
#include "textlog/progress_bar.h"
#include "textlog/repetition.h"
#include "textlog/series_table.h"
#include "textlog/table.h"

namespace vigil::textlog {

class MetricRows {
 public:
  // Rows of dictionaries stand at kUnresolved plus their number until the end tells their steps.
  static constexpr std::int64_t kUnresolved = std::int64_t{1} << 60U;

  // `by_shape`: lines of a shape that was understood before are read by it.
  MetricRows(ingest::PartBuilder& builder, bool by_shape) : builder_(builder), table_(builder), by_shape_(by_shape) {}

  // A line of a plain loop. True when it was one: it names a step or an epoch and a metric the vocabulary knows.
  bool TakeLine(const CleanLine& line, bool cut, std::uint32_t line_number);
  // The same for a line at the front of `text` that is like one before it, byte for byte but for its numbers. Returns
  // its length without the end of line, 0 when it is another.
  std::size_t TakeLikeBefore(std::string_view text, std::uint32_t line_number);
  // A line of a table, or of the lines below a row of names. True when it was one.
  bool TakeTable(std::string_view text, std::int32_t rank, std::uint32_t line_number);
  // A line that nothing else understood: believed when its shape repeats. True when it was.
  bool TakeRepeated(const CleanLine& line, bool cut, std::uint32_t line_number);
  // A line of nothing but numbers, or (without `has_word`, a word that lines of metrics hold) a count in front of names
  // that nobody knows. Only asked for while nothing else was found.
  bool TakePlain(const CleanLine& line, bool cut, bool has_word, std::uint32_t line_number);
  // "val loss 3.1" alone in a line, between lines that name their steps: it belongs to the latest one.
  bool TakeLoneScore(const CleanLine& line, bool cut, std::uint32_t line_number);
  // "    forward-backward ......: (123.4, 130.1)": Megatron's timers in milliseconds, of the fastest and slowest rank.
  bool TakeTimer(const CleanLine& line, std::uint32_t line_number);
  // "[Rank 0] (after 2 iterations) memory (MB) | max allocated: 2345.6 | ...", which Megatron tells once.
  bool TakeMemory(const CleanLine& line, bool cut, std::uint32_t line_number);
  // Numbers behind a bar, at the step the bar tells.
  bool TakePostfix(const ProgressBar& bar, std::int32_t rank, std::uint32_t line_number);
  // A dictionary; its step is taken from the dictionary, from the text before it, or found out at the end.
  enum class DictKind : std::uint8_t { kNone, kRow, kEnd };
  DictKind TakeDict(const NamedNumbers& numbers, std::string_view before, const CleanLine& line, bool cleared,
                    TrainingBar& bar, std::uint32_t line_number);
  // The training bar was drawn.
  void ObserveBar(std::int64_t count);
  // A loss scale that a scaler told, behind the latest step. An overflow names the scale it was `attempted` with and
  // skips a step; without one (NaN) the scale grew.
  void TakeLossScale(double attempted, double scale, std::uint32_t line_number);

  // The latest step that a line or bar told, -1 before any.
  std::int64_t last_step() const { return last_step_; }
  bool has_series() const { return !builder_.part().series.empty(); }
  // Whether the log's rows are lines without any word to find them by.
  bool is_plain() const { return is_plain_; }
  // Whether the lines that follow belong to a row that spans several.
  bool is_open() const { return block_step_ >= 0 || in_result_ || tables_.is_open(); }
  bool in_table() const { return tables_.is_open(); }
  // Gives the rows that named no step theirs.
  void Finish(const TrainingBar& bar);

 private:
  struct Place {
    std::int64_t step = 0;
    std::int32_t rank = -1;
    std::uint32_t line = 0;
    Origin origin = Origin::kLine;
    bool evaluation = false;  // names mean what they say of the evaluation
    model::Axis axis = model::Axis::kStep;
  };
  // Looks the names up; true when one of them is a metric that the vocabulary knows.
  bool FindNames(const NamedNumbers& numbers, const Place& place);
  void BringToUnits(NamedNumbers& numbers) const;
  // Appends the numbers whose names were looked up last.
  void AddPoints(const NamedNumbers& numbers, const Place& place);
  bool TakeLineByShape(const CleanLine& line, std::uint32_t line_number);
  void AddValues(std::int32_t rank, std::uint32_t line_number);
  void MoveForward(std::size_t shape);
  void RememberShape(const CleanLine& line);
  void RememberCounted(const CleanLine& line);
  void KeepShape(const CleanLine& line, LineShape shape);
  bool IsWholeNumber(std::string_view text, std::uint32_t index) const;
  void AddSumOfLosses(const NamedNumbers& numbers, const Place& place);
  void MarkRunningMeans();
  void AddMissingLoss(const NamedNumbers& numbers, const Place& place);
  void AddAtLatestStep(const CleanLine& line, std::uint32_t line_number);
  void AddNull(std::uint32_t index, const Place& place);
  bool HasBadGradient(const NamedNumbers& numbers) const;
  void ResolveDictRows();
  bool OpenBlock(std::string_view text);
  bool OpenEvaluationBlock(std::string_view text);
  bool TakeResultLine(const CleanLine& line, std::uint32_t line_number);
  void CloseResult(std::int32_t rank, std::uint32_t line_number);
  void NamePlainLoss();
  bool TakeBlockLine(const CleanLine& line, std::uint32_t line_number);
  void PlaceLine(const MetricLine& line, Place& place);
  std::int64_t CountedStep(const MetricLine& line);
  std::int64_t StepWithinEpochs(const MetricLine& line);
  std::string_view NameOf(std::string_view name, bool evaluation);

  ingest::PartBuilder& builder_;
  SeriesTable table_;
  DictRows dict_rows_;
  MetricLine metric_line_;
  struct RankShape {
    LineShape shape;
    std::int32_t rank = -1;
    std::string prefix;     // of launchers
    bool verbatim = false;  // prefix and shape are all of the line
  };
  std::vector<RankShape> shapes_;  // the latest first
  std::vector<LineShape::Value> values_;
  TableReader tables_;
  TableRow table_row_;
  Repetition repetition_;
  PlainNumbers plain_numbers_;
  bool is_plain_ = false;
  bool in_result_ = false;
  std::vector<LearnedRow::Number> result_;
  bool by_shape_ = true;
  NamedNumbers postfix_;
  std::vector<std::uint32_t> found_;  // places in the table, as many as numbers
  std::string name_;
  bool running_mean_ = false;  // the line at hand is a bar of Keras, which shows means over the epoch so far
  std::string loss_name_ = "lm loss";

  std::uint64_t lost_rows_ = 0;
  std::int64_t last_step_ = -1;
  std::int64_t total_steps_ = 0;
  std::int64_t block_step_ = -1;
  // Counting within epochs.
  double epoch_ = -1;
  double header_epoch_ = -1;
  double first_epoch_ = -1;
  std::int64_t raw_step_ = -1;
  std::int64_t epoch_start_ = 0;
  std::int64_t raw_gap_ = 1;
  // Bars with numbers behind them.
  std::int64_t bar_start_ = 0;
  std::int64_t bar_count_ = -1;
  std::int64_t bar_total_ = 0;
  // Loss scale.
  double scale_ = 0;
  std::int64_t scale_step_ = -1;
  std::int64_t skipped_ = 0;
};

}  // namespace vigil::textlog
