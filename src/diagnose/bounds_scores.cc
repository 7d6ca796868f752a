#include "diagnose/bounds_scores.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

constexpr std::string_view kId = "loss/overfit";

// An accuracy as a share, whichever way it was logged.
double WholeOf(const Digest& train, const Digest& eval) { return std::max(train.top, eval.top) > 1.5 ? 100 : 1; }

// Held-out data still gain: the gap may be nothing but what it costs to learn from few samples.
bool StillGains(const Digest& eval, double whole, double smallest) {
  return (eval.Level(0.75, 1) - eval.Level(0.4, 0.6)) / whole > smallest;
}

// Where the score of the held-out data was highest, counted from the first point.
std::size_t BestOf(const Digest& eval) {
  return static_cast<std::size_t>(std::max_element(eval.values.begin(), eval.values.end()) - eval.values.begin());
}

// Of a metric from one of its points to its end.
model::Finding FindingOf(const RunDigest& digest, std::string_view id, std::string_view signal, std::size_t first) {
  const model::Series* series = digest.run().Find(signal);
  model::Finding finding;
  finding.id = id;
  finding.family = catalogue::FindFinding(id)->family;
  finding.severity = model::Severity::kWarning;
  finding.signal = signal;
  finding.labels = series->labels;
  finding.first = series->PositionOf(std::min(first, series->size() - 1));
  finding.last = series->PositionOf(series->size() - 1);
  return finding;
}

// The training loss where a share of the run was over.
double LevelAround(const Digest& loss, double share) {
  return loss.Level(std::max(0.0, share - 0.05), std::min(1.0, share + 0.05));
}

bool RateRises(const RunDigest& digest) {
  const Digest* rate = digest.Of("lr");
  return rate != nullptr && rate->size() > 1 && rate->Level(0.8, 1) > 1.05 * rate->Level(0.1, 0.2);
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
  model::Finding finding = FindingOf(digest, kId, "eval_loss", at);
  finding.says =
      says::LossOverfitParted{.from = then, .to = loss->end, .turn = finding.first, .best = *best, .end = eval->end};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"best", *best},          {"end", eval->end}, {"train_at_turn", then},
                      {"train_end", loss->end}, {"train_known", 1}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

void FindGuessing(const RunDigest& digest, std::vector<model::Finding>& out) {
  constexpr std::size_t kFewest = 4;
  constexpr double kMostClasses = 1000;
  const Digest* eval = digest.Of("eval_loss");
  const Digest* accuracy = digest.Of("eval_accuracy");
  const Digest* loss = digest.Of("loss");
  if (eval == nullptr || accuracy == nullptr || eval->size() < kFewest || accuracy->size() < kFewest) return;
  if (loss == nullptr || !(eval->end > 0.5) || BeginsTrained(digest) || digest.IsReinforcement()) return;
  const double classes = std::round(std::exp(eval->end));
  if (classes < 2 || classes > kMostClasses) return;
  const double chance = std::log(classes);
  const double right = accuracy->late / (accuracy->top > 1.5 ? 100 : 1);
  const double most = classes == 2 ? 0.6 : 1.4 / classes;
  // Two numbers that have nothing to do with each other say the same.
  if (std::abs(eval->end / chance - 1) > 0.04 || right > most || right < 0.5 / classes) return;
  if (loss->end < 0.85 * chance) return;
  model::Finding finding = FindingOf(digest, "loss/at-chance", "eval_loss", 0);
  finding.says = says::LossAtChanceGuessing{
      .classes = static_cast<std::uint64_t>(classes), .loss = eval->end, .chance = chance, .accuracy = right};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"level", eval->end}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

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
  model::Finding finding = FindingOf(digest, "loss/collapse", "kl", digest.Of("kl")->size() / 2);
  finding.says = says::LossCollapseLatent{.last = latent->kl, .reconstruction = latent->reconstruction};
  finding.evidence.push_back({finding.says, finding.last, latent->kl, {}, 0});
  finding.measures = {{std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

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
  model::Finding finding = FindingOf(digest, kUnstable, "grad_norm", 0);
  finding.says =
      says::GradUnstableClimbs{.first = climb->first, .last = climb->last, .times = climb->last / climb->first};
  finding.evidence.push_back({finding.says, finding.last, climb->last, {}, 0});
  out.push_back(std::move(finding));
}

void FindTooGoodText(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                     std::vector<model::Finding>& out) {
  constexpr std::string_view kTooGood = "loss/too-good";
  constexpr double kFirstLossOfScratch = 2.5;  // of characters; words begin higher
  const Digest* loss = digest.IsReinforcement() ? nullptr : digest.Of("loss");
  const Digest* eval = digest.Of("eval_loss");
  const bool language = digest.run()->profile.trains_on_tokens || IsLanguageModel(digest.run());
  if (!language || loss == nullptr || eval == nullptr || eval->empty() || BeginsTrained(digest)) return;
  // Where answers are counted as right or wrong the task may have an answer that can be known: copying, translation by
  // rule.
  if (digest.Of("accuracy") != nullptr || digest.Of("eval_accuracy") != nullptr) return;
  const double first = std::max(loss->first, eval->first);
  const double left = eval->end / first;
  if (first < kFirstLossOfScratch || !(left >= 0) || left > thresholds.Threshold(kTooGood, "left_language")) return;
  model::Finding finding = FindingOf(digest, kTooGood, "eval_loss", eval->size() / 2);
  finding.says = says::LossTooGoodLanguage{.end = eval->end, .left = left};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
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
  model::Finding finding = FindingOf(digest, kId, "eval_accuracy", BestOf(*eval));
  finding.says = says::LossOverfitScores{.train = train->end / whole, .eval = eval->end / whole, .best = finding.first};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"gap", gap}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

}  // namespace vigil::diagnose
