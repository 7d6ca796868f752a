// Evidence about restarts: whether the trouble began at one, and what was not restored there.
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

// Whether the values from `at` on are those with which the series began, and not those that it had reached.
bool BeginsAgain(const model::Series& series, std::size_t at) {
  constexpr std::size_t kCompared = 3;
  if (at < kCompared + 1 || at + kCompared > series.size()) return false;
  const auto near = [](double a, double b) { return std::abs(a - b) <= 0.05 * std::max(std::abs(a), std::abs(b)); };
  for (std::size_t i = 0; i < kCompared; ++i) {
    if (!near(series.values[at + i], series.values[i])) return false;
  }
  return !near(series.values[at], series.values[at - 1]);
}

// A learning rate that begins again right behind a saved checkpoint: the run went on from it, whatever the log says.
std::vector<std::int64_t> RestartsSeenInTheRate(const model::Run& run) {
  std::vector<std::int64_t> steps;
  const model::Series* lr = run.Find("lr");
  if (lr == nullptr) return steps;
  for (const model::Event& event : run.events) {
    if (event.kind != model::EventKind::kCheckpoint || event.step == model::kNoStep) continue;
    const auto behind = std::upper_bound(lr->steps.begin(), lr->steps.end(), event.step);
    if (BeginsAgain(*lr, static_cast<std::size_t>(behind - lr->steps.begin()))) steps.push_back(event.step);
  }
  return steps;
}

// Steps from which a restarted run went on: where a series goes back, where the log says so, and where the rate shows
// it.
std::vector<std::int64_t> RestartSteps(const model::Run& run) {
  std::vector<std::int64_t> steps;
  for (const std::string_view signal : {"loss", "lr"}) {
    const model::Series* series = run.Find(signal);
    if (series == nullptr) continue;
    for (std::size_t i = 1; i < series->segment_starts.size(); ++i)
      steps.push_back(series->steps[series->segment_starts[i]]);
  }
  for (const model::Event& event : run.events) {
    if (event.kind == model::EventKind::kResume && event.step != model::kNoStep) steps.push_back(event.step);
  }
  const std::vector<std::int64_t> seen = RestartsSeenInTheRate(run);
  steps.insert(steps.end(), seen.begin(), seen.end());
  return steps;
}

std::int64_t SlackSteps(const model::Run& run) {
  const model::Series* loss = run.Find("loss");
  const double interval = loss == nullptr ? 1 : std::max(1.0, IntervalOf(*loss));
  return static_cast<std::int64_t>(std::max({5.0, 3 * interval, static_cast<double>(LastStep(run)) / 100}));
}

// The restart nearest to the onset, kNoStep when none is near.
std::int64_t RestartAtOnset(const model::Run& run, const Incident& incident) {
  for (const model::Finding* finding : incident.findings) {
    if (finding->id == "loss/resume-jump" || finding->id.starts_with("resume/")) return finding->first_step;
  }
  std::int64_t nearest = model::kNoStep;
  for (const std::int64_t step : RestartSteps(run)) {
    const std::int64_t distance = std::abs(step - incident.onset);
    if (distance <= SlackSteps(run) && (nearest == model::kNoStep || distance < std::abs(nearest - incident.onset)))
      nearest = step;
  }
  return nearest;
}

Answer ResumeAtOnset(const model::Run& run, const Incident& incident) {
  if (incident.onset == model::kNoStep) return Unknown();
  const std::int64_t restart = RestartAtOnset(run, incident);
  if (restart != model::kNoStep) return Yes(fmt::format("the run was restarted at step {}", restart), restart);
  const bool resumed = std::any_of(run.events.begin(), run.events.end(),
                                   [](const model::Event& event) { return event.kind == model::EventKind::kResume; });
  if (resumed && RestartSteps(run).empty()) return Unknown();
  return No(resumed ? "no restart near it" : "the run was not restarted");
}

