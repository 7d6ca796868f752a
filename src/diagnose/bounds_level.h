// Bounds on the level of the loss: higher than any guess is at the start, lower than real data allow at the end.
#pragma once

#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// loss/bad-start: the first loss lies above that of guessing.
void FindBadStart(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
// loss/too-good by what is left of the loss, or by evaluations without one mistake.
void FindTooGood(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
// loss/too-good of a language model by what is left on held-out text.
void FindTooGoodText(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                     std::vector<model::Finding>& out);

}  // namespace vigil::diagnose
