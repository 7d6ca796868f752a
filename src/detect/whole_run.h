// Findings that no single series shows: how ranks compare, which one was lost, what the guard did, which data came
// again. Private to detect.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "model/model.h"

namespace vigil::detect {

// Ranks that are slower than their peers, and ranks that left no end while the others failed.
std::vector<model::Finding> FindingsAcrossRanks(const model::Run& run, const catalogue::Settings& settings);
// What the guard of the training decided, as it was recorded or logged.
std::vector<model::Finding> FindingsOfGuard(const model::Run& run, const catalogue::Settings& settings);

// Data that were read again: after a restart, at step after step, or by several ranks.
std::vector<model::Finding> FindingsOfBatches(const model::Run& run, const catalogue::Settings& settings);

}  // namespace vigil::detect
