// What an incident cost. Private to diagnose.
#pragma once

#include "diagnose/incident.h"
#include "diagnose/view.h"
#include "model/finding.h"

namespace vigil::diagnose {

// Steps, hours and GPU-hours from the first bad step to the end of what was logged; of a crash, since the last known
// checkpoint; of a slow-down, what the steps take longer. Unknown for warnings, and where neither times of points nor
// of steps were logged.
model::Cost CostOf(const RunView& run, const Incident& incident);

}  // namespace vigil::diagnose
