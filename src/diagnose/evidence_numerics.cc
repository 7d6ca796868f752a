// Evidence about numbers and data: precision, the loss scale, which value was non-finite first, whether it healed and
// whether it comes back.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/blow_up.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

// The indices of the non-finite points.
std::vector<std::size_t> NonFinitePoints(const Stretch& stretch, std::size_t at_most) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < stretch.size() && points.size() < at_most; ++i) {
    if (!std::isfinite(stretch.values[i])) points.push_back(i);
  }
  return points;
}

Answer LossScaleCollapsed(const RunView& run, const Incident& incident) {
  if (const model::Finding* found = incident.Find("numerics/loss-scale-collapse")) return AsFound(*found);
  const Precision precision = PrecisionOf(run);
  if (precision == Precision::kBf16 || precision == Precision::kFp32) return Moot();
  const Course course = LastCourse(run, "loss_scale");
  const Stretch all = course.View();
  if (all.size() < 3 || !incident.onset.known()) return Unknown();
  const double before = Largest(all.UpTo(incident.onset).Last(64));
  const double lowest = Smallest(all.From(incident.onset));
  if (!(before > 0) || !(lowest >= 0)) return Unknown();
  // Six halvings without regaining them; a healthy scaler loses one now and then.
  if (lowest < before / 64 || (lowest <= 1 && before >= 8))
    return Yes(says::LossScaleCollapsedYes{.before = before, .lowest = lowest}, incident.onset, lowest);
  if (lowest >= before / 4)
    return No(says::LossScaleCollapsedNo{.before = before, .lowest = lowest}, incident.onset, lowest);
  return Unknown();
}

Answer Fp16InUse(const RunView& run, const Incident&) {
  switch (PrecisionOf(run)) {
    case Precision::kFp16:
      return Yes(says::Fp16InUseYes{});
    case Precision::kBf16:
      return No(says::Fp16InUseBf16{});
    case Precision::kFp32:
      return No(says::Fp16InUseFp32{});
    case Precision::kFp8:
      return No(says::Fp16InUseFp8{});
    case Precision::kUnknown:
      break;
  }
  // Only fp16 needs a loss scale.
  const model::Series* scale = run.Find("loss_scale");
  if (scale != nullptr && Largest(Course(run, scale).View()) > 1) return Yes(says::Fp16InUseScaled{});
  return Unknown();
}

// Whether the values after the last bad point are as those before the first one.
Answer Healed(const Stretch& stretch, model::PositionRange bad, bool loss) {
  const std::vector<double> before = FiniteValues(stretch.Before(bad.first).Last(16));
  const Stretch rest = stretch.After(bad.last);
  const std::vector<double> after = FiniteValues(rest);
  if (after.size() < 5) return Unknown();
  if (2 * after.size() < rest.size()) return No(says::IsolatedBadStepNoStayed{.at = bad.first}, bad.first);
  if (before.size() >= 3 && loss) {
    const double level = Median(before);
    const double later =
        Median(std::vector<double>(after.begin(), after.begin() + std::min<std::ptrdiff_t>(32, std::ssize(after))));
    if (later > level + 4 * stats::NoiseSigma(before) + 0.15 * std::abs(level))
      return No(says::IsolatedBadStepNoLevel{.after = later, .before = level}, bad.last, later);
  }
  return Yes(says::IsolatedBadStepYes{.span = bad}, bad.first);
}

Answer HealedNonFinite(const Stretch& stretch, bool loss) {
  const std::vector<std::size_t> bad = NonFinitePoints(stretch, stretch.size());
  if (bad.empty()) return Unknown();
  const model::Position first = stretch.PositionOf(bad.front());
  const double share = static_cast<double>(bad.size()) / static_cast<double>(stretch.size());
  const std::size_t after = stretch.size() - bad.back() - 1;
  if (after == 0 && bad.size() >= 5) return No(says::IsolatedBadStepNoEnd{.at = first}, first);
  if (share > 0.5) return No(says::IsolatedBadStepNoMost{.bad = bad.size(), .points = stretch.size()}, first);
  if (after < 5) return Unknown();
  return Healed(stretch, {first, stretch.PositionOf(bad.back())}, loss);
}

