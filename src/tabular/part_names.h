// tabular/part_names: names that only their neighbours in the file decide.
#pragma once

#include "model/run.h"

namespace vigil::tabular {

// Settles the names of one file:
// - a doubtful name of the loss ("rmse", "error") gives way to one that says so, and to an earlier doubtful one;
// - whole numbers that rise with the steps are a count, also where their name is that of the time of a step;
// - the only accuracy beside a loss of the training and a loss of the evaluation is that of the evaluation, unless its
//   name or its place says that it is the training's.
void SettleNames(model::Run& part);

}  // namespace vigil::tabular
