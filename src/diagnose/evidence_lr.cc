// Evidence about the learning rate: its height, its schedule, and where in it the trouble began.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
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

std::string BandText(const LrBand& band) {
  return band.low > 0
             ? fmt::format("{} to {} is usual for {}", FormatNumber(band.low), FormatNumber(band.high), band.method)
             : fmt::format("{} is high for {}", FormatNumber(band.high), band.method);
}

std::string PeakText(double peak, const LrBand& band) {
  return fmt::format("the peak learning rate is {} ({})", FormatNumber(peak), BandText(band));
}

Answer LrAboveBand(const model::Run& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (!band.known || std::isnan(peak) || peak <= 0) return Unknown();
  if (peak > kAbove * band.high) return Yes(PeakText(peak, band), model::kNoStep, peak);
  if (band.exact) return No(PeakText(peak, band), model::kNoStep, peak);
  return Unknown();
}

Answer LrFarAboveBand(const model::Run& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (std::isnan(peak) || peak <= 0) return Unknown();
  const double times = peak / band.high;
  if (times > kFarAbove)
    return Yes(fmt::format("that is {:.0f} times the upper end of what is usual for {}", times, band.method),
               model::kNoStep, peak);
  return band.exact ? No(PeakText(peak, band), model::kNoStep, peak) : Unknown();
}

// No batch has to be bad for a run to spike at such a rate.
Answer LrBeyondAllUse(const model::Run& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (!band.exact || !(peak > 0)) return Unknown();
  const bool beyond = peak > kBeyondAllUse * band.high;
  return beyond ? Yes(PeakText(peak, band), model::kNoStep, peak) : No(PeakText(peak, band), model::kNoStep, peak);
}

Answer LrBelowBand(const model::Run& run, const Incident&) {
  const double peak = PeakLr(run);
  const LrBand band = UsualLr(run);
  if (std::isnan(peak) || peak <= 0 || band.low <= 0) return Unknown();
  // Reinforcement trains at rates that would be far too low elsewhere.
  if (!band.exact && IsReinforcement(run)) return Unknown();
  if (peak < (band.exact ? kBelow : kBelowAny) * band.low) return Yes(PeakText(peak, band), model::kNoStep, peak);
  if (!band.exact && !UsesAdam(run)) return Unknown();
  if (peak >= (band.exact ? 0.5 : 10) * band.low) return No(PeakText(peak, band), model::kNoStep, peak);
  return Unknown();
}

Answer AtLrPeak(const model::Run& run, const Incident& incident) {
  const Course course = LastCourse(run.Find("lr"));
  const Stretch before = course.View().Before(incident.onset + 1);
  if (incident.onset == model::kNoStep || before.size() < 3) return Unknown();
  const double highest = Largest(before);
  const double lowest = Smallest(before);
  const double here = ValueAt(before, incident.onset);
  if (!(highest > 0) || !std::isfinite(here)) return Unknown();
  const std::string text = fmt::format("the learning rate was {} where it began, its highest so far {}",
                                       FormatNumber(here), FormatNumber(highest));
  // A rate that never changed is always at its peak: no evidence.
  if (here >= 0.8 * highest && lowest < 0.7 * highest) return Yes(text, incident.onset, here);
  if (here < 0.3 * highest) return No(text, incident.onset, here);
  return Unknown();
}

// Facts first: a run that states its warm-up needs no guessing from a coarse log.
Answer WarmupFromFacts(const model::Run& run) {
  const auto steps = run.FactNumber("warmup_steps");
  const auto ratio = run.FactNumber("warmup_ratio");
  if (!steps && !ratio) return Unknown();
  const double planned = static_cast<double>(PlannedOrSeenSteps(run));
  double share = ratio.value_or(0);
  // Newer trainers take a share in the place of a count.
  if (steps && *steps > 0) share = *steps < 1 ? *steps : planned > 0 ? *steps / planned : 1;
  if (share >= 0.01)
    return No(fmt::format("the configuration has a warm-up of {}% of the steps", FormatNumber(100 * share)));
  return Yes(fmt::format("the configuration has {}", share > 0 ? "a warm-up of under 1% of the steps" : "no warm-up"));
}

