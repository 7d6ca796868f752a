// Evidence about the learning rate: its height, its schedule, and where in it the trouble began.
#include <algorithm>
#include <array>
#include <cmath>
#include <compare>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

// "Above the usual range" begins at three times its upper end: ranges are habits, not laws. A tenth of the lower end is
// below what anybody uses on purpose.
constexpr double kAbove = 3;
constexpr double kFarAbove = 30;
constexpr double kBeyondAllUse = 100;
constexpr double kBelow = 0.1;
// Where the method is not known the range is that of all methods, and below it is below.
constexpr double kBelowAny = 0.5;
// A test of a few steps has no schedule.
constexpr double kFewestSteps = 50;
// Points of a long run that are compared with the rate they were made at.
constexpr std::size_t kSample = 8192;

// The peak beside what is usual: the same words whichever way it is judged.
Answer Judged(Verdict verdict, double peak, const LrBand& band) {
  return Answered(verdict, says::RatePeak{.peak = peak, .usual = UsualRange(band)}, {}, peak);
}

Answer LrAboveBand(const RunView& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (!band.known || std::isnan(peak) || peak <= 0) return Unknown();
  if (peak > kAbove * band.high) return Judged(Verdict::kYes, peak, band);
  if (band.exact) return Judged(Verdict::kNo, peak, band);
  return Unknown();
}

Answer LrFarAboveBand(const RunView& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (std::isnan(peak) || peak <= 0) return Unknown();
  const double times = peak / band.high;
  if (times > kFarAbove) return Yes(says::LrFarAboveBandYes{.times = times, .method = band.method}, {}, peak);
  return band.exact ? Judged(Verdict::kNo, peak, band) : Unknown();
}

// No batch has to be bad for a run to spike at such a rate.
Answer LrBeyondAllUse(const RunView& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (!band.exact || !(peak > 0)) return Unknown();
  const bool beyond = peak > kBeyondAllUse * band.high;
  return Judged(beyond ? Verdict::kYes : Verdict::kNo, peak, band);
}

Answer LrBelowBand(const RunView& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (std::isnan(peak) || peak <= 0 || band.low <= 0) return Unknown();
  // Reinforcement trains at rates that would be far too low elsewhere.
  if (!band.exact && IsReinforcement(run)) return Unknown();
  if (peak < (band.exact ? kBelow : kBelowAny) * band.low) return Judged(Verdict::kYes, peak, band);
  if (!band.exact && !UsesAdam(run)) return Unknown();
  if (peak >= (band.exact ? 0.5 : 10) * band.low) return Judged(Verdict::kNo, peak, band);
  return Unknown();
}

Answer AtLrPeak(const RunView& run, const Incident& incident) {
  const Course course = LastCourse(run, "lr");
  const Stretch before = course.View().UpTo(incident.onset);
  if (!incident.onset.known() || before.size() < 3) return Unknown();
  const double highest = Largest(before);
  const double lowest = Smallest(before);
  const double here = ValueAt(before, incident.onset);
  if (!(highest > 0) || !std::isfinite(here)) return Unknown();
  const says::AtLrPeakSeen seen{.here = here, .highest = highest};
  // A rate that never changed is always at its peak: no evidence.
  if (here >= 0.8 * highest && lowest < 0.7 * highest) return Yes(seen, incident.onset, here);
  if (here < 0.3 * highest) return No(seen, incident.onset, here);
  return Unknown();
}

// Facts first: a run that states its warm-up needs no guessing from a coarse log.
Answer WarmupFromFacts(const RunView& run) {
  const auto steps = run.FactNumber("warmup_steps");
  const auto ratio = run.FactNumber("warmup_ratio");
  if (!steps && !ratio) return Unknown();
  const double planned = EndOf(run, model::Axis::kStep).length();
  // Newer trainers take a share in the place of a count.
  const bool is_count = steps && *steps >= 1;
  if (is_count && !(planned > 0))
    return No(says::NoWarmupRampConfiguredSteps{.warmup = model::Extent{model::Axis::kStep, *steps}});
  double share = ratio.value_or(0);
  if (steps && *steps > 0) share = is_count ? *steps / planned : *steps;
  if (share >= 0.01) return No(says::NoWarmupRampConfigured{.share = share});
  if (share > 0) return Yes(says::NoWarmupRampConfiguredShort{});
  return Yes(says::NoWarmupRampConfiguredNone{});
}

