#include "diagnose/bounds_level.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds.h"
#include "diagnose/bounds_finding.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

constexpr double kLargestVocabulary = 270000;

// Its name says that it is the likelihood of an answer, so that guessing is its highest sensible value.
bool IsNamedLikelihood(const RunView& run) {
  constexpr std::array<std::string_view, 6> kNames = {"nll",          "xent",          "cross_entropy",
                                                      "crossentropy", "cross-entropy", "ce_loss"};
  const model::Series* loss = run.Find("loss");
  if (loss == nullptr) return false;
  const std::string raw = ToLower(loss->raw);
  return std::any_of(kNames.begin(), kNames.end(),
                     [&](std::string_view name) { return raw.find(name) != std::string::npos; });
}

// The loss of guessing: among the classes or tokens that the run states, else among the largest vocabulary in use.
std::optional<double> HighestOfGuessing(const RunDigest& digest) {
  if (const auto choices = digest.Choices()) return std::log(*choices);
  const bool language = digest.run()->profile.trains_on_tokens || IsLanguageModel(digest.run());
  // Where an accuracy is counted, something is chosen among classes.
  const bool classifies = digest.Of("eval_accuracy") != nullptr || digest.Of("accuracy") != nullptr;
  const bool guesses = language || classifies || IsNamedLikelihood(digest.run());
  return guesses ? std::optional(std::log(kLargestVocabulary)) : std::nullopt;
}

// Parts of the loss are logged beside it.
bool IsSumOfLosses(const RunView& run) {
  constexpr std::ptrdiff_t kParts = 2;
  const model::Series* loss = run.Find("loss");
  if (loss != nullptr && !loss->sum_of.empty()) return true;
  return std::count_if(run->series.begin(), run->series.end(), [&](const model::Series& series) {
           return series.signal == series.raw && series.raw.find("loss") != std::string::npos &&
                  series.raw.find("val") == std::string::npos && series.raw.find("eval") == std::string::npos;
         }) >= kParts;
}

// Not one mistake on held-out data, from the first or second evaluation to the last.
bool FindPerfect(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  const Digest* loss = LossOf(digest, 4);
  const Digest* accuracy = digest.Of("eval_accuracy");
  if (loss == nullptr || accuracy == nullptr || accuracy->size() < 2) return false;
  const double perfect = thresholds.Threshold("loss/too-good", "perfect");
  // One evaluation while it was still learning, and that one nearly perfect.
  const std::size_t learning = accuracy->size() < 4 ? 0 : 1;
  if (accuracy->values.front() < 0.95) return false;
  const auto begin = accuracy->values.begin() + static_cast<std::ptrdiff_t>(learning);
  const bool held = std::all_of(begin, accuracy->values.end(), [&](double value) { return value >= perfect; });
  if (!held || !(loss->end < 0.1 * loss->first)) return false;
  model::Finding finding = BoundFinding(digest, "loss/too-good", "loss", 0);
  finding.says = says::LossTooGoodPerfect{.evaluations = accuracy->size() - learning};
  finding.evidence.push_back({finding.says, finding.last, accuracy->end, {}, 0});
  out.push_back(std::move(finding));
  return true;
}

}  // namespace

void FindBadStart(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  const Digest* loss = LossOf(digest, 1);
  const auto guessing = HighestOfGuessing(digest);
  if (loss == nullptr || !guessing) return;
  // A preference margin has no guess that is worse than another, nor has a sum of several losses.
  if (Logged(digest.run(), "preference_margin") || IsSumOfLosses(digest.run())) return;
  // Above the largest vocabulary in use there is no guess left that could explain it.
  const double ratio = digest.Choices() ? thresholds.Threshold("loss/bad-start", "ratio") : 1.05;
  if (loss->first < ratio * *guessing) return;
  model::Finding finding = BoundFinding(digest, "loss/bad-start", "loss", 0, 0);
  finding.says = says::LossBadStartHigh{.loss = loss->first, .chance = *guessing};
  finding.evidence.push_back({finding.says, finding.first, loss->first, {}, 0});
  out.push_back(std::move(finding));
}

// Next to nothing is left of the loss, and the evaluation agrees or is not there to disagree.
void FindTooGood(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  if (FindPerfect(digest, thresholds, out)) return;
  const Digest* loss = LossOf(digest, 10);
  if (loss == nullptr || !(loss->first > 0) || loss->ShareAtEnd(0) > 0.2) return;
  // A regression without noise can be solved; labels and tokens of real data can not.
  const auto guessing = HighestOfGuessing(digest);
  if (!guessing && digest.Of("eval_loss") == nullptr) return;
  // What a loss that began too high falls to is no share of what was to be learned.
  const double start = guessing ? std::min(loss->first, *guessing) : std::min(loss->first, loss->values[1]);
  const double left = loss->end / start;
  if (!(left >= 0) || left > thresholds.Threshold("loss/too-good", "left")) return;
  const Digest* eval = digest.Of("eval_loss");
  if (eval != nullptr && (eval->empty() || eval->end > 3 * thresholds.Threshold("loss/too-good", "left") * loss->first))
    return;
  model::Finding finding = BoundFinding(digest, "loss/too-good", "loss", loss->points / 2);
  finding.says = says::LossTooGoodLeft{.left = left, .end = loss->end};
  finding.evidence.push_back({finding.says, finding.last, loss->end, {}, 0});
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
  model::Finding finding = BoundFinding(digest, kTooGood, "eval_loss", eval->points / 2);
  finding.says = says::LossTooGoodLanguage{.end = eval->end, .left = left};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  out.push_back(std::move(finding));
}

}  // namespace vigil::diagnose