Answer NoWarmupRamp(const model::Run& run, const Incident&) {
  const Course course = LastCourse(run.Find("lr"));
  const Stretch all = course.View();
  const double planned = static_cast<double>(PlannedOrSeenSteps(run));
  if (all.size() < 3 || planned < kFewestSteps) return WarmupFromFacts(run);
  const double peak = Largest(all);
  if (!(peak > 0)) return Unknown();
  // Some loggers print the rate of the step before the first, which is 0.
  const std::size_t first = all.values[0] == 0 && all.steps[0] <= 1 ? 1 : 0;
  if (static_cast<double>(all.steps[first]) > std::max(10.0, 0.02 * planned)) return WarmupFromFacts(run);
  std::size_t top = first;
  while (top < all.size() && !(all.values[top] >= 0.95 * peak)) ++top;
  const double ramp = top >= all.size() ? planned : static_cast<double>(all.steps[top] - all.steps[first]);
  if (top > first && ramp >= 0.01 * planned)
    return No(fmt::format("the learning rate rose to its peak {} over {} steps", FormatNumber(peak), ramp),
              all.steps[std::min(top, all.size() - 1)], peak);
  return Yes(fmt::format("the learning rate was at its peak {} from step {}", FormatNumber(peak), all.steps[top]),
             all.steps[top], peak);
}

// The loss was worse than at the start while the rate was high, and came back as the rate fell: the rate did it.
Answer LossFollowsLr(const model::Run& run, const Incident& incident) {
  if (IsReinforcement(run) || incident.Has("loss/non-finite") || incident.Has("grad/non-finite")) return Moot();
  const Course lr = LastCourse(run.Find("lr"));
  const Course loss = LastCourse(run.Find("loss"));
  if (lr.size() < 10 || loss.size() < 20) return Unknown();
  const Stretch rates = lr.View();
  const double peak = Largest(rates);
  const double start = Median(FiniteValues(loss.View().First(3)));
  if (!(peak > 0) || !(start > 0)) return Unknown();
  std::vector<double> high;
  std::vector<double> low_after;
  const std::size_t stride = loss.size() / kSample + 1;
  for (std::size_t i = 0; i < loss.size(); i += stride) {
    const double rate = ValueAt(rates, loss.steps[i]);
    if (!std::isfinite(loss.values[i]) || !std::isfinite(rate)) continue;
    if (rate >= 0.6 * peak) high.push_back(loss.values[i]);
    if (rate <= 0.25 * peak && high.size() >= 5) low_after.push_back(loss.values[i]);
  }
  // A schedule that never came down cannot show it.
  if (high.size() < 5 || low_after.size() < 5) return Moot();
  const double at_high = Median(high);
  const double at_low = Median(low_after);
  if (at_high > 1.1 * start && at_low < 0.9 * at_high)
    return Yes(
        fmt::format("the loss stood at {} while the learning rate was high (start: {}) and came down to {} as it fell",
                    FormatNumber(at_high), FormatNumber(start), FormatNumber(at_low)),
        model::kNoStep, at_high);
  return Moot();
}

// The run had trained well at this rate, or a higher one, for a good while.
Answer SurvivedTheRate(const model::Run& run, const Incident& incident) {
  // Spikes that heal are survived by definition.
  if (IsReinforcement(run) || incident.IsPassive() || incident.root().id.ends_with("/spike")) return Moot();
  if (incident.onset == model::kNoStep) return Unknown();
  const Course lr = LastCourse(run.Find("lr"));
  const Course loss = LastCourse(run.Find("loss"));
  const Stretch rates = lr.View();
  const double here = ValueAt(rates, incident.onset);
  if (!(here > 0)) return Unknown();
  std::vector<double> at_this_rate;
  std::size_t looked_at = 0;
  const Stretch before = loss.View().Before(incident.onset);
  const std::size_t stride = before.size() / kSample + 1;
  for (std::size_t i = 0; i < before.size(); i += stride) {
    ++looked_at;
    if (std::isfinite(before.values[i]) && ValueAt(rates, before.steps[i]) >= 0.95 * here)
      at_this_rate.push_back(before.values[i]);
  }
  if (at_this_rate.size() < 6 || 10 * at_this_rate.size() < 3 * looked_at) return Unknown();
  const auto third = std::max<std::ptrdiff_t>(2, std::ssize(at_this_rate) / 3);
  const double first = Median({at_this_rate.begin(), at_this_rate.begin() + third});
  const double last = Median({at_this_rate.end() - third, at_this_rate.end()});
  const std::string text = fmt::format("at learning rates of {} and more the loss had gone from {} to {} before",
                                       FormatNumber(here), FormatNumber(first), FormatNumber(last));
  if (last < 0.97 * first) return Yes(text, incident.onset, last);
  return last > 1.05 * first ? No(text, incident.onset, last) : Unknown();
}

struct Jump {
  std::int64_t step = model::kNoStep;
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
    if (size > largest.size) largest = {rates.steps[i], before, after, size};
  }
  return largest;
}

