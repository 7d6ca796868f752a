// Configuration files in memory, checked as one plan: the first that is a training's, the others beside it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "preflight/preflight.h"

namespace vigil::preflight {

using Texts = std::vector<std::pair<std::string, std::string>>;  // name and text

inline model::PlannedRun CheckTexts(const Texts& texts, const Options& options = {},
                                    const catalogue::Thresholds& thresholds = {}) {
  std::vector<configfile::File> files;
  for (const auto& [name, text] : texts) {
    const auto notation = configfile::NotationOf(name, text);
    EXPECT_TRUE(notation) << name;
    files.push_back(configfile::Parse(name, text, notation.value_or(configfile::Notation::kYaml)));
  }
  Group group;
  group.training = &files.front();
  for (std::size_t i = 1; i < files.size(); ++i) group.beside.push_back(&files[i]);
  return Check(group, thresholds, options);
}

inline std::vector<model::ConfigBreach> Findings(const Texts& texts, const Options& options = {}) {
  return CheckTexts(texts, options).breaches;
}

inline std::vector<std::string> IdsOf(const Texts& texts, const Options& options = {}) {
  std::vector<std::string> ids;
  for (const model::ConfigBreach& breach : Findings(texts, options)) ids.push_back(breach.finding.id);
  return ids;
}

// The derived number of that name, NaN when there is none.
inline double ValueNamed(const Texts& texts, std::string_view name, const Options& options = {}) {
  for (const model::DerivedValue& value : CheckTexts(texts, options).values) {
    if (value.name == name) return value.value;
  }
  return model::kNoValue;
}

}  // namespace vigil::preflight
