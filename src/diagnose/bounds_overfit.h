// loss/overfit by bounds, where no detector of the course judges it: what was learned is the samples.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// By the accuracies of training and held-out data.
void FindScoreGap(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
// By losses that part: that of training falls on, that of held-out data does not.
void FindLossesThatPart(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                        std::vector<model::Finding>& out);

}  // namespace vigil::diagnose
