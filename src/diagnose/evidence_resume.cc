// Evidence about restarts: whether the trouble began at one, and what was not restored there.
#include <algorithm>
#include <array>
#include <cmath>

#include "catalogue/says.h"
#include "diagnose/checkpoints.h"
#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"
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
std::vector<model::Position> RestartsSeenInTheRate(const RunView& run) {
  std::vector<model::Position> places;
  const model::Series* lr = run.Find("lr");
  // Where steps went back the series itself shows the restart.
  if (lr == nullptr || lr->segment_starts.size() > 1) return places;
  for (const model::Event& event : run->events) {
    if (event.kind != model::EventKind::kCheckpoint) continue;
    const auto saved = run.axes().To(lr->axis, event.at).ValueOn(lr->axis);
    if (!saved) continue;
    const auto behind = std::upper_bound(lr->steps.begin(), lr->steps.end(), *saved);
    if (BeginsAgain(*lr, static_cast<std::size_t>(behind - lr->steps.begin()))) places.push_back(event.at);
  }
  return places;
}

// Steps that go back all the time are no count of steps.
constexpr std::size_t kMostRestarts = 1000;

// Places from which a restarted run went on: where a series goes back, where the log says so, and where the rate shows
// it.
std::vector<model::Position> RestartsOf(const RunView& run) {
  std::vector<model::Position> places;
  for (const std::string_view signal : {"loss", "lr"}) {
    const model::Series* series = run.Find(signal);
    if (series == nullptr) continue;
    const std::size_t segments = std::min<std::size_t>(series->segment_starts.size(), kMostRestarts);
    for (std::size_t i = 1; i < segments; ++i) places.push_back(series->PositionOf(series->segment_starts[i]));
  }
  for (const model::Event& event : run->events) {
    if (event.kind == model::EventKind::kResume && event.at.known()) places.push_back(event.at);
  }
  const std::vector<model::Position> seen = RestartsSeenInTheRate(run);
  places.insert(places.end(), seen.begin(), seen.end());
  return places;
}

// The restart nearest to the onset, unknown when none is near.
model::Position RestartAtOnset(const RunView& run, const Incident& incident) {
  for (const model::Finding* finding : incident.findings) {
    if (finding->id == "loss/resume-jump" || finding->id.starts_with("resume/")) return finding->first;
  }
  model::Position nearest;
  if (!incident.onset.known()) return nearest;
  double least = SlackOn(run, incident.onset.axis()).amount;
  for (const model::Position restart : RestartsOf(run)) {
    const auto distance = run.axes().Distance(incident.onset, restart);
    if (!distance || std::abs(distance->amount) > least) continue;
    if (nearest.known() && std::abs(distance->amount) == least) continue;  // of two the first
    least = std::abs(distance->amount);
    nearest = restart;
  }
  return nearest;
}

Answer ResumeAtOnset(const RunView& run, const Incident& incident) {
  if (!incident.onset.known()) return Unknown();
  const model::Position restart = RestartAtOnset(run, incident);
  if (restart.known()) return Yes(says::ResumeAtOnsetYes{.at = restart}, restart);
  const bool resumed = std::any_of(run->events.begin(), run->events.end(),
                                   [](const model::Event& event) { return event.kind == model::EventKind::kResume; });
  // Metrics alone do not show a restart that lost no step; what the run printed does.
  const bool restarted = !RestartsOf(run).empty();
  if (!restarted && (resumed || !HasLogText(run))) return Unknown();
  return resumed || restarted ? No(says::ResumeAtOnsetNoNear{}) : No(says::ResumeAtOnsetNoLog{});
}

// Values of a metric on both sides of a restart, in the order they were written.
struct Sides {
  std::vector<double> before;
  std::vector<double> after;
};

