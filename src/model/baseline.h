// model/baseline: a run beside a reference run, metric by metric, as data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.h"
#include "model/statement.h"

namespace vigil::model {

// How a metric of the run stands to that of the reference: apart by more than the noise of both, or not.
enum class Standing : std::uint8_t { kAlike, kBetter, kWorse, kNotCompared };
std::string_view Name(Standing standing);  // "alike", "better", "worse", "not_compared"

// Which number of a metric is compared.
enum class Aspect : std::uint8_t {
  kFinal,    // the level of the last stretch that both have
  kBest,     // the best level up to there
  kTypical,  // the median
  kPeak,     // the highest
};
std::string_view Name(Aspect aspect);  // "final", "best", "typical", "peak"

// One number of both runs, over the positions that both have.
struct ComparedMetric {
  std::string signal;
  Labels labels;
  Aspect aspect = Aspect::kFinal;
  Standing standing = Standing::kNotCompared;
  double value = kNoValue;      // of the run
  double reference = kNoValue;  // of the reference
  double noise = kNoValue;      // a difference up to this is none
  PositionRange over;           // the positions that the numbers are taken from
  Statement reason;             // why it was not compared; empty when it was
};

// A setting that both runs state, and differently.
struct DifferingSetting {
  std::string setting;
  std::string value;      // of the run
  std::string reference;  // of the reference
};

struct Baseline {
  std::string name;  // of the reference run
  std::vector<ComparedMetric> metrics;
  std::vector<DifferingSetting> settings;
  std::vector<std::string> new_findings;      // ids that the reference does not have, warnings and worse
  std::vector<std::string> missing_findings;  // ids that only the reference has, the same
  std::vector<Statement> remarks;             // what limits the comparison: another length, another schedule

  // Whether any metric was compared.
  bool IsOfUse() const;
};

}  // namespace vigil::model
