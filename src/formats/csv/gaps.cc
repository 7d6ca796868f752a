#include "formats/csv/gaps.h"

#include <algorithm>

namespace vigil::formats::csv {

void Gaps::Settle(std::span<const std::size_t> columns) {
  if (plain_ == 0) return;
  for (const std::size_t column : columns) {
    fills_[column].numbers += plain_;
    fills_[column].latest_row = rows_;
  }
  plain_ = 0;
}

void Gaps::Restart() {
  for (Fill& fill : fills_) fill = {};
}

// A row that has numbers which the row of a column's latest number did not have is of another kind, and has no reason
// to have that column; nor has one that lacks the learning rate, which is never NaN.
void Gaps::AddRow(std::span<const Cell> cells, std::span<const std::size_t> values) {
  ++rows_;
  oldest_ = rows_;
  hides_ = true;
  for (const std::size_t column : values) {
    if (column >= cells.size()) continue;
    Fill& fill = fills_[column];
    if (!cells[column].is_number) {
      hides_ = hides_ && (column != never_nan_ || fill.numbers == 0);
      continue;
    }
    oldest_ = std::min(oldest_, fill.latest_row);
    ++fill.numbers;
    fill.latest_row = rows_;
  }
}

}  // namespace vigil::formats::csv
