// Rows that span lines, one number a line: below a line that names the step, or in a tree that names it last.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/base.h"
#include "tabular/column_roles.h"
#include "textlog/make_parsers.h"

namespace vigil::textlog {
namespace {

// "1.2B", "26,668", "3.5e-4", "81.2%".
std::optional<double> ReadScaled(std::string_view text) {
  if (const auto plain = ParseNumber(text)) return plain;
  if (text.size() < 2) return std::nullopt;
  constexpr std::string_view kSuffixes = "kKMBTPE%";
  constexpr std::array<double, 8> kScales = {1e3, 1e3, 1e6, 1e9, 1e12, 1e15, 1e18, 1};
  const std::size_t at = kSuffixes.find(text.back());
  if (at == std::string_view::npos) return std::nullopt;
  const auto value = ParseNumber(text.substr(0, text.size() - 1));
  return value ? std::optional<double>(*value * kScales[at]) : std::nullopt;
}

// "--- step 120 ---", "== Iteration 5/100 ==": nothing but a step in a line that is set off by its signs.
bool IsStepAlone(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  constexpr std::string_view kSigns = "-=*#~";
  const auto opens = [&](std::size_t at) { return kSigns.find(text[at]) != std::string_view::npos; };
  if (text.size() < 4 || text.size() > kLongest || !opens(0) || !opens(1)) return false;
  text = text.substr(std::min(text.find_first_not_of("-=*#~ "), text.size()));
  const std::size_t space = text.find_first_of(" :");
  if (space == std::string_view::npos || tabular::StepWordPriority(text.substr(0, space)) == 0) return false;
  return text.find_first_not_of("0123456789/-=*#~: ", space) == std::string_view::npos;
}

// "... [step=2/739328,epoch=0]", "[batch=1/4800]:" or "[epoch=2][batch=1/4800]:": the numbers stand below, one a line.
class BlockHeaderParser final : public LineParser {
 public:
  explicit BlockHeaderParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    const std::string_view trimmed = Trim(line.text);
    const bool is_flat = IsStepAlone(trimmed);
    const bool opens = is_flat || (line.text.find("[step=") != std::string_view::npos && trimmed.ends_with(']')) ||
                       (OpensBatches(trimmed) && trimmed.ends_with("]:"));
    if (!opens || !state_.Parse(line) || state_.parsed.guessed || state_.parsed.step < 0) return Outcome::kNotMine;
    state_.block_is_flat = is_flat;
    const bool within_epoch = trimmed.starts_with("[epoch=");
    state_.parsed.step_within_epoch |= within_epoch;
    state_.block_step = within_epoch ? state_.steps.epochs().CountAside(state_.parsed) : state_.parsed.step;
    state_.steps.Observe(state_.block_step, model::Axis::kStep);
    if (!within_epoch) state_.steps.ObserveTotal(state_.parsed.total_steps);
    return Outcome::kRow;
  }

 private:
  LogState& state_;
};

// "[Eval batch=50/50] Eval on eval data:" and the scores below, of the latest step.
class EvaluationBlockParser final : public LineParser {
 public:
  explicit EvaluationBlockParser(LogState& state) : state_(state) {}
  Outcome Parse(LogLine& line) override {
    if (!StartsWithIgnoringCase(line.text, "[eval batch=") || !state_.steps.has_latest()) return Outcome::kNotMine;
    if (line.text.ends_with(':')) state_.block_step = state_.steps.latest();
    return Outcome::kRow;
  }

 private:
  LogState& state_;
};

// "    optim/LR (group 0)=4.0E-05", "    Train loss/train/total: 11.03": one name and number a line. Names hold spaces,
// brackets and colons, so the last separator counts.
class BlockLineParser final : public LineParser {
 public:
  explicit BlockLineParser(LogState& state) : state_(state) {}

  bool is_open() const override { return state_.block_step >= 0; }

  Outcome Parse(LogLine& line) override {
    if (!is_open()) return Outcome::kNotMine;
    const bool belongs = state_.block_is_flat || line.text.starts_with(' ') || line.text.starts_with('\t');
    const std::string_view text = Trim(line.text);
    const std::size_t equals = text.rfind('=');
    const std::size_t colon = text.rfind(": ");
    const std::size_t split = equals != std::string_view::npos ? equals : colon;
    const bool is_pair = split != std::string_view::npos && (!state_.block_is_flat || IsPair(text, split, equals));
    if (!belongs || !is_pair) {
      state_.block_step = -1;
      return Outcome::kNotMine;
    }
    Add(Trim(text.substr(0, split)), Trim(text.substr(split + (split == equals ? 1 : 2))), line);
    return Outcome::kRow;
  }

