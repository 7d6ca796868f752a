// Numbers that stand below or beside a line that told the step: blocks of one number a line, timers, memory, lone
// scores.
#include <algorithm>
#include <array>

#include "base/base.h"
#include "textlog/metric_rows.h"

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

}  // namespace

// "    optim/LR (group 0)=4.0E-05", "    Train loss/train/total: 11.03": one name and number a line. Names hold spaces,
// brackets and colons, so the last separator counts.
bool MetricRows::TakeBlockLine(const CleanLine& line, std::uint32_t line_number) {
  const bool belongs = line.text.starts_with(' ') || line.text.starts_with('\t');
  const std::string_view text = Trim(line.text);
  const std::size_t equals = text.rfind('=');
  const std::size_t colon = text.rfind(": ");
  const std::size_t split = equals != std::string_view::npos ? equals : colon;
  if (!belongs || split == std::string_view::npos) {
    block_step_ = -1;
    return false;
  }
  std::string_view name = Trim(text.substr(0, split));
  const bool evaluation = name.starts_with("Eval ");
  if (evaluation || name.starts_with("Train ")) name = Trim(name.substr(evaluation ? 5 : 6));
  const auto value = ReadScaled(Trim(text.substr(split + (split == equals ? 1 : 2))));
  if (!value || name.empty()) return true;
  postfix_.clear();
  postfix_.push_back({name, *value});
  const Place place = {block_step_, line.rank, line_number, Origin::kLine, evaluation};
  FindNames(postfix_, place);
  AddPoints(postfix_, place);
  return true;
}

// "Result for PPO_CartPole_0:" and below it a tree of names and values, one a line, which tells its iteration last. The
// leaves' own names are kept, and the first of those that stand twice.
bool MetricRows::TakeResultLine(const CleanLine& line, std::uint32_t line_number) {
  constexpr std::size_t kMostLeaves = 512;
  if (!in_result_) {
    in_result_ = line.text.starts_with("Result for ") && line.text.ends_with(':');
    result_.clear();
    return in_result_;
  }
  const std::string_view text = Trim(line.text);
  if (!line.text.starts_with("  ") || text.empty()) {
    CloseResult(line.rank, line_number);
    return text.empty();
  }
  const std::size_t colon = text.find(": ");
  if (colon == std::string_view::npos || result_.size() >= kMostLeaves) return true;
  const std::string_view name = text.substr(0, colon);
  const auto value = ParseNumber(Trim(text.substr(colon + 2)));
  const bool told = std::any_of(result_.begin(), result_.end(), [&](const auto& one) { return one.name == name; });
  if (value && !told) result_.push_back({std::string(name), *value});
  return true;
}

void MetricRows::CloseResult(std::int32_t rank, std::uint32_t line_number) {
  in_result_ = false;
  const auto step =
      std::find_if(result_.begin(), result_.end(), [](const auto& one) { return one.name == "training_iteration"; });
  const bool placed = step != result_.end() && step->value >= 0 && step->value < 9e15;
  if (!placed) return;
  postfix_.clear();
  for (const LearnedRow::Number& one : result_) {
    if (&one != &*step) postfix_.push_back({one.name, one.value});
  }
  const Place place = {static_cast<std::int64_t>(step->value), rank, line_number};
  FindNames(postfix_, place);
  AddPoints(postfix_, place);
  last_step_ = place.step;
}

// The numbers in postfix_, at the latest step that was told.
void MetricRows::AddAtLatestStep(const CleanLine& line, std::uint32_t line_number) {
  const Place place = {last_step_, line.rank, line_number};
  FindNames(postfix_, place);
  AddPoints(postfix_, place);
}

bool MetricRows::TakeTimer(const CleanLine& line, std::uint32_t line_number) {
  if (last_step_ < 0 || last_step_ >= kUnresolved) return false;
  const std::size_t dots = line.text.find(" .....");
  const std::size_t colon = dots == std::string_view::npos ? dots : line.text.find_first_not_of('.', dots + 1);
  if (colon == std::string_view::npos || line.text[colon] != ':') return false;
  const std::string_view name = Trim(line.text.substr(0, dots));
  std::string_view values = Trim(line.text.substr(colon + 1));
  const bool pair = values.starts_with('(') && values.ends_with(')');
  if (pair) values = values.substr(1, values.size() - 2);
  const std::size_t comma = pair ? values.find(',') : std::string_view::npos;
  const auto slowest = ParseNumber(comma == std::string_view::npos ? values : values.substr(comma + 1));
  const auto fastest = comma == std::string_view::npos ? std::nullopt : ParseNumber(values.substr(0, comma));
  if (name.empty() || name.find(' ') != std::string_view::npos || !slowest) return false;
  const std::string prefix = "timers/" + std::string(name);
  const std::string least = prefix + "/min";
  postfix_.clear();
  postfix_.push_back({prefix, *slowest});
  if (fastest) postfix_.push_back({least, *fastest});
  AddAtLatestStep(line, line_number);
  return true;
}

bool MetricRows::TakeMemory(const CleanLine& line, bool cut, std::uint32_t line_number) {
  const std::size_t at = line.text.find(" memory (MB) |");
  if (cut || at == std::string_view::npos || last_step_ < 0 || last_step_ >= kUnresolved) return false;
  ParseNamedNumbers(line.text.substr(at + std::string_view(" memory (MB) |").size()), postfix_);
  AddAtLatestStep(line, line_number);
  return true;
}

bool MetricRows::TakeLoneScore(const CleanLine& line, bool cut, std::uint32_t line_number) {
  if (cut || last_step_ < 0 || last_step_ >= kUnresolved || table_.empty()) return false;
  const std::string_view text = Trim(line.text);
  constexpr std::string_view kWords = "val loss";
  if (!text.starts_with(kWords)) return false;
  const auto value = ParseNumber(text.substr(std::min(text.size(), text.find_first_not_of(" :=", kWords.size()))));
  if (!value) return false;
  postfix_.clear();
  postfix_.push_back({kWords, *value});
  AddAtLatestStep(line, line_number);
  return true;
}

// "... [step=2/739328,epoch=0]", "[batch=1/4800]:" or "[epoch=2][batch=1/4800]:", and the numbers below, one a line.
bool MetricRows::OpenBlock(std::string_view text) {
  const std::string_view trimmed = Trim(text);
  const bool opens = (text.find("[step=") != std::string_view::npos && trimmed.ends_with(']')) ||
                     (OpensBatches(trimmed) && trimmed.ends_with("]:"));
  if (metric_line_.step < 0 || !opens) return false;
  const bool within_epoch = trimmed.starts_with("[epoch=");
  metric_line_.step_within_epoch |= within_epoch;
  block_step_ = within_epoch ? StepWithinEpochs(metric_line_) : metric_line_.step;
  last_step_ = block_step_;
  if (!within_epoch) total_steps_ = metric_line_.total_steps;
  return true;
}

// "[Eval batch=50/50] Eval on eval data:" and the scores below, of the latest step.
bool MetricRows::OpenEvaluationBlock(std::string_view text) {
  if (!StartsWithIgnoringCase(text, "[eval batch=") || last_step_ < 0 || last_step_ >= kUnresolved) return false;
  if (text.ends_with(':')) block_step_ = last_step_;
  return true;
}

}  // namespace vigil::textlog