Answer NoWarmupRamp(const RunView& run, const Incident&) {
  const Course course = LastCourse(run, "lr");
  const Stretch all = course.View();
  // A warm-up is counted in steps. A rate per epoch shows it only where the run's map leads from epochs to steps.
  const auto step_of = [&](std::size_t i) {
    return run.axes().To(model::Axis::kStep, all.PositionOf(i)).ValueOn(model::Axis::kStep);
  };
  const double planned = EndOf(run, model::Axis::kStep).length();
  if (all.size() < 3 || planned < kFewestSteps || !step_of(0)) return WarmupFromFacts(run);
  const double peak = Largest(all);
  if (!(peak > 0)) return Unknown();
  // Some loggers print the rate of the step before the first, which is 0.
  const std::size_t first = all.values[0] == 0 && *step_of(0) <= 1 ? 1 : 0;
  if (static_cast<double>(*step_of(first)) > std::max(10.0, 0.02 * planned)) return WarmupFromFacts(run);
  std::size_t top = first;
  while (top + 1 < all.size() && !(all.values[top] >= 0.95 * peak)) ++top;
  const double ramp = static_cast<double>(*step_of(top) - *step_of(first));
  const model::Position at = all.PositionOf(top);
  if (top > first && ramp >= 0.01 * planned)
    return No(says::NoWarmupRampNo{.peak = peak, .ramp = model::Extent{model::Axis::kStep, ramp}}, at, peak);
  return Yes(says::NoWarmupRampYes{.peak = peak, .at = at}, at, peak);
}

// The loss was worse than at the start while the rate was high, and came back as the rate fell: the rate did it.
Answer LossFollowsLr(const RunView& run, const Incident& incident) {
  if (IsReinforcement(run) || incident.Has("loss/non-finite") || incident.Has("grad/non-finite")) return Moot();
  const Course lr = LastCourse(run, "lr");
  const Course loss = LastCourse(run, "loss");
  if (lr.size() < 10 || loss.size() < 20) return Unknown();
  const Stretch rates = lr.View();
  const double peak = Largest(rates);
  const double start = Median(FiniteValues(loss.View().First(3)));
  if (!(peak > 0) || !(start > 0)) return Unknown();
  std::vector<double> high;
  std::vector<double> low_after;
  const std::size_t stride = loss.size() / kSample + 1;
  for (std::size_t i = 0; i < loss.size(); i += stride) {
    const double rate = ValueAt(rates, loss.PositionOf(i));
    if (!std::isfinite(loss.values[i]) || !std::isfinite(rate)) continue;
    if (rate >= 0.6 * peak) high.push_back(loss.values[i]);
    if (rate <= 0.25 * peak && high.size() >= 5) low_after.push_back(loss.values[i]);
  }
  // A schedule that never came down cannot show it.
  if (high.size() < 5 || low_after.size() < 5) return Moot();
  const double at_high = Median(high);
  const double at_low = Median(low_after);
  if (at_high > 1.1 * start && at_low < 0.9 * at_high)
    return Yes(says::LossFollowsLrYes{.high = at_high, .start = start, .low = at_low}, {}, at_high);
  return Moot();
}

