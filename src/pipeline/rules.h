// Judging runs one by one. Private to pipeline.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "model/finding.h"
#include "model/report.h"
#include "model/run.h"

namespace vigil::pipeline {

// Puts broken rules behind what was observed at the same severity.
void AppendRules(std::vector<model::Finding>& findings, std::vector<model::Finding> rules);
// The report of a run that has ended. One that cannot be judged is named, and leaves the others theirs.
void AddDiagnosis(model::Run run, const catalogue::Thresholds& thresholds, model::Report& report);

}  // namespace vigil::pipeline
