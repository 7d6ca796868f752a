// The checkpoints that lie beside the files of a run: which steps, and whether they are whole.
#pragma once

#include "model/run.h"

namespace vigil::pipeline {

// Looks through the folders of the run's files, and through folders of checkpoints below them. Bounded: a few folders,
// some hundred checkpoints, a few reads each. What is not on disk (standard input, a member of an archive) has none.
void FindCheckpoints(model::Run& run);

}  // namespace vigil::pipeline
