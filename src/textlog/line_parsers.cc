#include "textlog/line_parsers.h"

#include <algorithm>
#include <array>
#include <optional>

#include "textlog/hints.h"
#include "textlog/make_parsers.h"

namespace vigil::textlog {
namespace {

// The order, from top to bottom: what spans lines and is open, what is set apart by its form alone, lines that name
// their numbers, lines that are believed for want of anything better, and at last what only mentions an event. Within
// metrics the surer form comes first; a doubtful one takes what no surer one wants.
constexpr std::array kTable = {
    LineParserRow{
        "table-row", 10, "| rollout/ep_rew_mean | 21.9 |",
        "rows of an open table hold bars, words and numbers that every later parser would take apart its own way",
        Asked::kByHint, kHintTable, true, MakeTableRowParser},
    LineParserRow{"progress-bar", 20, "37%|###7  | 284/873 [25:49<45:20,  4.62s/it, loss=2.31]",
                  "a bar has no end of line: what is written behind it is the line that the later parsers must see",
                  Asked::kByHint, kHintBar, false, MakeProgressBarParser},
    LineParserRow{"traceback", 30, "Traceback (most recent call last):",
                  "source code and messages inside a traceback look like metrics, settings and errors of the run",
                  Asked::kByHint, kHintTraceback | kHintNotice, true, MakeTracebackParser},
    LineParserRow{"settings", 40, "TrainingArguments(learning_rate=0.0003, max_steps=100)",
                  "settings name steps, losses and rates that were never measured", Asked::kByHint, kHintArguments,
                  true, MakeSettingsParser},
    LineParserRow{"timer", 50, "    forward-backward ......: (123.4, 130.1)",
                  "Megatron's dotted lines: those that are no setting are timers", Asked::kByHint, kHintArguments,
                  false, MakeTimerParser},
    LineParserRow{"failed-process", 60, "srun: error: node12: task 13: Exited with exit code 137",
                  "only notes what it sees: the messages in such a table are for the later parsers", Asked::kByHint,
                  kHintFailures, true, MakeFailureParser},
    LineParserRow{"dict", 70, "{'loss': 2.3, 'grad_norm': '0.71', 'epoch': 0.1}",
                  "quotes and braces make a dictionary sure; read as a metric line it would lose its names",
                  Asked::kByHint, kHintDict, false, MakeDictParser},
    LineParserRow{"result-tree", 80,
                  "Result for PPO_CartPole_0:", "leaves of an open tree name steps that are not the row's",
                  Asked::kByHintOrRow, kHintMetric, true, MakeResultParser},
    LineParserRow{"block-line", 90, "    optim/LR (group 0)=4.0E-05",
                  "lines of an open block hold one number each, whose step stands above", Asked::kByHintOrRow,
                  kHintMetric, true, MakeBlockLineParser},
    LineParserRow{"evaluation-block", 100, "[Eval batch=50/50] Eval on eval data:",
                  "counts batches of the evaluation, which a metric line would take for steps", Asked::kByHintOrRow,
                  kHintMetric, false, MakeEvaluationBlockParser},
    LineParserRow{
        "bullet", 105, "     | > loss: 2.31  (2.40), below: --> STEP: 25/75 -- GLOBAL_STEP: 125",
        "one number a line, whose step and split stand above: a metric line would count by the number in brackets",
        Asked::kByHintOrRow, kHintMetric, true, MakeBulletParser},
    LineParserRow{"split-table", 107, "loss  |  0.71  |  0.84, below: Training |  Validation",
                  "its columns are splits: any other table would take them for metrics", Asked::kByHintOrRow,
                  kHintMetric, true, MakeSplitTableParser},
    LineParserRow{"known-shape", 110, "step 121 | loss 2.30, behind: step 120 | loss 2.31",
                  "gives what metric-line gives, faster", Asked::kByHintOrRow, kHintMetric, false,
                  MakeKnownShapeParser},
    LineParserRow{"metric-line", 120, "step 120 | loss 2.31 | lr 3e-4",
                  "names a step or epoch and a metric that the vocabulary knows: the surest form of free text",
                  Asked::kByHintOrRow, kHintMetric, false, MakeMetricLineParser},
    LineParserRow{"epoch-header", 130, "Epoch 3/10", "a metric line that holds no metric", Asked::kByHintOrRow,
                  kHintMetric, false, MakeEpochHeaderParser},
    LineParserRow{"block-header", 140, "[batch=1/4800]:", "a metric line whose metrics stand below",
                  Asked::kByHintOrRow, kHintMetric, false, MakeBlockHeaderParser},
    LineParserRow{"memory-report", 150, "(after 2 iterations) memory (MB) | max allocated: 2345.6",
                  "names no step; its words would be a header of a table", Asked::kByWord, kHintMetric, false,
                  MakeMemoryReportParser},
    LineParserRow{"epoch-block", 155, "Train metrics: Loss: 1.41, below: Epoch 1/12",
                  "a score without a step, where no line has one: the header above places it", Asked::kByWord,
                  kHintMetric, false, MakeEpochBlockParser},
    LineParserRow{"lone-score", 160, "val loss 3.1", "names no step; repeated, it would be counted by lines",
                  Asked::kByWord, kHintMetric, false, MakeLoneScoreParser},
    LineParserRow{"table-header", 170, "epoch  train_loss  valid_loss",
                  "words alone: only behind all lines that hold numbers", Asked::kByWord, kHintMetric, false,
                  MakeTableHeaderParser},
    LineParserRow{"repeated-line", 180, "After 100 updates the training loss is 2.31.",
                  "believed by repetition only, so every surer form comes first", Asked::kByWord, kHintMetric, false,
                  MakeRepeatedLineParser},
    LineParserRow{"plain-row", 190, "120 2.31 0.0003", "nothing but numbers: only while nothing else was found",
                  Asked::kAlways, 0, false, MakePlainRowParser},
    LineParserRow{"loss-scale", 200, "Attempted loss scale: 65536, reducing to 32768",
                  "from here on lines are only noted, and several parsers may note the same one", Asked::kByHint,
                  kHintNotice, false, MakeLossScaleParser},
    LineParserRow{"nan-hider", 210, "loss = torch.nan_to_num(loss)", "before notice, which passes over source code",
                  Asked::kByHint, kHintNotice, false, MakeNanHiderParser},
    LineParserRow{"notice", 220, "Saving model checkpoint to out/checkpoint-500",
                  "a line that saves may report its failure too, which the signature finds", Asked::kByHint,
                  kHintNotice, false, MakeNoticeParser},
    LineParserRow{"signature", 230, "CUDA out of memory. Tried to allocate 2.00 GiB",
                  "last: lines of metrics, settings and frames quote errors", Asked::kByHint, kHintSignature, false,
                  MakeSignatureParser},
};

constexpr bool IsInOrder() {
  for (std::size_t i = 1; i < kTable.size(); ++i) {
    if (kTable[i - 1].priority >= kTable[i].priority) return false;
  }
  return true;
}
static_assert(IsInOrder(), "rows stand in the order of their priorities");

}  // namespace

std::span<const LineParserRow> LineParserTable() { return kTable; }

LineParsers::LineParsers(LogState& state) : state_(state) {
  for (const LineParserRow& row : kTable) {
    const LineParser* const made = parsers_.emplace_back(row.make(state)).get();
    if (!row.spans_lines) continue;
    spanning_.push_back(made);
    if ((row.hints & (kHintMetric | kHintTable)) != 0) rows_.push_back(made);
  }
}

bool LineParsers::IsRowOpen() const {
  return std::any_of(rows_.begin(), rows_.end(), [](const LineParser* parser) { return parser->is_open(); });
}

bool LineParsers::IsAnyOpen() const {
  return std::any_of(spanning_.begin(), spanning_.end(), [](const LineParser* parser) { return parser->is_open(); });
}

// Whether a row is open is asked when its turn comes: an earlier parser may have closed it with this very line.
bool LineParsers::IsWantedByOpenRow(std::size_t i) const {
  const LineParserRow& row = kTable[i];
  if (row.asked == Asked::kByHint) return row.spans_lines && parsers_[i]->is_open();
  return IsRowOpen();
}

const LineParserRow* LineParsers::Parse(LogLine& line) {
  bool asked_spanning = false;
  const LineParserRow* const taker = FindTaker(line, asked_spanning);
  // A parser is opened by itself, or by another that takes the line: most lines need not be asked about.
  if (asked_spanning || taker != nullptr) is_any_open_ = IsAnyOpen();
  return taker;
}

const LineParserRow* LineParsers::FindTaker(LogLine& line, bool& asked_spanning) {
  std::optional<bool> has_word;  // searched for once, and only in lines that come that far
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const bool is_hinted = (line.hints & kTable[i].hints) != 0 || kTable[i].asked == Asked::kAlways;
    if (!is_hinted && (!is_any_open_ || !IsWantedByOpenRow(i))) continue;
    if (kTable[i].asked == Asked::kByWord) {
      if (!has_word) has_word = HasWord(line.text, kHintMetric);
      if (!*has_word) continue;
    }
    asked_spanning = asked_spanning || kTable[i].spans_lines;
    const Outcome outcome = parsers_[i]->Parse(line);
    if (outcome == Outcome::kNotMine || outcome == Outcome::kNoted) continue;
    if (outcome == Outcome::kRow) state_.events.ObserveStep(state_.steps.latest(), line.offset);
    return &kTable[i];
  }
  return nullptr;
}

void LineParsers::Finish() {
  for (const auto& parser : parsers_) parser->Finish();
}

bool LineParsers::DecideAtEnd() const {
  return std::any_of(parsers_.begin(), parsers_.end(), [](const auto& parser) { return parser->decides_at_end(); });
}

LineParser& LineParsers::Get(std::string_view name) {
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const auto& one) { return one.name == name; });
  return *parsers_[static_cast<std::size_t>(row - kTable.begin())];
}

}  // namespace vigil::textlog
