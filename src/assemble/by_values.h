// Parts that are one run by the values they hold: curves that agree step by step, or go on where another ends.
#pragma once

#include <vector>

#include "assemble/unit.h"

namespace vigil::assemble {

// Checkpoints keep the history so far: the longest holds the others, unless a resume overwrote what they hold.
void JoinStates(std::vector<Unit*>& members);
// Parts of one log, cut by date, size or restart.
void JoinContinuations(std::vector<Unit*>& members);
// Files of one run directory: those whose values agree, then those that have nothing in common that could differ.
void JoinRunDirectory(std::vector<Unit*>& members);
// A log kept apart from the run's directory.
void JoinAcrossDirectories(std::vector<Unit>& units);
// The only log of a directory and the only table anywhere below it, unless something contradicts.
void JoinLogAndTable(std::vector<Unit>& units);

}  // namespace vigil::assemble
