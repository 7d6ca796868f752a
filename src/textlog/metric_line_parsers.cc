// Lines of plain training loops, and what stands alone around them: a header of an epoch, a score, a report of memory.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "textlog/hints.h"
#include "textlog/line.h"
#include "textlog/make_parsers.h"
#include "textlog/name_memo.h"

namespace vigil::textlog {
namespace {

// "5120/10000 [=====>....] - ETA: 10s - loss: 0.65" and the same with the bar of Keras 3.
bool IsKerasBar(const MetricLine& line, std::string_view text) {
  if (!line.step_opens_line) return false;
  return text.find(" [=") != std::string_view::npos || text.find("\xE2\x94\x81") != std::string_view::npos;
}

// Numbers that name no step of their own, at the latest one.
void AddAtLatestStep(LogState& state, const NamedNumbers& numbers, const LogLine& line) {
  state.sink.FindAndAdd(numbers, state.steps.Latest(line.rank, line.number));
}

class KnownShapeParser final : public LineParser {
 public:
  explicit KnownShapeParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    return !line.cut && !state_.in_evaluation && state_.shapes.Take(line, line.number) ? Outcome::kRow
                                                                                       : Outcome::kNotMine;
  }

 private:
  LogState& state_;
};

// "Train. Acc.: 52% | Loss: 1.29", "Valid. Acc.: 53% | Loss: 1.28": a name without a split is of the split that the
// first name of its line has. Only where lines of both splits are seen to be written so: in "val_acc 0.53 loss 1.28"
// the loss may be that of the training.
class SplitOfFirst {
 public:
  void Mark(NamedNumbers& numbers) {
    if (numbers.size() < 2) return;
    const Split first = SplitOf(numbers.front().name);
    if (first == Split::kNone) return;
    const bool mixed = std::any_of(numbers.begin(), numbers.end(), [&](const NamedNumber& number) {
      const Split split = SplitOf(number.name);
      return split != Split::kNone && split != first;
    });
    if (mixed) return;
    for (NamedNumber& number : numbers) {
      if (SplitOf(number.name) != Split::kNone || !IsOfEitherSplit(number.name)) continue;
      if (first == Split::kEvaluation) {
        number.evaluation = number.evaluation || IsFollower(number.name);
      } else if (!IsFollower(number.name)) {
        followers_.emplace_back(number.name);
      }
    }
  }

 private:
  enum class Split : std::uint8_t { kNone, kTraining, kEvaluation };

  static Split SplitOf(std::string_view name) {
    constexpr std::array<std::string_view, 4> kEvaluations = {"val", "eval", "test", "dev"};
    if (StartsWithIgnoringCase(name, "train")) return Split::kTraining;
    const bool evaluation = std::any_of(kEvaluations.begin(), kEvaluations.end(),
                                        [&](std::string_view word) { return StartsWithIgnoringCase(name, word); });
    return evaluation ? Split::kEvaluation : Split::kNone;
  }

  bool IsOfEitherSplit(std::string_view name) {
    const std::string_view signal = names_.SignalOf(name);
    return signal == "loss" || signal == "accuracy" || signal == "perplexity";
  }

  bool IsFollower(std::string_view name) const {
    return std::find(followers_.begin(), followers_.end(), name) != followers_.end();
  }

  NameMemo names_;
  std::vector<std::string> followers_;  // names that stood behind one of the training
};

class MetricLineParser final : public LineParser {
 public:
  explicit MetricLineParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    if (!state_.Parse(line)) return Outcome::kNotMine;
    MetricLine& parsed = state_.parsed;
    if (parsed.guessed) return Outcome::kNotMine;  // until such lines come again and again
    if (parsed.epoch >= 0) state_.in_evaluation = false;
    parsed.evaluation = parsed.evaluation || state_.in_evaluation;
    const Origin by_place = parsed.step < 0 ? Origin::kEpochLine : Origin::kLine;
    const Origin origin = parsed.is_summary ? Origin::kSummary : by_place;
    RowPlace place = {0, line.rank, line.number, origin, parsed.evaluation};
    NameStepTime(parsed);
    splits_.Mark(parsed.numbers);
    if (!state_.sink.Find(parsed.numbers, place)) return Outcome::kNotMine;
    if (CountsOfEvaluation(parsed)) {
      place = state_.steps.Latest(line.rank, line.number);
      place.evaluation = true;
      place.replaces = true;
    } else {
      state_.steps.Place(parsed, place);
    }
    state_.sink.BringToUnits(parsed.numbers);
    state_.sink.Add(parsed.numbers, place);
    if (IsKerasBar(parsed, line.text)) state_.sink.MarkRunningMeans();
    state_.steps.Observe(place);
    // Lines without their loss are looked at closely each time: it may have been left out because it was NaN.
    const bool has_loss = parsed.evaluation || state_.sink.FoundLoss();
    if (has_loss && !line.cut && !parsed.irregular && !place.replaces)
      state_.shapes.Remember(line, parsed, state_.sink.found());
    return Outcome::kRow;
  }

