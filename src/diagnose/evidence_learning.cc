// Evidence about learning: how the loss moved, whether gradients arrived, what evaluation says.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "catalogue/says.h"
#include "diagnose/bounds_latent.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

// Questions about the course of the loss are moot in reinforcement learning, where it is no measure of learning.

// The level of a curve between two shares of its length, and how uncertain a difference of two such levels is.
struct Shape {
  std::vector<double> values;
  double noise = 0;

  bool known() const { return values.size() >= 12; }
  std::size_t Index(double share) const { return static_cast<std::size_t>(share * static_cast<double>(values.size())); }
  double Level(double from, double to) const {
    const std::size_t begin = std::min(Index(from), values.size() - 3);
    const std::size_t end = std::clamp(Index(to), begin + 3, values.size());
    return Median(
        {values.begin() + static_cast<std::ptrdiff_t>(begin), values.begin() + static_cast<std::ptrdiff_t>(end)});
  }
  double first() const { return Median({values.begin(), values.begin() + 3}); }
  double start() const { return Level(0, 0.08); }
  double end() const { return Level(0.75, 1); }
  // Standard error of the difference of two levels of a tenth of the curve each.
  double error() const {
    const double points = std::max(3.0, 0.1 * static_cast<double>(values.size()));
    return 1.25 * noise * std::sqrt(2 / points);
  }
};

Shape ShapeOf(const RunView& run, std::string_view signal) {
  Shape shape;
  shape.values = FiniteValues(LastCourse(run, signal).View());
  shape.noise = stats::NoiseSigma(shape.values);
  return shape;
}

// Levels of many points, so that the noise of single batches does not count as movement.
Answer LossNeverMoved(const RunView& run, const Incident&) {
  if (IsReinforcement(run)) return Moot();
  const Shape loss = ShapeOf(run, "loss");
  if (!loss.known() || !(loss.start() > 0)) return Unknown();
  const double moved = loss.start() - loss.end();
  const std::size_t points = run.Find("loss")->size();
  // Noise as large as this hides any movement.
  if (2.5 * loss.error() > 0.03 * loss.start()) return Unknown();
  if (std::abs(moved) < std::max(2.5 * loss.error(), 0.004 * loss.start()))
    return Yes(says::LossNeverMovedYes{.start = loss.start(), .end = loss.end(), .points = points}, {}, loss.end());
  if (moved > std::max(4 * loss.error(), 0.01 * loss.start()))
    return No(says::LossNeverMovedNo{.start = loss.start(), .end = loss.end(), .points = points}, {}, loss.end());
  return Unknown();
}

// The logarithm of a vocabulary of a thousand, and well below the entropy of single words in any language.
constexpr double kGuessingLanguage = 7;
constexpr double kHighestLearnedLanguage = 4.5;

// A language model that predicts this well has learned what its labels have to do with its inputs.
bool PredictsLanguage(const RunView& run, double loss) {
  return (run.HasMethod("sft") || run.HasMethod("lora")) && !run.FindFact("vocab_size") && loss < 2;
}

Answer FellThenFlat(const RunView& run, const Incident&) {
  if (IsReinforcement(run)) return Moot();
  const Shape loss = ShapeOf(run, "loss");
  if (!loss.known() || loss.values.size() < 30 || !(loss.start() > 0)) return Unknown();
  const double first = std::max(loss.first(), loss.start());
  const double fall = first - loss.end();
  if (fall < std::max(4 * loss.error(), 0.015 * first)) return Unknown();
  const double middle = loss.Level(0.35, 0.5);
  // What only learns how frequent the answers are loses little and soon; a model that learns loses most of its loss.
  const bool flat = middle - loss.end() <= std::max(0.25 * fall, 2.5 * loss.error());
  if (!flat)
    return No(says::FellThenFlatNoFalling{.first = first, .middle = middle, .end = loss.end()}, {}, loss.end());
  // From the loss of guessing, or worse, a language model that learns anything about its inputs gets below this.
  const bool guesses_language = first > kGuessingLanguage && loss.end() > kHighestLearnedLanguage;
  if (fall > 0.5 * first && !guesses_language)
    return No(says::FellThenFlatNoLearned{.first = first, .middle = middle, .end = loss.end()}, {}, loss.end());
  const bool little = fall < 0.35 * first && !PredictsLanguage(run, loss.end());
  if (!little && !guesses_language) return Unknown();
  return Yes(says::FellThenFlatYes{.first = first, .middle = middle, .end = loss.end()}, {}, loss.end());
}