 private:
  // One name and one number: without an indent nothing else says that the line belongs to the step.
  static bool IsPair(std::string_view text, std::size_t split, std::size_t equals) {
    const std::string_view name = Trim(text.substr(0, split));
    return name.size() <= kLongestName && std::count(name.begin(), name.end(), ' ') <= 2 &&
           ReadScaled(Trim(text.substr(split + (split == equals ? 1 : 2)))).has_value();
  }

  static constexpr std::size_t kLongestName = 64;

  void Add(std::string_view name, std::string_view spelled, const LogLine& line) {
    const bool evaluation = name.starts_with("Eval ");
    if (evaluation || name.starts_with("Train ")) name = Trim(name.substr(evaluation ? 5 : 6));
    const auto value = ReadScaled(spelled);
    if (!value || name.empty()) return;
    RowPlace place = state_.steps.Latest(line.rank, line.number);
    place.step = state_.block_step;
    place.evaluation = evaluation;
    state_.sink.FindAndAdd({{name, *value}}, place);
  }

  LogState& state_;
};

// "Result for PPO_CartPole_0:" and below it a tree of names and values, one a line, which names its iteration last. The
// leaves' own names are kept, and the first of those that come twice.
class ResultParser final : public LineParser {
 public:
  explicit ResultParser(LogState& state) : state_(state) {}

  bool is_open() const override { return is_open_; }

  Outcome Parse(LogLine& line) override {
    if (!is_open_) {
      is_open_ = line.text.starts_with("Result for ") && line.text.ends_with(':');
      leaves_.clear();
      return is_open_ ? Outcome::kRow : Outcome::kNotMine;
    }
    const std::string_view text = Trim(line.text);
    if (!line.text.starts_with("  ") || text.empty()) {
      Close(line);
      return text.empty() ? Outcome::kRow : Outcome::kNotMine;
    }
    TakeLeaf(text);
    return Outcome::kRow;
  }

 private:
  struct Leaf {
    std::string name;
    double value = 0;
  };

  void TakeLeaf(std::string_view text) {
    constexpr std::size_t kMostLeaves = 512;
    const std::size_t colon = text.find(": ");
    if (colon == std::string_view::npos || leaves_.size() >= kMostLeaves) return;
    const std::string_view name = text.substr(0, colon);
    const auto value = ParseNumber(Trim(text.substr(colon + 2)));
    const bool known = std::any_of(leaves_.begin(), leaves_.end(), [&](const Leaf& leaf) { return leaf.name == name; });
    if (value && !known) leaves_.push_back({std::string(name), *value});
  }

  void Close(const LogLine& line) {
    is_open_ = false;
    const auto step = std::find_if(leaves_.begin(), leaves_.end(),
                                   [](const Leaf& leaf) { return leaf.name == "training_iteration"; });
    if (step == leaves_.end() || step->value < 0 || step->value >= kLargestStep) return;
    NamedNumbers numbers;
    for (const Leaf& leaf : leaves_) {
      if (&leaf != &*step) numbers.push_back({leaf.name, leaf.value});
    }
    const RowPlace place = {static_cast<std::int64_t>(step->value), line.rank, line.number};
    state_.sink.FindAndAdd(numbers, place);
    state_.steps.Observe(place);
  }

  LogState& state_;
  bool is_open_ = false;
  std::vector<Leaf> leaves_;
};

}  // namespace

std::unique_ptr<LineParser> MakeBlockHeaderParser(LogState& state) {
  return std::make_unique<BlockHeaderParser>(state);
}
std::unique_ptr<LineParser> MakeEvaluationBlockParser(LogState& state) {
  return std::make_unique<EvaluationBlockParser>(state);
}
std::unique_ptr<LineParser> MakeBlockLineParser(LogState& state) { return std::make_unique<BlockLineParser>(state); }
std::unique_ptr<LineParser> MakeResultParser(LogState& state) { return std::make_unique<ResultParser>(state); }

}  // namespace vigil::textlog
