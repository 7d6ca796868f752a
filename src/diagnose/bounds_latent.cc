#include "diagnose/bounds_latent.h"

#include <cmath>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds.h"
#include "diagnose/bounds_finding.h"

namespace vigil::diagnose {

std::optional<Latent> LatentOf(const RunDigest& digest) {
  constexpr std::size_t kFewest = 10;
  constexpr double kUnused = 0.02;  // nats of the whole code: less than a fiftieth of a bit of most inputs
  const Digest* kl = digest.Of("kl");
  if (kl == nullptr || kl->size() < kFewest || digest.IsReinforcement() || digest.Of("reward") != nullptr)
    return std::nullopt;
  for (const model::Series& series : digest.run()->series) {
    if (ToLower(series.raw).find("recon") == std::string::npos || series.size() < kFewest) continue;
    const double level = series.values[series.size() - 1];
    if (!std::isfinite(level) || !(level > 0)) return std::nullopt;
    return Latent{kl->late, level, kl->late >= 0 && kl->late < kUnused && kl->late < 0.02 * level};
  }
  return std::nullopt;
}

void FindUnusedLatent(const RunDigest& digest, std::vector<model::Finding>& out) {
  const auto latent = LatentOf(digest);
  if (!latent || !latent->unused) return;
  model::Finding finding = BoundFinding(digest, "loss/collapse", "kl", digest.Of("kl")->points / 2);
  finding.says = says::LossCollapseLatent{.last = latent->kl, .reconstruction = latent->reconstruction};
  finding.evidence.push_back({finding.says, finding.last, latent->kl, {}, 0});
  finding.measures = {{std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

}  // namespace vigil::diagnose
