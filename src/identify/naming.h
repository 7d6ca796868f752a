// Names that mean something only beside the other names of their run, and what values say about a name.
#pragma once

#include "model/run.h"

namespace vigil::identify {

// A series whose name is weak ("cost", "eta", "time") keeps its signal where no surer name of the run has it and its
// values go as such a signal does; otherwise it is called by its own name. Accuracies above one are in per cent, and
// say so in their unit. May be called again as the run grows.
void SettleNames(model::Run& run);

}  // namespace vigil::identify