// A rate that is too low gains about the same in the second half as in the first; a run that converges does not.
Answer StillFalling(const RunView& run, const Incident&) {
  if (IsReinforcement(run)) return Moot();
  const Shape loss = ShapeOf(run, "loss");
  if (!loss.known() || loss.values.size() < 30 || !(loss.start() > 0)) return Unknown();
  const double middle = loss.Level(0.4, 0.55);
  const double late = loss.Level(0.85, 1);
  const double first_half = loss.start() - middle;
  const double second_half = middle - late;
  if (second_half > std::max(3 * loss.error(), 0.3 * first_half) && late > 0.5 * loss.start())
    return Yes(says::StillFallingYes{.middle = middle, .late = late}, {}, late);
  if (second_half < 2 * loss.error()) return No(says::StillFallingNo{.middle = middle, .late = late}, {}, late);
  return Unknown();
}

Stretch During(const Stretch& all, const Incident& incident) {
  return incident.onset.known() ? all.Between(incident.onset, incident.last) : all;
}

// Exactly 0, as arithmetic on real data never gives it many times.
Answer MostlyZero(const RunView& run, const Incident& incident, std::string_view signal) {
  const Course course = LastCourse(run, signal);
  const Stretch during = During(course.View(), incident);
  if (during.size() < 3) return Unknown();
  // Where values are missing or non-finite, "not 0" says nothing.
  if (2 * FiniteValues(during).size() < during.size()) return Unknown();
  const auto zeros = std::count(during.values.begin(), during.values.end(), 0.0);
  const says::MetricZero seen{.metric = signal, .zeros = zeros, .points = during.size()};
  if (10 * zeros >= 8 * std::ssize(during.values)) return Yes(seen, during.PositionOf(0), 0.0);
  return 10 * zeros <= std::ssize(during.values) ? No(seen, during.PositionOf(0)) : Unknown();
}

Answer LossExactlyZero(const RunView& run, const Incident& incident) {
  // Beside non-finite gradients a 0 is what the logger wrote in the place of a NaN.
  if (incident.Has("loss/non-finite") || incident.Has("grad/non-finite")) return Unknown();
  return MostlyZero(run, incident, "loss");
}
Answer GradExactlyZero(const RunView& run, const Incident& incident) {
  // Without an advantage there is no gradient: in reinforcement learning that is a matter of the reward.
  if (IsReinforcement(run)) return Moot();
  return MostlyZero(run, incident, "grad_norm");
}

// Orders of magnitude only: what is usual depends on the size of the model.
Answer GradsSound(const RunView& run, const Incident& incident) {
  const Course course = LastCourse(run, "grad_norm");
  const std::vector<double> norms = FiniteValues(During(course.View(), incident));
  if (norms.size() < 3) return Unknown();
  const double middle = Median(norms);
  if (middle > 1e-3) return Yes(says::GradsSoundYes{.norm = middle}, incident.onset, middle);
  if (middle < 1e-6) return No(says::GradsSoundNo{.norm = middle}, incident.onset, middle);
  return Unknown();
}

Answer LossAtChance(const RunView& run, const Incident&) {
  const auto vocabulary = run.FactNumber("vocab_size");
  const Shape loss = ShapeOf(run, "loss");
  if (IsReinforcement(run)) return Moot();
  if (!vocabulary || !(*vocabulary >= 2) || !loss.known()) return Unknown();
  const double chance = std::log(*vocabulary);
  const says::LossAtChanceSeen seen{.loss = loss.end(), .classes = *vocabulary, .chance = chance};
  if (std::abs(loss.end() - chance) < 0.05 * chance) return Yes(seen, {}, loss.end());
  return loss.end() < 0.8 * chance ? No(seen, {}, loss.end()) : Unknown();
}

// The first loss is above that of guessing among the largest vocabularies: what the model knows contradicts its labels.
Answer StartsWorseThanChance(const RunView& run, const Incident&) {
  if (IsReinforcement(run) || !(run->profile.trains_on_tokens || IsLanguageModel(run))) return Moot();
  const std::vector<double> loss = FiniteValues(LastCourse(run, "loss").View());
  if (loss.empty()) return Unknown();
  const double chance = std::log(std::max(2.0, run.FactNumber("vocab_size").value_or(270000)));
  const says::StartsWorseThanChanceSeen seen{.loss = loss.front(), .chance = chance};
  return loss.front() > 1.2 * chance ? Yes(seen, {}, loss.front()) : No(seen, {}, loss.front());
}

Answer AccuracyFlat(const RunView& run, const Incident&) {
  const Shape accuracy = ShapeOf(run, "accuracy");
  if (!accuracy.known()) return Unknown();
  const double gain = accuracy.end() - accuracy.start();
  if (gain < std::max(3 * accuracy.error(), 0.02))
    return Yes(says::AccuracyFlatYes{.start = accuracy.start(), .end = accuracy.end()}, {}, accuracy.end());
  if (gain > std::max(5 * accuracy.error(), 0.1))
    return No(says::AccuracyFlatNo{.start = accuracy.start(), .end = accuracy.end()}, {}, accuracy.end());
  return Unknown();
}

