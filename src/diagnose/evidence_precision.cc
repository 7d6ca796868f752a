// Evidence about formats of few bits, and about exponentials in the loss.
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

bool UsesFp8(const RunView& run) {
  return PrecisionOf(run) == Precision::kFp8 || FactSwitch(run, "fp8").value_or(false);
}

// A block of zeros (padding) is met in the first batches: with fp8 the NaN comes at once or not from this.
Answer Fp8NanAtOnce(const RunView& run, const Incident& incident) {
  constexpr std::int64_t kAtOnce = 5;
  if (!incident.Has("loss/non-finite") && !incident.Has("grad/non-finite")) return Moot();
  if (!UsesFp8(run)) return PrecisionOf(run) == Precision::kUnknown ? Unknown() : No(says::Fp8NanAtOnceOff{});
  const model::Series* loss = run.Find("loss");
  if (loss == nullptr || loss->empty() || !incident.onset.known()) return Unknown();
  std::size_t before = 0;
  while (before < loss->size() && std::isfinite(loss->values[before])) ++before;
  if (before <= kAtOnce) return Yes(says::Fp8NanAtOnceYes{.at = incident.onset}, incident.onset);
  return No(says::Fp8NanAtOnceLater{.points = static_cast<double>(before)}, incident.onset);
}

// Sums over a sequence are some hundred; what overflows an exponential is orders beyond what it was.
Answer LogProbabilitiesHuge(const RunView& run, const Incident& incident) {
  constexpr double kHuge = 1e4;
  constexpr double kTimes = 20;
  if (!incident.Has("loss/non-finite") && !incident.Has("loss/divergence")) return Moot();
  for (const std::string_view signal : {"preference_logp_chosen", "preference_logp_rejected", "log_probability"}) {
    std::vector<double> values = FiniteValues(LastCourse(run, signal).View());
    if (values.size() < 5) continue;
    const double lowest = Quantile(values, 0);
    const double usual = Median(values);
    if (lowest < -kHuge && lowest < kTimes * std::min(usual, -1.0))
      return Yes(says::LogProbabilitiesHugeYes{.lowest = lowest, .usual = usual}, {}, lowest);
    return No(says::LogProbabilitiesHugeNo{.lowest = lowest}, {}, lowest);
  }
  return Unknown();
}

constexpr std::array kTests = {
    NamedTest{"fp8-nan-at-once", Fp8NanAtOnce},
    NamedTest{"log-probabilities-huge", LogProbabilitiesHuge},
};

}  // namespace

std::span<const NamedTest> PrecisionTests() { return kTests; }

}  // namespace vigil::diagnose
