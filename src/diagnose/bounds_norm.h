// A gradient norm that climbs from the first steps to the last.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// grad/unstable.
void FindClimbingNorm(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                      std::vector<model::Finding>& out);

// A gradient norm that grows all along at a learning rate that does not rise.
struct Climb {
  double first = 0;
  double last = 0;
  bool all_along = false;
};
// Unknown without enough points of the norm.
std::optional<Climb> ClimbOfNorm(const RunDigest& digest, std::size_t fewest, double least);

}  // namespace vigil::diagnose
