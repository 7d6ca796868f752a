#include "diagnose/bounds_order.h"

#include <algorithm>
#include <string_view>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds_finding.h"
#include "diagnose/bounds_not_learned.h"
#include "diagnose/curve.h"
#include "diagnose/period.h"

namespace vigil::diagnose {
namespace {

// A rate that goes up and down takes the loss with it.
bool RateRepeats(const RunDigest& digest, const Period& period) {
  const Digest* rate = digest.Of("lr");
  if (rate == nullptr) return false;
  const Period of_rate = FindPeriod(rate->values);
  return of_rate.strength > 0.5 && period.points > 0;
}

}  // namespace

void FindSawtooth(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "loss/sawtooth";
  const Digest* loss = LossOf(digest, 24);
  if (loss == nullptr || digest.Of("discriminator_loss") != nullptr) return;
  const Period period = FindPeriod(loss->values);
  if (period.strength < thresholds.Threshold(kId, "strength") || period.swing < thresholds.Threshold(kId, "swing"))
    return;
  // What is left of a loss that has fallen is noise; what saws is still far from that.
  if (loss->late < 0.2 * loss->first || Logged(digest.run(), "reward") || RateRepeats(digest, period)) return;
  model::Finding finding = BoundFinding(digest, kId, "loss", loss->points * 15 / 100);
  finding.says = says::LossSawtoothRepeats{.period = period.points, .swing = period.swing, .strength = period.strength};
  finding.evidence.push_back({finding.says, finding.first, period.swing, {}, 0});
  finding.measures = {{"period", static_cast<double>(period.points)}, {"strength", period.strength}};
  out.push_back(std::move(finding));
}

void FindOneClassBatches(const RunDigest& digest, std::vector<model::Finding>& out) {
  const Digest* loss = LossOf(digest, 4);
  if (loss == nullptr || !HasBatchesOfOneClass(digest)) return;
  model::Finding finding = BoundFinding(digest, "loss/sawtooth", "accuracy", 0);
  finding.says = says::LossSawtoothOneClass{.points = digest.Of("accuracy")->size()};
  finding.evidence.push_back({finding.says, finding.last, digest.Of("accuracy")->late, {}, 0});
  out.push_back(std::move(finding));
}

bool HasBatchesOfOneClass(const RunDigest& digest) {
  constexpr std::size_t kFewest = 16;
  constexpr double kSmallBatch = 4;  // of one or two samples every batch is all right or all wrong
  const Digest* accuracy = digest.Of("accuracy");
  if (accuracy == nullptr || accuracy->size() < kFewest) return false;
  const auto batch = digest.Setting("batch_size");
  const HeldOut held_out = HeldOutOf(digest);
  const bool learned_nothing = held_out.accuracy && *held_out.accuracy < 0.1;
  if (!learned_nothing || (batch && *batch <= kSmallBatch)) return false;
  const auto count = [&](double low, double high) {
    return static_cast<double>(std::count_if(accuracy->values.begin(), accuracy->values.end(),
                                             [&](double value) { return value >= low && value <= high; }));
  };
  const auto all = static_cast<double>(accuracy->size());
  const double whole = accuracy->top > 1.5 ? 100 : 1;
  const double none = count(0, 0);
  const double every = count(0.999 * whole, whole);
  return none + every > 0.75 * all && none > 0.3 * all && every >= 2;
}

}  // namespace vigil::diagnose
