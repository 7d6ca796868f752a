// identify: what kind of training a run is: its framework, its training method, what was aggregated over ranks.
#pragma once

#include "model/model.h"

namespace vigil::identify {

// Fills framework, regime and aggregation from the names of signals, facts and events.
void Classify(model::Run& run);

}  // namespace vigil::identify
