#include "import/csv/row.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/base.h"
#include "import/csv/number.h"

namespace vigil::import::csv {
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

std::optional<double> SlowNumber(std::string_view text, char delimiter, bool quoted) {
  if (text.empty()) return std::nullopt;
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(text, used);
  if (value && used == text.size()) return value;
  if (delimiter == ';') return DecimalComma(text);
  return quoted ? ParseNumber(text) : std::nullopt;  // "1,234.5"
}

void SetNumber(Cell& cell, std::optional<double> number) {
  cell.is_number = number.has_value();
  cell.number = number.value_or(0);
}

}  // namespace

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
    const char* after = ParseDecimal(at, end, cell.number);
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

}  // namespace vigil::import::csv