// By how much the first point after a restart may miss the place that was stated: a few steps, or a fiftieth of the
// way. On an axis that nothing leads to from steps, the distance of two points is the least that can be seen.
std::int64_t MostMissed(const RunView& run, const model::Series& series, std::int64_t restart) {
  constexpr double kFewSteps = 5;
  const double few = StepsOn(run.axes(), series.axis, kFewSteps).value_or(IntervalOf(series));
  return std::max<std::int64_t>(std::llround(std::min(few, 1e15)), restart / 50);
}

// Index of the first point written after the restart: the segment that begins there; without one the place divides.
std::size_t CutAt(const RunView& run, const model::Series& series, std::int64_t restart) {
  const std::int64_t most = MostMissed(run, series, restart);
  std::size_t cut = series.size();
  for (std::size_t i = 1; i < series.segment_starts.size(); ++i) {
    if (std::abs(series.steps[series.segment_starts[i]] - restart) <= most) cut = series.segment_starts[i];
  }
  if (cut < series.size()) return cut;
  const auto behind =
      std::find_if(series.steps.begin(), series.steps.end(), [&](std::int64_t step) { return step > restart; });
  return static_cast<std::size_t>(behind - series.steps.begin());
}

Sides SidesOf(const RunView& run, const model::Series* series, model::Position at, std::size_t count) {
  Sides sides;
  if (series == nullptr || series->empty()) return sides;
  const auto restart = run.axes().To(series->axis, at).ValueOn(series->axis);
  if (!restart) return sides;
  const std::size_t cut = CutAt(run, *series, *restart);
  // What a restart overwrote lies behind it; the checkpoint is what stood before the step it went back to.
  const std::int64_t first = cut < series->size() ? series->steps[cut] : *restart;
  for (std::size_t i = cut; i-- > 0 && sides.before.size() < count;) {
    if (series->steps[i] < std::max(first, *restart) && std::isfinite(series->values[i]))
      sides.before.push_back(series->values[i]);
  }
  std::reverse(sides.before.begin(), sides.before.end());
  for (std::size_t i = cut; i < series->size() && sides.after.size() < count; ++i) {
    if (std::isfinite(series->values[i])) sides.after.push_back(series->values[i]);
  }
  return sides;
}

// A restored schedule goes on where it was; restarts that skip a few steps move it by some percent.
Answer LrRestartedAtResume(const RunView& run, const Incident& incident) {
  const model::Position restart = RestartAtOnset(run, incident);
  if (!restart.known()) return Moot();
  const model::Finding* found = incident.Find("resume/schedule-restart");
  if (found != nullptr && found->MeasureOr("after", -1) >= 0) return AsFound(*found);
  const Sides lr = SidesOf(run, run.Find("lr"), restart, 3);
  if (lr.before.empty() || lr.after.empty()) return Unknown();
  const double before = lr.before.back();
  const double after = lr.after.front();
  const says::LrRestartedAtResumeSeen seen{.before = before, .after = after};
  if (!(before > 0)) return Unknown();
  if (after < 0.7 * before || after > 1.4 * before) return Yes(seen, restart, after);
  if (after > 0.9 * before && after < 1.1 * before) return No(seen, restart, after);
  return Unknown();
}

Answer LossJumpedAtResume(const RunView& run, const Incident& incident) {
  if (const model::Finding* found = incident.Find("loss/resume-jump")) return AsFound(*found);
  const model::Position restart = RestartAtOnset(run, incident);
  if (!restart.known()) return Moot();
  const Sides loss = SidesOf(run, run.Find("loss"), restart, 8);
  if (loss.before.size() < 4 || loss.after.size() < 4) return Unknown();
  const double noise = stats::NoiseSigma(loss.before);
  const double before = Median(loss.before);
  const double after = Median(loss.after);
  const says::LossJumpedAtResumeSeen seen{.before = before, .after = after};
  if (after > before + std::max(2.5 * noise, 0.03 * std::abs(before))) return Yes(seen, restart, after);
  return No(seen, restart, after);
}

