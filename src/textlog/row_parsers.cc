// Rows of other forms: tables, numbers behind progress bars, lines known by their repetition, nothing but numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <span>

#include "base/base.h"
#include "catalogue/says.h"
#include "tabular/column_roles.h"
#include "tabular/guess.h"
#include "textlog/hints.h"
#include "textlog/learned_forms.h"
#include "textlog/make_parsers.h"
#include "textlog/plain_header.h"
#include "textlog/plain_numbers.h"

namespace vigil::textlog {
namespace {

// "| loss | 2.31 |": a line of a table or box.
bool OpensWithSide(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string_view::npos && text[first] == '|';
}

// Lines below a header, and boxes, which have none.
class TableRowParser final : public LineParser {
 public:
  explicit TableRowParser(LogState& state) : state_(state) {}
  bool is_open() const override { return state_.tables.is_open(); }
  Outcome Parse(LogLine& line) override {
    const bool opens_box = (line.hints & kHintTable) != 0 && OpensWithSide(line.text) && HasWord(line.text, kHintTable);
    return (is_open() || opens_box) && state_.tables.Take(line) ? Outcome::kRow : Outcome::kNotMine;
  }

 private:
  LogState& state_;
};

class TableHeaderParser final : public LineParser {
 public:
  explicit TableHeaderParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override { return state_.tables.Take(line) ? Outcome::kRow : Outcome::kNotMine; }

 private:
  LogState& state_;
};

// "Epoch 1:  37%|###7  | 284/873 [25:49<45:20,  4.62s/it, loss=2.31]" and what is written behind it in the same line.
class ProgressBarParser final : public LineParser {
 public:
  explicit ProgressBarParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    const auto bar = ParseProgressBar(line.text);
    if (!bar) return Outcome::kNotMine;
    state_.ObserveBar(*bar);
    if (KindOf(*bar) != BarKind::kOther && !bar->postfix.empty() && TakePostfix(*bar, line))
      state_.events.ObserveBar(state_.steps.latest());
    line.after_wipe = false;
    line.text = bar->rest;
    return IsBlank(line.text) ? Outcome::kTaken : Outcome::kNoted;
  }

 private:
  bool TakePostfix(const ProgressBar& bar, const LogLine& line) {
    ParseNamedNumbers(bar.postfix, numbers_);
    RowPlace place = {0, line.rank, line.number, Origin::kBar};
    if (!state_.sink.Find(numbers_, place)) return false;
    if (bar.count < count_) {
      // A bar that ran to its end starts again with the next epoch; another one belongs to another start.
      const bool finished = count_ >= total_ - total_ / 20;
      start_ = finished && start_ < kUnresolved / 2 ? start_ + total_ : 0;
    }
    count_ = bar.count;
    total_ = bar.total;
    place.step = StatedStep(start_ + bar.count);
    state_.steps.Observe(place);
    state_.sink.Add(numbers_, place);
    return true;
  }

  // A bar may count batches or begin again with each epoch; a name that counts the whole run beats it.
  std::int64_t StatedStep(std::int64_t otherwise) const {
    const auto stated = std::find_if(numbers_.begin(), numbers_.end(), [](const NamedNumber& number) {
      return number.value >= 0 && number.value < kLargestStep && tabular::CountsWholeRun(number.name);
    });
    return stated == numbers_.end() ? otherwise : static_cast<std::int64_t>(stated->value);
  }

  LogState& state_;
  NamedNumbers numbers_;
  std::int64_t start_ = 0;  // steps of the bars that ran to their end
  std::int64_t count_ = -1;
  std::int64_t total_ = 0;
};

class RepeatedLineParser final : public LineParser {
 public:
  explicit RepeatedLineParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    const bool is_placed = !line.cut && state_.Parse(line);
    return state_.repeated.Take(line, state_.parsed, is_placed) ? Outcome::kRow : Outcome::kNotMine;
  }

 private:
  LogState& state_;
};

