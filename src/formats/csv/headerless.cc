#include "formats/csv/headerless.h"

#include <algorithm>
#include <cmath>

#include "formats/csv/layout.h"

namespace vigil::formats::csv {
namespace {

constexpr std::size_t kFewestRows = 8;

double Median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

bool FallsLikeALoss(std::span<const std::vector<Cell>> rows, std::size_t column) {
  // Learning rates begin below.
  constexpr double kSmallestStart = 0.05;
  std::vector<double> values;
  for (const auto& row : rows) {
    if (column < row.size() && row[column].is_number && std::isfinite(row[column].number))
      values.push_back(row[column].number);
  }
  if (values.size() < kFewestRows) return false;
  const std::ptrdiff_t part = std::max<std::ptrdiff_t>(2, std::ssize(values) / 4);
  const double begin = Median({values.begin(), values.begin() + part});
  const double end = Median({values.end() - part, values.end()});
  return begin > kSmallestStart && end < begin && *std::min_element(values.begin(), values.end()) >= 0;
}

}  // namespace

bool CountsEvenly(std::span<const std::vector<Cell>> rows, std::size_t column) {
  if (rows.size() < kFewestRows) return false;
  const double gap = rows[1][column].number - rows[0][column].number;
  if (gap < 1) return false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Cell& cell = rows[i][column];
    if (!cell.is_number || cell.number != std::floor(cell.number) || cell.number < 0) return false;
    if (i != 0 && cell.number - rows[i - 1][column].number != gap) return false;
  }
  return true;
}

std::size_t FindLoss(std::span<const std::vector<Cell>> rows, std::size_t first) {
  std::size_t found = kNoColumn;
  const std::size_t columns = rows.empty() ? 0 : rows.front().size();
  for (std::size_t i = first; i < columns; ++i) {
    if (!FallsLikeALoss(rows, i)) continue;
    if (found != kNoColumn) return kNoColumn;
    found = i;
  }
  return found;
}

}  // namespace vigil::formats::csv
