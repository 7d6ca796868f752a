// Measures of evaluation and accuracy: what was learned, as far as held-out data and scores show it.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "diagnose/measures.h"

namespace vigil::diagnose {
namespace {

constexpr double kTiny = 1e-30;

const Digest* LossOn(const RunDigest& run, std::string_view signal) {
  const Digest* loss = run.IsReinforcement() ? nullptr : run.Of(signal);
  return loss == nullptr || loss->empty() ? nullptr : loss;
}

const Digest* EvalOf(const RunDigest& run) { return LossOn(run, "eval_loss"); }

std::optional<double> Fall(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  return eval == nullptr || eval->size() < 2 ? std::nullopt : std::optional((eval->first - eval->end) / eval->scale);
}

std::optional<double> Rise(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  if (eval == nullptr || eval->size() < 2) return std::nullopt;
  return (eval->end - eval->best) / std::max(std::abs(eval->best), kTiny);
}

// What was ever learned of new data. Labels that do not belong to the inputs give nothing from the first evaluation on.
std::optional<double> Gained(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  if (eval == nullptr || eval->size() < 2) return std::nullopt;
  return (eval->first - *std::min_element(eval->values.begin(), eval->values.end())) / eval->scale;
}

std::optional<double> BestAt(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  return eval == nullptr || eval->size() < 3 ? std::nullopt : std::optional(eval->best_at);
}

std::optional<double> OverTrain(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  const Digest* loss = LossOn(run, "loss");
  if (eval == nullptr || loss == nullptr || !(eval->end > 0) || !(loss->end > 0)) return std::nullopt;
  return eval->end / loss->end;
}

// Against the training loss up to the first evaluation.
std::optional<double> OverTrainAtFirst(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  const Digest* loss = LossOn(run, "loss");
  if (eval == nullptr || loss == nullptr || !(eval->first > 0)) return std::nullopt;
  const double level = loss->Level(0, 1 / static_cast<double>(std::max<std::size_t>(eval->size(), 1)));
  return level > 0 ? std::optional(eval->first / level) : std::nullopt;
}

// What is left of the first training loss in the last evaluation: next to nothing is too good for most data. A loss
// that goes below 0 has no end that could be reached.
std::optional<double> Left(const RunDigest& run) {
  const Digest* eval = EvalOf(run);
  const Digest* loss = LossOn(run, "loss");
  if (eval == nullptr || loss == nullptr || eval->end < 0 || loss->end < 0) return std::nullopt;
  return eval->end / loss->scale;
}

std::optional<double> OverChance(const RunDigest& run, double Digest::* level) {
  const Digest* eval = EvalOf(run);
  const auto choices = run.Choices();
  return eval == nullptr || !choices ? std::nullopt : std::optional(eval->*level / std::log(*choices));
}
std::optional<double> EndOverChance(const RunDigest& run) { return OverChance(run, &Digest::end); }
std::optional<double> BestOverChance(const RunDigest& run) { return OverChance(run, &Digest::best); }

// ---- accuracy

const Digest* ScoreOn(const RunDigest& run, std::string_view signal) {
  const Digest* score = run.Of(signal);
  return score == nullptr || score->empty() ? nullptr : score;
}

std::optional<double> Late(const RunDigest& run, std::string_view signal) {
  const Digest* score = ScoreOn(run, signal);
  return score == nullptr ? std::nullopt : std::optional(score->late);
}
std::optional<double> First(const RunDigest& run, std::string_view signal) {
  const Digest* score = ScoreOn(run, signal);
  return score == nullptr ? std::nullopt : std::optional(score->first);
}
std::optional<double> Gain(const RunDigest& run, std::string_view signal) {
  const Digest* score = ScoreOn(run, signal);
  return score == nullptr || score->size() < 2 ? std::nullopt : std::optional(score->late - score->first);
}
std::optional<double> TimesChance(const RunDigest& run, std::string_view signal) {
  const Digest* score = ScoreOn(run, signal);
  const auto choices = run.Choices();
  return score == nullptr || !choices ? std::nullopt : std::optional(score->late * *choices);
}

std::optional<double> Accuracy(const RunDigest& run) { return Late(run, "accuracy"); }
std::optional<double> AccuracyFirst(const RunDigest& run) { return First(run, "accuracy"); }
std::optional<double> AccuracyGain(const RunDigest& run) { return Gain(run, "accuracy"); }
std::optional<double> AccuracyOverChance(const RunDigest& run) { return TimesChance(run, "accuracy"); }
std::optional<double> EvalAccuracy(const RunDigest& run) { return Late(run, "eval_accuracy"); }
std::optional<double> EvalAccuracyFirst(const RunDigest& run) { return First(run, "eval_accuracy"); }
std::optional<double> EvalAccuracyGain(const RunDigest& run) { return Gain(run, "eval_accuracy"); }
std::optional<double> EvalAccuracyOverChance(const RunDigest& run) { return TimesChance(run, "eval_accuracy"); }
std::optional<double> PreferenceAccuracy(const RunDigest& run) { return Late(run, "preference_accuracy"); }
std::optional<double> PreferenceAccuracyGain(const RunDigest& run) { return Gain(run, "preference_accuracy"); }
std::optional<double> EvalPreferenceAccuracy(const RunDigest& run) { return Late(run, "eval_preference_accuracy"); }

std::optional<double> AccuracyGap(const RunDigest& run) {
  const auto train = Accuracy(run);
  const auto eval = EvalAccuracy(run);
  return train && eval ? std::optional(*train - *eval) : std::nullopt;
}

// The share of the last half of the scores that is one and the same number: a model that answers every input alike
// scores the share of one class, to the last digit.
std::optional<double> ScoreSameShare(const RunDigest& run) {
  constexpr std::size_t kFewestScores = 4;
  const Digest* score = ScoreOn(run, "eval_accuracy");
  if (score == nullptr) score = ScoreOn(run, "accuracy");
  if (score == nullptr || score->size() < kFewestScores) return std::nullopt;
  const std::size_t begin = score->size() / 2;
  std::map<double, std::size_t> counts;
  std::size_t most = 0;
  for (std::size_t i = begin; i < score->size(); ++i) most = std::max(most, ++counts[score->values[i]]);
  return static_cast<double>(most) / static_cast<double>(score->size() - begin);
}

// The loss over that of a model which is right as often and knows how sure it may be. Far above it the loss is not that
// of the probabilities that the score is made of.
std::optional<double> LossOverScore(const RunDigest& run) {
  const Digest* loss = run.IsReinforcement() ? nullptr : run.Of("loss");
  const auto accuracy = Accuracy(run) ? Accuracy(run) : EvalAccuracy(run);
  if (loss == nullptr || loss->empty() || !accuracy) return std::nullopt;
  // Where nothing says how many classes there are, the first loss is about that of guessing.
  const double choices = run.Choices().value_or(std::exp(std::clamp(loss->first, 0.69, 7.0)));
  const double right = std::clamp(*accuracy, 0.02, 0.98);
  const double wrong = 1 - right;
  const double calibrated = -right * std::log(right) - wrong * std::log(wrong / std::max(1.0, choices - 1));
  return loss->late / calibrated;
}

// The loss over that of a guess among as many answers as the accuracy says there are. At 1 every answer is as likely as
// any other, however many there are: nothing has to be known of the task.
std::optional<double> OverGuess(const Digest* loss, const Digest* accuracy) {
  constexpr std::size_t kFewest = 2;
  if (loss == nullptr || accuracy == nullptr || loss->size() < kFewest || accuracy->size() < kFewest)
    return std::nullopt;
  if (!(loss->late > 0) || !(accuracy->late > 1e-4) || accuracy->late > 0.99) return std::nullopt;
  return loss->late / -std::log(accuracy->late);
}
std::optional<double> LossOverGuess(const RunDigest& run) {
  return OverGuess(LossOn(run, "loss"), ScoreOn(run, "accuracy"));
}
std::optional<double> EvalOverGuess(const RunDigest& run) {
  return OverGuess(EvalOf(run), ScoreOn(run, "eval_accuracy"));
}

// How much more the training loss fell than that of held-out data, as shares of their first values.
std::optional<double> FallsApart(const RunDigest& run) {
  const Digest* loss = LossOn(run, "loss");
  const auto held_out = Fall(run);
  if (loss == nullptr || loss->size() < 2 || !held_out) return std::nullopt;
  return (loss->first - loss->end) / loss->scale - *held_out;
}

constexpr std::array kMeasures = {
    NamedMeasure{"loss-over-guess", LossOverGuess},
    NamedMeasure{"eval-over-guess", EvalOverGuess},
    NamedMeasure{"falls-apart", FallsApart},
    NamedMeasure{"score-same-share", ScoreSameShare},
    NamedMeasure{"loss-over-score", LossOverScore},
    NamedMeasure{"eval-fall", Fall},
    NamedMeasure{"eval-rise", Rise},
    NamedMeasure{"eval-gained", Gained},
    NamedMeasure{"eval-best-at", BestAt},
    NamedMeasure{"eval-over-train", OverTrain},
    NamedMeasure{"eval-over-train-at-first", OverTrainAtFirst},
    NamedMeasure{"eval-left", Left},
    NamedMeasure{"eval-end-over-chance", EndOverChance},
    NamedMeasure{"eval-best-over-chance", BestOverChance},
    NamedMeasure{"accuracy-level", Accuracy},
    NamedMeasure{"accuracy-first", AccuracyFirst},
    NamedMeasure{"accuracy-gain", AccuracyGain},
    NamedMeasure{"accuracy-over-chance", AccuracyOverChance},
    NamedMeasure{"eval-accuracy-level", EvalAccuracy},
    NamedMeasure{"eval-accuracy-first", EvalAccuracyFirst},
    NamedMeasure{"eval-accuracy-gain", EvalAccuracyGain},
    NamedMeasure{"eval-accuracy-over-chance", EvalAccuracyOverChance},
    NamedMeasure{"accuracy-gap", AccuracyGap},
    NamedMeasure{"preference-accuracy-level", PreferenceAccuracy},
    NamedMeasure{"preference-accuracy-gain", PreferenceAccuracyGain},
    NamedMeasure{"eval-preference-accuracy-level", EvalPreferenceAccuracy},
};

}  // namespace

std::span<const NamedMeasure> EvaluationMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
