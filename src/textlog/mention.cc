#include "textlog/mention.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

template <std::size_t N>
bool HoldsOneOf(std::string_view text, const std::array<std::string_view, N>& lower_case_parts) {
  return std::any_of(lower_case_parts.begin(), lower_case_parts.end(),
                     [&](std::string_view part) { return ContainsIgnoringCase(text, part); });
}

// "If you encounter CUDA out of memory, ...", "will retry on CUDA out of memory".
bool IsAdvice(std::string_view before) {
  constexpr std::array<std::string_view, 20> kOpenings = {
      "if you ",   "in case ",    "to avoid ", "avoiding ", "to prevent ", "retry on ",  "may lead to",
      "may cause", "might cause", "can cause", "can lead",  "could lead",  "result in ", "unless ",
      "tip:",      "hint:",       "checking ", "such as ",  "e.g. ",       "whether "};
  return HoldsOneOf(before, kOpenings);
}

// "..., falling back to eager": told, and overcome in the same breath.
bool IsOvercome(std::string_view after) {
  constexpr std::array<std::string_view, 9> kWords = {"falling back", "fall back to", "fallback to",
                                                      "retrying",     "will retry",   "continuing wit",
                                                      "can ignore",   "safely ignor", "starting from scratch"};
  return HoldsOneOf(after, kWords);
}

// "errors: 0", "OOMKilled: false".
bool IsCountOfNone(std::string_view after) {
  constexpr std::array<std::string_view, 9> kNames = {"",       "s",      "\"",    " errors", " error",
                                                      " count", " check", " rate", " events"};
  constexpr std::array<std::string_view, 10> kNone = {"0",   "0.0",      "false", "none",       "no",
                                                      "off", "disabled", "n/a",   "not active", "ok"};
  const std::size_t sign = after.find_first_of(":=");
  const std::string_view name = after.substr(0, sign);
  if (sign != std::string_view::npos) {
    const std::size_t end = name.find_last_not_of(' ');
    const std::string_view trimmed = name.substr(0, end == std::string_view::npos ? 0 : end + 1);
    if (std::find(kNames.begin(), kNames.end(), trimmed) == kNames.end()) return false;
    after.remove_prefix(sign + 1);
  }
  std::string_view value = Trim(after);
  while (!value.empty() && (value.back() == '.' || value.back() == ',' || value.back() == '%')) value.remove_suffix(1);
  return std::find(kNone.begin(), kNone.end(), ToLower(value.substr(0, 16))) != kNone.end();
}

// The text behind an opening label: "Sample 3: ...", "completion[0] = ...".
bool HasLabelOfText(std::string_view text) {
  constexpr std::array<std::string_view, 17> kLabels = {
      "generated",  "generation", "completion",  "prompt",    "answer",      "response",
      "sample",     "question",   "instruction", "assistant", "human",       "example",
      "prediction", "predicted",  "decoded",     "reference", "model output"};
  text = text.substr(std::min(text.size(), text.find_first_not_of(" \t[<*#\"'>-")));
  const auto label = std::find_if(kLabels.begin(), kLabels.end(), [&](std::string_view known) {
    return text.size() > known.size() && ToLower(text.substr(0, known.size())) == known;
  });
  if (label == kLabels.end()) return false;
  const std::size_t end = text.find_first_not_of("s 0123456789[]()#*>\"'", label->size());
  return end != std::string_view::npos && (text[end] == ':' || text[end] == '=' || text[end] == '|');
}

// A row of a table of samples, or a sample as JSON.
bool IsSample(std::string_view text, std::string_view before) {
  constexpr std::string_view kBoxSide = "\xE2\x94\x82";  // U+2502
  constexpr std::array<std::string_view, 8> kFields = {"\"content\"",    "'content'",    "\"prompt\"",   "'prompt'",
                                                       "\"completion\"", "'completion'", "\"response\"", "'response'"};
  const std::string_view trimmed = Trim(text);
  if (trimmed.starts_with(kBoxSide)) return true;
  if (!trimmed.empty() && (trimmed[0] == '{' || trimmed[0] == '[') && HoldsOneOf(before, kFields)) return true;
  return HasLabelOfText(text);
}

bool IsNameCharacter(char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '.'; }

// The name of an exception that the message begins with or within; such lines are echoes when a logger tells them at a
// low level, since what ends a program is printed by the interpreter.
bool NamesException(std::string_view text, std::size_t begin) {
  std::size_t from = begin;
  while (from > 0 && IsNameCharacter(text[from - 1])) --from;
  std::size_t to = begin;
  while (to < text.size() && IsNameCharacter(text[to])) ++to;
  const std::string_view name = text.substr(from, to - from);
  return name.ends_with("Error") || name.ends_with("Exception") || name.find(".exc.") != std::string_view::npos;
}

bool HasLowLevel(std::string_view before) {
  constexpr std::array<std::string_view, 3> kLevels = {"WARNING", "INFO", "DEBUG"};
  return std::any_of(kLevels.begin(), kLevels.end(),
                     [&](std::string_view level) { return before.find(level) != std::string_view::npos; });
}

}  // namespace

bool IsOnlyMentioned(std::string_view text, std::size_t begin, std::size_t end) {
  const std::string_view before = text.substr(0, begin);
  const std::string_view after = text.substr(end);
  if (before.find("NCCL INFO") != std::string_view::npos) return true;
  if (IsAdvice(before) || IsOvercome(after) || IsCountOfNone(after) || IsSample(text, before)) return true;
  return HasLowLevel(before) && NamesException(text, begin);
}

}  // namespace vigil::textlog