Answer LrJumpAtOnset(const model::Run& run, const Incident& incident) {
  if (const model::Finding* found = incident.Find("lr/schedule-break")) return Yes(found->message, found->first_step);
  const Stretch rates = SegmentAt(run.Find("lr"), incident.onset);
  if (incident.onset == model::kNoStep || rates.size() < 8) return Unknown();
  const auto reach = static_cast<std::int64_t>(std::max(3.0, 4 * rates.interval));
  const Stretch near = rates.Between(incident.onset - reach, incident.onset + reach / 2);
  if (near.size() < 3) return Unknown();
  const Jump jump = LargestJump(near);
  // A warm-up from almost nothing multiplies the rate at first; a break is a jump where the schedule was smooth.
  const bool in_ramp = jump.step != model::kNoStep && jump.after > jump.before &&
                       jump.after <= 1.05 * Largest(rates.First(16)) &&
                       jump.step <= rates.steps[std::min<std::size_t>(15, rates.size() - 1)];
  const double smooth = stats::NoiseSigma(Logs(FiniteValues(rates)));
  if (jump.size > 0.5 && jump.size > 10 * smooth && !in_ramp)
    return Yes(fmt::format("the learning rate jumped from {} to {} at step {}", FormatNumber(jump.before),
                           FormatNumber(jump.after), jump.step),
               jump.step, jump.after);
  if (jump.size < 0.2)
    return No(fmt::format("the learning rate changed smoothly around step {}", incident.onset), incident.onset);
  return Unknown();
}

// Under a loss scaler an overflow skips the optimizer step and with it the scheduler's: the rate stands still, at 0
// when the very first steps overflow.
Answer StepsSkipped(const model::Run& run, const Incident& incident) {
  if (!incident.Has("grad/non-finite")) return Moot();
  const Course lr = LastCourse(run.Find("lr"));
  const Course norm = LastCourse(run.Find("grad_norm"));
  const Stretch rates = lr.View();
  if (rates.size() < 8 || norm.size() < 8 || rates.interval > 1) return Unknown();
  std::size_t bad = 0;
  std::size_t still = 0;
  for (std::size_t i = 1; i < norm.size(); ++i) {
    if (std::isfinite(norm.values[i])) continue;
    ++bad;
    if (ValueAt(rates, norm.steps[i]) == ValueAt(rates, norm.steps[i] - 1)) ++still;
  }
  if (bad < 3 || Largest(rates) == Smallest(rates)) return Unknown();
  const std::string text =
      fmt::format("the learning rate stood still on {} of {} steps with a non-finite gradient", still, bad);
  if (10 * still >= 8 * bad) return Yes(text + ": a loss scaler skipped them", incident.onset);
  return 10 * still <= 3 * bad ? No(text, incident.onset) : Unknown();
}

Answer LrIsZero(const model::Run& run, const Incident& incident) {
  // A rate that stands still because steps were skipped is no matter of the schedule.
  if (StepsSkipped(run, incident).verdict == Verdict::kYes) return Moot();
  if (const model::Finding* found = incident.Find("lr/zero")) return Yes(found->message, found->first_step, 0.0);
  const Course course = LastCourse(run.Find("lr"));
  const Stretch all = course.View();
  const Stretch during =
      incident.onset == model::kNoStep ? all : all.Between(incident.onset, std::max(incident.last, incident.onset));
  if (during.size() >= 3) {
    const auto zeros = std::count(during.values.begin(), during.values.end(), 0.0);
    if (2 * zeros > std::ssize(during.values))
      return Yes(fmt::format("the learning rate is 0 on {} of {} logged steps", zeros, during.size()), during.steps[0],
                 0.0);
    if (Largest(during) > 0)
      return No(fmt::format("the learning rate is above 0 (up to {})", FormatNumber(Largest(during))), during.steps[0],
                Largest(during));
  }
  const auto stated = run.FactNumber("lr");
  if (!stated) return Unknown();
  return *stated == 0
             ? Yes("the configured learning rate is 0", model::kNoStep, 0.0)
             : No(fmt::format("the configured learning rate is {}", FormatNumber(*stated)), model::kNoStep, *stated);
}

constexpr std::array kTests = {
    NamedTest{"lr-above-band", LrAboveBand},
    NamedTest{"lr-far-above-band", LrFarAboveBand},
    NamedTest{"lr-beyond-all-use", LrBeyondAllUse},
    NamedTest{"lr-below-band", LrBelowBand},
    NamedTest{"at-lr-peak", AtLrPeak},
    NamedTest{"no-warmup-ramp", NoWarmupRamp},
    NamedTest{"loss-follows-lr", LossFollowsLr},
    NamedTest{"lr-jump-at-onset", LrJumpAtOnset},
    NamedTest{"lr-is-zero", LrIsZero},
    NamedTest{"survived-the-rate", SurvivedTheRate},
    NamedTest{"steps-skipped", StepsSkipped},
};

}  // namespace

std::span<const NamedTest> LearningRateTests() { return kTests; }

}  // namespace vigil::diagnose
