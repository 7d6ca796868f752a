#include "catalogue/figures.h"

#include <algorithm>
#include <array>
#include <limits>

namespace vigil::catalogue {
namespace {

#include "catalogue/figures.inc"

template <class Row, std::size_t N>
const Row* FindRow(const std::array<Row, N>& rows, std::string_view id) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.id == id; });
  return at == rows.end() ? nullptr : &*at;
}

}  // namespace

const FindingFigures* FiguresOfFinding(std::string_view id) { return FindRow(kFindingFiguresRows, id); }

const CauseFigures* FiguresOfCause(std::string_view id) { return FindRow(kCauseFiguresRows, id); }

const ExampleRow* ExampleOf(std::string_view id) { return FindRow(kExampleRows, id); }

}  // namespace vigil::catalogue
