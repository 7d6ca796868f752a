#include "textlog/traceback.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::string_view kHeader = "Traceback (most recent call last)";
constexpr std::string_view kGroupHeader = "Exception Group Traceback (most recent call last)";
constexpr std::string_view kBoxSide = "\xE2\x94\x82";    // U+2502
constexpr std::string_view kBoxTop = "\xE2\x95\xAD";     // U+256D
constexpr std::string_view kBoxBottom = "\xE2\x95\xB0";  // U+2570
constexpr std::size_t kLongestTraceback = 3000;          // lines; recursion errors print about a thousand frames
constexpr std::size_t kMostRanks = 65536;
constexpr std::size_t kLongestMessage = 1000;

// `  File "train.py", line 12, in forward` -> "train.py:12 in forward".
std::string FrameOf(std::string_view text) {
  text = Trim(text);
  const std::size_t close = text.find('"', 6);
  constexpr std::string_view kLine = ", line ";
  if (close == std::string_view::npos || !text.substr(close + 1).starts_with(kLine)) return {};
  const std::string_view rest = text.substr(close + 1 + kLine.size());
  std::size_t digits = 0;
  if (ReadDigits(rest, digits) < 0) return {};
  std::string frame(text.substr(6, close - 6));
  frame += ':';
  frame += rest.substr(0, digits);
  constexpr std::string_view kIn = ", in ";
  if (rest.substr(digits).starts_with(kIn)) {
    frame += " in ";
    frame += rest.substr(digits + kIn.size());
  }
  return frame;
}

// "| /home/me/train.py:12 in forward          |" of a boxed traceback.
std::string BoxedFrameOf(std::string_view text) {
  text = Trim(text.substr(kBoxSide.size()));
  if (text.ends_with(kBoxSide)) text = Trim(text.substr(0, text.size() - kBoxSide.size()));
  const std::size_t in = text.find(" in ");
  const std::size_t colon = text.substr(0, in).rfind(':');
  const bool is_frame = in != std::string_view::npos && colon != std::string_view::npos && colon + 1 < in &&
                        IsDigit(text[colon + 1]) && text.substr(0, colon).find(' ') == std::string_view::npos;
  return is_frame ? std::string(text) : std::string();
}

// The stage that a function belongs to. Those of trainers, and what people call theirs.
Stage StageOf(std::string_view function) {
  constexpr std::array<std::string_view, 15> kEvaluation = {
      "evaluate",      "evaluation_loop", "prediction_step", "prediction_loop", "validation_step",
      "validate",      "eval_step",       "_evaluate",       "eval_epoch",      "run_eval",
      "estimate_loss", "run_validation",  "eval_loop",       "test_step",       "evaluate_and_print_results"};
  constexpr std::array<std::string_view, 10> kSaving = {
      "_save_checkpoint", "save_checkpoint", "save_model",      "_save_optimizer_and_scheduler", "full_state_dict",
      "save_state",       "save_pretrained", "save_state_dict", "_full_state_dict_hook",         "get_state_dict"};
  constexpr std::array<std::string_view, 3> kOptimizer = {"_init_group", "initialize_optimizer_states", "_init_state"};
  const auto is_one_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), function) != names.end();
  };
  if (is_one_of(kEvaluation)) return Stage::kEvaluation;
  if (is_one_of(kSaving)) return Stage::kSaving;
  return is_one_of(kOptimizer) ? Stage::kOptimizer : Stage::kTraining;
}

std::size_t IndentOf(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? text.size() : first;
}

// The line of a tree of exceptions without its margin: "    | ValueError: boom" -> "ValueError: boom".
std::string_view WithoutMargin(std::string_view text) {
  const std::size_t side = IndentOf(text);
  if (side == text.size() || (text[side] != '|' && text[side] != '+')) return text;
  text.remove_prefix(side + 1);
  return text.starts_with(' ') ? text.substr(1) : text;
}

// "+-+---------------- 1 ----------------" before an exception, "+------------------------------------" behind the
// last.
bool IsBranch(std::string_view text) { return Trim(text).starts_with("+-"); }
bool IsLastBranch(std::string_view text) { return Trim(text).find_first_not_of("+-") == std::string_view::npos; }

bool IsChainSentence(std::string_view text) {
  return text.starts_with("During handling of the above exception") ||
         text.starts_with("The above exception was the direct cause");
}

}  // namespace

std::string_view ExceptionType(std::string_view text) {
  std::size_t end = 0;
  std::size_t last_part = 0;
  while (end < text.size() && (IsLetter(text[end]) || IsDigit(text[end]) || text[end] == '_' || text[end] == '.')) {
    if (text[end] == '.') last_part = end + 1;
    ++end;
  }
  const std::string_view type = text.substr(0, end);
  if (type.empty() || IsDigit(type[0]) || type.back() == '.' || end > 120) return {};
  if (end < text.size() && text[end] != ':') return {};
  constexpr std::array<std::string_view, 9> kLevels = {"INFO",  "WARNING",  "WARN", "ERROR", "DEBUG",
                                                       "FATAL", "CRITICAL", "NOTE", "TRACE"};
  if (std::find(kLevels.begin(), kLevels.end(), type) != kLevels.end()) return {};
  const char first = type[last_part];
  const bool is_class = first >= 'A' && first <= 'Z';
  return is_class || last_part != 0 ? type : std::string_view();
}

