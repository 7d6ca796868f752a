// tabular/guess: what columns without a name hold, from their numbers alone: for tables without a header and for lines
// of plain numbers.
#pragma once

#include <cstddef>
#include <span>

namespace vigil::tabular {

// Fewer rows say nothing about a column.
inline constexpr std::size_t kFewestRowsToGuess = 8;

// Whether the numbers count on: whole, not negative, each as far from the one before as the first two are.
bool CountsEvenly(std::span<const double> values);

// Whether the numbers go as a loss does: none is negative, they begin higher than a learning rate would, and the median
// of the last quarter is below that of the first. Values that are not finite do not count.
bool FallsLikeLoss(std::span<const double> values);
// Whether they go up and down as what is measured on one batch after another does, above where a learning rate begins.
bool IsNoisyLikeLoss(std::span<const double> values);
// Whether they go as a schedule prescribes: none above 1 or below 0, and they turn only a few times.
bool GoesLikeLearningRate(std::span<const double> values);

}  // namespace vigil::tabular
