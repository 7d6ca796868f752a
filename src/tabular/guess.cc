#include "tabular/guess.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vigil::tabular {
namespace {

double Median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

constexpr double kSmallestStart = 0.05;  // learning rates begin below

// How often values that rose fall again, or the other way.
std::size_t CountTurns(std::span<const double> values) {
  std::size_t turns = 0;
  double before = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double change = values[i] - values[i - 1];
    if (change == 0 || change != change) continue;
    turns += change * before < 0 ? 1 : 0;
    before = change;
  }
  return turns;
}

}  // namespace

bool CountsEvenly(std::span<const double> values) {
  if (values.size() < kFewestRowsToGuess) return false;
  const double gap = values[1] - values[0];
  if (!(gap >= 1)) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != std::floor(values[i]) || values[i] < 0) return false;
    if (i != 0 && values[i] - values[i - 1] != gap) return false;
  }
  return true;
}

bool FallsLikeLoss(std::span<const double> values) {
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  if (finite.size() < kFewestRowsToGuess) return false;
  const std::ptrdiff_t part = std::max<std::ptrdiff_t>(2, std::ssize(finite) / 4);
  const double begin = Median({finite.begin(), finite.begin() + part});
  const double end = Median({finite.end() - part, finite.end()});
  return begin > kSmallestStart && end < begin && *std::min_element(finite.begin(), finite.end()) >= 0;
}

bool IsNoisyLikeLoss(std::span<const double> values) {
  constexpr std::size_t kPointsPerTurn = 5;
  if (values.size() < kFewestRowsToGuess) return false;
  const auto first = std::find_if(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  const bool is_measured = std::any_of(values.begin(), values.end(), [](double v) { return v != std::floor(v); });
  return first != values.end() && *first > kSmallestStart && is_measured &&
         CountTurns(values) * kPointsPerTurn >= values.size();
}

bool GoesLikeLearningRate(std::span<const double> values) {
  constexpr std::size_t kPointsPerTurn = 20;
  constexpr std::size_t kFewTurns = 2;  // up in the warm-up, down, and once more
  if (values.size() < kFewestRowsToGuess) return false;
  const bool fits = std::all_of(values.begin(), values.end(), [](double v) { return v >= 0 && v <= 1; });
  const bool any = std::any_of(values.begin(), values.end(), [](double v) { return v > 0; });
  return fits && any && CountTurns(values) <= kFewTurns + values.size() / kPointsPerTurn;
}

}  // namespace vigil::tabular
