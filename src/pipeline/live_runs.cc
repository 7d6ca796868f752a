#include "pipeline/live_runs.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "pipeline/join_parts.h"

namespace vigil::pipeline {
namespace {

bool SameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

double Scaled(double value, double scale) { return scale == 1 || value != value ? value : value * scale; }

bool SameEvent(const model::Event& a, const model::Event& b) {
  return a.kind == b.kind && model::SamePosition(a.at, b.at) && a.rank == b.rank && a.name == b.name &&
         a.text == b.text;
}

// Whether a run is the one that was there before, joined again.
bool IsSameRun(const model::Run& a, const model::Run& b) {
  return a.name == b.name && !a.sources.empty() && !b.sources.empty() &&
         a.sources.front().path == b.sources.front().path && a.sources.front().run == b.sources.front().run;
}

}  // namespace

void LiveRuns::Update() {
  const bool fits = files_.structure() == structure_ &&
                    std::all_of(sources_.begin(), sources_.end(), [&](const Source& one) { return CanAppend(one); });
  if (!fits) return JoinAgain();
  for (Source& source : sources_) Append(source);
}

// ---- joining

void LiveRuns::JoinAgain() {
  ++joins_;
  structure_ = files_.structure();
  Replace(JoinParts(files_.Parts()));
  sources_.clear();
  for (const ingest::PartBuilder* builder : files_.Growing()) {
    Source& source = sources_.emplace_back();
    source.builder = builder;
    RoutePart(source);
  }
  for (Source& source : sources_) FindDuplicates(source);
  for (Source& source : sources_) FindMadeSeries(source);
  FindOnlyOnes();
  MakeRoom();
}

// The first point that is appended would move the whole column: at ten million points that is a look of a second.
void LiveRuns::MakeRoom() {
  const auto reserve = [](auto& column) {
    if (!column.empty()) column.reserve(column.size() + column.size() / 2);
  };
  for (const Source& source : sources_) {
    for (const Route& route : source.routes) {
      if (route.kind != Route::Kind::kAppend) continue;
      model::Series& series = runs_[route.run]->series[route.series];
      reserve(series.steps);
      reserve(series.values);
      reserve(series.times);
      reserve(series.lines);
    }
  }
}

// A run that was there stays the same object: whoever follows it goes on from where he is.
void LiveRuns::Replace(std::vector<model::Run> joined) {
  std::vector<std::unique_ptr<model::Run>> before = std::move(runs_);
  runs_.clear();
  for (model::Run& run : joined) {
    const auto same = std::find_if(before.begin(), before.end(),
                                   [&](const auto& old) { return old != nullptr && IsSameRun(*old, run); });
    auto slot = same == before.end() ? std::make_unique<model::Run>() : std::move(*same);
    *slot = std::move(run);
    runs_.push_back(std::move(slot));
  }
}

void LiveRuns::RoutePart(Source& source) const {
  const model::Run& part = source.builder->part();
  source.facts = part.facts.size();
  source.events = part.events.size();
  source.artifacts = part.artifacts.size();
  source.batches = part.batches.steps.size();
  source.planned_steps = part.planned_steps;
  source.ranks = part.ranks;
  const std::string& path = part.sources.front().path;
  for (std::size_t run = 0; run < runs_.size() && source.run == kNoRun; ++run) {
    const std::vector<model::Source>& its = runs_[run]->sources;
    const auto at = std::find_if(its.begin(), its.end(), [&](const model::Source& one) { return one.path == path; });
    if (at == its.end()) continue;
    source.run = run;
    source.place = static_cast<std::uint32_t>(at - its.begin());
  }
  source.routes.resize(part.series.size());
  if (source.run == kNoRun) return;
  for (std::size_t i = 0; i < part.series.size(); ++i) RouteSeries(part, i, source);
}

void LiveRuns::RouteSeries(const model::Run& part, std::size_t at, Source& source) const {
  const model::Series& from = part.series[at];
  Route& route = source.routes[at];
  route.taken = from.size();
  route.segments = from.segment_starts.size();
  route.last_step = from.empty() ? 0 : from.steps.back();
  route.scale = source.builder->ScaleOf(static_cast<ingest::PartBuilder::SeriesId>(at));
  route.run = source.run;
  if (from.empty()) return;
  const std::vector<model::Series>& targets = runs_[source.run]->series;
  for (const bool of_this_file : {true, false}) {  // two ranks may have logged the same
    for (route.series = 0; route.series < targets.size(); ++route.series) {
      const model::Series& to = targets[route.series];
      if (to.raw != from.raw || (to.source == source.place) != of_this_file || !FitsTail(route, from)) continue;
      route.kind = Route::Kind::kAppend;
      return;
    }
  }
}

// Whether the run's series ends with all points of the part's: what is appended to one is then appended to the other.
bool LiveRuns::FitsTail(const Route& route, const model::Series& from) const {
  const model::Series& to = runs_[route.run]->series[route.series];
  if (to.size() < from.size() || to.axis != from.axis) return false;
  const std::size_t offset = to.size() - from.size();
  for (std::size_t i = from.size(); i-- > 0;) {
    if (to.steps[offset + i] != from.steps[i] || !SameBits(to.values[offset + i], Scaled(from.values[i], route.scale)))
      return false;
  }
  return true;
}

// A series that the join left out, for another one of the same signal that also grows.
void LiveRuns::FindDuplicates(Source& source) const {
  if (source.run == kNoRun) return;
  const model::Run& run = *runs_[source.run];
  const model::Run& part = source.builder->part();
  for (std::size_t i = 0; i < source.routes.size(); ++i) {
    Route& route = source.routes[i];
    if (route.kind != Route::Kind::kUnknown || part.series[i].empty()) continue;
    const auto stands_for_it = [&](const Source& other) {
      return &other != &source && other.run == source.run &&
             std::any_of(other.routes.begin(), other.routes.end(), [&](const Route& its) {
               return its.kind == Route::Kind::kAppend && run.series[its.series].signal == part.series[i].signal &&
                      run.series[its.series].labels == part.series[i].labels;
             });
    };
    if (std::any_of(sources_.begin(), sources_.end(), stands_for_it)) route.kind = Route::Kind::kDuplicate;
  }
}

// Whether the growing part is the only one of its run, so that nothing has to be compared with it.
void LiveRuns::FindOnlyOnes() {
  for (Source& source : sources_) {
    if (source.run == kNoRun) continue;
    const model::Run& run = *runs_[source.run];
    const std::vector<model::Event>& events = source.builder->part().events;
    const bool only = std::none_of(sources_.begin(), sources_.end(),
                                   [&](const Source& other) { return &other != &source && other.run == source.run; });
    source.has_all_events =
        only && std::equal(events.begin(), events.end(), run.events.begin(), run.events.end(), SameEvent);
    source.has_all_points = only && std::all_of(run.series.begin(), run.series.end(), [&](const model::Series& series) {
                              return series.source == source.place;
                            });
  }
}

// A series that the join made of this part's (a sum of loss parts, points of two files) is only right when it is made
// again: what grows is then not appended.
void LiveRuns::FindMadeSeries(Source& source) const {
  if (source.run == kNoRun) return;
  const std::vector<model::Series>& series = runs_[source.run]->series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const bool routed = std::any_of(sources_.begin(), sources_.end(), [&](const Source& one) {
      return one.run == source.run && std::any_of(one.routes.begin(), one.routes.end(), [&](const Route& route) {
               return route.kind == Route::Kind::kAppend && route.series == i;
             });
    });
    if (routed || series[i].source != source.place) continue;
    for (Route& route : source.routes) route.kind = Route::Kind::kUnknown;
    return;
  }
}

