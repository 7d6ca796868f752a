// The files of one training as a run that has not begun: facts with their lines, framework and training method.
#pragma once

#include "model/run.h"
#include "preflight/preflight.h"

namespace vigil::preflight {

model::Run PlannedRunOf(const Group& group, const Options& options);

}  // namespace vigil::preflight
