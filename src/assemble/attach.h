// Files that hold no metric by which their run could be known: settings, a traceback.
#pragma once

#include <vector>

#include "assemble/unit.h"

namespace vigil::assemble {

// Each goes to the only run of its directory, else to the only one below it, else to the only one above it.
void AttachRest(std::vector<Unit>& units);
// A run that failed before it wrote a number: logs that end with the same error, in one directory or one in the other,
// are one, and take the settings nearby.
void JoinCrashes(std::vector<Unit>& units);

}  // namespace vigil::assemble
