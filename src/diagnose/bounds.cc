#include "diagnose/bounds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/bounds_scores.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/period.h"

namespace vigil::diagnose {
namespace {

constexpr double kLargestVocabulary = 270000;

bool Has(const std::vector<model::Finding>& findings, std::initializer_list<std::string_view> ids) {
  return std::any_of(findings.begin(), findings.end(), [&](const model::Finding& finding) {
    return finding.severity >= model::Severity::kWarning && std::find(ids.begin(), ids.end(), finding.id) != ids.end();
  });
}

// How far the difference of two levels may be off, over the scale of the loss: noise can hide a gain.
double UncertaintyOf(const Digest& loss) {
  const double points = std::max(3.0, 0.1 * static_cast<double>(loss.size()));
  return 3 * loss.noise / std::sqrt(points) / loss.scale;
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

// ---- the order of the data

// A rate that goes up and down takes the loss with it.
bool RateRepeats(const RunDigest& digest, const Period& period) {
  const Digest* rate = digest.Of("lr");
  if (rate == nullptr) return false;
  const Period of_rate = FindPeriod(rate->values);
  return of_rate.strength > 0.5 && period.points > 0;
}

void FindSawtooth(const RunDigest& digest, const catalogue::Thresholds& thresholds, std::vector<model::Finding>& out) {
  constexpr std::string_view kId = "loss/sawtooth";
  const Digest* loss = LossOf(digest, 24);
  if (loss == nullptr || digest.Of("discriminator_loss") != nullptr) return;
  const Period period = FindPeriod(loss->values);
  if (period.strength < thresholds.Threshold(kId, "strength") || period.swing < thresholds.Threshold(kId, "swing"))
    return;
  // What is left of a loss that has fallen is noise; what saws is still far from that.
  if (loss->late < 0.2 * loss->first || Logged(digest.run(), "reward") || RateRepeats(digest, period)) return;
  model::Finding finding = FindingAt(digest, kId, loss->points * 15 / 100, loss->points - 1);
  finding.says = says::LossSawtoothRepeats{.period = period.points, .swing = period.swing, .strength = period.strength};
  finding.evidence.push_back({finding.says, finding.first, period.swing, {}, 0});
  finding.measures = {{"period", static_cast<double>(period.points)}, {"strength", period.strength}};
  out.push_back(std::move(finding));
}

void FindOneClassBatches(const RunDigest& digest, const catalogue::Thresholds&, std::vector<model::Finding>& out) {
  const Digest* loss = LossOf(digest, 4);
  if (loss == nullptr || !HasBatchesOfOneClass(digest)) return;
  model::Finding finding = FindingAt(digest, "loss/sawtooth", 0, loss->points - 1);
  finding.signal = "accuracy";
  finding.says = says::LossSawtoothOneClass{.points = digest.Of("accuracy")->size()};
  finding.evidence.push_back({finding.says, finding.last, digest.Of("accuracy")->late, {}, 0});
  out.push_back(std::move(finding));
}

// ---- nothing was learned, by all that measures learning

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

// How much held-out data gained at best, since one of their evaluations.
struct HeldOut {
  std::optional<double> loss;      // share of the first value
  std::optional<double> accuracy;  // absolute

  bool GainedLessThan(double share) const {
    constexpr double kAccuracyNoise = 0.03;
    return loss.value_or(0) < share && accuracy.value_or(0) < kAccuracyNoise;
  }
};

HeldOut HeldOutOf(const RunDigest& digest, std::size_t from = 0) {
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
  const model::Series* series = digest.run().Find("eval_loss");
  model::Finding finding;
  finding.id = kId;
  finding.family = catalogue::FindFinding(kId)->family;
  finding.severity = model::Severity::kWarning;
  finding.signal = "eval_loss";
  finding.labels = series->labels;
  finding.first = series->PositionOf(0);
  finding.last = series->PositionOf(series->size() - 1);
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
  model::Finding finding = FindingAt(digest, never ? kId : "loss/plateau", 0, loss->points - 1);
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
  model::Finding finding = FindingAt(digest, kId, first, loss->points - 1);
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
  model::Finding finding = FindingAt(digest, SymptomOfHeldOut(digest, *eval), 0, loss->points - 1);
  finding.signal = "eval_loss";
  finding.says = says::LossAtChanceHeldOut{.first = eval->first,
                                           .evaluations = eval->size(),
                                           .last = eval->end,
                                           .train_first = loss->first,
                                           .train_last = loss->end};
  finding.evidence.push_back({finding.says, finding.last, eval->end, {}, 0});
  finding.measures = {{"level", eval->end}, {std::string(kByBound), 1}};
  out.push_back(std::move(finding));
}

// ---- no reward was gained

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
  const model::Series* series = digest.run().Find("reward");
  model::Finding finding;
  finding.id = id;
  finding.family = catalogue::FindFinding(id)->family;
  finding.severity = model::Severity::kWarning;
  finding.signal = "reward";
  finding.labels = series->labels;
  finding.first = series->PositionOf(0);
  finding.last = series->PositionOf(series->size() - 1);
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
  if (out.size() == before && !Has(findings, {"loss/overfit"})) FindNothingHeldOut(digest, thresholds, out);
  if (out.size() == before) FindLevelFromStart(digest, thresholds, out);
  const bool measures = digest.Of("loss") != nullptr && LossMeasuresLearning(digest) && ShowsAWholeRun(digest);
  if (out.size() == before && measures) FindGuessing(digest, out);
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

bool FellBeyondNoise(const Digest& loss) { return (loss.start - loss.end) / loss.scale > UncertaintyOf(loss); }

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
    if (!Has(found, {"loss/sawtooth"})) FindOneClassBatches(digest, thresholds, found);
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
