// Measures of the course of the training loss. In reinforcement learning the loss is no measure of learning: there only
// its extremes and its non-finite values are measured.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "diagnose/measures.h"

namespace vigil::diagnose {
namespace {

constexpr double kTiny = 1e-30;
constexpr std::size_t kEnough = 10;  // points that show a shape

const Digest* LossOf(const RunDigest& run) {
  const Digest* loss = run.Of("loss");
  return loss == nullptr || loss->empty() ? nullptr : loss;
}

// Where the loss is what training minimises.
const Digest* LearnedLoss(const RunDigest& run) { return run.IsReinforcement() ? nullptr : LossOf(run); }

const Digest* LearnedShape(const RunDigest& run) {
  const Digest* loss = LearnedLoss(run);
  return loss == nullptr || loss->size() < kEnough ? nullptr : loss;
}

const Digest* Shape(const RunDigest& run) {
  const Digest* loss = LossOf(run);
  return loss == nullptr || loss->size() < kEnough ? nullptr : loss;
}

std::optional<double> Fall(const RunDigest& run) {
  const Digest* loss = LearnedLoss(run);
  return loss == nullptr || loss->size() < 2 ? std::nullopt : std::optional((loss->first - loss->end) / loss->scale);
}

std::optional<double> FallInNoise(const RunDigest& run) {
  const Digest* loss = LearnedLoss(run);
  if (loss == nullptr || loss->size() < 5) return std::nullopt;
  return (loss->start - loss->late) / std::max(loss->noise, kTiny);
}

// What part of the whole gain was made in the second half: a rate that is too low gains as much there as in the first.
std::optional<double> LateShare(const RunDigest& run) {
  const Digest* loss = LearnedShape(run);
  if (loss == nullptr || !(loss->first > loss->best)) return std::nullopt;
  return (loss->Level(0.4, 0.55) - loss->Level(0.875, 1)) / (loss->first - loss->best);
}

std::optional<double> EarlyShare(const RunDigest& run) {
  const Digest* loss = LearnedShape(run);
  if (loss == nullptr || !(loss->first > loss->best)) return std::nullopt;
  return (loss->first - loss->Level(0.08, 0.12)) / (loss->first - loss->best);
}

// A loss that is negative anywhere has no ratio; the share of its range stands in.
std::optional<double> EndOverBest(const RunDigest& run) {
  const Digest* loss = LearnedLoss(run);
  if (loss == nullptr || loss->size() < 2) return std::nullopt;
  if (loss->first > 0 && loss->best > 0) return loss->end / loss->best;
  return 1 + (loss->end - loss->best) / std::max(loss->top - loss->best, kTiny);
}

std::optional<double> BestAt(const RunDigest& run) {
  const Digest* loss = LearnedShape(run);
  return loss == nullptr ? std::nullopt : std::optional(loss->best_at);
}

std::optional<double> TopOverFirst(const RunDigest& run) {
  const Digest* loss = LossOf(run);
  if (loss == nullptr || loss->size() < 2) return std::nullopt;
  const double top = *std::max_element(loss->values.begin(), loss->values.end());
  return top > 0 ? std::optional(top / loss->scale) : std::nullopt;
}

std::optional<double> TailNoise(const RunDigest& run) {
  const Digest* loss = Shape(run);
  if (loss == nullptr) return std::nullopt;
  const std::size_t count = std::max<std::size_t>(5, loss->size() / 4);
  std::vector<double> jumps;
  for (std::size_t i = loss->size() - count + 1; i < loss->size(); ++i)
    jumps.push_back(std::abs(loss->values[i] - loss->values[i - 1]));
  std::nth_element(jumps.begin(), jumps.begin() + std::ssize(jumps) / 2, jumps.end());
  return jumps[jumps.size() / 2] / std::max(std::abs(loss->late), kTiny);
}

struct Jump {
  std::size_t to = 0;  // index of the point behind it
  double size = 0;
  double stays = 0;  // level behind it less the level before it
};

Jump LargestJump(const Digest& loss) {
  Jump jump;
  for (std::size_t i = 1; i < loss.size(); ++i) {
    const double size = loss.values[i] - loss.values[i - 1];
    if (size > jump.size || i == 1) jump = {i, size, 0};
  }
  const double reach = std::max(3.0, 0.1 * static_cast<double>(loss.size())) / static_cast<double>(loss.size());
  const double at = static_cast<double>(jump.to) / static_cast<double>(loss.size());
  jump.stays = loss.Level(at, at + reach) - loss.Level(std::max(0.0, at - reach), std::max(0.0, at - 1e-9));
  return jump;
}

std::optional<double> JumpInNoise(const RunDigest& run) {
  const Digest* loss = Shape(run);
  if (loss == nullptr) return std::nullopt;
  return std::max(LargestJump(*loss).size, 0.0) / std::max({loss->noise, kTiny, 1e-4 * loss->scale});
}

std::optional<double> JumpStays(const RunDigest& run) {
  const Digest* loss = Shape(run);
  if (loss == nullptr) return std::nullopt;
  return LargestJump(*loss).stays / std::max({loss->noise, kTiny, 1e-3 * loss->scale});
}

std::optional<double> JumpAt(const RunDigest& run) {
  const Digest* loss = Shape(run);
  if (loss == nullptr) return std::nullopt;
  return static_cast<double>(LargestJump(*loss).to) / static_cast<double>(loss->size());
}

std::optional<double> FirstStep(const RunDigest& run) {
  const Digest* loss = Shape(run);
  return loss == nullptr ? std::nullopt : std::optional((loss->values[1] - loss->values[0]) / loss->scale);
}

// The share of the last half that has the same value to the last digit.
std::optional<double> SameShare(const RunDigest& run) {
  const Digest* loss = Shape(run);
  if (loss == nullptr) return std::nullopt;
  std::map<double, std::size_t> counts;
  std::size_t most = 0;
  const std::size_t begin = loss->size() / 2;
  for (std::size_t i = begin; i < loss->size(); ++i) most = std::max(most, ++counts[loss->values[i]]);
  return static_cast<double>(most) / static_cast<double>(loss->size() - begin);
}

std::optional<double> ZeroShare(const RunDigest& run) {
  const Digest* loss = Shape(run);
  return loss == nullptr ? std::nullopt : std::optional(loss->ShareAtEnd(0));
}

std::optional<double> Points(const RunDigest& run) {
  const Digest* loss = run.Of("loss");
  return loss == nullptr ? std::nullopt : std::optional(static_cast<double>(loss->points));
}

// Above 1 where all values are finite.
std::optional<double> NonFiniteAt(const RunDigest& run) {
  constexpr double kNever = 2;
  const Digest* loss = run.Of("loss");
  return loss == nullptr ? std::nullopt : std::optional(loss->non_finite_at.value_or(kNever));
}

std::optional<double> NonFiniteRest(const RunDigest& run) {
  const Digest* loss = run.Of("loss");
  return loss == nullptr ? std::nullopt : loss->non_finite_rest;
}

std::optional<double> GrewBefore(const RunDigest& run) {
  const Digest* loss = run.Of("loss");
  return loss == nullptr ? std::nullopt : loss->grew_before;
}

std::optional<double> OverChance(const RunDigest& run, double Digest::* level) {
  const Digest* loss = LearnedLoss(run);
  const auto choices = run.Choices();
  return loss == nullptr || !choices ? std::nullopt : std::optional(loss->*level / std::log(*choices));
}

std::optional<double> FirstOverChance(const RunDigest& run) { return OverChance(run, &Digest::first); }
std::optional<double> EndOverChance(const RunDigest& run) { return OverChance(run, &Digest::end); }

constexpr std::array kMeasures = {
    NamedMeasure{"loss-fall", Fall},
    NamedMeasure{"loss-fall-in-noise", FallInNoise},
    NamedMeasure{"loss-late-share", LateShare},
    NamedMeasure{"loss-early-share", EarlyShare},
    NamedMeasure{"loss-end-over-best", EndOverBest},
    NamedMeasure{"loss-best-at", BestAt},
    NamedMeasure{"loss-top-over-first", TopOverFirst},
    NamedMeasure{"loss-tail-noise", TailNoise},
    NamedMeasure{"loss-jump", JumpInNoise},
    NamedMeasure{"loss-jump-stays", JumpStays},
    NamedMeasure{"loss-jump-at", JumpAt},
    NamedMeasure{"loss-first-step", FirstStep},
    NamedMeasure{"loss-same-share", SameShare},
    NamedMeasure{"loss-zero-share", ZeroShare},
    NamedMeasure{"loss-points", Points},
    NamedMeasure{"loss-non-finite-at", NonFiniteAt},
    NamedMeasure{"loss-non-finite-rest", NonFiniteRest},
    NamedMeasure{"loss-grew-before", GrewBefore},
    NamedMeasure{"loss-first-over-chance", FirstOverChance},
    NamedMeasure{"loss-end-over-chance", EndOverChance},
};

}  // namespace

std::span<const NamedMeasure> CourseMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
