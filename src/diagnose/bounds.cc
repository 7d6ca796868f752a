#include "diagnose/bounds.h"

#include <algorithm>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

constexpr double kLargestVocabulary = 270000;

bool Has(const std::vector<model::Finding>& findings, std::initializer_list<std::string_view> ids) {
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.severity >= model::Severity::kWarning && std::find(ids.begin(), ids.end(), finding.id) != ids.end();
  });
}

// Of a series at one of its points, counted from the first.
model::Finding FindingAt(const RunDigest& digest, std::string_view id, std::size_t first, std::size_t last) {
  model::Finding finding;
  finding.id = id;
  const catalogue::FindingRow* row = catalogue::FindFinding(id);
  if (row != nullptr) finding.family = row->family;
  finding.severity = model::Severity::kWarning;
  const Course course = LastCourse(digest.run(), "loss");
  const model::Series* series = digest.run().Find("loss");
  finding.signal = "loss";
  finding.labels = series->labels;
  finding.first = course.PositionOf(std::min(first, course.size() - 1));
  finding.last = course.PositionOf(std::min(last, course.size() - 1));
  return finding;
}

const Digest* LossOf(const RunDigest& digest, std::size_t fewest) {
  const Digest* loss = digest.IsReinforcement() ? nullptr : digest.Of("loss");
  return loss == nullptr || loss->size() < fewest ? nullptr : loss;
}

// The loss of guessing: among the classes or tokens that the run states, else among the largest vocabulary in use.
std::optional<double> HighestOfGuessing(const RunDigest& digest) {
  if (const auto choices = digest.Choices()) return std::log(*choices);
  const bool language = digest.run()->profile.trains_on_tokens || IsLanguageModel(digest.run());
  // Where an accuracy is counted, something is chosen among classes.
  const bool classifies = digest.Of("eval_accuracy") != nullptr || digest.Of("accuracy") != nullptr;
  return language || classifies ? std::optional(std::log(kLargestVocabulary)) : std::nullopt;
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

void FindBadStart(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  const Digest* loss = LossOf(digest, 1);
  const auto guessing = HighestOfGuessing(digest);
  if (loss == nullptr || !guessing) return;
  // A preference margin has no guess that is worse than another, nor has a sum of several losses.
  if (Logged(digest.run(), "preference_margin") || IsSumOfLosses(digest.run())) return;
  // Above the largest vocabulary in use there is no guess left that could explain it.
  const double ratio = digest.Choices() ? thresholds.Threshold("loss/bad-start", "ratio") : 1.05;
  if (loss->first < ratio * *guessing) return;
  model::Finding finding = FindingAt(digest, "loss/bad-start", 0, 0);
  finding.says = says::LossBadStartHigh{.loss = loss->first, .chance = *guessing};
  finding.evidence.push_back({finding.says, finding.first, loss->first, {}, 0});
  out.push_back(std::move(finding));
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
  const auto at = static_cast<std::size_t>(top - begin);
  model::Finding finding = FindingAt(digest, "loss/spike", at, at);
  finding.says = says::LossSpikeEarly{.first = loss->first, .peak = *top, .at = finding.first};
  finding.evidence.push_back({finding.says, finding.first, *top, {}, 0});
  finding.measures = {{"peak", *top}, {"ratio", ratio}, {"count", 1}, {"early", 1}};
  out.push_back(std::move(finding));
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
  model::Finding finding = FindingAt(digest, "loss/too-good", 0, loss->points - 1);
  finding.says = says::LossTooGoodPerfect{.evaluations = accuracy->size() - learning};
  finding.evidence.push_back({finding.says, finding.last, accuracy->end, {}, 0});
  out.push_back(std::move(finding));
  return true;
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
  model::Finding finding = FindingAt(digest, "loss/too-good", loss->size() / 2, loss->points - 1);
  finding.says = says::LossTooGoodLeft{.left = left, .end = loss->end};
  finding.evidence.push_back({finding.says, finding.last, loss->end, {}, 0});
  out.push_back(std::move(finding));
}

}  // namespace

std::vector<model::Finding> FindByBounds(const RunDigest& digest, const std::vector<model::Finding>& findings,
                                         const catalogue::Thresholds& thresholds) {
  std::vector<model::Finding> found;
  if (!Has(findings, {"loss/bad-start"})) FindBadStart(digest, thresholds, found);
  if (!Has(findings, {"loss/spike", "loss/divergence", "loss/non-finite"})) FindEarlySpike(digest, thresholds, found);
  if (!Has(findings, {"loss/too-good", "loss/collapse", "loss/overfit", "loss/non-finite"}))
    FindTooGood(digest, thresholds, found);
  std::erase_if(found, [&](const model::Finding& finding) { return !thresholds.Enabled(finding.id); });
  return found;
}

}  // namespace vigil::diagnose
