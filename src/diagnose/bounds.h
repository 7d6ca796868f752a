// Findings by absolute bounds: what is wrong whatever the rest of the curve does, so that short runs and the first
// steps of long ones are judged too.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// loss/bad-start, loss/spike in the first steps, loss/too-good: those that no finding says already.
std::vector<model::Finding> FindByBounds(const RunDigest& digest, const std::vector<model::Finding>& findings,
                                         const catalogue::Thresholds& thresholds);

}  // namespace vigil::diagnose
