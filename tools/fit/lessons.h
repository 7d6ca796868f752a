// Runs with known faults as examples, and the model that is learned from some of them.
#pragma once

#include <string>
#include <vector>

#include "base/base.h"
#include "diagnose/fitted.h"
#include "fit/samples.h"
#include "scale/record.h"

namespace vigil::fit {

// A labelled run directory of a list.
struct LabelledRun {
  std::string path;
  std::string framework;
  std::string expect;
  std::vector<std::string> causes;
};
// Columns path, expect, cause and trainer of a table of tab-separated values; paths are relative to the file. Where
// there is a column split, only rows with `tune` are taken: what is kept for scoring is not fitted to.
Result<std::vector<LabelledRun>> ReadLabels(const std::string& file);

// All that can be learned from. Each run has a number; its origin says what it is held out with.
struct Lessons {
  struct Origin {
    std::size_t record = 0;  // place in the set; kNoRecord for a labelled run
    std::string framework;   // of a labelled run
  };
  static constexpr std::size_t kNoRecord = static_cast<std::size_t>(-1);

  std::vector<Example> examples;
  std::vector<Origin> runs;
};
// In parallel, in the order of the records.
void AddRecords(const std::vector<scale::Record>& records, Lessons& lessons);
Status AddLabelled(const std::string& file, Lessons& lessons);

struct LearnOptions {
  FitOptions fit = {.sparse = 8e-5, .small = 6e-4, .rounds = 150, .threads = 0, .progress = {}};
  double trouble_small = 4e-4;  // FitOptions::small for whether anything is wrong
  int fewest = 6;               // runs of a cause below which it is not fitted
};
struct Learned {
  diagnose::FittedModel model;
  std::size_t samples = 0;
};
// From the runs that `take` accepts, by number.
Learned Learn(const Lessons& lessons, const std::vector<bool>& take, const LearnOptions& options);

}  // namespace vigil::fit