// Lines of nothing but numbers, or with a count in front of names that the vocabulary does not know.
class PlainRowParser final : public LineParser {
 public:
  explicit PlainRowParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    if (line.wrapped || line.cut || !state_.LooksForPlainRows(line.offset)) return Outcome::kNotMine;
    const std::size_t first = line.text.find_first_not_of(' ');
    if (first != std::string_view::npos && IsLetter(line.text[first])) header_.Note(line.text, line.number);
    if (first == std::string_view::npos || std::none_of(line.text.begin(), line.text.end(), IsDigit))
      return Outcome::kNotMine;
    const char c = line.text[first];
    if (!numbers_.is_believed() && (state_.shapes.Take(line, line.number) || TakeCounted(line, c)))
      return Outcome::kRow;
    return TakeNumbers(line) || TakeLearned(line) ? Outcome::kRow : Outcome::kNotMine;
  }

  bool decides_at_end() const override { return numbers_.is_believed() || forms_.is_believed(); }

  // Nothing names the numbers of such lines: what they are is seen in how they go.
  void Finish() override {
    if (forms_.is_believed()) state_.builder.AddNote(says::NoteLearnedForm{});
    if (!decides_at_end() || state_.sink.FoundLoss()) return;
    std::vector<ingest::PartBuilder::SeriesId> columns;
    for (ingest::PartBuilder::SeriesId id = 0; id < state_.builder.part().series.size(); ++id) {
      const model::Series& series = state_.builder.series(id);
      const bool is_unnamed = forms_.is_believed() ? MayNameLoss(series.raw) : series.raw.starts_with(kColumnPrefix);
      if (!state_.builder.IsLeftOut(id) && is_unnamed && !series.empty()) columns.push_back(id);
    }
    if (forms_.is_believed()) return NameLoss(columns);
    if (NameFirst(columns, "loss", GoesLikeLoss)) state_.builder.AddNote(says::NotePlainNumbers{});
    NameFirst(columns, "lr", tabular::GoesLikeLearningRate);
  }

 private:
  static constexpr std::string_view kColumnPrefix = "column ";

  // What numbers without names are called; the count is column 1.
  static std::string ColumnName(std::size_t i) { return std::string(kColumnPrefix) + std::to_string(i + 2); }

  // A score, a share or a reward falls at times as a loss does; a sentence is no name.
  static bool MayNameLoss(std::string_view name) {
    constexpr std::array<std::string_view, 12> kOthers = {"acc", "score", "reward", "return", "dice",   "iou",
                                                          "auc", "f1",    "bleu",   "prec",   "recall", "win"};
    constexpr std::ptrdiff_t kMostSpaces = 3;
    if (std::count(name.begin(), name.end(), ' ') > kMostSpaces) return false;
    return std::none_of(kOthers.begin(), kOthers.end(),
                        [&](std::string_view word) { return ContainsIgnoringCase(name, word); });
  }

  // Of columns with names, one that is called a loss or an error comes before what only goes like one.
  void NameLoss(const std::vector<ingest::PartBuilder::SeriesId>& columns) {
    std::vector<ingest::PartBuilder::SeriesId> ordered = columns;
    std::stable_partition(ordered.begin(), ordered.end(), [this](ingest::PartBuilder::SeriesId id) {
      constexpr std::array<std::string_view, 6> kWords = {"loss", "total", "train", "err", "cost", "obj"};
      const std::string& raw = state_.builder.series(id).raw;
      return std::any_of(kWords.begin(), kWords.end(),
                         [&](std::string_view word) { return ContainsIgnoringCase(raw, word); });
    });
    NameFirst(ordered, "loss", GoesLikeLoss);
  }

  bool NameFirst(const std::vector<ingest::PartBuilder::SeriesId>& columns, std::string_view signal,
                 bool (*goes_like)(std::span<const double>)) {
    for (const ingest::PartBuilder::SeriesId id : columns) {
      model::Series& series = state_.builder.series(id);
      if (series.signal != series.raw || !goes_like({series.values.begin(), series.size()})) continue;
      series.signal = std::string(signal);
      return true;
    }
    return false;
  }

  // A loss that ends in NaN need not have fallen before, nor one that never learned; one that learned everything at
  // once is near zero for most of the run.
  static bool GoesLikeLoss(std::span<const double> values) {
    const bool is_positive = std::none_of(values.begin(), values.end(), [](double value) { return value < 0; });
    return tabular::FallsLikeLoss(values) ||
           (is_positive &&
            (!std::isfinite(values.back()) || tabular::IsNoisyLikeLoss(values) || FallsAllAlong(values)));
  }

  static bool FallsAllAlong(std::span<const double> values) {
    constexpr double kSmallestStart = 0.05;  // learning rates begin below
    std::size_t rises = 0;
    for (std::size_t i = 1; i < values.size(); ++i) rises += values[i] > values[i - 1] ? 1 : 0;
    return values.front() > kSmallestStart && values.back() < values.front() / 2 && rises * 8 <= values.size();
  }

  bool HasMetricWord(const LogLine& line) const {
    return state_.use_hints ? (line.hints & kHintMetric) != 0 : HasWord(line.text, kHintMetric);
  }

  // "[00120] PSNR=31.2": without a word that metric lines hold no other parser was asked.
  bool TakeCounted(LogLine& line, char first) {
    if (first == '|' || HasMetricWord(line) || LearnedForms::NamesStandBehind(line.text)) return false;
    const bool is_placed = state_.Parse(line);
    if (!state_.repeated.Take(line, state_.parsed, is_placed)) return false;
    state_.is_plain = true;
    return true;
  }

  // Only where no other form was understood: such lines are believed for want of anything better.
  bool TakeLearned(const LogLine& line) {
    if (numbers_.is_believed() || (state_.has_series() && !forms_.is_believed())) return false;
    const auto& rows = forms_.Take(line.text, line.number);
    for (const LearnedForms::Row& row : rows) {
      const RowPlace place = {row.step, line.rank, row.line, Origin::kPlain};
      named_.clear();
      for (std::size_t i = 0; i < row.names.size(); ++i) named_.push_back({row.names[i], row.values[i]});
      state_.sink.Find(named_, place);
      state_.sink.BringToUnits(named_);
      state_.sink.Add(named_, place);
      state_.steps.Observe(place);
      state_.is_plain = true;
    }
    return !rows.empty();
  }

  bool TakeNumbers(const LogLine& line) {
    const auto& rows = numbers_.Take(line.text, line.number);
    if (names_.empty() && !rows.empty()) names_ = header_.NamesOf(rows.front().line, rows.front().count);
    for (const PlainNumbers::Row& row : rows) {
      const RowPlace place = {row.step, line.rank, row.line, Origin::kPlain};
      while (names_.size() < row.count) names_.push_back(ColumnName(names_.size()));
      named_.clear();
      for (std::size_t i = 0; i < row.count; ++i) {
        if (!model::IsNoValue(row.values[i])) named_.push_back({names_[i], row.values[i]});
      }
      state_.sink.FindAndAdd(named_, place);
      state_.steps.Observe(place);
      state_.is_plain = true;
    }
    return !rows.empty();
  }

  LogState& state_;
  PlainNumbers numbers_;
  PlainHeader header_;
  LearnedForms forms_;
  NamedNumbers named_;             // of one row; kept for its memory
  std::deque<std::string> names_;  // of the columns; what refers to one stays valid
};

