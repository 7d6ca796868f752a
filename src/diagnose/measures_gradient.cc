// Measures of the gradient norm and of the loss scaler.
#include <algorithm>
#include <array>
#include <cmath>

#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/measures.h"

namespace vigil::diagnose {
namespace {

constexpr double kTiny = 1e-20;

const Digest* Norm(const RunDigest& run) {
  const Digest* norm = run.Of("grad_norm");
  return norm == nullptr || norm->empty() ? nullptr : norm;
}

std::optional<double> Level(const RunDigest& run) {
  const Digest* norm = Norm(run);
  return norm == nullptr ? std::nullopt : std::optional(norm->late);
}

std::optional<double> First(const RunDigest& run) {
  const Digest* norm = Norm(run);
  return norm == nullptr ? std::nullopt : std::optional(norm->first);
}

std::optional<double> LateOverStart(const RunDigest& run) {
  const Digest* norm = Norm(run);
  if (norm == nullptr || norm->size() < 5) return std::nullopt;
  return std::max(std::abs(norm->late), kTiny) / std::max(std::abs(norm->start), kTiny);
}

std::optional<double> PeakOverLevel(const RunDigest& run) {
  const Digest* norm = Norm(run);
  if (norm == nullptr || norm->size() < 5) return std::nullopt;
  return *std::max_element(norm->values.begin(), norm->values.end()) / std::max(norm->Level(0, 1), kTiny);
}

std::optional<double> ZeroShare(const RunDigest& run) {
  const Digest* norm = Norm(run);
  if (norm == nullptr) return std::nullopt;
  const auto zeros = std::count(norm->values.begin(), norm->values.end(), 0.0);
  return static_cast<double>(zeros) / static_cast<double>(norm->size());
}

std::optional<double> OverClip(const RunDigest& run) {
  const Digest* norm = Norm(run);
  const Clipping clipping = ClippingOf(run.run());
  if (norm == nullptr || clipping.state != Clip::kOn) return std::nullopt;
  return norm->Level(0, 1) / clipping.limit;
}

// A scale of the loss (a constant factor, a sum in the place of a mean) is in both.
std::optional<double> OverLoss(const RunDigest& run) {
  const Digest* norm = Norm(run);
  const Digest* loss = run.Of("loss");
  if (norm == nullptr || loss == nullptr || loss->empty()) return std::nullopt;
  return std::max(std::abs(norm->Level(0, 1)), kTiny) / loss->scale;
}

// How much the norm differs from point to point in the second half. Noise in thousands of weights has a norm that
// hardly varies; the gradient of real batches does.
std::optional<double> Spread(const RunDigest& run) {
  constexpr std::size_t kEnough = 8;
  const Digest* norm = Norm(run);
  if (norm == nullptr || norm->size() < kEnough) return std::nullopt;
  const std::size_t begin = norm->size() / 2;
  std::vector<double> steps;
  for (std::size_t i = begin + 1; i < norm->size(); ++i) {
    const double low = std::min(norm->values[i], norm->values[i - 1]);
    const double high = std::max(norm->values[i], norm->values[i - 1]);
    if (low > 0) steps.push_back(high / low - 1);
  }
  return steps.size() < 3 ? std::nullopt : std::optional(Median(std::move(steps)));
}

// Above 1 where all values are finite.
std::optional<double> NonFiniteAt(const RunDigest& run) {
  constexpr double kNever = 2;
  const Digest* norm = run.Of("grad_norm");
  return norm == nullptr ? std::nullopt : std::optional(norm->non_finite_at.value_or(kNever));
}

std::optional<double> GrewBefore(const RunDigest& run) {
  const Digest* norm = run.Of("grad_norm");
  return norm == nullptr ? std::nullopt : norm->grew_before;
}

std::optional<double> LossScaleLeft(const RunDigest& run) {
  const Digest* scale = run.Of("loss_scale");
  if (scale == nullptr || scale->empty()) return std::nullopt;
  return scale->values.back() / std::max(*std::max_element(scale->values.begin(), scale->values.end()), kTiny);
}

constexpr std::array kMeasures = {
    NamedMeasure{"grad-level", Level},
    NamedMeasure{"grad-first", First},
    NamedMeasure{"grad-late-over-start", LateOverStart},
    NamedMeasure{"grad-peak-over-level", PeakOverLevel},
    NamedMeasure{"grad-zero-share", ZeroShare},
    NamedMeasure{"grad-over-clip", OverClip},
    NamedMeasure{"grad-over-loss", OverLoss},
    NamedMeasure{"grad-spread", Spread},
    NamedMeasure{"grad-non-finite-at", NonFiniteAt},
    NamedMeasure{"grad-grew-before", GrewBefore},
    NamedMeasure{"loss-scale-left", LossScaleLeft},
};

}  // namespace

std::span<const NamedMeasure> GradientMeasures() { return kMeasures; }

}  // namespace vigil::diagnose