Answer IsolatedBadStep(const RunView& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known()) return Unknown();
  if (const model::Finding* diverged = incident.Has("loss/divergence") ? incident.Find("loss/divergence") : nullptr) {
    const bool came_back = diverged->MeasureOr("came_back", 0) > 0;
    return came_back ? No(says::IsolatedBadStepNoLate{}, incident.onset)
                     : No(says::IsolatedBadStepNoNever{}, incident.onset);
  }
  if (blow_up.non_finite) {
    // The gradient norm cannot be replaced by a logger's filter; the loss can.
    const Answer by_norm = HealedNonFinite(blow_up.grad, false);
    return by_norm.verdict != Verdict::kUnknown ? by_norm : HealedNonFinite(blow_up.loss, true);
  }
  const model::Finding* spike = incident.Has("loss/spike") ? incident.Find("loss/spike") : incident.Find("grad/spike");
  if (spike == nullptr || !spike->first.known()) return Unknown();
  return Healed(blow_up.loss, {spike->first, Later(run.axes(), spike->last, spike->first)}, true);
}

bool IsAbsent(double value) { return !std::isfinite(value) || value == 0; }

// Training cannot be what went wrong when the very first forward pass is already bad.
Answer BadFromFirstStep(const RunView& run, const Incident& incident) {
  const Course course = LastCourse(run, "loss");
  const Stretch loss = course.View();
  if (loss.empty() || !incident.onset.known()) return Unknown();
  const auto usable =
      std::find_if(loss.values.begin(), loss.values.end(), [](double value) { return !IsAbsent(value); });
  if (usable == loss.values.end() && loss.size() >= 3) {
    // A first point that stands for many steps may hide a healthy beginning, and one of an epoch of unknown length too.
    constexpr double kFewSteps = 3;
    if (StepsUntil(run.axes(), loss.PositionOf(0)).value_or(kFewSteps + 1) > kFewSteps &&
        !std::all_of(loss.values.begin(), loss.values.end(), [](double value) { return value == 0; }))
      return Unknown();
    return Yes(says::BadFromFirstStepYes{.at = loss.PositionOf(0), .value = loss.values[0]}, loss.PositionOf(0),
               loss.values[0]);
  }
  if (usable == loss.values.end()) return Unknown();
  const auto at = static_cast<std::size_t>(usable - loss.values.begin());
  return No(says::BadFromFirstStepNo{.value = *usable, .at = loss.PositionOf(at)}, loss.PositionOf(at), *usable);
}

Answer FiniteLossBadGrad(const RunView& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.non_finite) return Moot();
  const std::vector<std::size_t> bad = NonFinitePoints(blow_up.grad, 1);
  if (bad.empty() || MayHideNonFinite(run)) return Unknown();
  const model::Position at = blow_up.grad.PositionOf(bad.front());
  const Stretch here = blow_up.loss.Between(at, at);
  if (here.empty()) return Unknown();
  const double loss = here.values.back();
  if (std::isfinite(loss)) return Yes(says::FiniteLossBadGradYes{.at = at, .loss = loss}, at, loss);
  return No(says::FiniteLossBadGradNo{.at = at}, at);
}

// Where non-finite stretches begin that finite values came before.
std::vector<std::int64_t> BadStretches(const Stretch& stretch) {
  std::vector<std::int64_t> starts;
  for (std::size_t i = 1; i < stretch.size(); ++i) {
    if (!std::isfinite(stretch.values[i]) && std::isfinite(stretch.values[i - 1])) starts.push_back(stretch.steps[i]);
  }
  return starts;
}

// Counts on one axis, rising.
struct BadPlaces {
  model::Axis axis = model::Axis::kStep;
  std::vector<std::int64_t> at;
};

