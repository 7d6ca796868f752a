// Evidence about how a blow-up began: slowly or at once, in the gradients or in the loss, and how large the gradients
// were.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "diagnose/blow_up.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

// With more steps between two points than this, "nothing was seen before" means nothing: documented climbs take one to
// thirty steps.
constexpr double kFineLogging = 5;

constexpr std::int64_t kFewestSteps = 50;

bool IsCutByClipping(const model::Run& run) {
  const model::Series* norm = run.Find("grad_norm");
  return norm != nullptr && norm->clipping == model::Clipping::kAfter;
}

std::string Points(std::size_t count) { return fmt::format("{} logged step{}", count, count == 1 ? "" : "s"); }

Answer GradClimbedFirst(const model::Run& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known() || IsCutByClipping(run)) return Unknown();
  const Rise rise = RiseBefore(blow_up.grad, blow_up.lost_at);
  if (!rise.known) return Unknown();
  // One high point is a jump, which a single batch can make; a climb has at least two.
  if (rise.elevated >= 2) {
    return Yes(fmt::format("grad_norm climbed from {} to {} over {} before the loss was lost at step {}",
                           FormatNumber(rise.usual), FormatNumber(rise.last), Points(rise.elevated), blow_up.lost_at),
               rise.since, rise.last);
  }
  if (rise.elevated == 0 && blow_up.grad.interval <= kFineLogging) {
    return No(fmt::format("grad_norm did not climb before step {} ({} where {} is usual)", blow_up.lost_at,
                          FormatNumber(rise.last), FormatNumber(rise.usual)),
              blow_up.lost_at, rise.last);
  }
  return Unknown();
}

Answer GradFlatBefore(const model::Run& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known() || IsCutByClipping(run) || blow_up.grad.interval > kFineLogging) return Unknown();
  const Rise rise = RiseBefore(blow_up.grad, blow_up.lost_at);
  if (!rise.known || rise.points < 8) return Unknown();
  const double highest = Quantile(FiniteValues(blow_up.grad.Before(blow_up.lost_at).Last(4)), 1.0);
  if (rise.elevated == 0 && highest < 3 * rise.usual) {
    return Yes(fmt::format("grad_norm was flat ({}, usual {}) up to the step before {}", FormatNumber(rise.last),
                           FormatNumber(rise.usual), blow_up.lost_at),
               blow_up.lost_at, rise.last);
  }
  return rise.elevated >= 2
             ? No(fmt::format("grad_norm was already {} times its usual level", FormatNumber(rise.last / rise.usual)),
                  rise.since, rise.last)
             : Unknown();
}

Answer LossRoseFirst(const model::Run& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.non_finite) return Moot();
  const std::vector<double> before = FiniteValues(blow_up.loss.Before(blow_up.lost_at).Last(128));
  if (before.size() < 6) return Unknown();
  const std::vector<double> earlier(before.begin(), before.end() - 2);
  const double level =
      Median(std::vector<double>(earlier.end() - std::min<std::ptrdiff_t>(16, std::ssize(earlier)), earlier.end()));
  const double noise = std::max(stats::NoiseSigma(earlier), 1e-3 * std::abs(level));
  const double lowest_of_last = std::min(before[before.size() - 1], before[before.size() - 2]);
  if (lowest_of_last > level + 5 * noise && lowest_of_last > 1.1 * level) {
    return Yes(fmt::format("the loss had already risen from {} to {} before step {}", FormatNumber(level),
                           FormatNumber(before.back()), blow_up.lost_at),
               blow_up.lost_at, before.back());
  }
  if (before.back() < level + 3 * noise && blow_up.loss.interval <= kFineLogging) {
    return No(fmt::format("the loss was as usual ({}) up to the step before {}", FormatNumber(before.back()),
                          blow_up.lost_at),
              blow_up.lost_at, before.back());
  }
  return Unknown();
}

// For logs too coarse to show a climb: at the last logged point before, nothing was unusual yet.
Answer NothingAnnounced(const model::Run& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.non_finite || blow_up.loss.interval <= kFineLogging) return Moot();
  const Rise norm = RiseBefore(blow_up.grad, blow_up.lost_at);
  const std::vector<double> losses = FiniteValues(blow_up.loss.Before(blow_up.lost_at).Last(64));
  if (losses.size() < 4) return Unknown();
  const double usual = Median({losses.end() - std::min<std::ptrdiff_t>(8, std::ssize(losses)), losses.end() - 1});
  const bool loss_rose = losses.back() > 1.1 * usual + 3 * stats::NoiseSigma(losses);
  if (loss_rose || norm.elevated > 0)
    return No(fmt::format("already at the last logged point before step {} the loss was {} and grad_norm {}",
                          blow_up.lost_at, FormatNumber(losses.back()), FormatNumber(norm.last)),
              blow_up.lost_at, losses.back());
  return Yes(fmt::format("nothing was unusual at the last logged point before step {} (loss {}{})", blow_up.lost_at,
                         FormatNumber(losses.back()),
                         norm.known ? fmt::format(", grad_norm {}", FormatNumber(norm.last)) : ""),
             blow_up.lost_at, losses.back());
}

std::vector<double> NormsBefore(const model::Run& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known() || IsCutByClipping(run)) return {};
  return FiniteValues(blow_up.grad.Before(blow_up.lost_at).Last(256));
}

