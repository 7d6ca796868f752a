// Measures: numbers that say how a run went, without units of its own (shares, ratios, settings), so that a rate of
// learning in images and one in language can be held against the same levels. Pure functions of a run, named by the
// rows of measures.toml. nullopt where the run does not have what it takes: a measure that is not there moves nothing.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"

namespace vigil::diagnose {

using Measure = std::optional<double> (*)(const RunDigest& run);

struct NamedMeasure {
  std::string_view name;
  Measure measure;
};

// The tables, one per file.
std::span<const NamedMeasure> CourseMeasures();
std::span<const NamedMeasure> EvaluationMeasures();
std::span<const NamedMeasure> GradientMeasures();
std::span<const NamedMeasure> RateMeasures();
std::span<const NamedMeasure> SettingMeasures();
std::span<const NamedMeasure> PolicyMeasures();
std::span<const NamedMeasure> ProgressMeasures();

// The code of a measure, null when there is none.
Measure FindMeasure(std::string_view name);

// What was measured: the row, the value, and the level of the row that it is in (0 below the first limit).
struct Measured {
  const catalogue::MeasureRow* row = nullptr;
  double value = 0;
  std::size_t level = 0;
};
// Every measure that the run has, in the order of the rows.
std::vector<Measured> MeasureRun(const RunDigest& run);

std::size_t LevelOf(const catalogue::MeasureRow& row, double value);

}  // namespace vigil::diagnose