// Pairs are ranked right half of the time although the margins move: what is learned has nothing to do with the pairs.
Answer PreferencesAtChance(const RunView& run, const Incident&) {
  if (!run.HasMethod("dpo") && !Logged(run, "preference_margin")) return Moot();
  const Shape accuracy = ShapeOf(run, "preference_accuracy");
  const Shape margin = ShapeOf(run, "preference_margin");
  if (!accuracy.known() || !margin.known()) return Unknown();
  const double moved = Quantile(margin.values, 0.9) - Quantile(margin.values, 0.1);
  const says::PreferencesAtChanceSeen seen{.accuracy = accuracy.end(), .spread = moved};
  if (std::abs(accuracy.end() - 0.5) < std::max(0.05, 3 * accuracy.error()) && moved > 1e-3)
    return Yes(seen, {}, accuracy.end());
  return accuracy.end() > 0.6 || moved < 1e-5 ? No(seen, {}, accuracy.end()) : Unknown();
}

// An evaluation that fails while training goes on as before is a matter of the evaluation.
Answer TrainingSoundAtOnset(const RunView& run, const Incident& incident) {
  const Course course = LastCourse(run, "loss");
  const std::vector<double> before = FiniteValues(course.View().Before(incident.onset).Last(8));
  const Stretch around = course.View().From(incident.onset).First(8);
  const std::vector<double> after = FiniteValues(around);
  if (after.size() < 3 && before.size() < 3) return Unknown();
  if (!around.empty() && after.size() < around.size()) return No(says::TrainingSoundAtOnsetNoNonFinite{});
  if (before.size() < 3 || after.size() < 3) {
    const double level = Median(after.size() < 3 ? before : after);
    return Yes(says::TrainingSoundAtOnsetAround{.level = level, .at = incident.onset}, incident.onset, level);
  }
  const double then = Median(before);
  const double now = Median(after);
  const says::TrainingSoundAtOnsetSeen seen{.before = then, .after = now, .at = incident.onset};
  return now < 1.2 * then ? Yes(seen, incident.onset, now) : No(seen, incident.onset, now);
}

Answer WeightDecayHigh(const RunView& run, const Incident&) {
  const auto decay = run.FactNumber("weight_decay");
  if (!decay) return Unknown();
  return *decay > 0.1 ? Yes(says::WeightDecayHighYes{.decay = *decay}, {}, *decay)
                      : No(says::WeightDecayHighNo{.decay = *decay}, {}, *decay);
}

// What the finding has measured already, from the side of the training loss; nothing where it had none to measure.
std::optional<Answer> EvalTurnedAsFound(const Incident& incident) {
  const model::Finding* overfit = incident.Find("loss/overfit");
  if (overfit == nullptr) return std::nullopt;
  const double then = overfit->MeasureOr("train_at_turn", model::kNoValue);
  const double now = overfit->MeasureOr("train_end", model::kNoValue);
  if (std::isnan(then) || std::isnan(now)) return std::nullopt;
  return Yes(says::EvalTurnedFound{.then = then, .now = now}, overfit->first, now);
}

// The training loss where the evaluation was best and at the end.
Answer EvalTurnedBeside(const RunView& run, const says::EvalTurnedSeen& seen, model::Position at) {
  const double last = seen.last.value;
  const Course loss = LastCourse(run, "loss");
  const double then = Median(FiniteValues(loss.View().UpTo(at).Last(8)));
  const double now = Median(FiniteValues(loss.View().Last(8)));
  if (std::isnan(then) || std::isnan(now)) return Yes(seen, at, last);
  if (now > then) return No(says::EvalTurnedNoRose{.then = then, .now = now}, at, now);
  return Yes(says::EvalTurnedYes{.seen = seen, .then = then, .now = now}, at, last);
}

Answer EvalTurned(const RunView& run, const Incident& incident) {
  if (auto found = EvalTurnedAsFound(incident)) return *found;
  const Course course = LastCourse(run, "eval_loss");
  const Stretch evals = course.View();
  if (evals.size() < 4) return Unknown();
  std::size_t best = 0;
  for (std::size_t i = 0; i < evals.size(); ++i) {
    if (std::isfinite(evals.values[i]) && !(evals.values[i] >= evals.values[best])) best = i;
  }
  const double last = evals.values[evals.size() - 1];
  const model::Position at = evals.PositionOf(best);
  if (!std::isfinite(last) || !std::isfinite(evals.values[best])) return Unknown();
  if (best + 1 == evals.size()) return No(says::EvalTurnedNoBest{}, at, last);
  const says::EvalTurnedSeen seen{.at = at, .best = evals.values[best], .last = last};
  if (last < 1.02 * evals.values[best]) return No(seen, at, last);
  return EvalTurnedBeside(run, seen, at);
}

