// Evidence about how a blow-up began: slowly or at once, in the gradients or in the loss, and how large the gradients
// were.
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

// With more steps between two points than this, "nothing was seen before" means nothing: documented climbs take one to
// thirty steps.
constexpr double kFineLogging = 5;

// Of fewer counts, on whatever axis, a share says little: epoch 1 of 3 may be any step of the first third.
constexpr double kFewestCounts = 50;

// A norm that was logged after clipping shows the limit, not the gradient.
bool IsCutByClipping(const RunView& run) {
  const model::Series* norm = run.Find("grad_norm");
  return norm != nullptr && norm->clipping == model::Clipping::kAfter;
}

Answer GradClimbedFirst(const RunView& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known() || IsCutByClipping(run)) return Unknown();
  const Rise rise = RiseBefore(blow_up.grad, blow_up.lost_at);
  if (!rise.known) return Unknown();
  // One high point is a jump, which a single batch can make; a climb has at least two.
  if (rise.elevated >= 2) {
    return Yes(
        says::GradClimbedFirstYes{
            .usual = rise.usual, .last = rise.last, .points = rise.elevated, .at = blow_up.lost_at},
        rise.since, rise.last);
  }
  if (rise.elevated == 0 && IsLoggedEvery(blow_up.grad, kFineLogging)) {
    return No(says::GradClimbedFirstNo{.at = blow_up.lost_at, .last = rise.last, .usual = rise.usual}, blow_up.lost_at,
              rise.last);
  }
  return Unknown();
}

// The counterpart of a climb. It needs more points: the absence of something is shown only by many of them.
Answer GradFlatBefore(const RunView& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known() || IsCutByClipping(run) || !IsLoggedEvery(blow_up.grad, kFineLogging)) return Unknown();
  const Rise rise = RiseBefore(blow_up.grad, blow_up.lost_at);
  if (!rise.known || rise.points < 8) return Unknown();
  const double highest = Quantile(FiniteValues(blow_up.grad.Before(blow_up.lost_at).Last(4)), 1.0);
  if (rise.elevated == 0 && highest < 3 * rise.usual) {
    return Yes(says::GradFlatBeforeYes{.last = rise.last, .usual = rise.usual, .at = blow_up.lost_at}, blow_up.lost_at,
               rise.last);
  }
  if (rise.elevated < 2) return Unknown();
  return No(says::GradFlatBeforeNo{.times = rise.last / rise.usual}, rise.since, rise.last);
}

// Both of the last two points must be high: one alone is noise.
Answer LossRoseFirst(const RunView& run, const Incident& incident) {
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
    return Yes(says::LossRoseFirstYes{.usual = level, .last = before.back(), .at = blow_up.lost_at}, blow_up.lost_at,
               before.back());
  }
  if (before.back() < level + 3 * noise && IsLoggedEvery(blow_up.loss, kFineLogging)) {
    return No(says::LossRoseFirstNo{.last = before.back(), .at = blow_up.lost_at}, blow_up.lost_at, before.back());
  }
  return Unknown();
}

// The norm is named only where there was one.
model::Statement AlreadyUnusual(const BlowUp& blow_up, double loss, const Rise& norm) {
  if (!norm.known) return says::NothingAnnouncedNoLoss{.at = blow_up.lost_at, .loss = loss};
  return says::NothingAnnouncedNo{.at = blow_up.lost_at, .loss = loss, .norm = norm.last};
}

model::Statement NothingUnusual(const BlowUp& blow_up, double loss, const Rise& norm) {
  if (!norm.known) return says::NothingAnnouncedYesLoss{.at = blow_up.lost_at, .loss = loss};
  return says::NothingAnnouncedYes{.at = blow_up.lost_at, .loss = loss, .norm = norm.last};
}

// For logs too coarse to show a climb: at the last logged point before, nothing was unusual yet.
Answer NothingAnnounced(const RunView& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.non_finite || IsLoggedEvery(blow_up.loss, kFineLogging)) return Moot();
  const Rise norm = RiseBefore(blow_up.grad, blow_up.lost_at);
  const std::vector<double> losses = FiniteValues(blow_up.loss.Before(blow_up.lost_at).Last(64));
  if (losses.size() < 4) return Unknown();
  const double usual = Median({losses.end() - std::min<std::ptrdiff_t>(8, std::ssize(losses)), losses.end() - 1});
  const bool loss_rose = losses.back() > 1.1 * usual + 3 * stats::NoiseSigma(losses);
  const bool rose = loss_rose || norm.elevated > 0;
  return rose ? No(AlreadyUnusual(blow_up, losses.back(), norm), blow_up.lost_at, losses.back())
              : Yes(NothingUnusual(blow_up, losses.back(), norm), blow_up.lost_at, losses.back());
}

// What was usual in this part of the run; the beginning of a long one was another phase.
std::vector<double> NormsBefore(const RunView& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known() || IsCutByClipping(run)) return {};
  return FiniteValues(blow_up.grad.Before(blow_up.lost_at).Last(256));
}