// Whether the rates from `at` on are those with which the schedule began.
// Four values in a row: two or three may agree by chance in a schedule that oscillates.
bool RepeatsBeginning(const Stretch& rates, std::size_t at) {
  for (std::size_t i = 0; i < 4; ++i) {
    const double then = rates.values[i];
    const double now = rates.values[at + i];
    if (!std::isfinite(then) || !std::isfinite(now) || std::abs(now - then) > 0.03 * std::max(now, then)) return false;
  }
  return true;
}

// The schedule replays its beginning: a scheduler that starts from nothing.
Answer ScheduleRepeats(const RunView& run, const Incident& incident) {
  const Course lr = LastCourse(run, "lr");
  const Stretch rates = lr.View();
  if (!incident.Has("lr/schedule-break") || !incident.onset.known()) return Moot();
  // The break may have been dated to its second point.
  for (const std::size_t back : {std::size_t{1}, std::size_t{0}}) {
    const std::size_t at = rates.IndexFrom(incident.onset);
    if (at < 8 + back || at + 4 - back > rates.size()) continue;
    const bool constant = rates.values[0] == rates.values[3];
    if (constant || !RepeatsBeginning(rates, at - back)) continue;
    const model::Position again = rates.PositionOf(at - back);
    return Yes(says::ScheduleBeganAnewYes{.at = again, .first = rates.values[0], .second = rates.values[1]}, again,
               rates.values[0]);
  }
  return rates.size() < 16 ? Unknown() : No(says::ScheduleBeganAnewNo{}, incident.onset);
}

// How much longer a point took than those around it; NaN when nobody took the time.
double SlownessAt(const Stretch& durations, std::size_t at) {
  if (at >= durations.size()) return model::kNoValue;
  const std::size_t from = at < 16 ? 1 : at - 16;
  std::vector<double> around;
  for (std::size_t i = from; i < std::min(at + 16, durations.size()); ++i) {
    if (i != at && std::isfinite(durations.values[i])) around.push_back(durations.values[i]);
  }
  const double usual = Median(std::move(around));
  return usual > 0 ? durations.values[at] / usual : model::kNoValue;
}

const model::Series* DurationsOf(const RunView& run) {
  for (const std::string_view signal : {"step_time_s", "step_time", "ms", "dt", "time", "iter_time", "elapsed"}) {
    const model::Series* series = run.Find(signal);
    if (series != nullptr && series->size() >= 32) return series;
  }
  return nullptr;
}

// The first step of a process takes much longer than the others, in every trainer. Where step 1 shows it, a restart
// does.
Answer FreshProcessAtOnset(const RunView& run, const Incident& incident) {
  if (!incident.onset.known()) return Unknown();
  const model::Series* series = DurationsOf(run);
  if (series == nullptr) return Unknown();
  const Course course(run, series);
  const Stretch durations = course.View();
  if (!IsLoggedEvery(durations, 1)) return Unknown();
  const std::size_t at = durations.IndexFrom(incident.onset);
  const double first = SlownessAt(durations, 0);
  const double here = std::max(SlownessAt(durations, at), SlownessAt(durations, at == 0 ? 0 : at - 1));
  if (!(first > 2) || std::isnan(here)) return Unknown();
  if (here > 2 && here > 0.4 * first)
    return Yes(says::FreshProcessAtOnsetYes{.here = here, .first = first}, incident.onset, here);
  return here < 1.5 ? No(says::FreshProcessAtOnsetNo{.here = here, .first = first}, incident.onset, here) : Unknown();
}

Answer OnsetAtCheckpoint(const RunView& run, const Incident& incident) {
  if (!incident.onset.known()) return Unknown();
  const std::vector<Checkpoint> saved = WrittenCheckpoints(run);
  const model::Series* lr = run.Find("lr");
  // The break shows at the first point of the rate behind the checkpoint.
  double reach = 1;
  if (lr != nullptr) {
    const auto logged = run.axes().To(incident.onset.axis(), model::Extent{lr->axis, IntervalOf(*lr)});
    if (logged) reach = std::max(1.0, logged->amount);
  }
  for (const Checkpoint& checkpoint : saved) {
    const auto ahead = run.axes().Distance(incident.onset, checkpoint.at);
    if (ahead && ahead->amount < 0 && ahead->amount >= -reach)
      return Yes(says::OnsetAtCheckpointYes{.at = checkpoint.at}, checkpoint.at);
  }
  return saved.size() >= 2 ? No(says::OnsetAtCheckpointNo{}, incident.onset) : Unknown();
}