// What was logged counts before what was planned: the run may have ended early.
double EpochsSeen(const RunView& run) {
  const model::Series* epoch = run.Find("epoch");
  if (epoch != nullptr && !epoch->empty()) return Largest(Course(run, epoch).View());
  return run.FactNumber("epochs").value_or(model::kNoValue);
}

Answer SeveralEpochs(const RunView& run, const Incident&) {
  const double epochs = EpochsSeen(run);
  if (!std::isfinite(epochs)) return Unknown();
  if (epochs >= 2) return Yes(says::SeveralEpochsYes{.epochs = epochs}, {}, epochs);
  return epochs <= 1.05 ? No(says::SeveralEpochsNo{}, {}, epochs) : Unknown();
}

// A model that memorises knows each sample when it comes by again: the loss steps down where an epoch begins.
Answer EpochStepsDown(const RunView& run, const Incident&) {
  const Course epoch = LastCourse(run, "epoch");
  const Course loss = LastCourse(run, "loss");
  if (epoch.size() < 12 || loss.size() < 24) return Unknown();
  const Stretch epochs = epoch.View();
  const double noise = stats::NoiseSigma(FiniteValues(loss.View()));
  std::size_t down = 0;
  std::size_t boundaries = 0;
  for (std::size_t i = 1; i < epochs.size(); ++i) {
    if (std::floor(epochs.values[i]) <= std::floor(epochs.values[i - 1]) || epochs.values[i] < 1) continue;
    const double before = Median(FiniteValues(loss.View().Before(epochs.PositionOf(i)).Last(4)));
    const double after = Median(FiniteValues(loss.View().After(epochs.PositionOf(i)).First(4)));
    if (std::isnan(before) || std::isnan(after)) continue;
    ++boundaries;
    if (before - after > 1.5 * noise && before - after > 0.02 * std::abs(before)) ++down;
  }
  if (boundaries < 2) return Unknown();
  const says::EpochStepsDownSeen seen{.down = down, .boundaries = boundaries};
  if (3 * down >= 2 * boundaries) return Yes(seen);
  return 4 * down <= boundaries ? No(seen) : Unknown();
}

// What the finding has measured already.
Answer LossRepeats(const RunView&, const Incident& incident) {
  const model::Finding* found = incident.Find("loss/sawtooth");
  if (found == nullptr) return Moot();
  const auto period = static_cast<std::uint64_t>(found->MeasureOr("period", 0));
  const double strength = found->MeasureOr("strength", 0);
  if (period == 0) return Unknown();
  return Yes(says::LossRepeatsYes{.period = period, .strength = strength}, found->first, strength);
}

// What is left of the KL term, where it stands beside its reconstruction.
Answer LatentUnused(const RunView& run, const Incident&) {
  const auto latent = LatentOf(RunDigest(run));
  if (!latent) return Moot();
  if (!latent->unused) return No(says::LatentUnusedNo{.last = latent->kl}, {}, latent->kl);
  return Yes(says::LatentUnusedYes{.last = latent->kl, .reconstruction = latent->reconstruction}, {}, latent->kl);
}

constexpr std::array kTests = {
    NamedTest{"latent-unused", LatentUnused},
    NamedTest{"loss-repeats", LossRepeats},
    NamedTest{"loss-never-moved", LossNeverMoved},
    NamedTest{"fell-then-flat", FellThenFlat},
    NamedTest{"still-falling", StillFalling},
    NamedTest{"loss-exactly-zero", LossExactlyZero},
    NamedTest{"grad-exactly-zero", GradExactlyZero},
    NamedTest{"grads-sound", GradsSound},
    NamedTest{"loss-at-chance", LossAtChance},
    NamedTest{"accuracy-flat", AccuracyFlat},
    NamedTest{"weight-decay-high", WeightDecayHigh},
    NamedTest{"training-sound-at-onset", TrainingSoundAtOnset},
    NamedTest{"eval-turned", EvalTurned},
    NamedTest{"several-epochs", SeveralEpochs},
    NamedTest{"epoch-steps-down", EpochStepsDown},
    NamedTest{"preferences-at-chance", PreferencesAtChance},
    NamedTest{"starts-worse-than-chance", StartsWorseThanChance},
};

}  // namespace

std::span<const NamedTest> LearningTests() { return kTests; }

}  // namespace vigil::diagnose
