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

void JsonWriter::Quote(std::string_view text) {
  out_ += '"';
  for (const char c : ValidUtf8(text)) {
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out_ += c;
    }
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
