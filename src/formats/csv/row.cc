#include "formats/csv/row.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "base/base.h"
#include "base/decimal.h"

namespace vigil::formats::csv {
namespace {

constexpr std::size_t kMaxCells = std::size_t{1} << 16U;

// Where semicolons divide cells, a comma may be the decimal point.
std::optional<double> DecimalComma(std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos || text.size() > 64) return std::nullopt;
  std::string plain(text);
  plain[comma] = '.';
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(plain, used);
  return used == plain.size() ? value : std::nullopt;
}

// What spreadsheets and the C library of Windows write for a number that is none: "#NUM!", "#DIV/0!", "-1.#IND",
// "1.#QNAN0", "1.#INF".
std::optional<double> NonFiniteWord(std::string_view text) {
  const std::size_t mark = text.find('#');
  if (mark == std::string_view::npos || text.size() > 16) return std::nullopt;
  const std::string_view word = text.substr(mark + 1);
  if (mark == 0 && (word == "NUM!" || word == "DIV/0!")) return std::numeric_limits<double>::quiet_NaN();
  if (!text.substr(0, mark).ends_with("1.")) return std::nullopt;
  if (word.starts_with("INF")) return text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
  const bool none = word.starts_with("IND") || word.starts_with("QNAN") || word.starts_with("SNAN");
  return none ? std::optional(std::numeric_limits<double>::quiet_NaN()) : std::nullopt;
}

std::optional<double> SlowNumber(std::string_view text, char delimiter, bool quoted) {
  if (text.empty()) return std::nullopt;
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(text, used);
  if (value && used == text.size()) return value;
  if (const auto none = NonFiniteWord(text)) return none;
  if (delimiter == ';') return DecimalComma(text);
  return quoted ? ParseNumber(text) : std::nullopt;  // "1,234.5"
}

void SetNumber(Cell& cell, std::optional<double> number) {
  cell.is_number = number.has_value();
  cell.number = number.value_or(0);
}

}  // namespace

bool IsMissing(const Cell& cell) {
  constexpr std::array<std::string_view, 7> kWords = {"na", "n/a", "#n/a", "<na>", "none", "null", "-"};
  if (cell.is_number || cell.text.size() > 4) return false;
  return cell.text.empty() || std::find(kWords.begin(), kWords.end(), ToLower(cell.text)) != kWords.end();
}

// Room for one more cell; beyond the limit the last one is written over and over.
void RowParser::Grow() {
  if (cells_.size() < kMaxCells)
    cells_.resize(std::max<std::size_t>(16, cells_.size() * 2));
  else
    --count_;
}

const char* RowParser::Parse(const char* at, const char* end) {
  count_ = 0;
  cell_count_ = 0;
  line_count_ = 1;
  for (;;) {
    if (count_ == cells_.size()) Grow();
    Cell& cell = cells_[count_++];
    ++cell_count_;
    while (*at == ' ') ++at;
    const char* after = TakeDecimal<TextEnd::kGuarded>(at, end, cell.number);
    if (after != nullptr && (*after == delimiter_ || *after == '\n')) {
      cell.is_number = true;
      cell.text = {at, static_cast<std::size_t>(after - at)};
    } else if (*at == '"') {
      after = ParseQuoted(at, end, cell);
      if (after == nullptr) return nullptr;
    } else {
      after = ParseText(at, cell);
    }
    at = after + 1;
    if (*after == '\n') return at;
  }
}

// A cell that is no plain number, up to its delimiter or the end of the line.
const char* RowParser::ParseText(const char* at, Cell& cell) const {
  const char* after = at;
  while (*after != delimiter_ && *after != '\n') ++after;
  cell.text = Trim({at, static_cast<std::size_t>(after - at)});
  SetNumber(cell, SlowNumber(cell.text, delimiter_, false));
  return after;
}

const char* RowParser::ParseQuoted(const char* at, const char* end, Cell& cell) {
  const char* const begin = ++at;
  for (;;) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end - at)));
    if (at == nullptr) return nullptr;
    if (at[1] != '"') break;  // a line feed at the least stands behind it
    at += 2;
  }
  cell.text = Trim({begin, static_cast<std::size_t>(at - begin)});
  line_count_ += static_cast<std::uint32_t>(std::count(begin, at, '\n'));
  SetNumber(cell, SlowNumber(cell.text, delimiter_, true));
  while (*at != delimiter_ && *at != '\n') ++at;
  return at;
}

}  // namespace vigil::formats::csv
