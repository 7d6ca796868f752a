// model/report: everything that is said about the runs of one call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/finding.h"

namespace vigil::model {

// Everything that is said about one run.
struct RunReport {
  Run run;
  std::vector<Finding> findings;     // most severe first, then by step
  std::vector<Diagnosis> diagnoses;  // best first
  std::vector<Coverage> coverage;
};

struct Unread {
  std::string path;
  std::string reason;                 // the message of the error
  std::vector<Statement> notes = {};  // what its reader remarked before it had nothing to hand on
};

struct Report {
  std::vector<RunReport> runs;
  std::vector<Unread> unread;
};

// What each incident cost in money, where its GPU-hours are known.
void SetPrice(Report& report, double per_gpu_hour);
// The most severe finding of the report, nullopt when there is none.
std::optional<Severity> WorstSeverity(const Report& report);

}  // namespace vigil::model
