#include "scale/peers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>

namespace vigil::scale {
namespace {

using model::Series;

// Mean and unbiased deviation of a window.
struct Moments {
  double mean = 0;
  double deviation = 0;
};

Moments MomentsOf(const std::deque<double>& window) {
  Moments moments;
  for (const double value : window) moments.mean += value;
  moments.mean /= static_cast<double>(window.size());
  double squares = 0;
  for (const double value : window) squares += (value - moments.mean) * (value - moments.mean);
  moments.deviation = std::sqrt(squares / (static_cast<double>(window.size()) - 1));
  return moments;
}

Fired Earlier(Fired a, Fired b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Values that are not finite make the window's moments so, and nothing is above them: as in the original.
Fired SixSigma(const Series* series) {
  constexpr std::size_t kWindow = 128;
  constexpr std::size_t kEnough = 64;
  constexpr double kSigmas = 6;
  if (series == nullptr) return std::nullopt;
  std::deque<double> window;
  for (std::size_t i = 0; i < series->size(); ++i) {
    const double value = series->values[i];
    if (window.size() >= kEnough) {
      const Moments moments = MomentsOf(window);
      if (value - moments.mean > kSigmas * moments.deviation) return series->steps[i];
    }
    window.push_back(value);
    if (window.size() > kWindow) window.pop_front();
  }
  return std::nullopt;
}

Fired FirstNonFinite(const Series* series) {
  if (series == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < series->size(); ++i) {
    if (!std::isfinite(series->values[i])) return series->steps[i];
  }
  return std::nullopt;
}

// The last training loss at or before the step.
double LossAt(const Series& loss, std::int64_t step) {
  double value = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t i = 0; i < loss.size() && loss.steps[i] <= step; ++i) value = loss.values[i];
  return value;
}

// The first point at which `patience` points in a row have gained less than `delta` on the best before them.
Fired NoGain(const Series* series, int patience, double delta) {
  if (series == nullptr) return std::nullopt;
  double best = std::numeric_limits<double>::infinity();
  int without = 0;
  for (std::size_t i = 0; i < series->size(); ++i) {
    const bool gains = series->values[i] < best - delta;
    if (gains) best = series->values[i];
    without = gains ? 0 : without + 1;
    if (without >= patience) return series->steps[i];
  }
  return std::nullopt;
}

bool HasLoss(const Watched& watched) { return watched.loss != nullptr; }
bool HasGradient(const Watched& watched) { return watched.grad_norm != nullptr; }
bool HasEither(const Watched& watched) { return HasLoss(watched) || HasGradient(watched); }
bool HasEval(const Watched& watched) { return HasLoss(watched) && watched.eval_loss != nullptr; }

Fired AnyOfSageMaker(const Watched& watched) {
  Fired fired;
  for (const auto rule : {LossNotDecreasing, ExplodingTensor, VanishingGradient, Overfit, Overtraining})
    fired = Earlier(fired, rule(watched));
  return fired;
}

constexpr std::array<PeerRule, 11> kRules = {{
    {"OLMo-core, 6 sigma", OlmoSixSigma, HasEither},
    {"Megatron-LM, non-finite or 10x", MegatronTenTimes, HasLoss},
    {"llm-foundry KillLossSpike", KillLossSpike, HasLoss},
    {"ZClip", ZClip, HasGradient},
    {"axolotl watchdog", AxolotlWatchdog, HasLoss},
    {"SageMaker LossNotDecreasing", LossNotDecreasing, HasLoss},
    {"SageMaker ExplodingTensor", ExplodingTensor, HasEither},
    {"SageMaker VanishingGradient", VanishingGradient, HasGradient},
    {"SageMaker Overfit", Overfit, HasEval},
    {"SageMaker Overtraining", Overtraining, HasEval},
    {"SageMaker, any of the five", AnyOfSageMaker, HasEither},
}};

}  // namespace

Watched WatchedOf(const model::Run& run) { return {run.Find("loss"), run.Find("grad_norm"), run.Find("eval_loss")}; }

Fired OlmoSixSigma(const Watched& watched) { return Earlier(SixSigma(watched.loss), SixSigma(watched.grad_norm)); }

Fired MegatronTenTimes(const Watched& watched) {
  constexpr std::size_t kSamples = 100;
  constexpr double kTimes = 10;
  if (watched.loss == nullptr) return std::nullopt;
  double largest = 0;
  for (std::size_t i = 0; i < watched.loss->size(); ++i) {
    const double value = std::abs(watched.loss->values[i]);
    if (!std::isfinite(value)) return watched.loss->steps[i];
    // The maximum grows over the first samples, and a value is compared with those before it.
    if (largest > 0 && value >= kTimes * largest) return watched.loss->steps[i];
    if (i < kSamples) largest = std::max(largest, value);
  }
  return std::nullopt;
}

Fired KillLossSpike(const Watched& watched) {
  constexpr double kTimes = 2;
  constexpr int kPatience = 4;
  constexpr double kHighest = 10;
  if (watched.loss == nullptr) return std::nullopt;
  const Series& loss = *watched.loss;
  const auto width =
      std::max<std::size_t>(100, static_cast<std::size_t>(std::lround(0.05 * static_cast<double>(loss.size()))));
  std::deque<double> window;
  int outliers = 0;
  double cap = 0;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    const double value = loss.values[i];
    if (window.size() == width) {
      if (cap == 0) cap = std::min(*std::max_element(window.begin(), window.end()), kHighest);
      outliers = value >= kTimes * MomentsOf(window).mean ? outliers + 1 : 0;
      if (outliers > kPatience) return loss.steps[i];
      const auto high = std::count_if(window.begin(), window.end(), [&](double seen) { return seen > cap; });
      if (i >= 2 * width && high >= static_cast<std::ptrdiff_t>(width / 2)) return loss.steps[i];
      window.pop_front();
    }
    window.push_back(value);
  }
  return std::nullopt;
}