BadPlaces FindBadPlaces(const RunView& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  const Stretch& watched = blow_up.grad.empty() ? blow_up.loss : blow_up.grad;
  BadPlaces bad{watched.axis, BadStretches(watched)};
  if (!bad.at.empty()) return bad;
  bad.axis = incident.onset.known() ? incident.onset.axis() : watched.axis;
  for (const model::Finding* finding : incident.findings) {
    if (finding->id != "loss/spike") continue;
    if (const auto at = run.axes().To(bad.axis, finding->first).ValueOn(bad.axis)) bad.at.push_back(*at);
  }
  std::sort(bad.at.begin(), bad.at.end());
  return bad;
}

// The same sample comes by once an epoch, which points of whole epochs cannot show.
Answer BadStepsRepeat(const RunView& run, const Incident& incident) {
  // What is lost for good cannot come back.
  if (IsolatedBadStep(run, incident).verdict == Verdict::kNo) return Moot();
  const BadPlaces bad = FindBadPlaces(run, incident);
  if (bad.at.size() < 3) return Unknown();
  std::vector<double> gaps;
  for (std::size_t i = 1; i < bad.at.size(); ++i) gaps.push_back(static_cast<double>(bad.at[i] - bad.at[i - 1]));
  const double period = Median(gaps);
  // A few steps apart is a bad stretch, not a sample that comes by again.
  constexpr double kFewSteps = 5;
  const auto few = StepsOn(run.axes(), bad.axis, kFewSteps);
  if (!few || period < *few || bad.axis == model::Axis::kEpoch) return Unknown();
  const model::Position first(bad.axis, bad.at.front());
  // Shuffling moves a sample within its epoch; without shuffling the period is exact.
  const bool regular =
      std::all_of(gaps.begin(), gaps.end(), [&](double gap) { return std::abs(gap - period) <= 0.05 * period; });
  if (!regular) return No(says::BadStepsRepeatNo{.times = bad.at.size()}, first);
  return Yes(says::BadStepsRepeatYes{.period = model::Extent{bad.axis, period}, .times = bad.at.size()}, first);
}

// The first non-finite count of each segment that has one.
std::vector<std::int64_t> FirstBadOfSegments(const model::Series& series) {
  std::vector<std::int64_t> first_bad;
  for (std::size_t i = 0; i < series.segment_starts.size(); ++i) {
    const std::size_t begin = series.segment_starts[i];
    const std::size_t end = i + 1 < series.segment_starts.size() ? series.segment_starts[i + 1] : series.size();
    for (std::size_t at = begin; at < end; ++at) {
      if (std::isfinite(series.values[at])) continue;
      first_bad.push_back(series.steps[at]);
      break;
    }
  }
  return first_bad;
}

Answer FailsAgainAtSameStep(const RunView& run, const Incident&) {
  const model::Series* series = run.Find("loss");
  if (series == nullptr || series->segment_starts.size() < 2) return Unknown();
  const std::vector<std::int64_t> first_bad = FirstBadOfSegments(*series);
  if (first_bad.size() < 2) return Unknown();
  const auto [low, high] = std::minmax_element(first_bad.begin(), first_bad.end());
  const model::Position first(series->axis, *low);
  const double interval = std::max(1.0, IntervalOf(*series));
  if (static_cast<double>(*high - *low) <= interval) return Yes(says::FailsAgainAtSameStepYes{.at = first}, first);
  return No(says::FailsAgainAtSameStepNo{.first = first, .last = model::Position(series->axis, *high)}, first);
}

constexpr std::array kTests = {
    NamedTest{"loss-scale-collapsed", LossScaleCollapsed},
    NamedTest{"fp16-in-use", Fp16InUse},
    NamedTest{"isolated-bad-step", IsolatedBadStep},
    NamedTest{"bad-from-first-step", BadFromFirstStep},
    NamedTest{"finite-loss-bad-grad", FiniteLossBadGrad},
    NamedTest{"bad-steps-repeat", BadStepsRepeat},
    NamedTest{"fails-again-at-same-step", FailsAgainAtSameStep},
};

}  // namespace

std::span<const NamedTest> NumericsTests() { return kTests; }

}  // namespace vigil::diagnose
