// Whether one part of a run says all that another says.
#pragma once

#include "model/run.h"

namespace vigil::ingest {

// True when both are of the same format and every series, event and setting of `part` stands in `whole`, where series
// may go on: a copy of the same file, or the file itself, rewritten with more in it.
bool Covers(const model::Run& whole, const model::Run& part);

}  // namespace vigil::ingest