 private:
  // "Test: [ 50/79]  Loss: 0.8 (0.9)": batches of an evaluation, whose last line sums them up.
  bool CountsOfEvaluation(const MetricLine& line) const {
    return line.evaluation && (line.step_is_bare || state_.in_evaluation) && line.epoch < 0 &&
           state_.steps.has_latest();
  }

  // A time in milliseconds is that of one step; one in seconds mostly that since the start.
  static void NameStepTime(MetricLine& line) {
    for (NamedNumber& number : line.numbers) {
      if (number.seconds == 1e-3 && EqualsIgnoringCase(number.name, "time")) number.name = "time (ms)";
    }
  }

  LogState& state_;
  SplitOfFirst splits_;
};

// "Eval begin...": the lines below count batches of the evaluation.
bool BeginsEvaluation(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  text = Trim(text);
  if (text.size() > kLongest || text.find_first_of("0123456789") != std::string_view::npos) return false;
  return StartsWithIgnoringCase(text, "eval begin") || StartsWithIgnoringCase(text, "evaluation begin");
}

// "Epoch: 04 | Time: 0m 25s", "Epoch 3, training time = 4.7 sec": how long it took is no metric of the epoch.
bool IsTime(const NamedNumber& number) {
  return number.seconds != 0 || catalogue::TakeApart(number.name).quantity == "time";
}

// "Epoch 00052: val_loss did not improve": a message about an epoch that is over, as its writer counts them.
bool IsVerdict(std::string_view text) { return ContainsIgnoringCase(text, "improve"); }

// "Epoch 3/10" alone in a line, or with its time: the lines below count within it.
class EpochHeaderParser final : public LineParser {
 public:
  explicit EpochHeaderParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    if (BeginsEvaluation(line.text)) {
      state_.in_evaluation = true;
      return Outcome::kTaken;
    }
    const MetricLine& parsed = state_.parsed;
    if (!state_.Parse(line) || parsed.guessed || parsed.step >= 0) return Outcome::kNotMine;
    if (!std::all_of(parsed.numbers.begin(), parsed.numbers.end(), IsTime) || IsVerdict(line.text))
      return Outcome::kNotMine;
    state_.in_evaluation = false;
    state_.steps.epochs().ObserveHeader(parsed.epoch);
    return Outcome::kNoted;
  }

 private:
  LogState& state_;
};

// "[Rank 0] (after 2 iterations) memory (MB) | max allocated: 2345.6 | ...", which Megatron prints once.
class MemoryReportParser final : public LineParser {
 public:
  explicit MemoryReportParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    constexpr std::string_view kWords = " memory (MB) |";
    const std::size_t at = line.text.find(kWords);
    if (line.cut || at == std::string_view::npos || !state_.steps.has_latest()) return Outcome::kNotMine;
    ParseNamedNumbers(line.text.substr(at + kWords.size()), numbers_);
    AddAtLatestStep(state_, numbers_, line);
    return Outcome::kRow;
  }

 private:
  LogState& state_;
  NamedNumbers numbers_;
};

// Whether the first number that is known is of an evaluation; nothing where none is known.
std::optional<bool> IsOfEvaluation(NameMemo& names, std::string_view text, const NamedNumbers& numbers) {
  for (const NamedNumber& number : numbers) {
    const std::string_view signal = names.SignalOf(number.name);
    if (!signal.empty()) return signal.starts_with("eval_") || SpeaksOfEvaluation(text.substr(0, number.at));
  }
  return std::nullopt;
}