// The number behind `words` in the text.
std::optional<double> NumberAfter(std::string_view text, std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t used = 0;
  return ParseNumberPrefix(Trim(text.substr(at + words.size())), used);
}

// DeepSpeed: "OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768".
class LossScaleParser final : public LineParser {
 public:
  explicit LossScaleParser(LogState& state) : state_(state) {}

  Outcome Parse(LogLine& line) override {
    const auto attempted = NumberAfter(line.text, "Attempted loss scale:");
    const auto reduced = NumberAfter(line.text, "reducing to");
    if (attempted && reduced) {
      Take(*attempted, *reduced, line.number);
      return Outcome::kNoted;
    }
    if (line.text.find("Increasing dynamic loss scale") == std::string_view::npos) return Outcome::kNotMine;
    const auto scale = NumberAfter(line.text, " to ");
    if (!scale) return Outcome::kNotMine;
    Take(model::kNoValue, *scale, line.number);
    return Outcome::kNoted;
  }

 private:
  // A scale behind the latest step. An overflow names the scale it was `attempted` with and skips a step; without one
  // (NaN) the scale grew.
  void Take(double attempted, double scale, std::uint32_t line) {
    const bool has_step = state_.steps.has_latest();
    step_ = std::max(step_ + 1, has_step ? state_.steps.latest() : -1);
    // The scale had grown since the line before, without a line of its own.
    if (attempted > scale_) {
      Add("loss_scale", attempted, line);
      ++step_;
    }
    scale_ = scale;
    Add("loss_scale", scale, line);
    if (attempted == attempted && has_step) Add("skipped_steps", static_cast<double>(++skipped_), line);
  }

  void Add(std::string_view name, double value, std::uint32_t line) {
    RowPlace place = {step_, -1, line};
    place.axis = state_.steps.has_latest() ? state_.steps.axis() : model::Axis::kRow;
    state_.sink.FindAndAdd({{name, value}}, place);
  }

  LogState& state_;
  double scale_ = 0;
  std::int64_t step_ = -1;
  std::int64_t skipped_ = 0;
};

}  // namespace

std::unique_ptr<LineParser> MakeTableRowParser(LogState& state) { return std::make_unique<TableRowParser>(state); }
std::unique_ptr<LineParser> MakeTableHeaderParser(LogState& state) {
  return std::make_unique<TableHeaderParser>(state);
}
std::unique_ptr<LineParser> MakeProgressBarParser(LogState& state) {
  return std::make_unique<ProgressBarParser>(state);
}
std::unique_ptr<LineParser> MakeRepeatedLineParser(LogState& state) {
  return std::make_unique<RepeatedLineParser>(state);
}
std::unique_ptr<LineParser> MakePlainRowParser(LogState& state) { return std::make_unique<PlainRowParser>(state); }
std::unique_ptr<LineParser> MakeLossScaleParser(LogState& state) { return std::make_unique<LossScaleParser>(state); }

}  // namespace vigil::textlog