void TracebackReader::Open(Stack& stack, std::string_view header) {
  if (stack.state == State::kNone) ++open_;
  const bool chained = stack.chained;
  const Group group = stack.group;
  stack = Stack{};
  stack.chained = chained;
  stack.group = group;
  stack.indent = IndentOf(header);
  stack.state = header.find(kBoxTop) == std::string_view::npos ? State::kFrames : State::kBoxed;
}

void TracebackReader::Close(Stack& stack) {
  if (stack.state != State::kNone) --open_;
  stack.state = State::kNone;
  stack.group = {};
}

// Takes the margin of a group's tree from the line; false when the line is a branch, or does not belong to the tree.
bool TracebackReader::PassTree(Stack& stack, std::string_view& text) {
  const std::string_view trimmed = Trim(text);
  const bool belongs = trimmed.starts_with('|') || trimmed.starts_with('+');
  if (IsBranch(text)) {
    stack.group.may_be_over = IsLastBranch(text);
    stack.state = State::kInGroup;
    return false;
  }
  if (!belongs) {
    if (stack.group.may_be_over) Close(stack);
    return false;
  }
  text = WithoutMargin(text);
  return true;
}

TracebackReader::Place TracebackReader::Consume(std::string_view text, std::int32_t rank, std::uint32_t line,
                                                std::optional<Exception>& exception) {
  const std::size_t header = text.find(kHeader);
  if (header != std::string_view::npos) {
    if (stacks_.size() >= kMostRanks && !stacks_.contains(rank)) return Place::kFrame;
    Stack& stack = stacks_[rank];
    const bool is_group = text.find(kGroupHeader) != std::string_view::npos;
    if (!is_group && WithoutMargin(text).size() == text.size()) stack.group = {};
    Open(stack, is_group || stack.group.is_open ? WithoutMargin(text) : text);
    stack.group.is_open = stack.group.is_open || is_group;
    return Place::kFrame;
  }
  const auto at = stacks_.find(rank);
  if (at == stacks_.end()) return Place::kOutside;
  Stack& stack = at->second;
  if (stack.group.is_open && !PassTree(stack, text)) return IsBranch(text) ? Place::kFrame : Place::kOutside;
  if (IsChainSentence(text)) {
    stack.chained = true;
    return Place::kFrame;
  }
  if (stack.state == State::kNone) return Place::kOutside;
  if (++stack.lines > kLongestTraceback) {
    Close(stack);
    return Place::kOutside;
  }
  return stack.state == State::kBoxed ? ConsumeBoxed(stack, text) : ConsumeFrames(stack, text, line, exception);
}

void TracebackReader::TakeFrame(Stack& stack, std::string frame) {
  if (frame.empty()) return;
  // Multiprocessing children begin at their bootstrap function instead of a module.
  if (!stack.has_frames) stack.from_module = frame.ends_with("in <module>") || frame.ends_with("in _bootstrap");
  stack.has_frames = true;
  const std::size_t in = frame.rfind(" in ");
  if (stack.stage == Stage::kTraining && in != std::string::npos)
    stack.stage = StageOf(std::string_view(frame).substr(in + 4));
  stack.frame = std::move(frame);
}

TracebackReader::Place TracebackReader::ConsumeBoxed(Stack& stack, std::string_view text) {
  const std::string_view trimmed = Trim(text);
  if (trimmed.starts_with(kBoxBottom)) {
    stack.state = State::kAwaitType;
  } else if (trimmed.starts_with(kBoxSide)) {
    TakeFrame(stack, BoxedFrameOf(trimmed));
  } else {
    return Place::kOutside;
  }
  return Place::kFrame;
}

TracebackReader::Place TracebackReader::ConsumeFrames(Stack& stack, std::string_view text, std::uint32_t line,
                                                      std::optional<Exception>& exception) {
  if (IndentOf(text) > stack.indent) {
    if (Trim(text).starts_with("File \"")) TakeFrame(stack, FrameOf(text));
    return Place::kFrame;
  }
  text = text.substr(IndentOf(text));
  const std::string_view type = ExceptionType(text);
  if (type.empty()) return Place::kOutside;  // a line of somebody else in between
  Exception told;
  told.type = std::string(type);
  const std::string_view message = text.size() > type.size() ? Trim(text.substr(type.size() + 1)) : std::string_view();
  told.message = Printable(message.substr(0, kLongestMessage));
  told.frame = Printable(stack.frame);
  told.ends_process = stack.from_module;
  told.is_chained = stack.chained;
  told.line = line;
  told.stage = stack.stage;
  stack.chained = false;
  if (stack.group.is_open && told.message.find(" sub-exception") != std::string::npos) {
    stack.group.ends_process = stack.group.ends_process || stack.from_module;
    stack.state = State::kInGroup;
    return Place::kFrame;
  }
  FinishException(stack, told);
  exception = std::move(told);
  return Place::kException;
}

void TracebackReader::FinishException(Stack& stack, Exception& exception) {
  if (!stack.group.is_open) return Close(stack);
  exception.ends_process = stack.group.ends_process;
  exception.is_chained = exception.is_chained || stack.group.has_told;
  stack.group.has_told = true;
  stack.state = State::kInGroup;
  stack.frame.clear();
}

}  // namespace vigil::textlog
