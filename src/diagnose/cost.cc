// What an incident cost: steps, hours and GPU-hours since the first bad step.
#include "diagnose/cost.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "diagnose/checkpoints.h"
#include "diagnose/places.h"

namespace vigil::diagnose {
namespace {

using model::Position;

constexpr double kSecondsPerHour = 3600;

// The stretch of the run that is paid for in vain.
struct Stretch {
  Position first;
  Position last;
};

// Work up to a crash is lost from the last checkpoint on; where none is known, nobody can say what is lost.
std::optional<Stretch> LostByCrash(const RunView& run, Position crash) {
  Position saved;
  for (const Checkpoint& checkpoint : WrittenCheckpoints(run)) {
    if (std::is_lteq(run.axes().Compare(checkpoint.at, crash))) saved = Later(run.axes(), saved, checkpoint.at);
  }
  if (!saved.known() || !crash.known()) return std::nullopt;
  return Stretch{saved, crash};
}

bool IsCrash(const Incident& incident) {
  return IsMessage(incident.root()) || incident.root().id.starts_with("hang/") || incident.root().id == "memory/leak";
}

std::optional<Stretch> LostBy(const RunView& run, const Incident& incident) {
  if (IsCrash(incident)) {
    const Position crash = incident.last.known() ? incident.last : LastSeen(run, model::MainAxis(*run));
    return LostByCrash(run, crash);
  }
  if (!incident.onset.known()) return std::nullopt;
  const Position end = LastSeen(run, incident.onset.axis());
  if (!end.known() || !std::is_gt(run.axes().Compare(end, incident.onset))) return std::nullopt;
  return Stretch{incident.onset, end};
}

// The time of the first point at or behind a place; nullopt where the series has no times.
std::optional<double> TimeAt(const RunView& run, const model::Series& series, Position place) {
  const auto count = run.axes().To(series.axis, place).ValueOn(series.axis);
  if (!count || series.times.size() != series.size() || series.empty()) return std::nullopt;
  const auto at =
      std::find_if(series.steps.begin(), series.steps.end(), [&](std::int64_t step) { return step >= *count; });
  const auto index = std::min(static_cast<std::size_t>(at - series.steps.begin()), series.size() - 1);
  const double time = series.times[index];
  return std::isfinite(time) ? std::optional<double>(time) : std::nullopt;
}

std::optional<double> HoursByTimes(const RunView& run, const Stretch& lost) {
  for (const model::Series& series : run->series) {
    const auto first = TimeAt(run, series, lost.first);
    const auto last = TimeAt(run, series, lost.last);
    if (first && last && *last > *first) return (*last - *first) / kSecondsPerHour;
  }
  return std::nullopt;
}

// A logged time of a step stands for the steps since the point before it.
std::optional<double> HoursByStepTimes(const RunView& run, const Stretch& lost, double steps) {
  const model::Series* times = run.Find("step_time_s");
  if (times == nullptr || times->empty()) return std::nullopt;
  const auto first = run.axes().To(times->axis, lost.first).ValueOn(times->axis);
  const auto last = run.axes().To(times->axis, lost.last).ValueOn(times->axis);
  double sum = 0;
  double points = 0;
  for (std::size_t i = 0; i < times->size(); ++i) {
    const bool inside = first && last && times->steps[i] >= *first && times->steps[i] <= *last;
    if (!inside || !std::isfinite(times->values[i])) continue;
    sum += times->values[i];
    ++points;
  }
  if (points == 0) return std::nullopt;
  return sum / points * steps / kSecondsPerHour;
}

// A slow-down costs what steps take longer, and a wait what they wait: not the whole time.
double ShareLost(const Incident& incident) {
  if (const model::Finding* slower = incident.Find("throughput/regression"))
    return 1 - 1 / std::max(1.0, slower->MeasureOr("ratio", 1));
  if (const model::Finding* starved = incident.Find("throughput/data-starved")) return starved->MeasureOr("share", 1);
  if (const model::Finding* straggler = incident.Find("throughput/straggler"))
    return 1 - 1 / std::max(1.0, straggler->MeasureOr("ratio", 1));
  return 1;
}

double DevicesOf(const RunView& run) {
  const double stated = std::max(run.FactNumber("world_size").value_or(1), run.FactNumber("num_gpus").value_or(1));
  return std::max({1.0, static_cast<double>(run->ranks), stated});
}

}  // namespace

model::Cost CostOf(const RunView& run, const Incident& incident) {
  model::Cost cost;
  if (incident.worst() < model::Severity::kError && incident.root().family != model::Family::kThroughput) return cost;
  const auto lost = LostBy(run, incident);
  if (!lost) return cost;
  const auto first = StepsUntil(run.axes(), lost->first);
  const auto last = StepsUntil(run.axes(), lost->last);
  if (first && last && *last >= *first) cost.steps = *last - *first;
  auto hours = HoursByTimes(run, *lost);
  if (!hours && !model::IsNoValue(cost.steps)) hours = HoursByStepTimes(run, *lost, cost.steps);
  if (!hours) return cost;
  cost.hours = *hours * ShareLost(incident);
  cost.gpu_hours = cost.hours * DevicesOf(run);
  return cost;
}

}  // namespace vigil::diagnose
