#include "diagnose/bounds_not_learned.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds.h"
#include "diagnose/bounds_finding.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

// How far the difference of two levels may be off, over the scale of the loss: noise can hide a gain.
double UncertaintyOf(const Digest& loss) {
  const double points = std::max(3.0, 0.1 * static_cast<double>(loss.size()));
  return 3 * loss.noise / std::sqrt(points) / loss.scale;
}

// The share of its first value that a loss loses in every run that learns. What is chosen among classes or tokens and
// begins at guessing loses more; a trained language model may begin close to where it ends.
double LeastFall(const RunDigest& digest, const catalogue::Thresholds& thresholds) {
  const Digest& loss = *digest.Of("loss");
  const auto choices = digest.Choices();
  const bool began_at_guessing = choices && loss.first > 0.9 * std::log(*choices);
  const bool classifies = !BeginsTrained(digest) && !IsLanguageModel(digest.run()) &&
                          (digest.Of("eval_accuracy") != nullptr || digest.Of("accuracy") != nullptr);
  if (began_at_guessing || classifies) return thresholds.Threshold("loss/not-decreasing", "least_fall_of_guess");
  const bool tuned = BeginsTrained(digest);
  return thresholds.Threshold("loss/not-decreasing", tuned ? "least_fall_tuned" : "least_fall");
}

// The log begins in the middle of a run, or before the rate has reached its height: what was learned, or will be, is
// not in it.
bool ShowsAWholeRun(const RunDigest& digest) {
  if (BeginsLate(digest)) return false;
  const Digest* rate = digest.Of("lr");
  return rate == nullptr || rate->size() < 4 || rate->end < rate->top || rate->Level(0.6, 0.8) > 0.95 * rate->top;
}

// Where two sides play against each other, pairs are compared or a reward is earned, the loss need not fall; one that
// changes its sign is no measure of an error.
bool LossMeasuresLearning(const RunDigest& digest) {
  constexpr std::array<std::string_view, 4> kOthers = {"preference_margin", "discriminator_loss", "reward",
                                                       "eval_reward"};
  const Digest& loss = *digest.Of("loss");
  if (loss.best < 0 && loss.top > 0) return false;
  return std::none_of(kOthers.begin(), kOthers.end(), [&](std::string_view id) { return digest.Of(id) != nullptr; });
}

// Some loops print the loss of evaluations alone.
void FindNoGainOfEvaluations(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                             std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "loss/not-decreasing";
  const Digest* eval = digest.Of("eval_loss");
  if (digest.Of("loss") != nullptr || eval == nullptr || digest.IsReinforcement() || BeginsTrained(digest)) return;
  if (eval->size() < static_cast<std::size_t>(thresholds.Threshold(kId, "fewest_points")) || !(eval->best > 0)) return;
  const double fall = (eval->first - eval->end) / eval->scale;
  if (!HeldOutOf(digest).GainedLessThan(thresholds.Threshold(kId, "least_fall"))) return;
  model::Finding finding = BoundFinding(digest, kId, "eval_loss", 0);
  finding.says = says::LossNotDecreasingShare{
      .share = std::max(fall, 0.0), .start = eval->first, .level = eval->end, .points = eval->points};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"start", eval->first}, {"level", eval->end}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

