// Leave one out: each part of a set in turn is kept from the fit and scored.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scale/record.h"
#include "scale/score.h"
#include "scale/verdict.h"

namespace vigil::scale {

// What a set is divided by.
using PartKey = std::function<std::string(const Record&)>;
std::string TaskOf(const Record& record);
std::string FamilyOf(const Record& record);
std::string OptimizerOf(const Record& record);
std::string FrameworkOf(const Record& record);

// One part held out, by place in the set; a run and its twin are always on the same side, since runs of a group that
// fall on both sides are in neither.
struct Fold {
  std::string name;
  std::vector<std::size_t> held_out;
  std::vector<std::size_t> fitted_on;
};
std::vector<Fold> FoldsBy(const std::vector<Record>& records, const PartKey& key);

// What a fit gives: a verdict on any record. Called from several threads.
using Examiner = std::function<Verdict(const Record&)>;
// Fits on the records at these places. Until there is anything to fit, one that ignores them.
using Fitter = std::function<Examiner(const std::vector<Record>& records, const std::vector<std::size_t>& fitted_on)>;
// The weights and thresholds that ship, whatever is held out.
Fitter ShippedWeights();

struct HeldOut {
  std::string name;
  Tally tally;
  Calibration calibration;
};
// One row for each fold.
std::vector<HeldOut> LeaveOneOut(const std::vector<Record>& records, const std::vector<Fold>& folds,
                                 const Fitter& fitter, unsigned threads = 0);
// All rows added.
HeldOut SumOf(const std::vector<HeldOut>& rows);

}  // namespace vigil::scale
