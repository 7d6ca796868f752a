#include "diagnose/measures.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace vigil::diagnose {
namespace {

std::array<std::span<const NamedMeasure>, 7> Tables() {
  return {CourseMeasures(),  EvaluationMeasures(), GradientMeasures(), RateMeasures(),
          SettingMeasures(), PolicyMeasures(),     ProgressMeasures()};
}

}  // namespace

Measure FindMeasure(std::string_view name) {
  for (const auto& table : Tables()) {
    const auto at =
        std::find_if(table.begin(), table.end(), [&](const NamedMeasure& named) { return named.name == name; });
    if (at != table.end()) return at->measure;
  }
  return nullptr;
}

std::size_t LevelOf(const catalogue::MeasureRow& row, double value) {
  return static_cast<std::size_t>(std::upper_bound(row.levels.begin(), row.levels.end(), value) - row.levels.begin());
}

std::vector<Measured> MeasureRun(const RunDigest& run) {
  std::vector<Measured> measured;
  for (const catalogue::MeasureRow& row : catalogue::Measures()) {
    const Measure measure = FindMeasure(row.id);
    const std::optional<double> value = measure == nullptr ? std::nullopt : measure(run);
    // A ratio of two extremes can overflow; the last level holds it as well.
    if (value && !std::isnan(*value)) measured.push_back({&row, *value, LevelOf(row, *value)});
  }
  return measured;
}

}  // namespace vigil::diagnose
