// The latent code of a variational model.
#pragma once

#include <optional>
#include <vector>

#include "diagnose/digest.h"
#include "model/finding.h"

namespace vigil::diagnose {

// loss/collapse of the KL term: the code is not used.
void FindUnusedLatent(const RunDigest& digest, std::vector<model::Finding>& out);

// The KL term and the reconstruction of a variational model at the end; unknown where the two are not logged apart.
struct Latent {
  double kl = 0;
  double reconstruction = 0;
  bool unused = false;
};
std::optional<Latent> LatentOf(const RunDigest& digest);

}  // namespace vigil::diagnose
