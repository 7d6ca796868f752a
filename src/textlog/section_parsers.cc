// One metric a line below a header that places it: bullets ("  | > loss: 2.31 (2.40)") and tables whose columns are the
// splits ("loss | 0.71 | 0.84").
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/base.h"
#include "textlog/line.h"
#include "textlog/make_parsers.h"
#include "textlog/name_memo.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kLongestLine = 200;
constexpr std::size_t kLongestName = 64;

enum class Side : std::uint8_t { kNone, kTraining, kEvaluation };

// The split that a word names: "Training", "valid", "EVALUATION".
Side SideOfWord(std::string_view word) {
  constexpr std::array<std::string_view, 7> kEvaluations = {"val",        "valid", "validation", "eval",
                                                            "evaluation", "test",  "dev"};
  if (EqualsIgnoringCase(word, "train") || EqualsIgnoringCase(word, "training")) return Side::kTraining;
  const bool evaluation = std::any_of(kEvaluations.begin(), kEvaluations.end(),
                                      [&](std::string_view known) { return EqualsIgnoringCase(word, known); });
  return evaluation ? Side::kEvaluation : Side::kNone;
}

// The split that a heading of a few words names: " > EVALUATION", "--> EVAL PERFORMANCE", "Train metrics:".
Side SideOfHeading(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  text = Trim(text);
  if (text.size() > kLongest) return Side::kNone;
  text = text.substr(0, text.find(" ("));  // "TRAINING (2024-01-01 10:00:00)"
  if (text.find_first_of("0123456789") != std::string_view::npos) return Side::kNone;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!IsLetter(text[at])) continue;
    std::size_t end = at;
    while (end < text.size() && IsLetter(text[end])) ++end;
    return SideOfWord(text.substr(at, end - at));
  }
  return Side::kNone;
}

// Where lines without a place of their own stand: at the step or epoch that the latest header or row named.
std::optional<RowPlace> PlaceOfSection(LogState& state, const LogLine& line) {
  if (state.steps.has_latest()) return state.steps.Latest(line.rank, line.number);
  const EpochCounter& epochs = state.steps.epochs();
  if (!epochs.has_header()) return std::nullopt;
  const auto epoch = static_cast<std::int64_t>(std::min(epochs.header(), kLargestStep));
  return RowPlace{epoch, line.rank, line.number, Origin::kEpochLine, false, model::Axis::kEpoch};
}

bool AddKnown(LogState& state, std::string_view name, double value, const RowPlace& place) {
  NamedNumbers numbers = {{name, value}};
  numbers.front().weak = true;  // only what the vocabulary knows
  if (!state.sink.Find(numbers, place)) return false;
  state.sink.BringToUnits(numbers);
  state.sink.Add(numbers, place);
  return true;
}

// "--> STEP: 25/75 -- GLOBAL_STEP: 125" and below it "| > loss: 2.31  (2.40)": one name and its number behind a bullet,
// perhaps with a mean or a change in brackets.
class BulletParser final : public LineParser {
 public:
  explicit BulletParser(LogState& state) : state_(state) {}

  bool is_open() const override { return lines_since_ < kMostOtherLines; }

  Outcome Parse(LogLine& line) override {
    if (line.cut || line.text.size() > kLongestLine) return Outcome::kNotMine;
    if (is_open()) ++lines_since_;
    if (const auto pair = ReadBullet(line.text)) return Take(*pair, line);
    if (const Side split = SideOfHeading(line.text); split != Side::kNone) {
      evaluation_ = split == Side::kEvaluation;
    } else if (IsHeader(line)) {
      state_.steps.Observe(state_.parsed.step, model::Axis::kStep);
      evaluation_ = false;
      lines_since_ = 0;
    }
    return Outcome::kNotMine;
  }

 private:
  struct Pair {
    std::string_view name;
    double value = 0;
  };

  static constexpr std::size_t kMostOtherLines = 24;

  // "   | > loss: 2.31  (2.40)", "  - val_loss = 0.4".
  static std::optional<Pair> ReadBullet(std::string_view text) {
    constexpr std::string_view kMarks = "|>-*+ \t";
    text = Trim(text);
    const std::size_t begin = text.find_first_not_of(kMarks);
    if (begin == std::string_view::npos || begin < 2 || text[begin - 1] != ' ' || !IsLetter(text[begin]))
      return std::nullopt;
    const std::size_t split = text.find_first_of(":=", begin);
    if (split == std::string_view::npos || split - begin > kLongestName) return std::nullopt;
    const std::string_view value = Trim(text.substr(split + 1));
    std::size_t used = 0;
    const auto number = ReadNumber(value, used);
    if (!number || !IsAside(Trim(value.substr(used)))) return std::nullopt;
    return Pair{Trim(text.substr(begin, split - begin)), *number};
  }

