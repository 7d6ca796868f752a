// Bounds on what was learned, by all that measures learning: nothing, or as little as no sound run learns.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// The first that holds of loss/not-decreasing, loss/at-chance, loss/overfit and loss/plateau.
void FindNotLearned(const RunDigest& digest, const std::vector<model::Finding>& findings,
                    const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
// rl/reward-flat, rl/reward-collapse.
void FindNoReward(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
// Whether the loss fell by more than its noise can hide.
bool FellBeyondNoise(const Digest& loss);

// How much held-out data gained at best, since one of their evaluations.
struct HeldOut {
  std::optional<double> loss;      // share of the first value
  std::optional<double> accuracy;  // absolute

  bool GainedLessThan(double share) const {
    constexpr double kAccuracyNoise = 0.03;
    return loss.value_or(0) < share && accuracy.value_or(0) < kAccuracyNoise;
  }
};

HeldOut HeldOutOf(const RunDigest& digest, std::size_t from = 0);

}  // namespace vigil::diagnose
