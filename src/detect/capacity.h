// What a device holds, as far as the settings of a run say it. Private to detect.
#pragma once

#include "model/run.h"

namespace vigil::detect {

// GiB of one device: stated, or by the name of the device where that has only one size; 0 when it is not known.
double CapacityGib(const model::Run& run);

}  // namespace vigil::detect
