#include "textlog/dict_line.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "model/run.h"
#include "tabular/column_roles.h"
#include "tabular/row.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

std::size_t SkipSpaces(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  return at;
}

bool IsQuote(char c) { return c == '\'' || c == '"'; }

// The closing quote of the string that opens at text[open]; a backslash hides the character behind it.
std::size_t FindClosingQuote(std::string_view text, std::size_t open) {
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[open]) {
      return i;
    }
  }
  return kNone;
}

// The end of a value that is no plain number: the comma or brace that closes it at its own depth.
std::size_t SkipValue(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (IsQuote(c)) {
      at = FindClosingQuote(text, at);
      if (at == kNone) return kNone;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == '}')) {
      return at;
    } else if (c == ')' || c == ']' || c == '}') {
      if (depth == 0) return kNone;
      --depth;
    }
  }
  return kNone;
}

// The ')' that closes what was open before text[at]: "), shape=(), dtype=float32)".
std::size_t FindClosingBracket(std::string_view text, std::size_t at) {
  int depth = 1;
  for (; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return kNone;
}

bool IsNull(std::string_view text) { return text.starts_with("null") || text.starts_with("None"); }

// Reads the value at text[at] and returns where it ends.
std::size_t ReadValue(std::string_view text, std::size_t at, std::string_view name, NamedNumbers& numbers) {
  std::size_t used = 0;
  if (IsQuote(text[at])) {
    const std::size_t close = FindClosingQuote(text, at);
    if (close == kNone) return kNone;
    const std::string_view inside = text.substr(at + 1, close - at - 1);
    const auto value = ReadNumber(inside, used);
    if (value && used == inside.size() && numbers.size() < kMostNumbers) numbers.push_back({name, *value});
    return close + 1;
  }
  if (const auto value = ReadNumber(text.substr(at), used)) {
    const std::size_t end = SkipSpaces(text, at + used);
    if (end < text.size() && (text[end] == ',' || text[end] == '}')) {
      if (numbers.size() < kMostNumbers) numbers.push_back({name, *value});
      return end;
    }
  }
  if (IsNull(text.substr(at)) && numbers.size() < kMostNumbers) {
    NamedNumber number = {name, model::kNoValue};
    number.missing = true;
    numbers.push_back(number);
  }
  return SkipValue(text, at);
}

}  // namespace

std::size_t WrapperLength(std::string_view text) {
  constexpr std::size_t kLongest = 24;
  constexpr std::array<std::string_view, 10> kNames = {"float64", "float32", "float16", "int64",  "tensor",
                                                       "array",   "int32",   "Array",   "Tensor", "DeviceArray"};
  std::size_t end = 0;
  std::size_t name = 0;
  for (; end < text.size() && end < kLongest && (IsLetter(text[end]) || IsDigit(text[end]) || text[end] == '.');
       ++end) {
    if (text[end] == '.') name = end + 1;
  }
  if (end >= text.size() || text[end] != '(') return 0;
  const std::string_view last = text.substr(name, end - name);
  return std::find(kNames.begin(), kNames.end(), last) == kNames.end() ? 0 : end + 1;
}

std::optional<double> ReadNumber(std::string_view text, std::size_t& used) {
  if (const auto plain = ParseNumberPrefix(text, used)) {
    // A bar that puts ".0" behind what has no decimals writes "nan.0".
    if (!std::isfinite(*plain) && text.substr(used).starts_with(".0")) used += 2;
    return plain;
  }
  const std::size_t wrapper = WrapperLength(text);
  if (wrapper == 0) return std::nullopt;
  const std::size_t begin = wrapper + (text.substr(wrapper).starts_with('[') ? 1 : 0);
  std::size_t inner = 0;
  const auto value = ParseNumberPrefix(text.substr(begin), inner);
  const std::size_t close = value ? FindClosingBracket(text, begin + inner) : kNone;
  if (close == kNone) return std::nullopt;
  used = close + 1;
  return value;
}

std::size_t ParseDict(std::string_view text, std::size_t open, NamedNumbers& numbers) {
  std::size_t at = SkipSpaces(text, open + 1);
  while (at < text.size() && IsQuote(text[at])) {
    const std::size_t close = FindClosingQuote(text, at);
    if (close == kNone) return kNone;
    const std::string_view name = text.substr(at + 1, close - at - 1);
    at = SkipSpaces(text, close + 1);
    if (at >= text.size() || text[at] != ':') return kNone;
    at = SkipSpaces(text, at + 1);
    if (at >= text.size()) return kNone;
    at = ReadValue(text, at, name, numbers);
    if (at == kNone) return kNone;
    at = SkipSpaces(text, at);
    if (at >= text.size()) return kNone;
    if (text[at] == '}') return at + 1;
    if (text[at] != ',') return kNone;
    at = SkipSpaces(text, at + 1);
  }
  return kNone;
}

std::size_t NestedDict::Parse(std::string_view text, std::size_t open, NamedNumbers& numbers) {
  if (!text.substr(open).starts_with("{\"") || text.find('{', open + 1) == kNone) return kNone;
  codec::JsonScanner scanner(text.substr(open));
  if (scanner.Next() != codec::JsonToken::kObjectBegin) return kNone;
  row_.Begin();
  if (row_.Read(scanner) != codec::JsonToken::kObjectEnd) return kNone;
  const auto is_step = [&](const tabular::Cell& cell) {
    return tabular::UseOfColumn(columns_.name(cell.column)).role == tabular::ColumnRole::kStep;
  };
  // Settings are nested, too.
  if (std::none_of(row_.cells().begin(), row_.cells().end(), is_step)) return kNone;
  for (const tabular::Cell& cell : row_.cells()) {
    if (numbers.size() == kMostNumbers) break;
    NamedNumber number = {columns_.name(cell.column), cell.is_null ? model::kNoValue : cell.value};
    number.missing = cell.is_null;
    numbers.push_back(number);
  }
  return open + scanner.consumed();
}

std::size_t FindDict(std::string_view text) {
  for (std::size_t at = text.find('{'); at != kNone; at = text.find('{', at + 1)) {
    if (at + 1 < text.size() && IsQuote(text[at + 1])) return at;
  }
  return kNone;
}

}  // namespace vigil::textlog
