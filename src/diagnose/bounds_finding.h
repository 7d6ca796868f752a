// What findings by bounds share.
#pragma once

#include <cstddef>
#include <string_view>

#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// A warning about a metric from one of its points to another, counted from the first that counts in the end. What the
// bound found is the caller's to say.
model::Finding BoundFinding(const RunDigest& digest, std::string_view id, std::string_view signal, std::size_t first,
                            std::size_t last);
// To the end of the metric.
model::Finding BoundFinding(const RunDigest& digest, std::string_view id, std::string_view signal, std::size_t first);

// The training loss of a run that is not reinforcement; null with fewer points.
const Digest* LossOf(const RunDigest& digest, std::size_t fewest);

}  // namespace vigil::diagnose