// ---- appending

bool LiveRuns::CanAppend(const Source& source) const {
  const model::Run& part = source.builder->part();
  if (part.facts.size() != source.facts || part.artifacts.size() != source.artifacts ||
      part.planned_steps != source.planned_steps || part.ranks != source.ranks ||
      part.series.size() != source.routes.size() || part.batches.steps.size() < source.batches)
    return false;
  if (part.events.size() != source.events && !source.has_all_events) return false;
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    if (!CanAppend(source, source.routes[i], part.series[i])) return false;
  }
  return true;
}

bool LiveRuns::CanAppend(const Source& source, const Route& route, const model::Series& from) const {
  // A reader that thins its columns has other points at the same place.
  if (from.size() < route.taken || (route.taken > 0 && from.steps[route.taken - 1] != route.last_step)) return false;
  if (from.size() == route.taken || route.kind == Route::Kind::kDuplicate) return true;
  if (route.kind == Route::Kind::kUnknown) return false;
  // Of several files that restart, the join decides which points stand.
  return from.segment_starts.size() == route.segments || source.has_all_points;
}

void LiveRuns::Append(Source& source) {
  if (source.run == kNoRun) return;
  const model::Run& part = source.builder->part();
  for (std::size_t i = 0; i < part.series.size(); ++i) AppendPoints(source.routes[i], part.series[i]);
  model::BatchFingerprints& batches = runs_[source.run]->batches;
  for (; source.batches < part.batches.steps.size(); ++source.batches)
    batches.Append(part.batches.steps[source.batches], part.batches.hashes[source.batches],
                   part.batches.ranks[source.batches]);
  if (source.has_all_events) AppendEvents(source);
}

void LiveRuns::AppendPoints(Route& route, const model::Series& from) {
  if (route.kind == Route::Kind::kAppend) {
    model::Series& to = runs_[route.run]->series[route.series];
    const bool has_lines = to.lines.size() == to.size() || to.empty();  // lines are those of the first file
    for (std::size_t i = route.taken; i < from.size(); ++i)
      to.Append(from.steps[i], Scaled(from.values[i], route.scale),
                from.times.empty() ? model::kNoValue : from.times[i],
                has_lines && !from.lines.empty() ? from.lines[i] : 0);
  }
  route.taken = from.size();
  route.segments = from.segment_starts.size();
  if (!from.empty()) route.last_step = from.steps.back();
}

// Events are few, and readers change what they said of one (the run went on after it): all are taken again.
void LiveRuns::AppendEvents(Source& source) {
  const std::vector<model::Event>& from = source.builder->part().events;
  std::vector<model::Event>& to = runs_[source.run]->events;
  to.assign(from.begin(), from.end());
  for (model::Event& event : to) event.place.source = source.place;
  source.events = from.size();
}

}  // namespace vigil::pipeline
