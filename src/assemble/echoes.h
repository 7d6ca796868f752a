// What every rank printed alike, in one log that all of them wrote to, is one series.
#pragma once

#include "model/run.h"

namespace vigil::assemble {

// Of series that differ in their rank alone and hold the same points only the first is kept.
void DropEchoes(model::Run& part);

// A curve that one file counts in epochs and another in steps is kept once, on the steps, with the digits of the
// better.
void DropCurvesOfEpochs(model::Run& run);

}  // namespace vigil::assemble
