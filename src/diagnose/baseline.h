// diagnose/baseline: a run beside a reference run, for a gate in continuous integration. Levels are medians over the
// positions that both runs have; what differs by less than the noise of both, or by less than seeds do, is alike. Pure.
#pragma once

#include "catalogue/catalogue.h"
#include "model/baseline.h"
#include "model/report.h"

namespace vigil::diagnose {

// Sets `run.baseline`, and adds a finding (baseline/...) for each metric in which the run is worse and one for what
// only it has. Both must have their own findings.
void CompareWithBaseline(model::RunReport& run, const model::RunReport& reference,
                         const catalogue::Thresholds& thresholds);

}  // namespace vigil::diagnose