Fired ZClip(const Watched& watched) {
  constexpr std::size_t kWarmup = 25;
  constexpr double kDecay = 0.97;
  constexpr double kLimit = 2.5;
  if (watched.grad_norm == nullptr) return std::nullopt;
  const Series& norms = *watched.grad_norm;
  double mean = 0;
  double variance = 0;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const double value = norms.values[i];
    if (i < kWarmup) {
      // Running mean and population variance of the warm-up.
      const double before = mean;
      mean += (value - mean) / static_cast<double>(i + 1);
      variance += ((value - before) * (value - mean) - variance) / static_cast<double>(i + 1);
      continue;
    }
    if ((value - mean) / (std::sqrt(variance) + 1e-6) > kLimit) return norms.steps[i];
    mean = kDecay * mean + (1 - kDecay) * value;
    variance = kDecay * variance + (1 - kDecay) * (value - mean) * (value - mean);
  }
  return std::nullopt;
}

Fired AxolotlWatchdog(const Watched& watched) {
  constexpr int kPatience = 3;
  if (watched.loss == nullptr || watched.loss->empty()) return std::nullopt;
  const double threshold = 2 * watched.loss->values[0];
  int above = 0;
  for (std::size_t i = 0; i < watched.loss->size(); ++i) {
    above = watched.loss->values[i] > threshold ? above + 1 : 0;
    if (above >= kPatience) return watched.loss->steps[i];
  }
  return std::nullopt;
}

Fired LossNotDecreasing(const Watched& watched) {
  constexpr std::int64_t kSteps = 10;
  constexpr double kShare = 0.001;
  if (watched.loss == nullptr) return std::nullopt;
  const Series& loss = *watched.loss;
  std::size_t before = 0;
  for (std::size_t i = 1; i < loss.size(); ++i) {
    if (loss.steps[i] - loss.steps[before] < kSteps) continue;
    if (loss.values[i] > loss.values[before] - kShare * std::abs(loss.values[before])) return loss.steps[i];
    before = i;
  }
  return std::nullopt;
}

Fired ExplodingTensor(const Watched& watched) {
  return Earlier(FirstNonFinite(watched.loss), FirstNonFinite(watched.grad_norm));
}

Fired VanishingGradient(const Watched& watched) {
  constexpr double kSmallest = 1e-7;
  if (watched.grad_norm == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < watched.grad_norm->size(); ++i) {
    if (watched.grad_norm->values[i] < kSmallest) return watched.grad_norm->steps[i];
  }
  return std::nullopt;
}

Fired Overfit(const Watched& watched) {
  constexpr double kRatio = 0.1;
  constexpr int kPatience = 1;
  if (!HasEval(watched)) return std::nullopt;
  int over = 0;
  for (std::size_t i = 0; i < watched.eval_loss->size(); ++i) {
    const std::int64_t step = watched.eval_loss->steps[i];
    const double train = LossAt(*watched.loss, step);
    over = (watched.eval_loss->values[i] - train) / train > kRatio ? over + 1 : 0;
    if (over > kPatience) return step;
  }
  return std::nullopt;
}

Fired Overtraining(const Watched& watched) {
  constexpr double kDelta = 0.01;
  if (!HasEval(watched)) return std::nullopt;
  const Fired train = NoGain(watched.loss, 5, kDelta);
  const Fired held_out = NoGain(watched.eval_loss, 10, kDelta);
  if (!train || !held_out) return std::nullopt;
  return std::max(*train, *held_out);
}

std::span<const PeerRule> PeerRules() { return kRules; }

}  // namespace vigil::scale
