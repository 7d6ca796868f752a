// What src/catalogue/figures holds: how often each finding and each cause was right on labelled runs, and a run that
// shows it. The pages of `vigil explain` have them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "accuracy/judge.h"

namespace vigil::accuracy {

// A curve that shows a finding or a cause.
struct Example {
  std::string id;
  std::string metric;
  std::string axis;
  double at = model::kNoValue;
  int worth = 0;  // the higher, the better it shows it
  std::vector<std::int64_t> steps;
  std::vector<double> values;
};

// A labelled run, what became of it, and what it can show.
struct Observed {
  Outcome outcome;
  std::vector<std::string> metrics;  // that it logged, canonical, sorted
  bool has_log = false;              // text that may hold messages
  bool has_settings = false;
  std::vector<Example> examples;
};
Observed Observe(const Case& labelled, const std::string& path);

// The files of the folder, by name, as TOML. `prefix` of each list stands before the paths of its runs.
struct ObservedList {
  std::string prefix;
  std::vector<Observed> runs;
};
inline constexpr std::array<std::string_view, 3> kFigureFiles = {"findings.toml", "causes.toml", "examples.toml"};
std::string FigureFile(std::string_view name, const std::vector<ObservedList>& lists);

}  // namespace vigil::accuracy