// Values of a signal on both sides of a restart, in the order they were written.
struct Sides {
  std::vector<double> before;
  std::vector<double> after;
};

Sides SidesOf(const model::Series* series, std::int64_t restart, std::size_t count) {
  Sides sides;
  if (series == nullptr || series->empty()) return sides;
  // The segment that begins there; without one the step itself divides.
  std::size_t cut = series->size();
  for (std::size_t i = 1; i < series->segment_starts.size(); ++i) {
    if (std::abs(series->steps[series->segment_starts[i]] - restart) <= std::max<std::int64_t>(5, restart / 50))
      cut = series->segment_starts[i];
  }
  if (cut == series->size()) {
    const auto behind =
        std::find_if(series->steps.begin(), series->steps.end(), [&](std::int64_t step) { return step > restart; });
    cut = static_cast<std::size_t>(behind - series->steps.begin());
  }
  // What a restart overwrote lies behind it; the checkpoint is what stood before the step it went back to.
  const std::int64_t first = cut < series->size() ? series->steps[cut] : restart;
  for (std::size_t i = cut; i-- > 0 && sides.before.size() < count;) {
    if (series->steps[i] < std::max(first, restart) && std::isfinite(series->values[i]))
      sides.before.push_back(series->values[i]);
  }
  std::reverse(sides.before.begin(), sides.before.end());
  for (std::size_t i = cut; i < series->size() && sides.after.size() < count; ++i) {
    if (std::isfinite(series->values[i])) sides.after.push_back(series->values[i]);
  }
  return sides;
}

Answer LrRestartedAtResume(const model::Run& run, const Incident& incident) {
  const std::int64_t restart = RestartAtOnset(run, incident);
  if (restart == model::kNoStep) return Moot();
  const Sides lr = SidesOf(run.Find("lr"), restart, 3);
  if (lr.before.empty() || lr.after.empty()) return Unknown();
  const double before = lr.before.back();
  const double after = lr.after.front();
  const std::string text = fmt::format("the learning rate was {} before the restart and {} after it",
                                       FormatNumber(before), FormatNumber(after));
  if (!(before > 0)) return Unknown();
  if (after < 0.7 * before || after > 1.4 * before) return Yes(text, restart, after);
  if (after > 0.9 * before && after < 1.1 * before) return No(text, restart, after);
  return Unknown();
}

Answer LossJumpedAtResume(const model::Run& run, const Incident& incident) {
  if (const model::Finding* found = incident.Find("loss/resume-jump")) return Yes(found->message, found->first_step);
  const std::int64_t restart = RestartAtOnset(run, incident);
  if (restart == model::kNoStep) return Moot();
  const Sides loss = SidesOf(run.Find("loss"), restart, 8);
  if (loss.before.size() < 4 || loss.after.size() < 4) return Unknown();
  const double noise = stats::NoiseSigma(loss.before);
  const double before = Median(loss.before);
  const double after = Median(loss.after);
  const std::string text =
      fmt::format("the loss was {} before the restart and {} after it", FormatNumber(before), FormatNumber(after));
  if (after > before + std::max(2.5 * noise, 0.03 * std::abs(before))) return Yes(text, restart, after);
  return No(text, restart, after);
}

Answer WeightsOnlyCheckpoints(const model::Run& run, const Incident&) {
  const auto only = FactSwitch(run, "save_only_model");
  if (!only) return Unknown();
  return *only ? Yes("checkpoints hold the weights only (save_only_model)")
               : No("checkpoints hold optimizer and scheduler too");
}

constexpr std::array kTests = {
    NamedTest{"resume-at-onset", ResumeAtOnset},
    NamedTest{"lr-restarted-at-resume", LrRestartedAtResume},
    NamedTest{"loss-jumped-at-resume", LossJumpedAtResume},
    NamedTest{"weights-only-checkpoints", WeightsOnlyCheckpoints},
};

}  // namespace

std::span<const NamedTest> ResumeTests() { return kTests; }

}  // namespace vigil::diagnose