// "Epoch 1/12", and below it "Train metrics: Loss: 1.41" and "Valid metrics: Loss: 1.12 - Acc: 0.87": where no line
// names a step, each of them comes once in an epoch, and the header says which. The first epoch is held back until the
// second shows that it is so.
class EpochBlockParser final : public LineParser {
 public:
  explicit EpochBlockParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    const EpochCounter& epochs = state_.steps.epochs();
    if (is_refuted_ || line.cut || !epochs.has_header() || line.text.size() > kLongestLine) return Outcome::kNotMine;
    if (!is_believed_ && state_.steps.has_latest()) return Outcome::kNotMine;
    if (state_.Parse(line) || state_.parsed.numbers.empty() || state_.parsed.lead >= 0) return Outcome::kNotMine;
    const auto evaluation = IsOfEvaluation(names_, line.text, state_.parsed.numbers);
    if (!evaluation) return Outcome::kNotMine;
    if (epochs.header() != epoch_) BeginEpoch(epochs.header());
    if (IsHeldAlready(line.text)) return Outcome::kNotMine;
    if (!IsFirst(*evaluation, state_.parsed.numbers.front().name)) return Outcome::kNotMine;
    return Take(line, *evaluation);
  }

 private:
  static constexpr std::size_t kLongestLine = 300;
  static constexpr std::size_t kMostLines = 16;

  struct Held {
    std::string text;
    RowPlace place;
  };

  void BeginEpoch(double epoch) {
    if (epoch > epoch_ && !held_.empty()) is_believed_ = true;
    epoch_ = epoch;
    seen_.clear();
    for (const Held& held : std::exchange(held_, {})) {
      if (!is_believed_) break;
      ParseNamedNumbers(held.text, numbers_);
      Add(numbers_, held.place);
    }
  }

  // The same text again is no other line of the epoch: a logger with two handlers wrote the first one twice.
  bool IsHeldAlready(std::string_view text) const {
    return std::any_of(held_.begin(), held_.end(), [&](const Held& held) { return held.text == text; });
  }

  // A line that comes again within the first epoch is one of many.
  bool IsFirst(bool evaluation, std::string_view name) {
    std::string key = (evaluation ? "eval/" : "train/") + std::string(name);
    const bool is_first = std::find(seen_.begin(), seen_.end(), key) == seen_.end() && seen_.size() < kMostLines;
    if (is_first) seen_.push_back(std::move(key));
    is_refuted_ = is_refuted_ || (!is_first && !is_believed_);
    return is_first;
  }

  Outcome Take(const LogLine& line, bool evaluation) {
    const auto epoch = static_cast<std::int64_t>(std::min(epoch_, kLargestStep));
    const RowPlace place = {epoch, line.rank, line.number, Origin::kEpochLine, evaluation, model::Axis::kEpoch};
    if (is_believed_) return Add(state_.parsed.numbers, place) ? Outcome::kRow : Outcome::kNotMine;
    held_.push_back({std::string(line.text), place});
    return Outcome::kNotMine;
  }

  bool Add(NamedNumbers& numbers, const RowPlace& place) {
    for (NamedNumber& number : numbers) number.weak = true;  // only what the vocabulary knows
    if (!state_.sink.Find(numbers, place)) return false;
    state_.sink.BringToUnits(numbers);
    state_.sink.Add(numbers, place);
    state_.steps.Observe(place);
    return true;
  }

  LogState& state_;
  NameMemo names_;
  NamedNumbers numbers_;
  std::vector<Held> held_;
  std::vector<std::string> seen_;  // what the epoch had, by split and first name
  double epoch_ = -1;
  bool is_believed_ = false;
  bool is_refuted_ = false;
};

