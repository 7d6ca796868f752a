// Findings that no single series shows: how ranks compare, which one was lost, what the guard did, which data were read
// again. They span series and events of any axis, so their places are model::Position. Private to detect.
#pragma once

#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/finding.h"
#include "model/run.h"

namespace vigil::detect {

// Ranks that are slower than their peers, and ranks that left no end while the others failed.
std::vector<model::Finding> FindingsAcrossRanks(const model::Run& run, const catalogue::Thresholds& thresholds);
// What the guard of the training decided, as it was recorded or logged.
std::vector<model::Finding> FindingsOfGuard(const model::Run& run, const catalogue::Thresholds& thresholds);

// Data that were read again: after a restart, at step after step, or by several ranks.
std::vector<model::Finding> FindingsOfBatches(const model::Run& run, const catalogue::Thresholds& thresholds);

// Two networks trained against each other of which one has won.
std::vector<model::Finding> FindingsOfAdversaries(const model::Run& run, const catalogue::Thresholds& thresholds);

// Series of one metric beside each other: a reward function that never moves, an evaluation set that is given up.
std::vector<model::Finding> FindingsAcrossLabels(const model::Run& run, const catalogue::Thresholds& thresholds);

// What restarts lost: the position in the data, state that the checkpoints do not hold.
std::vector<model::Finding> FindingsOfRestarts(const model::Run& run, const catalogue::Thresholds& thresholds);
// How much of the run lies between the failure that ended it and its last checkpoint.
std::vector<model::Finding> FindingsOfCadence(const model::Run& run, const std::vector<model::Finding>& failures,
                                              const catalogue::Thresholds& thresholds);

// ---- shared by them

// A finding of the row, with its family and with the severity that the thresholds in force give it. An unknown place is
// "no step".
model::Finding FindingOfRow(std::string_view id, const catalogue::Thresholds& thresholds, model::PositionRange places,
                            model::Statement says);
// Evidence with a place of its own, which may be on another axis than the finding's.
void AddEvidenceAt(model::Finding& finding, model::Statement says, model::Position at, double value);

}  // namespace vigil::detect
