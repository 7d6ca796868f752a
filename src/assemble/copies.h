// Files that tell the same to the last digit: a log that was copied, a debug log that repeats standard output.
#pragma once

#include <vector>

#include "assemble/unit.h"

namespace vigil::assemble {

// Joins them into the one that stands highest. Every series must be the same, with its lines, and what happened, too.
// Two trainings from one seed may print the same: files in folders side by side stay apart.
void JoinCopies(std::vector<Unit>& units);

}  // namespace vigil::assemble
