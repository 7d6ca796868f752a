// Files that are named by what was measured on: train.csv and val.csv hold the same names, one of training and one of
// the evaluation.
#pragma once

#include <vector>

#include "model/run.h"

namespace vigil::assemble {

// Where a folder has both, gives the names of the evaluation's file that place: `loss` of val.csv becomes `val/loss`.
void NameSplits(std::vector<model::Run>& parts);

}  // namespace vigil::assemble
