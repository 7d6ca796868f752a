#include "diagnose/blow_up.h"

#include <algorithm>
#include <cmath>

#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

// Points that the usual level is taken from, at most: a run of ten million steps is not one level.
constexpr std::size_t kMemory = 512;
// Fewer finite points before it say nothing about what was usual.
constexpr std::size_t kFewest = 4;

// A divergence has no first bad point: where half of its rise is done the loss is lost for certain.
model::Position HalfOfTheRise(const Stretch& loss, const Incident& incident) {
  const double before = Median(FiniteValues(loss.UpTo(incident.onset).Last(32)));
  const Stretch after = loss.From(incident.onset);
  double peak = model::kNoValue;
  for (const double value : after.Between(incident.onset, incident.last).values) {
    if (std::isfinite(value) && !(value <= peak)) peak = value;
  }
  if (std::isnan(before) || std::isnan(peak) || peak <= before) return incident.onset;
  const double half = before + 0.5 * (peak - before);
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (!(after.values[i] < half)) return after.PositionOf(i);
  }
  return incident.onset;
}

double ElevatedAbove(const std::vector<double>& usual, double level) {
  // Twice the usual level, or four deviations of its own noise where that is more.
  const double noise = stats::NoiseSigma(Logs(usual));
  return level * std::max(2.0, std::exp(4 * noise));
}

}  // namespace

BlowUp FindBlowUp(const RunView& run, const Incident& incident) {
  BlowUp blow_up;
  const model::Position non_finite = incident.FirstOf(run.axes(), {"loss/non-finite", "grad/non-finite"});
  const model::Position anchor = non_finite.known() ? non_finite : incident.onset;
  blow_up.loss = SegmentAt(run, run.Find("loss"), anchor);
  blow_up.grad = SegmentAt(run, run.Find("grad_norm"), anchor);
  blow_up.non_finite = non_finite.known();
  if (blow_up.non_finite) {
    blow_up.lost_at = non_finite;
  } else if (incident.onset.known()) {
    blow_up.lost_at = HalfOfTheRise(blow_up.loss, incident);
  }
  return blow_up;
}

Rise RiseBefore(const Stretch& stretch, model::Position at) {
  Rise rise;
  const Stretch before = stretch.Before(at).Last(kMemory);
  const std::vector<double> finite = FiniteValues(before);
  rise.points = finite.size();
  if (finite.size() < kFewest) return rise;
  // A climb may have lasted for most of what is known: the lower third is still what was usual.
  const std::vector<double> earlier(finite.begin(), finite.end() - 2);
  rise.usual = Quantile(earlier, 0.35);
  rise.last = finite.back();
  if (!(rise.usual > 0)) return rise;
  rise.known = true;
  const double limit = ElevatedAbove(earlier, rise.usual);
  for (std::size_t i = before.size(); i-- > 0;) {
    if (!std::isfinite(before.values[i])) continue;
    if (before.values[i] < limit) break;
    ++rise.elevated;
    rise.since = before.PositionOf(i);
  }
  return rise;
}

}  // namespace vigil::diagnose
