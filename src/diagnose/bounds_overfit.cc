#include "diagnose/bounds_overfit.h"

#include <algorithm>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds.h"
#include "diagnose/bounds_finding.h"

namespace vigil::diagnose {
namespace {

constexpr std::string_view kId = "loss/overfit";

// An accuracy as a share, whichever way it was logged.
double WholeOf(const Digest& train, const Digest& eval) { return std::max(train.top, eval.top) > 1.5 ? 100 : 1; }

// Held-out data still gain: the gap may be nothing but what it costs to learn from few samples.
bool StillGains(const Digest& eval, double whole, double smallest) {
  return (eval.Level(0.75, 1) - eval.Level(0.4, 0.6)) / whole > smallest;
}

// The training loss where a share of the run was over.
double LevelAround(const Digest& loss, double share) {
  return loss.Level(std::max(0.0, share - 0.05), std::min(1.0, share + 0.05));
}

// Where the score of the held-out data was highest, counted from the first point.
std::size_t BestOf(const Digest& eval) {
  return static_cast<std::size_t>(std::max_element(eval.values.begin(), eval.values.end()) - eval.values.begin());
}

}  // namespace

void FindLossesThatPart(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                        std::vector<model::Finding>& out) {
  constexpr std::size_t kFewest = 8;
  const Digest* loss = digest.IsReinforcement() ? nullptr : digest.Of("loss");
  const Digest* eval = digest.Of("eval_loss");
  if (loss == nullptr || eval == nullptr || loss->size() < kFewest || eval->size() < kFewest) return;
  if (!(loss->end > 0) || !(eval->end > 0) || !(loss->first > 0) || eval->first > 1.5 * loss->first) return;
  if (eval->end < thresholds.Threshold(kId, "parted_ratio") * loss->end) return;
  const auto best = std::min_element(eval->values.begin(), eval->values.end());
  const auto at = static_cast<std::size_t>(best - eval->values.begin());
  const double share = static_cast<double>(at) / static_cast<double>(eval->size() - 1);
  const bool gains = eval->Level(0.75, 1) < 0.99 * eval->Level(0.4, 0.6);
  const double then = LevelAround(*loss, share);
  if (gains || share > 0.75 || loss->end > thresholds.Threshold(kId, "parted_fall") * then) return;
  model::Finding finding = BoundFinding(digest, kId, "eval_loss", eval->PointOf(at));
  finding.says =
      says::LossOverfitParted{.from = then, .to = loss->end, .turn = finding.first, .best = *best, .end = eval->end};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"best", *best},          {"end", eval->end}, {"train_at_turn", then},
                      {"train_end", loss->end}, {"train_known", 1}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

void FindScoreGap(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  const Digest* train = digest.Of("accuracy");
  const Digest* eval = digest.Of("eval_accuracy");
  const Digest* eval_loss = digest.Of("eval_loss");
  const auto fewest = static_cast<std::size_t>(thresholds.Threshold(kId, "min_evals"));
  if (train == nullptr || eval == nullptr || train->size() < fewest || eval->size() < fewest) return;
  // A loss on the same data says more than its rounded score: where it does not rise, nothing is overfitted.
  if (eval_loss != nullptr && eval_loss->size() >= fewest) return;
  const double whole = WholeOf(*train, *eval);
  const double gap = (train->end - eval->end) / whole;
  if (gap < thresholds.Threshold(kId, "score_gap") || train->end / whole < thresholds.Threshold(kId, "score_learned"))
    return;
  if (StillGains(*eval, whole, thresholds.Threshold(kId, "score_gain"))) return;
  model::Finding finding = BoundFinding(digest, kId, "eval_accuracy", eval->PointOf(BestOf(*eval)));
  finding.says = says::LossOverfitScores{.train = train->end / whole, .eval = eval->end / whole, .best = finding.first};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"gap", gap}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

}  // namespace vigil::diagnose
