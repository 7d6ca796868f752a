// Measures of progress over all that was logged: a fault shows in what learned least, however well the rest went.
#include <algorithm>
#include <array>
#include <cmath>

#include "diagnose/measures.h"

namespace vigil::diagnose {
namespace {

const Digest* Some(const RunDigest& run, std::string_view signal, std::size_t least) {
  const Digest* digest = run.Of(signal);
  return digest == nullptr || digest->size() < least ? nullptr : digest;
}

void AddLosses(const RunDigest& run, std::vector<double>& progress) {
  const Digest* loss = Some(run, "loss", 2);
  const Digest* eval = Some(run, "eval_loss", 2);
  if (loss != nullptr) progress.push_back((loss->first - loss->end) / loss->scale);
  // The first evaluation may come after most of the learning: the first training loss is where it began.
  if (eval != nullptr) {
    const double from = loss != nullptr ? std::max(loss->first, eval->first) : eval->first;
    const double scale = loss != nullptr ? std::max(loss->scale, eval->scale) : eval->scale;
    progress.push_back((from - eval->end) / scale);
  }
}

// From guessing, or from the first score where nothing says what guessing gives, to perfect.
void AddScore(const RunDigest& run, std::string_view signal, std::vector<double>& progress) {
  constexpr double kHighestGuess = 0.5;
  const Digest* score = Some(run, signal, 2);
  if (score == nullptr) return;
  const auto choices = run.Choices();
  const double guess = choices ? 1 / *choices : score->first;
  if (guess <= kHighestGuess) progress.push_back((score->late - guess) / (1 - guess));
}

// Of each signal of learning: 0 for nothing learned, 1 for all there is.
std::vector<double> ProgressOf(const RunDigest& run) {
  std::vector<double> progress;
  if (run.IsReinforcement()) return progress;
  AddLosses(run, progress);
  AddScore(run, "accuracy", progress);
  AddScore(run, "eval_accuracy", progress);
  return progress;
}

std::optional<double> Least(const RunDigest& run) {
  const std::vector<double> progress = ProgressOf(run);
  return progress.size() < 2 ? std::nullopt : std::optional(*std::min_element(progress.begin(), progress.end()));
}

std::optional<double> Most(const RunDigest& run) {
  const std::vector<double> progress = ProgressOf(run);
  return progress.size() < 2 ? std::nullopt : std::optional(*std::max_element(progress.begin(), progress.end()));
}

// Before the last quarter, which a schedule may have changed.
std::optional<double> FallByThen(const RunDigest& run) {
  constexpr std::size_t kEnough = 8;
  const Digest* loss = run.IsReinforcement() ? nullptr : Some(run, "loss", kEnough);
  return loss == nullptr ? std::nullopt : std::optional((loss->first - loss->Level(0.5, 0.74)) / loss->scale);
}

// How closely a curve follows the time: 1 rises all along, -1 falls, 0 wanders.
std::optional<double> Trend(const RunDigest& run, std::string_view signal) {
  constexpr std::size_t kEnough = 5;
  const Digest* digest = Some(run, signal, kEnough);
  if (digest == nullptr) return std::nullopt;
  const auto count = static_cast<double>(digest->size());
  const double middle = (count - 1) / 2;
  double mean = 0;
  for (const double value : digest->values) mean += value / count;
  double both = 0;
  double spread = 0;
  for (std::size_t i = 0; i < digest->size(); ++i) {
    const double off = digest->values[i] - mean;
    both += (static_cast<double>(i) - middle) * off;
    spread += off * off;
  }
  const double time = count * (count * count - 1) / 12;
  return spread > 0 ? both / std::sqrt(spread * time) : 0;
}

std::optional<double> RewardTrend(const RunDigest& run) { return Trend(run, "reward"); }
std::optional<double> EvalRewardTrend(const RunDigest& run) { return Trend(run, "eval_reward"); }
std::optional<double> EvalTrend(const RunDigest& run) {
  return run.IsReinforcement() ? std::nullopt : Trend(run, "eval_loss");
}

constexpr std::array kMeasures = {
    NamedMeasure{"least-learned", Least},
    NamedMeasure{"most-learned", Most},
    NamedMeasure{"loss-fall-by-then", FallByThen},
    NamedMeasure{"reward-trend", RewardTrend},
    NamedMeasure{"eval-reward-trend", EvalRewardTrend},
    NamedMeasure{"eval-trend", EvalTrend},
};

}  // namespace

std::span<const NamedMeasure> ProgressMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