// Scores that name no step, between lines that do: "val loss 3.1", "Test set: Average loss: 0.05, Accuracy: 98%",
// " * Acc@1 71.2", "Train net output #0: accuracy = 0.4". They belong to the latest step.
class LoneScoreParser final : public LineParser {
 public:
  explicit LoneScoreParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    if (line.cut || !state_.steps.has_latest() || state_.sink.table().empty()) return Outcome::kNotMine;
    if (line.text.size() > kLongestLine) return Outcome::kNotMine;
    if (state_.Parse(line) || state_.parsed.numbers.empty() || IsCounted(line.text, state_.parsed))
      return Outcome::kNotMine;
    NamedNumbers& numbers = state_.parsed.numbers;
    const bool evaluation = IsEvaluation(line.text, numbers);
    const bool is_score = evaluation || NamesEvaluation(numbers);
    if (!is_score && line.text.find("net output #") == std::string_view::npos) return Outcome::kNotMine;
    if (IsOfAnotherStep(line.text)) return Outcome::kNotMine;  // many words to look for: few lines come to this
    RowPlace place = state_.steps.Latest(line.rank, line.number);
    place.evaluation = evaluation;
    // "Test: [ 50/79]  Loss: 0.8": batches of an evaluation, whose last line sums them up.
    place.replaces = evaluation && Trim(line.text.substr(0, numbers.front().at)).ends_with('[');
    for (NamedNumber& number : numbers) number.weak = true;  // only what the vocabulary knows
    if (!state_.sink.Find(numbers, place)) return Outcome::kNotMine;
    state_.sink.BringToUnits(numbers);
    state_.sink.Add(numbers, place);
    return Outcome::kRow;
  }

 private:
  static constexpr std::size_t kLongestLine = 300;

  // "[60] valid-rmse: 0.2": the count in front is its place. Behind other text it is a logger's number of a process.
  // "INFO:absl:[60] eval_loss=0.2" names the logger and nothing else.
  static bool IsCounted(std::string_view text, const MetricLine& line) {
    return line.lead >= 0 && (line.lead_at <= 1 || text.substr(0, line.lead_at).ends_with(":["));
  }

  // "Best val loss so far: 0.41", "val_loss improved from 0.5 to 0.4": said of an earlier step, or of none.
  static bool IsOfAnotherStep(std::string_view text) {
    constexpr std::array<std::string_view, 9> kWords = {"best",   "improve",  "patience", "threshold", "early stop",
                                                        "target", "baseline", "lowest",   "wandb:"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [&](std::string_view word) { return ContainsIgnoringCase(text, word); });
  }

  bool IsEvaluation(std::string_view text, const NamedNumbers& numbers) {
    if (Trim(text).starts_with("* ")) return true;  // torchvision's mark of the line that sums up an evaluation
    return IsOfEvaluation(names_, text, numbers).value_or(false);
  }

  // "Training accuracy: 98% | Validation accuracy: 97%": each name says what it was measured on.
  bool NamesEvaluation(const NamedNumbers& numbers) {
    return std::any_of(numbers.begin(), numbers.end(),
                       [this](const NamedNumber& number) { return names_.SignalOf(number.name).starts_with("eval_"); });
  }

  LogState& state_;
  NameMemo names_;
};

// "    forward-backward ......: (123.4, 130.1)": Megatron's timers in milliseconds, of the fastest and slowest rank.
class TimerParser final : public LineParser {
 public:
  explicit TimerParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    if (line.cut || !state_.steps.has_latest()) return Outcome::kNotMine;
    const std::size_t dots = line.text.find(" .....");
    const std::size_t colon = dots == std::string_view::npos ? dots : line.text.find_first_not_of('.', dots + 1);
    if (colon == std::string_view::npos || line.text[colon] != ':') return Outcome::kNotMine;
    const std::string_view name = Trim(line.text.substr(0, dots));
    if (name.empty() || name.find(' ') != std::string_view::npos) return Outcome::kNotMine;
    return Take(name, Trim(line.text.substr(colon + 1)), line) ? Outcome::kTaken : Outcome::kNotMine;
  }

 private:
  bool Take(std::string_view name, std::string_view values, const LogLine& line) {
    const bool pair = values.starts_with('(') && values.ends_with(')');
    if (pair) values = values.substr(1, values.size() - 2);
    const std::size_t comma = pair ? values.find(',') : std::string_view::npos;
    const bool has_fastest = comma != std::string_view::npos;
    const auto slowest = ParseNumber(has_fastest ? values.substr(comma + 1) : values);
    const auto fastest = has_fastest ? ParseNumber(values.substr(0, comma)) : std::nullopt;
    if (!slowest) return false;
    const std::string prefix = "timers/" + std::string(name);
    const std::string least = prefix + "/min";
    NamedNumbers numbers = {{prefix, *slowest}};
    if (fastest) numbers.push_back({least, *fastest});
    AddAtLatestStep(state_, numbers, line);
    return true;
  }

  LogState& state_;
};

}  // namespace

std::unique_ptr<LineParser> MakeKnownShapeParser(LogState& state) { return std::make_unique<KnownShapeParser>(state); }
std::unique_ptr<LineParser> MakeMetricLineParser(LogState& state) { return std::make_unique<MetricLineParser>(state); }
std::unique_ptr<LineParser> MakeEpochHeaderParser(LogState& state) {
  return std::make_unique<EpochHeaderParser>(state);
}
std::unique_ptr<LineParser> MakeMemoryReportParser(LogState& state) {
  return std::make_unique<MemoryReportParser>(state);
}
std::unique_ptr<LineParser> MakeEpochBlockParser(LogState& state) { return std::make_unique<EpochBlockParser>(state); }
std::unique_ptr<LineParser> MakeLoneScoreParser(LogState& state) { return std::make_unique<LoneScoreParser>(state); }
std::unique_ptr<LineParser> MakeTimerParser(LogState& state) { return std::make_unique<TimerParser>(state); }

}  // namespace vigil::textlog
