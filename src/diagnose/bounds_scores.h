// Bounds on what evaluations and gradient norms show of a whole run, where no detector of the course judges them.
#pragma once

#include <optional>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// loss/overfit by the accuracies of training and held-out data, or by losses that part: what was learned is the
// samples.
void FindScoreGap(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out);
void FindLossesThatPart(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                        std::vector<model::Finding>& out);
// loss/at-chance: loss and accuracy of held-out data are both those of guessing among so many classes.
void FindGuessing(const RunDigest& digest, std::vector<model::Finding>& out);
// grad/unstable: the norm grows from the first steps to the last.
void FindClimbingNorm(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                      std::vector<model::Finding>& out);
// loss/too-good of a language model by what is left on held-out text.
void FindTooGoodText(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                     std::vector<model::Finding>& out);

// loss/collapse of the KL term of a variational model.
void FindUnusedLatent(const RunDigest& digest, std::vector<model::Finding>& out);

// The KL term and the reconstruction of a variational model at the end; unknown where the two are not logged apart.
struct Latent {
  double kl = 0;
  double reconstruction = 0;
  bool unused = false;
};
std::optional<Latent> LatentOf(const RunDigest& digest);

// A gradient norm that grows all along at a learning rate that does not rise.
struct Climb {
  double first = 0;
  double last = 0;
  bool all_along = false;
};
// Unknown without enough points of the norm.
std::optional<Climb> ClimbOfNorm(const RunDigest& digest, std::size_t fewest, double least);

}  // namespace vigil::diagnose
