// Bounds on the order of the data: what repeats with it, and batches of one class.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// loss/sawtooth: the loss repeats itself, and the learning rate does not.
void FindSawtooth(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
void FindOneClassBatches(const RunDigest& digest, std::vector<model::Finding>& out);
// Batches that are all right or all wrong: each holds samples of one class, and the model knows the class it saw last.
bool HasBatchesOfOneClass(const RunDigest& digest);

}  // namespace vigil::diagnose
