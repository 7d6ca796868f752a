#include "diagnose/bounds.h"

#include <algorithm>
#include <initializer_list>

#include "catalogue/says.h"
#include "diagnose/bounds_finding.h"
#include "diagnose/bounds_latent.h"
#include "diagnose/bounds_level.h"
#include "diagnose/bounds_norm.h"
#include "diagnose/bounds_not_learned.h"
#include "diagnose/bounds_order.h"
#include "diagnose/bounds_overfit.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

bool Has(const std::vector<model::Finding>& findings, std::initializer_list<std::string_view> ids) {
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.severity >= model::Severity::kWarning && std::find(ids.begin(), ids.end(), finding.id) != ids.end();
  });
}

// A loss that leaves its first value upwards within the first steps: the spikes of later steps have a baseline, these
// have the start alone.
void FindEarlySpike(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                    std::vector<model::Finding>& out) {
  const Digest* loss = LossOf(digest, 8);
  if (loss == nullptr || !(loss->first > 0)) return;
  const std::size_t early = std::max<std::size_t>(3, loss->size() * 15 / 100);
  const auto begin = loss->values.begin();
  const auto top = std::max_element(begin + 1, begin + static_cast<std::ptrdiff_t>(early) + 1);
  const double ratio = *top / loss->first;
  if (ratio < thresholds.Threshold("loss/spike", "early_ratio") || *top - loss->first < 8 * loss->noise) return;
  const std::size_t at = loss->PointOf(static_cast<std::size_t>(top - begin));
  model::Finding finding = BoundFinding(digest, "loss/spike", "loss", at, at);
  finding.says = says::LossSpikeEarly{.first = loss->first, .peak = *top, .at = finding.first};
  finding.evidence.push_back({finding.says, finding.first, *top, {}, 0});
  finding.measures = {{"peak", *top}, {"ratio", ratio}, {"count", 1}, {"early", 1}};
  out.push_back(std::move(finding));
}

// Where a setting states the rate, a rule judges it; here it is what was logged.
void FindUnusualRate(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                     std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "lr/out-of-range";
  const RunView& run = digest.run();
  const model::Series* rates = run.Find("lr");
  const LrBand band = UsualLr(run);
  if (rates == nullptr || rates->empty() || run.FindFact("lr") != nullptr || !band.exact) return;
  const double peak = PeakLr(run);
  const double widened = thresholds.Threshold(kId, "widened");
  if (!(peak > 0) || (peak <= widened * band.high && peak >= band.low / widened)) return;
  model::Finding finding;
  finding.id = kId;
  finding.family = model::Family::kLoss;
  finding.severity =
      peak > thresholds.Threshold(kId, "grave") * band.high ? model::Severity::kWarning : model::Severity::kInfo;
  finding.signal = "lr";
  finding.first = rates->PositionOf(0);
  finding.last = rates->PositionOf(rates->size() - 1);
  finding.says = says::LrOutOfRangeOutside{.rate = peak, .low = band.low, .high = band.high, .method = band.method};
  out.push_back(std::move(finding));
}

}  // namespace

// A trainer of language models that does not say so was given one if its first loss is
// that low: from scratch even characters cost more.
bool BeginsTrained(const RunDigest& digest) {
  constexpr double kFirstLossOfTrained = 3;
  const RunView& run = digest.run();
  if (run.HasMethod("sft") || run.HasMethod("lora") || run.HasMethod("dpo")) return true;
  const Digest* loss = digest.Of("loss");
  return run->profile.trains_on_tokens && loss != nullptr && loss->first < kFirstLossOfTrained;
}

bool BeginsLate(const RunDigest& digest) {
  constexpr std::int64_t kLateStep = 100;
  constexpr std::int64_t kLateShare = 20;
  const Course loss = LastCourse(digest.run(), "loss");
  if (loss.size() == 0) return false;
  const std::int64_t first = loss.steps.front();
  const auto interval = static_cast<std::int64_t>(IntervalOf(*digest.run().Find("loss")));
  // A short run is resumed in its middle too; one whose log is coarse begins with its first line.
  const bool short_run_too = first > 5 * interval && 4 * first > loss.steps.back();
  return short_run_too || (first > kLateStep && first * kLateShare > loss.steps.back());
}

std::vector<model::Finding> FindByBounds(const RunDigest& digest, const std::vector<model::Finding>& findings,
                                         const catalogue::Thresholds& thresholds, bool ended) {
  std::vector<model::Finding> found;
  if (!Has(findings, {"loss/bad-start"})) FindBadStart(digest, thresholds, found);
  if (!Has(findings, {"loss/spike", "loss/divergence", "loss/non-finite"})) FindEarlySpike(digest, thresholds, found);
  if (!Has(findings, {"loss/too-good", "loss/collapse", "loss/overfit", "loss/non-finite"}))
    FindTooGood(digest, thresholds, found);
  if (!Has(findings, {"loss/too-good", "loss/non-finite"}) && !Has(found, {"loss/too-good"}))
    FindTooGoodText(digest, thresholds, found);
  if (!Has(findings, {"loss/non-finite"})) {
    FindSawtooth(digest, thresholds, found);
    if (!Has(found, {"loss/sawtooth"})) FindOneClassBatches(digest, found);
  }
  // What a run that goes on has not learned yet it may learn.
  const bool judged = Has(findings, {"loss/not-decreasing", "loss/plateau", "loss/at-chance", "loss/collapse",
                                     "loss/divergence", "loss/non-finite"});
  const bool rewarded = Has(findings, {"rl/reward-flat", "rl/reward-collapse", "rl/no-signal"});
  if (ended && !rewarded) FindNoReward(digest, thresholds, found);
  if (ended && !judged) FindNotLearned(digest, findings, thresholds, found);
  if (!judged && !Has(findings, {"loss/overfit", "loss/eval-break"}) && !Has(found, {"loss/overfit"})) {
    FindScoreGap(digest, thresholds, found);
    if (!Has(found, {"loss/overfit"})) FindLossesThatPart(digest, thresholds, found);
  }
  if (!Has(findings, {"loss/collapse", "loss/non-finite"})) FindUnusedLatent(digest, found);
  if (!Has(findings, {"grad/unstable", "grad/explosion", "grad/non-finite", "loss/non-finite"}))
    FindClimbingNorm(digest, thresholds, found);
  FindUnusualRate(digest, thresholds, found);
  std::erase_if(found, [&](const model::Finding& finding) { return !thresholds.Enabled(finding.id); });
  return found;
}

}  // namespace vigil::diagnose
