// catalogue/figures: how often findings and causes were right on labelled runs, and a real case of each. Written by
// `make accuracy` into figures/*.toml, so that the pages say what the accuracy table says.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vigil::catalogue {

// Of fewer cases a share says nothing.
inline constexpr std::int64_t kFewestForARate = 30;

// A finding, a known message or a config rule on labelled runs. Only runs that logged what it judges are counted.
struct FindingFigures {
  std::string_view id;
  std::int64_t healthy_runs;
  std::int64_t healthy_points;  // logged points of the longest series of each of those runs
  std::int64_t errors;          // of the healthy runs, those with it at `error` or above
  std::int64_t warnings;        // and at `warning`
  std::int64_t expected;        // faulty runs whose label accepts it
  std::int64_t found;           // of these, those with it at `warning` or above
  std::int64_t stood_in;        // of the others, those with another finding that the label accepts
  std::int64_t dated;           // of the found, those with a known onset
  std::int64_t median_delay;    // steps from the onset to the first that it names; 0 where none is dated
};

// A cause on runs with a labelled one, and on healthy runs.
struct CauseFigures {
  std::string_view id;
  std::int64_t labelled;       // runs whose label accepts it
  std::int64_t first;          // of these, those where it is named first
  std::int64_t other_first;    // where another cause that the label accepts is
  std::int64_t rival;          // where it is named beside another
  std::int64_t wrong;          // named first on runs whose label does not accept it
  std::int64_t wrong_healthy;  // and on healthy ones
};

// A labelled run that shows it: the metric that was judged, thinned, and where it was found.
struct ExampleRow {
  std::string_view id;      // of a finding or a cause
  std::string_view run;     // its path in the repository
  std::string_view fault;   // by its label
  std::string_view metric;  // canonical
  std::string_view axis;    // step, epoch, ...
  double at;                // on that axis; NaN where it has no place
  std::span<const double> steps;
  std::span<const double> values;  // as many; may be no numbers
};

// The row of that id; null where nothing was measured.
const FindingFigures* FiguresOfFinding(std::string_view id);
const CauseFigures* FiguresOfCause(std::string_view id);
const ExampleRow* ExampleOf(std::string_view id);

}  // namespace vigil::catalogue
