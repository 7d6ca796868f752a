// Parts that are one run by where they stand and what they are called. Each takes the units of one group, the ones that
// could be; those that are not its business it leaves.
#pragma once

#include <vector>

#include "assemble/unit.h"

namespace vigil::assemble {

// Event files of one folder are one run: each restart of the process opens a new one. Their names begin alike; a
// collection of files that were renamed is no run.
void JoinFilesPerStart(std::vector<Unit*>& members);
// A rank that starts again, in the same run, writes the next journal; the parts follow one another.
void JoinNumberedParts(std::vector<Unit*>& members);
// A run of MLflow's file store has a file per metric.
void JoinFilesPerMetric(std::vector<Unit*>& members);
// Logs of several ranks: a metric that a rank logs and the first does not carries its number.
void JoinRanks(std::vector<Unit*>& members);
// W&B keeps what the run printed beside its own record of it, which counts steps in its own way.
void JoinTrackerDirectory(std::vector<Unit*>& members);
// A launcher that starts the training again keeps what each start printed in a folder of its own.
void JoinAttempts(std::vector<Unit*>& members);

}  // namespace vigil::assemble