// The run had trained well at this rate, or a higher one, for a good while.
Answer SurvivedTheRate(const RunView& run, const Incident& incident) {
  // Spikes that heal are survived by definition.
  if (IsReinforcement(run) || incident.IsPassive() || incident.root().id.ends_with("/spike")) return Moot();
  if (!incident.onset.known()) return Unknown();
  const Course lr = LastCourse(run, "lr");
  const Course loss = LastCourse(run, "loss");
  const Stretch rates = lr.View();
  const double here = ValueAt(rates, incident.onset);
  if (!(here > 0)) return Unknown();
  std::vector<double> at_this_rate;
  std::size_t looked_at = 0;
  const Stretch before = loss.View().Before(incident.onset);
  const std::size_t stride = before.size() / kSample + 1;
  for (std::size_t i = 0; i < before.size(); i += stride) {
    ++looked_at;
    if (std::isfinite(before.values[i]) && ValueAt(rates, before.PositionOf(i)) >= 0.95 * here)
      at_this_rate.push_back(before.values[i]);
  }
  if (at_this_rate.size() < 6 || 10 * at_this_rate.size() < 3 * looked_at) return Unknown();
  const auto third = std::max<std::ptrdiff_t>(2, std::ssize(at_this_rate) / 3);
  const double first = Median({at_this_rate.begin(), at_this_rate.begin() + third});
  const double last = Median({at_this_rate.end() - third, at_this_rate.end()});
  const says::SurvivedTheRateSeen seen{.rate = here, .first = first, .last = last};
  if (last < 0.97 * first) return Yes(seen, incident.onset, last);
  return last > 1.05 * first ? No(seen, incident.onset, last) : Unknown();
}

struct Jump {
  model::Position at;
  double before = 0;
  double after = 0;
  double size = 0;  // |log ratio|
};

Jump LargestJump(const Stretch& rates) {
  Jump largest;
  for (std::size_t i = 1; i < rates.size(); ++i) {
    const double before = rates.values[i - 1];
    const double after = rates.values[i];
    if (!(before > 0) || !(after > 0) || !std::isfinite(before) || !std::isfinite(after)) continue;
    const double size = std::abs(std::log(after / before));
    if (size > largest.size) largest = {rates.PositionOf(i), before, after, size};
  }
  return largest;
}

// A warm-up from almost nothing multiplies the rate at first; a break is a jump where the schedule was smooth.
bool IsInRamp(const Jump& jump, const Stretch& rates) {
  const model::Position sixteenth = rates.PositionOf(std::min<std::size_t>(15, rates.size() - 1));
  return jump.at.known() && jump.after > jump.before && jump.after <= 1.05 * Largest(rates.First(16)) &&
         std::is_lteq(model::CompareOnAxis(jump.at, sixteenth));
}

Answer LrJumpAtOnset(const RunView& run, const Incident& incident) {
  if (const model::Finding* found = incident.Find("lr/schedule-break")) return AsFound(*found);
  const Stretch rates = SegmentAt(run, run.Find("lr"), incident.onset);
  if (!incident.onset.known() || rates.size() < 8) return Unknown();
  const auto reach = static_cast<std::int64_t>(std::max(3.0, 4 * rates.interval));
  const Stretch near = rates.Around(incident.onset, reach, reach / 2);
  if (near.size() < 3) return Unknown();
  const Jump jump = LargestJump(near);
  const double smooth = stats::NoiseSigma(Logs(FiniteValues(rates)));
  if (jump.size > 0.5 && jump.size > 10 * smooth && !IsInRamp(jump, rates))
    return Yes(says::LrJumpAtOnsetYes{.before = jump.before, .after = jump.after, .at = jump.at}, jump.at, jump.after);
  if (jump.size < 0.2) return No(says::LrJumpAtOnsetNo{.at = incident.onset}, incident.onset);
  return Unknown();
}

// Under a loss scaler an overflow skips the optimizer step and with it the scheduler's: the rate stands still, at 0
// when the very first steps overflow.
Answer StepsSkipped(const RunView& run, const Incident& incident) {
  if (!incident.Has("grad/non-finite")) return Moot();
  const Course lr = LastCourse(run, "lr");
  const Course norm = LastCourse(run, "grad_norm");
  const Stretch rates = lr.View();
  if (rates.size() < 8 || norm.size() < 8 || !IsLoggedEvery(rates, 1)) return Unknown();
  std::size_t bad = 0;
  std::size_t still = 0;
  for (std::size_t i = 1; i < norm.size(); ++i) {
    if (std::isfinite(norm.values[i])) continue;
    ++bad;
    if (ValueAt(rates, norm.PositionOf(i)) == ValueBefore(rates, norm.PositionOf(i))) ++still;
  }
  if (bad < 3 || Largest(rates) == Smallest(rates)) return Unknown();
  if (10 * still >= 8 * bad) return Yes(says::StepsSkippedYes{.still = still, .bad = bad}, incident.onset);
  return 10 * still <= 3 * bad ? No(says::StepsSkippedNo{.still = still, .bad = bad}, incident.onset) : Unknown();
}