// After the restart the loss is where it was at the very beginning: another run, or weights that were not loaded.
Answer RestartedFromScratch(const RunView& run, const Incident& incident) {
  const model::Position restart = RestartAtOnset(run, incident);
  if (!restart.known()) return Moot();
  const model::Series* series = run.Find("loss");
  const Sides loss = SidesOf(run, series, restart, 5);
  if (loss.before.size() < 3 || loss.after.size() < 3) return Unknown();
  const double first = Median(FiniteValues(SegmentAt(run, series, series->PositionOf(0)).First(5)));
  const double before = Median(loss.before);
  const double after = Median(loss.after);
  if (!(first > 0) || before > 0.8 * first) return Unknown();
  const says::RestartedFromScratchSeen seen{.after = after, .first = first, .before = before};
  return after > 0.9 * first ? Yes(seen, restart, after) : No(seen, restart, after);
}

Answer WeightsOnlyCheckpoints(const RunView& run, const Incident&) {
  const auto only = FactSwitch(run, "save_only_model");
  if (!only) return Unknown();
  return *only ? Yes(says::WeightsOnlyCheckpointsYes{}) : No(says::WeightsOnlyCheckpointsNo{});
}

// A detector found it, and measured how much: its statement is the evidence.
Answer MeasuredAs(const Incident& incident, std::string_view id, std::string_view measure) {
  const model::Finding* found = incident.Find(id);
  return found == nullptr || !(found->MeasureOr(measure, -1) >= 0) ? Unknown() : AsFound(*found);
}

Answer BurstAfterResume(const RunView&, const Incident& incident) {
  return MeasuredAs(incident, "resume/optimizer-reset", "ratio");
}

Answer ScheduleJumpedAtResume(const RunView&, const Incident& incident) {
  return MeasuredAs(incident, "resume/schedule-restart", "after");
}

// By the batches themselves, or by the count of data that the run logs.
Answer DataSeenAgain(const RunView& run, const Incident& incident) {
  const model::Finding* found = incident.Find("resume/data-restart");
  const bool by_count = found != nullptr && !found->signal.empty();
  if (by_count || (found != nullptr && !run->batches.steps.empty())) return AsFound(*found);
  return run->batches.steps.empty() ? Unknown() : No(says::DataSeenAgainNo{});
}

Answer SameBatchAgain(const RunView& run, const Incident& incident) {
  const model::Finding* found = incident.Find("data/repeated");
  return found == nullptr || run->batches.steps.empty() ? Unknown() : AsFound(*found);
}

constexpr std::array kTests = {
    NamedTest{"data-seen-again", DataSeenAgain},
    NamedTest{"same-batch-again", SameBatchAgain},
    NamedTest{"burst-after-resume", BurstAfterResume},
    NamedTest{"schedule-jumped-at-resume", ScheduleJumpedAtResume},
    NamedTest{"resume-at-onset", ResumeAtOnset},
    NamedTest{"lr-restarted-at-resume", LrRestartedAtResume},
    NamedTest{"loss-jumped-at-resume", LossJumpedAtResume},
    NamedTest{"weights-only-checkpoints", WeightsOnlyCheckpoints},
    NamedTest{"schedule-began-anew", ScheduleRepeats},
    NamedTest{"fresh-process-at-onset", FreshProcessAtOnset},
    NamedTest{"onset-at-checkpoint", OnsetAtCheckpoint},
    NamedTest{"restarted-from-scratch", RestartedFromScratch},
};

}  // namespace

std::span<const NamedTest> ResumeTests() { return kTests; }

}  // namespace vigil::diagnose
