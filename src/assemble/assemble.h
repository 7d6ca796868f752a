// assemble: parts of runs, one from each file, become runs.
#pragma once

#include <vector>

#include "ingest/ingest.h"
#include "model/run.h"

namespace vigil::assemble {

// Joins parts into runs: checkpoints of one run, event files of one folder, log and state of the same training. What
// several sources hold is counted once, from the source that holds it best; the other is marked as a duplicate.
// The passes of joining and the reason for their order are in passes.cc; each joined source carries its reason.
std::vector<model::Run> JoinParts(std::vector<model::Run> parts, ingest::FormatTable formats);

}  // namespace vigil::assemble
