#include "report/thin.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace vigil::report {
namespace {

constexpr std::size_t kKeptPerStretch = 4;

// The points of [from, to) worth keeping, appended in order.
void KeepOfStretch(std::span<const double> values, std::size_t from, std::size_t to, std::vector<std::size_t>& kept) {
  constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t smallest = kNone;
  std::size_t largest = kNone;
  std::size_t first_bad = kNone;
  std::size_t last_bad = kNone;
  for (std::size_t i = from; i < to; ++i) {
    if (!std::isfinite(values[i])) {
      if (first_bad == kNone) first_bad = i;
      last_bad = i;
      continue;
    }
    if (smallest == kNone || values[i] < values[smallest]) smallest = i;
    if (largest == kNone || values[i] > values[largest]) largest = i;
  }
  std::vector<std::size_t> found;
  for (const std::size_t index : {smallest, largest, first_bad, last_bad}) {
    if (index != kNone) found.push_back(index);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  kept.insert(kept.end(), found.begin(), found.end());
}

}  // namespace

std::vector<std::size_t> Thin(const model::Series& series, std::size_t most) {
  std::vector<std::size_t> kept;
  if (series.size() <= most) {
    kept.resize(series.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    return kept;
  }
  const std::size_t stretches = std::max<std::size_t>(most / kKeptPerStretch, 1);
  kept.push_back(0);
  for (std::size_t i = 0; i < stretches; ++i) {
    // The products stay far from the end of 64 bits: there are no 2^50 points and no 2^13 stretches.
    KeepOfStretch(series.values, series.size() * i / stretches, series.size() * (i + 1) / stretches, kept);
  }
  kept.push_back(series.size() - 1);
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  return kept;
}

}  // namespace vigil::report
