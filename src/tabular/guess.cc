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
  constexpr double kSmallestStart = 0.05;  // learning rates begin below
  std::vector<double> finite;
  std::copy_if(values.begin(), values.end(), std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  if (finite.size() < kFewestRowsToGuess) return false;
  const std::ptrdiff_t part = std::max<std::ptrdiff_t>(2, std::ssize(finite) / 4);
  const double begin = Median({finite.begin(), finite.begin() + part});
  const double end = Median({finite.end() - part, finite.end()});
  return begin > kSmallestStart && end < begin && *std::min_element(finite.begin(), finite.end()) >= 0;
}

}  // namespace vigil::tabular
