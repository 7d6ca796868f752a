#include "diagnose/bounds_norm.h"

#include <string_view>

#include "catalogue/says.h"
#include "diagnose/bounds_finding.h"

namespace vigil::diagnose {
namespace {

bool RateRises(const RunDigest& digest) {
  const Digest* rate = digest.Of("lr");
  return rate != nullptr && rate->size() > 1 && rate->Level(0.8, 1) > 1.05 * rate->Level(0.1, 0.2);
}

}  // namespace

std::optional<Climb> ClimbOfNorm(const RunDigest& digest, std::size_t fewest, double least) {
  constexpr int kParts = 10;
  constexpr int kMostFalls = 2;
  const Digest* norm = digest.Of("grad_norm");
  if (norm == nullptr || norm->size() < fewest || digest.IsReinforcement()) return std::nullopt;
  Climb climb = {norm->Level(0, 0.1), norm->Level(0.8, 1), false};
  int falls = 0;
  for (int part = 1; part < kParts; ++part) {
    const double share = 1.0 / kParts;
    falls += norm->Level(part * share, (part + 1) * share) < norm->Level((part - 1) * share, part * share) ? 1 : 0;
  }
  climb.all_along = climb.first > 0 && climb.last > least * climb.first && falls <= kMostFalls && !RateRises(digest);
  return climb;
}

void FindClimbingNorm(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                      std::vector<model::Finding>& out) {
  constexpr std::string_view kUnstable = "grad/unstable";
  const auto fewest = static_cast<std::size_t>(thresholds.Threshold(kUnstable, "climb_points"));
  const auto climb = ClimbOfNorm(digest, fewest, thresholds.Threshold(kUnstable, "climb"));
  // An adapter that begins at zero has no gradient at first.
  if (!climb || !climb->all_along || digest.run().HasMethod("lora") || digest.Of("discriminator_loss") != nullptr)
    return;
  model::Finding finding = BoundFinding(digest, kUnstable, "grad_norm", 0);
  finding.says =
      says::GradUnstableClimbs{.first = climb->first, .last = climb->last, .times = climb->last / climb->first};
  finding.evidence.push_back({finding.says, finding.last, climb->last, {}, 0});
  out.push_back(std::move(finding));
}

}  // namespace vigil::diagnose
