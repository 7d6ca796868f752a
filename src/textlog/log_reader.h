// The reader of log text: cuts bytes into lines, and hands each line that may matter to those who understand it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/ingest.h"
#include "textlog/arguments.h"
#include "textlog/dict_line.h"
#include "textlog/dict_rows.h"
#include "textlog/event_log.h"
#include "textlog/failure_table.h"
#include "textlog/hints.h"
#include "textlog/line.h"
#include "textlog/metric_rows.h"
#include "textlog/progress_bar.h"
#include "textlog/signatures.h"
#include "textlog/traceback.h"
#include "textlog/trainer.h"

namespace vigil::textlog {

class LogReader final : public ingest::Reader {
 public:
  struct Options {
    bool use_hints = true;  // false: look at every line for everything, from scratch (the slow twin, for tests)
  };

  explicit LogReader(ingest::PartBuilder& builder) : LogReader(builder, Options{}) {}
  LogReader(ingest::PartBuilder& builder, const Options& options);

  ingest::Growth growth() const override { return ingest::Growth::kSettlesAtEnd; }
  std::size_t Consume(std::string_view bytes, bool last) override;

  // Longer lines are cut to this length; nothing a trainer writes comes near it.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20U;

 private:
  bool FindEncoding(std::string_view bytes, bool last);
  std::size_t ConsumeUtf16(std::string_view bytes, bool last);
  std::size_t ConsumeText(std::string_view bytes, bool last);
  std::size_t WholeLines(std::string_view rest);
  std::size_t PassLongLine(std::string_view rest);
  void ProcessBlock(std::string_view block);
  std::size_t TakeLikeBefore(std::string_view block, std::size_t at);
  std::size_t TakeOneLikeBefore(std::string_view rest);
  void ProcessWrapped(std::string_view text);
  void ProcessSegments(std::string_view text, const std::vector<Hint>& hints, bool is_wrapped);
  void ProcessSegment(std::string_view segment);
  std::size_t NextSegment(std::string_view block, std::size_t at, const std::vector<Hint>& hints, std::size_t& next);
  void CollectHints(const std::vector<Hint>& hints, std::size_t& next, std::size_t end);
  bool WantsEveryLine() const;
  bool LooksForPlainLines(std::uint64_t offset) const;

  void HandleText(CleanLine line);
  bool HasMetricWord(std::string_view text) const;
  void RememberStranger(std::string_view text);
  void TellWhatWasLookedFor();
  bool HandleMetric(const CleanLine& line);
  void HandleBar(const ProgressBar& bar);
  bool HandleTraceback(const CleanLine& line);
  bool HandleDict(const CleanLine& line);
  void HandleNotice(const CleanLine& line);
  static bool TellsTheEnd(std::string_view text);
  void HandleNanHider(const CleanLine& line);
  void HandleLossScale(const CleanLine& line);
  void HandleFailureTable(const CleanLine& line);
  void HandleSignature(const CleanLine& line, const Exception* exception);
  void Finish();
  EventLog::Position Here(std::int32_t rank) const;

  ingest::PartBuilder& builder_;
  HintScanner scanner_;
  LineCleaner cleaner_;
  TrainerMarks trainer_;
  TrainingBar bar_;
  MetricRows metrics_;
  ArgumentReader arguments_;
  TracebackReader tracebacks_;
  FailureTableReader failures_;
  EventLog events_;
  NamedNumbers numbers_;
  NestedDict nested_;
  std::uint32_t hints_ = 0;                    // what the search found in the segment at hand, as bits
  std::optional<SignatureSearch> signatures_;  // made when the first line may carry one
  std::string unwrapped_;
  std::string plain_;  // the block at hand without colours
  std::vector<Hint> block_hints_;
  std::vector<Hint> wrapped_hints_;

  std::optional<ingest::Encoding> encoding_;  // empty before the first bytes
  std::size_t mark_ = 0;                      // bytes of a mark at the front that are still to be passed
  std::string decoded_;                       // UTF-8 of what came in UTF-16, from the last whole line on

  std::optional<std::int64_t> failed_step_;  // after which Slurm last told of a task that failed

  bool use_hints_ = true;
  bool in_wrapper_ = false;         // the segment at hand is the text inside a notebook runner's line
  bool skipping_ = false;           // within the rest of a line that was too long
  bool cut_ = false;                // the segment at hand has no end of line behind it
  bool cleared_ = false;            // the bar was wiped just before
  bool hides_nan_ = false;          // something that hides NaN was told of
  bool finished_ = false;           // the summary at the end was the last row
  bool is_ignored_ = false;         // the traceback being read is one that the interpreter only mentions
  std::uint32_t ignored_line_ = 0;  // where it last said that it ignores one
  std::size_t scan_bytes_ = 0;      // how much is searched for hints at once
  std::size_t searched_ = 0;        // bytes at the front of the unconsumed ones that hold no end of line
  std::uint64_t block_offset_ = 0;  // bytes before the block at hand
  std::uint64_t offset_ = 0;        // bytes before the segment at hand
  std::uint32_t line_ = 1;
  // The line that nobody understood and that holds the most measurements, for the message when nothing was read.
  std::string stranger_;
  std::uint32_t stranger_line_ = 0;
  std::size_t stranger_numbers_ = 0;
  std::uint64_t long_lines_ = 0;
  std::int32_t highest_rank_ = -1;
};

}  // namespace vigil::textlog