Answer ConfiguredLrIsZero(const RunView& run) {
  const auto stated = run.FactNumber("lr");
  if (!stated) return Unknown();
  return *stated == 0 ? Yes(says::LrIsZeroConfiguredYes{}, {}, 0.0)
                      : No(says::LrIsZeroConfiguredNo{.lr = *stated}, {}, *stated);
}

Answer LrIsZero(const RunView& run, const Incident& incident) {
  // A rate that stands still because steps were skipped is no matter of the schedule.
  if (StepsSkipped(run, incident).verdict == Verdict::kYes) return Moot();
  if (const model::Finding* found = incident.Find("lr/zero")) return AsFound(*found, 0.0);
  const Course course = LastCourse(run, "lr");
  const Stretch all = course.View();
  const Stretch during = incident.onset.known() ? all.Between(incident.onset, incident.last) : all;
  if (during.size() < 3) return ConfiguredLrIsZero(run);
  const auto zeros = std::count(during.values.begin(), during.values.end(), 0.0);
  if (2 * zeros > std::ssize(during.values))
    return Yes(says::LrIsZeroYes{.zeros = zeros, .points = during.size()}, during.PositionOf(0), 0.0);
  const double highest = Largest(during);
  // A schedule that was stepped too often takes the rate down by orders of magnitude long before the end.
  constexpr double kNothingLeft = 1e-4;
  const double peak = Largest(all);
  const auto faded =
      std::count_if(all.values.begin(), all.values.end(), [&](double rate) { return rate < kNothingLeft * peak; });
  if (peak > 0 && 2 * faded > std::ssize(all.values))
    return Yes(says::LrIsZeroFaded{.peak = peak, .points = static_cast<std::size_t>(faded), .all = all.size()},
               all.PositionOf(all.size() - 1), all.values.back());
  if (highest > 0) return No(says::LrIsZeroNo{.highest = highest}, during.PositionOf(0), highest);
  return ConfiguredLrIsZero(run);
}

// The first updates threw the loss far above its first value, and it never came to lie below it: parameters that do
// not move, or hardly, cannot do that.
Answer ThrownAtStart(const RunView& run, const Incident& incident) {
  if (IsReinforcement(run) || incident.Has("loss/non-finite")) return Moot();
  const Course course = LastCourse(run, "loss");
  const std::vector<double> values = FiniteValues(course.View());
  if (values.size() < 20 || !(values.front() > 0)) return Unknown();
  const double first = values.front();
  const auto early = values.begin() + std::max<std::ptrdiff_t>(4, std::ssize(values) / 10);
  const double peak = *std::max_element(values.begin() + 1, early);
  const double end = Median({values.end() - std::ssize(values) / 4, values.end()});
  const double noise = stats::NoiseSigma(values);
  const bool thrown = peak > 1.3 * first && peak - first > 8 * noise && end > 0.95 * first;
  return thrown ? Yes(says::ThrownAtStartYes{.first = first, .peak = peak, .end = end}, {}, peak) : Moot();
}

constexpr std::array kTests = {
    NamedTest{"lr-above-band", LrAboveBand},         NamedTest{"thrown-at-start", ThrownAtStart},
    NamedTest{"lr-far-above-band", LrFarAboveBand},  NamedTest{"lr-beyond-all-use", LrBeyondAllUse},
    NamedTest{"lr-below-band", LrBelowBand},         NamedTest{"at-lr-peak", AtLrPeak},
    NamedTest{"no-warmup-ramp", NoWarmupRamp},       NamedTest{"loss-follows-lr", LossFollowsLr},
    NamedTest{"lr-jump-at-onset", LrJumpAtOnset},    NamedTest{"lr-is-zero", LrIsZero},
    NamedTest{"survived-the-rate", SurvivedTheRate}, NamedTest{"steps-skipped", StepsSkipped},
};

}  // namespace

std::span<const NamedTest> LearningRateTests() { return kTests; }

}  // namespace vigil::diagnose
