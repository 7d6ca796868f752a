// Findings by absolute bounds: what is wrong whatever the rest of the curve does, so that short runs and the first
// steps of long ones are judged too.
#pragma once

#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// The measure that marks a finding by a bound about learning: the rest of the curve does not take it back.
inline constexpr std::string_view kByBound = "by_bound";

// loss/bad-start, loss/spike in the first steps, loss/too-good; of a run that has ended also that nothing was learned
// (loss/not-decreasing, loss/at-chance, loss/plateau): those that no finding says already.
std::vector<model::Finding> FindByBounds(const RunDigest& digest, const std::vector<model::Finding>& findings,
                                         const catalogue::Thresholds& thresholds, bool ended);

// The log begins in the middle of a run: what was learned before is not in it.
bool BeginsLate(const RunDigest& digest);
// Begins with a trained model, so that it may end close to where it began.
bool BeginsTrained(const RunDigest& digest);

}  // namespace vigil::diagnose