void FindNothingLearned(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                        std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "loss/not-decreasing";
  const Digest* loss = LossOf(digest, static_cast<std::size_t>(thresholds.Threshold(kId, "fewest_points")));
  if (loss == nullptr || !LossMeasuresLearning(digest) || !ShowsAWholeRun(digest)) return;
  const double fall = (std::max(loss->first, loss->start) - loss->end) / loss->scale;
  const double least = LeastFall(digest, thresholds);
  const HeldOut held_out = HeldOutOf(digest);
  // A few points say little by themselves; held-out data must agree.
  const bool few = loss->size() < static_cast<std::size_t>(thresholds.Threshold(kId, "enough_points"));
  if (few && !held_out.loss && !held_out.accuracy) return;
  if (!held_out.loss && !held_out.accuracy && UncertaintyOf(*loss) > least) return;
  if (!(fall < least) || !(loss->start - loss->best < 2 * least * loss->scale) || !held_out.GainedLessThan(least))
    return;
  const bool never = fall < thresholds.Threshold(kId, "least_fall");
  model::Finding finding = BoundFinding(digest, never ? kId : "loss/plateau", "loss", 0);
  finding.says = says::LossNotDecreasingShare{
      .share = std::max(fall, 0.0), .start = loss->first, .level = loss->end, .points = loss->points};
  finding.evidence.push_back({finding.says, finding.last, loss->end, {}, 0});
  const bool none = fall < 0.2 * least && !few && (held_out.loss || held_out.accuracy);
  if (none) finding.severity = thresholds.SeverityOf(kId, catalogue::FindFinding(kId)->severity);
  finding.measures = {
      {"start", loss->first}, {"level", loss->end}, {"crawls", fall > 0 ? 1.0 : 0.0}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

// All that was gained was gained at once, and it is little: from there on the loss is level, and held-out data agree.
void FindLevelFromStart(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                        std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "loss/plateau";
  const Digest* loss = LossOf(digest, static_cast<std::size_t>(thresholds.Threshold(kId, "bound_points")));
  if (loss == nullptr || !(loss->best > 0) || BeginsTrained(digest)) return;
  if (!LossMeasuresLearning(digest) || !ShowsAWholeRun(digest)) return;
  const double from = thresholds.Threshold(kId, "level_from");
  const double level = loss->Level(from, 2 * from);
  const double gain = thresholds.Threshold(kId, "level_gain");
  if ((level - loss->end) / level > gain || loss->end < thresholds.Threshold(kId, "bound_level") * loss->first) return;
  if (!HeldOutOf(digest, 1).GainedLessThan(2 * gain)) return;
  const auto first = static_cast<std::size_t>(from * static_cast<double>(loss->points));
  model::Finding finding = BoundFinding(digest, kId, "loss", first);
  finding.says =
      says::LossPlateauLevel{.start = loss->first, .level = loss->end, .first = finding.first, .last = finding.last};
  finding.evidence.push_back({finding.says, finding.last, loss->end, {}, 0});
  finding.measures = {{"level", loss->end}, {"start", loss->first}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

// Held-out data that get worse are overfitted; those that stay where guessing puts them show that nothing was learned.
std::string_view SymptomOfHeldOut(const RunDigest& digest, const Digest& eval) {
  const double best = *std::min_element(eval.values.begin(), eval.values.end());
  if (best > 0 && eval.end > 1.05 * best) return "loss/overfit";
  const auto choices = digest.Choices();
  const bool at_chance = choices && std::abs(eval.end / std::log(*choices) - 1) < 0.1;
  return at_chance ? "loss/at-chance" : "loss/plateau";
}

// The training loss falls and held-out data never gained anything: what is learned is the samples, not the task.
void FindNothingHeldOut(const RunDigest& digest, const catalogue::Thresholds& thresholds,
                        std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "loss/at-chance";
  const Digest* loss = LossOf(digest, 4);
  const Digest* eval = digest.Of("eval_loss");
  if (loss == nullptr || eval == nullptr || eval->size() < 4 || BeginsTrained(digest)) return;
  if (!LossMeasuresLearning(digest) || !ShowsAWholeRun(digest)) return;
  // Much may have been learned before the first evaluation.
  if (loss->first > 0 && eval->first < thresholds.Threshold(kId, "learned_before") * loss->first) return;
  if (!HeldOutOf(digest).GainedLessThan(thresholds.Threshold(kId, "held_out_gain"))) return;
  model::Finding finding = BoundFinding(digest, SymptomOfHeldOut(digest, *eval), "eval_loss", 0);
  finding.says = says::LossAtChanceHeldOut{.first = eval->first,
                                           .evaluations = eval->size(),
                                           .last = eval->end,
                                           .train_first = loss->first,
                                           .train_last = loss->end};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"level", eval->end}, {std::string(kByBound), 1}};
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
  model::Finding finding = BoundFinding(digest, "loss/at-chance", "eval_loss", 0);
  finding.says = says::LossAtChanceGuessing{
      .classes = static_cast<std::uint64_t>(classes), .loss = eval->end, .chance = chance, .accuracy = right};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"level", eval->end}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

}  // namespace

HeldOut HeldOutOf(const RunDigest& digest, std::size_t from) {
  constexpr std::size_t kFewestEvaluations = 3;
  HeldOut gained;
  const Digest* loss = digest.Of("eval_loss");
  if (loss != nullptr && loss->size() >= from + kFewestEvaluations) {
    const std::span<const double> values = std::span(loss->values).subspan(from);
    const double best = *std::min_element(values.begin(), values.end());
    gained.loss = (values.front() - best) / std::max(std::abs(values.front()), 1e-30);
  }
  const Digest* accuracy = digest.OfAny({"eval_accuracy", "accuracy"});
  if (accuracy != nullptr && accuracy->size() >= from + kFewestEvaluations) {
    // Of single batches an accuracy is noisy: levels count, not the best of many.
    const double start = from == 0 ? accuracy->start : accuracy->values[from];
    gained.accuracy = std::max(accuracy->end, accuracy->late) - start;
  }
  return gained;
}

// In every sound run the reward of the last quarter lies above that of the first tenth by more than it varies.
void FindNoReward(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  constexpr std::string_view kFlat = "rl/reward-flat";
  const Digest* reward = digest.Of("reward");
  if (reward == nullptr || reward->size() < static_cast<std::size_t>(thresholds.Threshold(kFlat, "bound_points")))
    return;
  const double start = reward->Level(0, 0.1);
  const double gain = reward->Level(0.75, 1) - start;
  if (!(reward->noise > 0) || gain > thresholds.Threshold(kFlat, "noise_gain") * reward->noise) return;
  const bool fell = gain < -thresholds.Threshold(kFlat, "noise_fall") * reward->noise;
  const std::string_view id = fell ? "rl/reward-collapse" : kFlat;
  model::Finding finding = BoundFinding(digest, id, "reward", 0);
  finding.says = says::RlRewardFlatNoGain{.points = reward->points, .start = start, .end = start + gain};
  if (fell) finding.says = says::RlRewardCollapseBelowStart{.start = start, .end = start + gain};
  finding.evidence.push_back({finding.says, finding.last, start + gain, {}, 0});
  finding.measures = {{"start", start}, {"end", start + gain}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

// The first of the bounds that holds: they say the same in other words.
void FindNotLearned(const RunDigest& digest, const std::vector<model::Finding>& findings,
                    const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  const std::size_t before = out.size();
  FindNothingLearned(digest, thresholds, out);
  if (out.size() == before) FindNoGainOfEvaluations(digest, thresholds, out);
  const bool overfits = std::any_of(findings.begin(), findings.end(), [](const model::Finding& finding) {
    return finding.severity >= model::Severity::kWarning && finding.id == "loss/overfit";
  });
  if (out.size() == before && !overfits) FindNothingHeldOut(digest, thresholds, out);
  if (out.size() == before) FindLevelFromStart(digest, thresholds, out);
  const bool measures = digest.Of("loss") != nullptr && LossMeasuresLearning(digest) && ShowsAWholeRun(digest);
  if (out.size() == before && measures) FindGuessing(digest, out);
}

bool FellBeyondNoise(const Digest& loss) { return (loss.start - loss.end) / loss.scale > UncertaintyOf(loss); }

}  // namespace vigil::diagnose
