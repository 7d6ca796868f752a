// What vigil says about a record, short enough to keep for every run of a set.
#pragma once

#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/fitted.h"
#include "model/report.h"
#include "scale/record.h"

namespace vigil::scale {

struct FoundThing {
  std::string id;
  model::Severity severity = model::Severity::kInfo;
  std::int64_t first = -1;  // step; -1 where it has none or is counted on another axis
};

struct NamedCause {
  std::string cause;
  double confidence = 0;
  std::vector<std::string> rivals;  // best first
};

struct Verdict {
  std::vector<FoundThing> findings;  // most severe first
  std::vector<NamedCause> causes;    // of the diagnoses, best first
  std::int64_t steps = 0;            // points of the longest series
};

// Adds the findings and causes of one run.
void AddReport(const model::RunReport& report, Verdict& verdict);
// The same detectors, config rules and diagnosis as the program's, over all runs of the record.
Verdict Examine(const Record& record, const catalogue::Thresholds& thresholds,
                const diagnose::FittedModel& model = diagnose::FittedModel::Shipped());

// One line of JSON: id, label and verdict.
std::string VerdictLine(const Record& record, const Verdict& verdict);

}  // namespace vigil::scale
