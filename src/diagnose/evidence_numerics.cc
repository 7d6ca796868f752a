// Evidence about numbers and data: precision, the loss scale, which value was non-finite first, whether it healed and
// whether it comes back.
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

std::vector<std::int64_t> NonFiniteSteps(const Stretch& stretch, std::size_t at_most) {
  std::vector<std::int64_t> steps;
  for (std::size_t i = 0; i < stretch.size() && steps.size() < at_most; ++i) {
    if (!std::isfinite(stretch.values[i])) steps.push_back(stretch.steps[i]);
  }
  return steps;
}

Answer LossScaleCollapsed(const model::Run& run, const Incident& incident) {
  if (const model::Finding* found = incident.Find("numerics/loss-scale-collapse"))
    return Yes(found->message, found->first_step);
  const Precision precision = PrecisionOf(run);
  if (precision == Precision::kBf16 || precision == Precision::kFp32) return Moot();
  const Course course = LastCourse(run.Find("loss_scale"));
  const Stretch all = course.View();
  if (all.size() < 3 || incident.onset == model::kNoStep) return Unknown();
  const double before = Largest(all.Before(incident.onset + 1).Last(64));
  const double lowest = Smallest(all.From(incident.onset));
  if (!(before > 0) || !(lowest >= 0)) return Unknown();
  const std::string text = fmt::format("the loss scale went from {} to {}", FormatNumber(before), FormatNumber(lowest));
  // Six halvings without regaining them; a healthy scaler loses one now and then.
  if (lowest < before / 64 || (lowest <= 1 && before >= 8)) return Yes(text, incident.onset, lowest);
  if (lowest >= before / 4) return No(text + ", as a healthy scaler does", incident.onset, lowest);
  return Unknown();
}

Answer Fp16InUse(const model::Run& run, const Incident&) {
  switch (PrecisionOf(run)) {
    case Precision::kFp16:
      return Yes("the run trains in fp16, whose largest value is 65504");
    case Precision::kBf16:
      return No("the run trains in bf16, which has the range of fp32");
    case Precision::kFp32:
      return No("the run trains in fp32");
    case Precision::kFp8:
      return No("the run trains in fp8");
    case Precision::kUnknown:
      break;
  }
  // Only fp16 needs a loss scale.
  const model::Series* scale = run.Find("loss_scale");
  if (scale != nullptr && Largest(LastCourse(scale).View()) > 1)
    return Yes("the run logs a loss scale, which only fp16 needs");
  return Unknown();
}

// Whether the values after the last bad point are as those before the first one.
Answer Healed(const Stretch& stretch, std::int64_t first_bad, std::int64_t last_bad, bool loss) {
  const std::vector<double> before = FiniteValues(stretch.Before(first_bad).Last(16));
  const Stretch rest = stretch.From(last_bad + 1);
  const std::vector<double> after = FiniteValues(rest);
  if (after.size() < 5) return Unknown();
  if (2 * after.size() < rest.size()) return No(fmt::format("it stayed from step {} on", first_bad), first_bad);
  if (before.size() >= 3 && loss) {
    const double level = Median(before);
    const double later =
        Median(std::vector<double>(after.begin(), after.begin() + std::min<std::ptrdiff_t>(32, std::ssize(after))));
    if (later > level + 4 * stats::NoiseSigma(before) + 0.15 * std::abs(level))
      return No(fmt::format("the loss stayed at {} afterwards, {} before", FormatNumber(later), FormatNumber(level)),
                last_bad, later);
  }
  return Yes(fmt::format("one bad stretch (steps {} to {}), and the run went on as before", first_bad, last_bad),
             first_bad);
}

Answer HealedNonFinite(const Stretch& stretch, bool loss) {
  const std::vector<std::int64_t> bad = NonFiniteSteps(stretch, stretch.size());
  if (bad.empty()) return Unknown();
  const double share = static_cast<double>(bad.size()) / static_cast<double>(stretch.size());
  const std::size_t after = stretch.From(bad.back() + 1).size();
  if (after == 0 && bad.size() >= 5)
    return No(fmt::format("non-finite from step {} to the end", bad.front()), bad.front());
  if (share > 0.5)
    return No(fmt::format("{} of {} logged values are non-finite", bad.size(), stretch.size()), bad.front());
  if (after < 5) return Unknown();
  return Healed(stretch, bad.front(), bad.back(), loss);
}

Answer IsolatedBadStep(const model::Run& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.known()) return Unknown();
  if (const model::Finding* diverged = incident.Has("loss/divergence") ? incident.Find("loss/divergence") : nullptr) {
    const bool came_back = diverged->MeasureOr("came_back", 0) > 0;
    return No(came_back ? "the loss came back only late" : "the loss did not come back", incident.onset);
  }
  if (blow_up.non_finite) {
    // The gradient norm cannot be papered over by a logger's filter; the loss can.
    const Answer by_norm = HealedNonFinite(blow_up.grad, false);
    return by_norm.verdict != Verdict::kUnknown ? by_norm : HealedNonFinite(blow_up.loss, true);
  }
  const model::Finding* spike = incident.Has("loss/spike") ? incident.Find("loss/spike") : incident.Find("grad/spike");
  if (spike == nullptr || spike->first_step == model::kNoStep) return Unknown();
  return Healed(blow_up.loss, spike->first_step, std::max(spike->first_step, spike->last_step), true);
}

