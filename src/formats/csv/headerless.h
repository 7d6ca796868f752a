// Which column of a table without a header is which, from the numbers alone.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "formats/csv/row.h"

namespace vigil::formats::csv {

// Whether a column counts on: whole numbers, each as far from the one before as the first two are.
bool CountsEvenly(std::span<const std::vector<Cell>> rows, std::size_t column);

// The one column, from `first` on, that behaves as a loss does: it falls over these rows, and from higher than a
// learning rate begins. kNoColumn (see layout.h) when there is none, or several.
std::size_t FindLoss(std::span<const std::vector<Cell>> rows, std::size_t first);

}  // namespace vigil::formats::csv
