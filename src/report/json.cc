#include "report/json.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "base/base.h"
#include "model/run.h"

namespace vigil::report {

void JsonWriter::NewLine() {
  if (!pretty_) return;
  out_ += '\n';
  out_.append(2 * holds_something_.size(), ' ');
}

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (holds_something_.empty()) return;
  if (holds_something_.back()) out_ += ',';
  holds_something_.back() = true;
  NewLine();
}

void JsonWriter::OpenWith(char bracket) {
  Separate();
  out_ += bracket;
  holds_something_.push_back(false);
}

void JsonWriter::CloseWith(char bracket) {
  const bool held = holds_something_.back();
  holds_something_.pop_back();
  if (held) NewLine();
  out_ += bracket;
}

void JsonWriter::Bare(std::string_view token) {
  Separate();
  out_ += token;
}

namespace {

// The character of at most three bytes at the front of valid UTF-8, and how many bytes it has; 0 for longer ones.
struct Character {
  unsigned code = 0;
  std::size_t bytes = 1;
};
Character FirstOf(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  if (at(0) < 0x80) return {at(0), 1};
  if (at(0) < 0xE0) return {(at(0) & 0x1FU) << 6U | (at(1) & 0x3FU), 2};
  if (at(0) < 0xF0) return {(at(0) & 0x0FU) << 12U | (at(1) & 0x3FU) << 6U | (at(2) & 0x3FU), 3};
  return {0xFFFD, 4};
}

// Controls that terminals obey, and those that turn the direction of what stands behind them: a report may be printed.
bool IsEscaped(unsigned code) {
  const bool is_control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool turns = code == 0x61C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                     (code >= 0x2066 && code <= 0x2069);
  return is_control || turns;
}

}  // namespace

void JsonWriter::Quote(std::string_view text) {
  const std::string valid = ValidUtf8(text);
  out_ += '"';
  for (std::size_t i = 0; i < valid.size();) {
    const Character next = FirstOf(std::string_view(valid).substr(i));
    if (valid[i] == '"' || valid[i] == '\\') out_ += '\\';
    if (IsEscaped(next.code)) {
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", next.code);
    } else {
      out_.append(valid, i, next.bytes);
    }
    i += next.bytes;
  }
  out_ += '"';
}

void JsonWriter::Key(std::string_view key) {
  Separate();
  Quote(key);
  out_ += pretty_ ? ": " : ":";
  after_key_ = true;
}

void JsonWriter::Text(std::string_view text) {
  Separate();
  Quote(text);
}

void JsonWriter::Integer(std::int64_t value) { Bare(fmt::format("{}", value)); }
void JsonWriter::Count(std::uint64_t value) { Bare(fmt::format("{}", value)); }
void JsonWriter::StepOrNull(std::int64_t step) { step == model::kNoStep ? Null() : Integer(step); }

void JsonWriter::Number(double value) { std::isfinite(value) ? Bare(FormatExact(value)) : Text(FormatNumber(value)); }

void JsonWriter::Rounded(double value) {
  std::isfinite(value) ? Bare(fmt::format("{:.7g}", value)) : Text(FormatNumber(value));
}

}  // namespace vigil::report
