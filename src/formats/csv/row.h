// Rows of a table of text: where they end, their cells, the numbers in them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vigil::formats::csv {

struct Cell {
  std::string_view text;  // without the spaces around it, and without quotes (doubled ones inside stay doubled)
  double number = 0;      // when `is_number`
  bool is_number = false;
};

// Whether a cell says that there is nothing: it is empty, or holds the word that some writer has for that. Writers use
// the same for a number that is none.
bool IsMissing(const Cell& cell);

// Takes rows apart. Keeps the memory of its cells from row to row.
class RowParser {
 public:
  explicit RowParser(char delimiter) : delimiter_(delimiter) {}

  // Takes the row at `at` apart and returns the beginning of the next; null when a quote in it does not close before
  // `end`. There must be a row, and `end[-1]` must be a line feed.
  const char* Parse(const char* at, const char* end);

  // Of the row parsed last; borrowed from its bytes. A row with absurdly many cells gives the first of them.
  std::span<const Cell> cells() const { return {cells_.data(), count_}; }
  std::size_t cell_count() const { return cell_count_; }
  std::uint32_t line_count() const { return line_count_; }  // more than one with line feeds inside quotes

 private:
  void Grow();
  const char* ParseText(const char* at, Cell& cell) const;
  const char* ParseQuoted(const char* at, const char* end, Cell& cell);

  char delimiter_;
  std::vector<Cell> cells_;
  std::size_t count_ = 0;
  std::size_t cell_count_ = 0;
  std::uint32_t line_count_ = 1;
};

}  // namespace vigil::formats::csv