Answer NormsAboveLimit(const model::Run& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const std::vector<double> norms = NormsBefore(run, incident);
  if (norms.size() < 5) return Unknown();
  const double high = Quantile(norms, 0.9);
  const double highest = Quantile(norms, 1.0);
  if (high > 5)
    return Yes(fmt::format("one in ten gradient norms before it is above {}", FormatNumber(high)), incident.onset,
               high);
  if (highest < 3)
    return No(fmt::format("gradient norms before it are within limits (at most {})", FormatNumber(highest)),
              incident.onset, highest);
  return Unknown();
}

Answer NormsHeavyTailed(const model::Run& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const std::vector<double> norms = NormsBefore(run, incident);
  if (norms.size() < 20) return Unknown();
  const double middle = Median(norms);
  const double highest = Quantile(norms, 1.0);
  if (!(middle > 0)) return Unknown();
  const auto outliers = std::count_if(norms.begin(), norms.end(), [&](double norm) { return norm > 8 * middle; });
  if (outliers >= 2)
    return Yes(fmt::format("{} of {} gradient norms before it are more than 8 times the median {} (up to {})", outliers,
                           norms.size(), FormatNumber(middle), FormatNumber(highest)),
               incident.onset, highest);
  if (highest < 4 * middle)
    return No(fmt::format("no gradient norm before it is above 4 times the median {}", FormatNumber(middle)),
              incident.onset, highest);
  return Unknown();
}

Answer ClippingOff(const model::Run& run, const Incident&) {
  const Clipping clipping = ClippingOf(run);
  if (clipping.state == Clip::kOff) return Yes("gradient clipping is off in the configuration");
  if (clipping.state == Clip::kUnknown) return Unknown();
  return No(clipping.stated ? fmt::format("gradients are clipped at {}", FormatNumber(clipping.limit))
                            : "gradients are clipped at 1.0 by the trainer's default");
}

Answer LossAboveStart(const model::Run& run, const Incident& incident) {
  const Course course = LastCourse(run.Find("loss"));
  const Stretch all = course.View();
  if (IsReinforcement(run)) return Moot();
  if (all.size() < 6 || incident.onset == model::kNoStep) return Unknown();
  const double start = Median(FiniteValues(all.First(3)));
  std::vector<double> during = FiniteValues(all.Between(incident.onset, std::max(incident.last, incident.onset)));
  // A circumstance has no duration of its own: what came after it counts.
  if (IsCompanion(incident.root().id)) during = FiniteValues(all.From(incident.onset).First(64));
  if (!(start > 0) || during.size() < 3) return Unknown();
  const double noise = stats::NoiseSigma(FiniteValues(all));
  const double high = Quantile(during, 0.8);
  if (high > 1.1 * start && high > start + 3 * noise)
    return Yes(
        fmt::format("the loss rose to {}, above the {} it started with", FormatNumber(high), FormatNumber(start)),
        incident.onset, high);
  if (Quantile(during, 0.95) < 1.05 * start)
    return No(fmt::format("the loss stayed below the {} it started with", FormatNumber(start)), incident.onset, high);
  return Unknown();
}

Answer EarlyFailure(const model::Run& run, const Incident& incident) {
  // A loss that never fell has no moment at which it failed.
  // A circumstance of the start is early by definition.
  if (incident.IsPassive() || IsCompanion(incident.root().id)) return Moot();
  if (incident.onset == model::kNoStep) return Unknown();
  const std::int64_t steps = PlannedOrSeenSteps(run);
  const bool planned = run.planned_steps > 0 || run.FactNumber("max_steps").has_value();
  // In a handful of steps everything is early.
  if (steps < kFewestSteps) return Unknown();
  const double share = static_cast<double>(incident.onset) / static_cast<double>(steps);
  const std::string where = fmt::format("it began at step {} of {}{}", incident.onset, steps, planned ? "" : " logged");
  if (share <= 0.05 || incident.onset <= 5) return Yes(where + ", at the very start", incident.onset);
  if (planned || share > 0.2) return No(where, incident.onset);
  return Unknown();
}

Answer SpikesKeepComing(const model::Run&, const Incident& incident) {
  std::size_t spikes = std::max(incident.Count("loss/spike"), incident.Count("grad/spike"));
  for (const model::Finding* finding : incident.findings) {
    const double count = finding->id.ends_with("/spike") ? finding->MeasureOr("count", 1) : 0;
    if (count > static_cast<double>(spikes) && count < 1e9) spikes = static_cast<std::size_t>(count);
  }
  if (spikes == 0) return Moot();
  if (spikes >= 4) return Yes(fmt::format("{} spikes, the first at step {}", spikes, incident.onset), incident.onset);
  if (spikes == 1) return No(fmt::format("a single spike, at step {}", incident.onset), incident.onset);
  return Unknown();
}

constexpr std::array kTests = {
    NamedTest{"grad-climbed-first", GradClimbedFirst}, NamedTest{"grad-flat-before", GradFlatBefore},
    NamedTest{"loss-rose-first", LossRoseFirst},       NamedTest{"norms-above-limit", NormsAboveLimit},
    NamedTest{"norms-heavy-tailed", NormsHeavyTailed}, NamedTest{"clipping-off", ClippingOff},
    NamedTest{"loss-above-start", LossAboveStart},     NamedTest{"early-failure", EarlyFailure},
    NamedTest{"spikes-keep-coming", SpikesKeepComing}, NamedTest{"nothing-announced", NothingAnnounced},
};

}  // namespace

std::span<const NamedTest> BlowUpTests() { return kTests; }

}  // namespace vigil::diagnose
