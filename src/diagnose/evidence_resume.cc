// Evidence about restarts: whether the trouble began at one, and what was not restored there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "diagnose/checkpoints.h"
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
  // Where steps went back the series itself shows the restart.
  if (lr == nullptr || lr->segment_starts.size() > 1) return steps;
  for (const model::Event& event : run.events) {
    if (event.kind != model::EventKind::kCheckpoint || event.step == model::kNoStep) continue;
    const auto behind = std::upper_bound(lr->steps.begin(), lr->steps.end(), event.step);
    if (BeginsAgain(*lr, static_cast<std::size_t>(behind - lr->steps.begin()))) steps.push_back(event.step);
  }
  return steps;
}

// Steps that go back all the time are no count of steps.
constexpr std::size_t kMostRestarts = 1000;

// Steps from which a restarted run went on: where a series goes back, where the log says so, and where the rate shows
// it.
std::vector<std::int64_t> RestartSteps(const model::Run& run) {
  std::vector<std::int64_t> steps;
  for (const std::string_view signal : {"loss", "lr"}) {
    const model::Series* series = run.Find(signal);
    if (series == nullptr) continue;
    const std::size_t segments = std::min<std::size_t>(series->segment_starts.size(), kMostRestarts);
    for (std::size_t i = 1; i < segments; ++i) steps.push_back(series->steps[series->segment_starts[i]]);
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
  const std::int64_t slack = SlackSteps(run);
  for (const std::int64_t step : RestartSteps(run)) {
    const std::int64_t distance = std::abs(step - incident.onset);
    if (distance <= slack && (nearest == model::kNoStep || distance < std::abs(nearest - incident.onset)))
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
  // Metrics alone do not tell of a restart that lost no step; what the run printed does.
  const bool restarted = !RestartSteps(run).empty();
  if (!restarted && (resumed || !HasLogText(run))) return Unknown();
  return No(resumed || restarted ? "no restart near it" : "the log tells of no restart");
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

// Index of the first point at or after a step, of all points of the series in writing order.
std::size_t IndexFrom(const Stretch& stretch, std::int64_t step) { return stretch.size() - stretch.From(step).size(); }

// The schedule replays its beginning: a scheduler that starts from nothing.
Answer ScheduleBeganAnew(const model::Run& run, const Incident& incident) {
  const Course lr = LastCourse(run.Find("lr"));
  const Stretch rates = lr.View();
  if (!incident.Has("lr/schedule-break") || incident.onset == model::kNoStep) return Moot();
  // The break may have been dated to its second point.
  for (const std::size_t back : {std::size_t{1}, std::size_t{0}}) {
    const std::size_t at = IndexFrom(rates, incident.onset);
    if (at < 8 + back || at + 4 - back > rates.size()) continue;
    bool same = true;
    for (std::size_t i = 0; i < 4 && same; ++i) {
      const double then = rates.values[i];
      const double now = rates.values[at - back + i];
      same = std::isfinite(then) && std::isfinite(now) && std::abs(now - then) <= 0.03 * std::max(now, then);
    }
    const bool constant = rates.values[0] == rates.values[3];
    if (same && !constant)
      return Yes(fmt::format("from step {} on the learning rate repeats its first values ({}, {}, ...)",
                             rates.steps[at - back], FormatNumber(rates.values[0]), FormatNumber(rates.values[1])),
                 rates.steps[at - back], rates.values[0]);
  }
  return rates.size() < 16 ? Unknown() : No("the learning rate does not repeat its beginning", incident.onset);
}

// How much longer the first step after the onset took than the steps around it; NaN when nobody took the time.
double SlownessAt(const Stretch& durations, std::int64_t step) {
  const std::size_t at = IndexFrom(durations, step);
  if (at >= durations.size()) return model::kNoValue;
  const std::size_t from = at < 16 ? 1 : at - 16;
  std::vector<double> around;
  for (std::size_t i = from; i < std::min(at + 16, durations.size()); ++i) {
    if (i != at && std::isfinite(durations.values[i])) around.push_back(durations.values[i]);
  }
  const double usual = Median(std::move(around));
  return usual > 0 ? durations.values[at] / usual : model::kNoValue;
}

const model::Series* DurationsOf(const model::Run& run) {
  for (const std::string_view signal : {"step_time_s", "step_time", "ms", "dt", "time", "iter_time", "elapsed"}) {
    const model::Series* series = run.Find(signal);
    if (series != nullptr && series->size() >= 32) return series;
  }
  return nullptr;
}

// The first step of a process takes much longer than the others, in every trainer. Where step 1 shows it, a restart
// does.
Answer FreshProcessAtOnset(const model::Run& run, const Incident& incident) {
  if (incident.onset == model::kNoStep) return Unknown();
  const model::Series* series = DurationsOf(run);
  if (series == nullptr || IntervalOf(*series) > 1) return Unknown();
  const Course course = LastCourse(series);
  const Stretch durations = course.View();
  const double first = SlownessAt(durations, durations.steps[0]);
  const double here = std::max(SlownessAt(durations, incident.onset), SlownessAt(durations, incident.onset - 1));
  if (!(first > 2) || std::isnan(here)) return Unknown();
  const std::string text =
      fmt::format("the step at the break took {} times as long as those around it (the first step: {} times)",
                  FormatNumber(here), FormatNumber(first));
  if (here > 2 && here > 0.4 * first) return Yes(text + ": a new process began", incident.onset, here);
  return here < 1.5 ? No(text, incident.onset, here) : Unknown();
}

Answer OnsetAtCheckpoint(const model::Run& run, const Incident& incident) {
  if (incident.onset == model::kNoStep) return Unknown();
  const std::vector<std::int64_t> saved = CheckpointSteps(run);
  const model::Series* lr = run.Find("lr");
  const auto reach = static_cast<std::int64_t>(lr == nullptr ? 1 : std::max(1.0, IntervalOf(*lr)));
  for (const std::int64_t step : saved) {
    if (step < incident.onset && step >= incident.onset - reach)
      return Yes(fmt::format("it begins right after the checkpoint of step {}", step), step);
  }
  return saved.size() >= 2 ? No("it begins at no checkpoint", incident.onset) : Unknown();
}

// After the restart the loss is where it was at the very beginning: another run, or weights that were not loaded.
Answer RestartedFromScratch(const model::Run& run, const Incident& incident) {
  const std::int64_t restart = RestartAtOnset(run, incident);
  if (restart == model::kNoStep) return Moot();
  const model::Series* series = run.Find("loss");
  const Sides loss = SidesOf(series, restart, 5);
  if (loss.before.size() < 3 || loss.after.size() < 3) return Unknown();
  const double first = Median(FiniteValues(SegmentAt(series, series->steps.front()).First(5)));
  const double before = Median(loss.before);
  const double after = Median(loss.after);
  if (!(first > 0) || before > 0.8 * first) return Unknown();
  const std::string text =
      fmt::format("the loss after the restart is {}; it was {} at the beginning and {} before the restart",
                  FormatNumber(after), FormatNumber(first), FormatNumber(before));
  return after > 0.9 * first ? Yes(text, restart, after) : No(text, restart, after);
}

Answer WeightsOnlyCheckpoints(const model::Run& run, const Incident&) {
  const auto only = FactSwitch(run, "save_only_model");
  if (!only) return Unknown();
  return *only ? Yes("checkpoints hold the weights only (save_only_model)")
               : No("checkpoints hold optimizer and scheduler too");
}

Answer FoundInBatches(const model::Run& run, const Incident& incident, std::string_view id) {
  const model::Finding* found = incident.Find(id);
  return found == nullptr || run.batches.steps.empty() ? Unknown() : Yes(found->message, found->first_step);
}

Answer DataSeenAgain(const model::Run& run, const Incident& incident) {
  Answer found = FoundInBatches(run, incident, "resume/data-restart");
  if (found.verdict != Verdict::kUnknown || run.batches.steps.empty()) return found;
  return No("no batch after the restart was seen before");
}

Answer SameBatchAgain(const model::Run& run, const Incident& incident) {
  return FoundInBatches(run, incident, "data/repeated");
}

constexpr std::array kTests = {
    NamedTest{"data-seen-again", DataSeenAgain},
    NamedTest{"same-batch-again", SameBatchAgain},
    NamedTest{"resume-at-onset", ResumeAtOnset},
    NamedTest{"lr-restarted-at-resume", LrRestartedAtResume},
    NamedTest{"loss-jumped-at-resume", LossJumpedAtResume},
    NamedTest{"weights-only-checkpoints", WeightsOnlyCheckpoints},
    NamedTest{"schedule-began-anew", ScheduleBeganAnew},
    NamedTest{"fresh-process-at-onset", FreshProcessAtOnset},
    NamedTest{"onset-at-checkpoint", OnsetAtCheckpoint},
    NamedTest{"restarted-from-scratch", RestartedFromScratch},
};

}  // namespace

std::span<const NamedTest> ResumeTests() { return kTests; }

}  // namespace vigil::diagnose
