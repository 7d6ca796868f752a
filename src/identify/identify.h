// identify: what kind of training a run is: its framework, its training method, what was aggregated over ranks.
#pragma once

#include <string_view>

#include "model/run.h"

namespace vigil::identify {

// Fills framework, its profile, training method and aggregation from the names of signals, facts and events.
void Classify(model::Run& run);

// Whether a source that states `framework` knows better than one that states `other`: any id is more than none, and one
// that is built on another is more than that.
bool SaysMore(std::string_view framework, std::string_view other);

// How a framework of that id behaves in a run of that training method; what is known of any for an unknown id.
model::FrameworkProfile ProfileOf(std::string_view framework, const model::TrainingMethod& method);

// The map between the axes of the run (epoch to step to tokens), from metrics that count one against another.
model::AxisMap AxesOf(const model::Run& run);
// Fills the run's own.
void LearnAxes(model::Run& run);

}  // namespace vigil::identify