Answer NormsAboveLimit(const RunView& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const std::vector<double> norms = NormsBefore(run, incident);
  if (norms.size() < 5) return Unknown();
  const double high = Quantile(norms, 0.9);
  const double highest = Quantile(norms, 1.0);
  if (high > 5) return Yes(says::NormsAboveLimitYes{.high = high}, incident.onset, high);
  if (highest < 3) return No(says::NormsAboveLimitNo{.highest = highest}, incident.onset, highest);
  return Unknown();
}

// Two outliers at least: one may be the failure itself, logged a step early.
Answer NormsHeavyTailed(const RunView& run, const Incident& incident) {
  if (!incident.HasBlowUp()) return Moot();
  const std::vector<double> norms = NormsBefore(run, incident);
  if (norms.size() < 20) return Unknown();
  const double middle = Median(norms);
  const double highest = Quantile(norms, 1.0);
  if (!(middle > 0)) return Unknown();
  const auto outliers = std::count_if(norms.begin(), norms.end(), [&](double norm) { return norm > 8 * middle; });
  if (outliers >= 2)
    return Yes(
        says::NormsHeavyTailedYes{.outliers = outliers, .points = norms.size(), .median = middle, .highest = highest},
        incident.onset, highest);
  if (highest < 4 * middle) return No(says::NormsHeavyTailedNo{.median = middle}, incident.onset, highest);
  return Unknown();
}

Answer ClippingOff(const RunView& run, const Incident&) {
  const Clipping clipping = ClippingOf(run);
  if (clipping.state == Clip::kOff) return Yes(says::ClippingOffYes{});
  if (clipping.state == Clip::kUnknown) return Unknown();
  if (clipping.stated) return No(says::ClippingOffNo{.limit = clipping.limit});
  return No(says::ClippingOffNoDefault{.limit = clipping.limit});
}

Answer LossAboveStart(const RunView& run, const Incident& incident) {
  const Course course = LastCourse(run, "loss");
  const Stretch all = course.View();
  if (IsReinforcement(run)) return Moot();
  if (all.size() < 6 || !incident.onset.known()) return Unknown();
  const double start = Median(FiniteValues(all.First(3)));
  std::vector<double> during = FiniteValues(all.Between(incident.onset, incident.last));
  // A circumstance has no duration of its own: what came after it counts.
  if (IsCompanion(incident.root().id)) during = FiniteValues(all.From(incident.onset).First(64));
  if (!(start > 0) || during.size() < 3) return Unknown();
  const double noise = stats::NoiseSigma(FiniteValues(all));
  const double high = Quantile(during, 0.8);
  if (high > 1.1 * start && high > start + 3 * noise)
    return Yes(says::LossAboveStartYes{.high = high, .start = start}, incident.onset, high);
  if (Quantile(during, 0.95) < 1.05 * start) return No(says::LossAboveStartNo{.start = start}, incident.onset, high);
  return Unknown();
}

// A handful of steps is the very start of any run; a handful of epochs is not.
bool IsAmongTheFirst(const RunView& run, model::Position at) {
  constexpr double kHandful = 5;
  const auto steps = StepsUntil(run.axes(), at);
  return steps && *steps <= kHandful;
}

Answer EarlyFailure(const RunView& run, const Incident& incident) {
  // A loss that never fell has no moment at which it failed.
  // A circumstance of the start is early by definition.
  if (incident.IsPassive() || IsCompanion(incident.root().id)) return Moot();
  if (!incident.onset.known()) return Unknown();
  const model::Position at = incident.onset;
  // The length on the axis of the onset: an epoch is no share of a number of steps.
  const RunEnd end = EndOf(run, at.axis());
  if (end.length() < kFewestCounts) return Unknown();
  const double share = static_cast<double>(at.value()) / end.length();
  if (share <= 0.05 || IsAmongTheFirst(run, at)) {
    if (end.planned) return Yes(says::EarlyFailureYes{.at = at, .end = end.length()}, at);
    return Yes(says::EarlyFailureYesLogged{.at = at, .end = end.length()}, at);
  }
  if (end.planned) return No(says::EarlyFailureNo{.at = at, .end = end.length()}, at);
  return share > 0.2 ? No(says::EarlyFailureNoLogged{.at = at, .end = end.length()}, at) : Unknown();
}

Answer SpikesKeepComing(const RunView&, const Incident& incident) {
  std::size_t spikes = std::max(incident.Count("loss/spike"), incident.Count("grad/spike"));
  for (const model::Finding* finding : incident.findings) {
    const double count = finding->id.ends_with("/spike") ? finding->MeasureOr("count", 1) : 0;
    if (count > static_cast<double>(spikes) && count < 1e9) spikes = static_cast<std::size_t>(count);
  }
  if (spikes == 0) return Moot();
  if (spikes >= 4) return Yes(says::SpikesKeepComingYes{.spikes = spikes, .at = incident.onset}, incident.onset);
  if (spikes == 1) return No(says::SpikesKeepComingNo{.at = incident.onset}, incident.onset);
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