bool IsAbsent(double value) { return !std::isfinite(value) || value == 0; }

// Nothing can have gone wrong by training when the very first forward pass is already bad.
Answer BadFromFirstStep(const model::Run& run, const Incident& incident) {
  const Course course = LastCourse(run.Find("loss"));
  const Stretch loss = course.View();
  if (loss.empty() || incident.onset == model::kNoStep) return Unknown();
  const auto usable =
      std::find_if(loss.values.begin(), loss.values.end(), [](double value) { return !IsAbsent(value); });
  if (usable == loss.values.end() && loss.size() >= 3) {
    // A first point that stands for many steps may hide a healthy beginning.
    if (loss.steps[0] > 3 &&
        !std::all_of(loss.values.begin(), loss.values.end(), [](double value) { return value == 0; }))
      return Unknown();
    return Yes(fmt::format("not one usable loss from the first logged step {} on ({})", loss.steps[0],
                           FormatNumber(loss.values[0])),
               loss.steps[0], loss.values[0]);
  }
  if (usable == loss.values.end()) return Unknown();
  const auto at = static_cast<std::size_t>(usable - loss.values.begin());
  return No(fmt::format("the loss was {} at step {}", FormatNumber(*usable), loss.steps[at]), loss.steps[at], *usable);
}

Answer FiniteLossBadGrad(const model::Run& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  if (!blow_up.non_finite) return Moot();
  const std::vector<std::int64_t> bad = NonFiniteSteps(blow_up.grad, 1);
  if (bad.empty() || MayHideNonFinite(run)) return Unknown();
  const double loss = ValueAt(blow_up.loss, bad.front());
  const Stretch here = blow_up.loss.Between(bad.front(), bad.front());
  if (here.empty()) return Unknown();
  if (std::isfinite(loss))
    return Yes(
        fmt::format("grad_norm was non-finite at step {} while the loss was still {}", bad.front(), FormatNumber(loss)),
        bad.front(), loss);
  return No(fmt::format("the loss itself was non-finite at step {}", bad.front()), bad.front());
}

// The first step of each non-finite stretch that finite values came before.
std::vector<std::int64_t> BadStretches(const Stretch& stretch) {
  std::vector<std::int64_t> starts;
  for (std::size_t i = 1; i < stretch.size(); ++i) {
    if (!std::isfinite(stretch.values[i]) && std::isfinite(stretch.values[i - 1])) starts.push_back(stretch.steps[i]);
  }
  return starts;
}

std::vector<std::int64_t> BadSteps(const model::Run& run, const Incident& incident) {
  const BlowUp blow_up = FindBlowUp(run, incident);
  std::vector<std::int64_t> steps = BadStretches(blow_up.grad.empty() ? blow_up.loss : blow_up.grad);
  if (!steps.empty()) return steps;
  for (const model::Finding* finding : incident.findings) {
    if (finding->id == "loss/spike" && finding->first_step != model::kNoStep) steps.push_back(finding->first_step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

// The same sample comes by once an epoch.
Answer BadStepsRepeat(const model::Run& run, const Incident& incident) {
  // What is lost for good cannot come back.
  if (IsolatedBadStep(run, incident).verdict == Verdict::kNo) return Moot();
  const std::vector<std::int64_t> steps = BadSteps(run, incident);
  if (steps.size() < 3) return Unknown();
  std::vector<double> gaps;
  for (std::size_t i = 1; i < steps.size(); ++i) gaps.push_back(static_cast<double>(steps[i] - steps[i - 1]));
  const double period = Median(gaps);
  if (period < 5) return Unknown();
  // Shuffling moves a sample within its epoch; without shuffling the period is exact.
  const bool regular =
      std::all_of(gaps.begin(), gaps.end(), [&](double gap) { return std::abs(gap - period) <= 0.05 * period; });
  if (regular)
    return Yes(fmt::format("bad steps come back every {} steps ({} times)", FormatNumber(period), steps.size()),
               steps.front());
  return No(fmt::format("bad steps come at irregular distances ({} of them)", steps.size()), steps.front());
}

Answer FailsAgainAtSameStep(const model::Run& run, const Incident&) {
  const model::Series* series = run.Find("loss");
  if (series == nullptr || series->segment_starts.size() < 2) return Unknown();
  std::vector<std::int64_t> first_bad;
  for (std::size_t i = 0; i < series->segment_starts.size(); ++i) {
    const std::size_t begin = series->segment_starts[i];
    const std::size_t end = i + 1 < series->segment_starts.size() ? series->segment_starts[i + 1] : series->size();
    for (std::size_t at = begin; at < end; ++at) {
      if (std::isfinite(series->values[at])) continue;
      first_bad.push_back(series->steps[at]);
      break;
    }
  }
  if (first_bad.size() < 2) return Unknown();
  const auto [low, high] = std::minmax_element(first_bad.begin(), first_bad.end());
  const double interval = std::max(1.0, IntervalOf(*series));
  if (static_cast<double>(*high - *low) <= interval)
    return Yes(fmt::format("every restart fails again at step {}", *low), *low);
  return No(fmt::format("restarts fail at different steps ({} and {})", *low, *high), *low);
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
