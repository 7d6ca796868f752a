// What a cell without a number stands for: for nothing where rows often lack that column, or for a number that the
// writer could not spell (pandas writes NaN as an empty cell).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/csv/row.h"

namespace vigil::formats::csv {

// Numbers and gaps of one column.
struct Fill {
  // A gap hides a number only in a column that has had so many, and hardly ever a gap.
  static constexpr std::uint64_t kNumbersToTrust = 4;
  static constexpr std::uint64_t kNumbersPerGap = 4;

  std::uint64_t numbers = 0;
  std::uint64_t gaps = 0;
  std::uint64_t latest_row = 0;  // with a number, counted from 1; 0 when there was none

  bool IsFull() const { return numbers >= kNumbersToTrust && numbers >= kNumbersPerGap * gaps; }
};

// Follows the rows of a wide table.
class Gaps {
 public:
  // The next rows have so many columns; `never_nan`: the one of the learning rate, or any number beyond the last.
  void Begin(std::size_t columns, std::size_t never_nan) {
    fills_.assign(columns, {});
    never_nan_ = never_nan;
    plain_ = 0;
  }

  // A row with a number in each of the columns that Settle is told of.
  void AddPlainRow() {
    ++rows_;
    ++plain_;
  }
  // The plain rows since the last call had numbers in these columns.
  void Settle(std::span<const std::size_t> columns);
  // The steps begin anew: what was said of the columns is to be shown again.
  void Restart();

  // A row of any kind. Hides says which of its gaps hide a number, until the next row.
  void AddRow(std::span<const Cell> cells, std::span<const std::size_t> values);
  bool Hides(std::size_t column) const {
    return hides_ && fills_[column].IsFull() && fills_[column].latest_row <= oldest_;
  }
  // The gap is one.
  void AddGap(std::size_t column) { ++fills_[column].gaps; }

 private:
  std::vector<Fill> fills_;
  std::size_t never_nan_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t plain_ = 0;
  std::uint64_t oldest_ = 0;  // of the rows that had a number where this one has: the one that is longest ago
  bool hides_ = false;
};

}  // namespace vigil::formats::csv