  // Nothing, or "(2.40)" and "(+0.01)" behind the value.
  static bool IsAside(std::string_view text) {
    if (text.empty() || text == "%") return true;
    return text.starts_with('(') && text.ends_with(')') &&
           text.find_first_not_of("()+-.0123456789eEnaif% ") == std::string_view::npos;
  }

  // A line that names a step and measures nothing.
  bool IsHeader(LogLine& line) {
    return state_.Parse(line) && !state_.parsed.guessed && state_.parsed.step >= 0 && state_.parsed.step_is_global &&
           std::none_of(state_.parsed.numbers.begin(), state_.parsed.numbers.end(),
                        [this](const NamedNumber& number) { return names_.Knows(number.name); });
  }

  Outcome Take(const Pair& pair, const LogLine& line) {
    const auto at = PlaceOfSection(state_, line);
    if (!at || (!is_open() && !names_.Knows(pair.name))) return Outcome::kNotMine;
    RowPlace place = *at;
    place.evaluation = evaluation_;
    if (!AddKnown(state_, pair.name, pair.value, place)) return is_open() ? Outcome::kTaken : Outcome::kNotMine;
    lines_since_ = 0;
    return Outcome::kRow;
  }

  LogState& state_;
  NameMemo names_;
  bool evaluation_ = false;
  std::size_t lines_since_ = kMostOtherLines;  // since the latest line of a block
};

// "           Training |  Validation" and below it "loss  |  0.71  |  0.84": a row is a metric, a column a split. The
// epoch stands above.
class SplitTableParser final : public LineParser {
 public:
  explicit SplitTableParser(LogState& state) : state_(state) {}

  bool is_open() const override { return !splits_.empty(); }

  Outcome Parse(LogLine& line) override {
    if (line.cut || line.text.size() > kLongestLine) return Outcome::kNotMine;
    CellsOf(line.text);
    if (ReadHeader()) return Outcome::kTaken;
    if (!is_open()) return Outcome::kNotMine;
    if (TakeRow(line)) return Outcome::kRow;
    if (Trim(line.text).find_first_not_of("-=+| ") != std::string_view::npos) splits_.clear();
    return Outcome::kNotMine;
  }

 private:
  // Cells between bars, without the prefix of a logger before the first.
  void CellsOf(std::string_view text) {
    cells_.clear();
    text = Trim(text);
    if (text.find('|') == std::string_view::npos) return;
    if (const std::size_t prefix = text.substr(0, text.find('|')).rfind(" - "); prefix != std::string_view::npos)
      text.remove_prefix(prefix + 3);
    if (text.starts_with('|')) text.remove_prefix(1);
    if (text.ends_with('|')) text.remove_suffix(1);
    for (const std::string_view cell : Split(text, '|')) cells_.push_back(Trim(cell));
  }

  // Two splits or more, with or without a cell above the names.
  bool ReadHeader() {
    if (cells_.size() < 2) return false;
    const std::size_t first = SideOfWord(cells_.front()) == Side::kNone ? 1 : 0;
    std::vector<Side> splits;
    for (std::size_t i = first; i < cells_.size(); ++i) splits.push_back(SideOfWord(cells_[i]));
    const bool all = std::none_of(splits.begin(), splits.end(), [](Side split) { return split == Side::kNone; });
    if (!all || splits.size() < 2) return false;
    splits_ = std::move(splits);
    return true;
  }

  bool TakeRow(const LogLine& line) {
    if (cells_.size() != splits_.size() + 1 || cells_.front().empty() || cells_.front().size() > kLongestName)
      return false;
    const auto at = PlaceOfSection(state_, line);
    if (!at) return false;
    for (std::size_t i = 0; i < splits_.size(); ++i) {
      RowPlace place = *at;
      place.evaluation = splits_[i] == Side::kEvaluation;
      if (const auto value = ParseNumber(cells_[i + 1])) AddKnown(state_, cells_.front(), *value, place);
    }
    return true;
  }

  LogState& state_;
  std::vector<std::string_view> cells_;
  std::vector<Side> splits_;  // of the columns of the open table
};

}  // namespace

std::unique_ptr<LineParser> MakeBulletParser(LogState& state) { return std::make_unique<BulletParser>(state); }
std::unique_ptr<LineParser> MakeSplitTableParser(LogState& state) { return std::make_unique<SplitTableParser>(state); }

}  // namespace vigil::textlog
