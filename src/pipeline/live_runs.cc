#include "pipeline/live_runs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "identify/identify.h"
#include "pipeline/join_parts.h"

namespace vigil::pipeline {
namespace {

bool SameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

double Scaled(double value, double scale) { return scale == 1 || value != value ? value : value * scale; }

bool SameEvent(const model::Event& a, const model::Event& b) {
  return model::SameWords(a, b) && model::SamePosition(a.at, b.at) && a.rank == b.rank &&
         a.run_went_on == b.run_went_on;
}

// Whether a run is the one that was there before, joined again.
bool IsSameRun(const model::Run& a, const model::Run& b) {
  return a.name == b.name && !a.sources.empty() && !b.sources.empty() &&
         a.sources.front().path == b.sources.front().path && a.sources.front().run == b.sources.front().run;
}

// The join adds labels (the rank of a file) and takes none away.
bool HasLabels(const model::Series& series, const model::Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    return std::find(series.labels.begin(), series.labels.end(), label) != series.labels.end();
  });
}

// As the join hands it on.
model::Event Placed(model::Event event, std::uint32_t place) {
  event.at = ingest::PartBuilder::Placed(event.at);
  event.place.source = place;
  return event;
}

std::vector<model::Event> EventsOf(const ingest::PartBuilder& builder, std::uint32_t place) {
  std::vector<model::Event> events;
  for (const model::Event& event : builder.part().events) events.push_back(Placed(event, place));
  return events;
}

// How many events at the front are as they were taken.
std::size_t UnchangedEvents(const std::vector<model::Event>& taken, const std::vector<model::Event>& now) {
  const auto same = [](const model::Event& a, const model::Event& b) {
    return model::SameWords(a, b) && model::SamePosition(a.at, ingest::PartBuilder::Placed(b.at)) && a.rank == b.rank &&
           a.run_went_on == b.run_went_on;
  };
  return static_cast<std::size_t>(std::mismatch(taken.begin(), taken.end(), now.begin(), now.end(), same).first -
                                  taken.begin());
}

std::size_t PointsOf(const model::Run& run) {
  std::size_t points = 0;
  for (const model::Series& series : run.series) points += series.size();
  return points;
}

std::vector<const model::Series*> SeriesOf(const std::vector<model::Series>& all,
                                           const std::vector<std::size_t>& which) {
  std::vector<const model::Series*> series;
  series.reserve(which.size());
  for (const std::size_t at : which) series.push_back(&all[at]);
  return series;
}

ingest::PartBuilder::SeriesId Id(std::size_t at) { return static_cast<ingest::PartBuilder::SeriesId>(at); }

}  // namespace

void LiveRuns::Update() {
  if (files_.structure() != structure_ || !CanAppend() || !Append()) return JoinAgain();
  LearnMore();
}

// ---- joining

void LiveRuns::JoinAgain() {
  ++joins_;
  structure_ = files_.structure();
  Replace(JoinParts(files_.Parts()));
  sources_.clear();
  sums_.clear();
  for (const ingest::PartBuilder* builder : files_.Growing()) {
    Source& source = sources_.emplace_back();
    source.builder = builder;
    RoutePart(source);
  }
  for (Source& source : sources_) FindDuplicates(source);
  for (Source& source : sources_) FindMadeSeries(source);
  FindOnlyOnes();
  MakeRoom();
  learned_points_.clear();
  for (const auto& run : runs_) learned_points_.push_back(PointsOf(*run));
}

// The first point that is appended would move the whole column: at ten million points that is a look of a second.
void LiveRuns::MakeRoom() {
  const auto reserve = [](auto& column) {
    if (!column.empty()) column.reserve(column.size() + column.size() / 2);
  };
  for (const Source& source : sources_) {
    for (const Route& route : source.routes) {
      if (route.kind != Route::Kind::kAppend) continue;
      model::Series& series = runs_[source.run]->series[route.series];
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
  source.framework = part.framework;
  source.facts = part.facts.size();
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
  source.events = EventsOf(*source.builder, source.place);
  if (source.run == kNoRun) return;
  for (std::size_t i = 0; i < part.series.size(); ++i) RouteSeries(i, source);
  RouteEvents(source);
}

void LiveRuns::RouteSeries(std::size_t at, Source& source) const {
  const model::Series& from = source.builder->part().series[at];
  Route& route = source.routes[at];
  route.signal = from.signal;
  route.axis = from.axis;
  route.aggregation = from.aggregation;
  if (source.builder->IsLeftOut(Id(at))) {
    route.kind = Route::Kind::kLeftOut;
    return;
  }
  route.taken = source.builder->PlacedPoints(Id(at));
  route.segments = from.segment_starts.size();
  route.scale = source.builder->ScaleOf(Id(at));
  if (route.taken == 0) return;
  route.last_step = from.steps[route.taken - 1];
  route.last_value = from.values[route.taken - 1];
  const std::vector<model::Series>& targets = runs_[source.run]->series;
  for (const bool of_this_file : {true, false}) {  // two ranks may have logged the same
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const model::Series& to = targets[i];
      const bool fits = to.raw == from.raw && (to.source == source.place) == of_this_file && to.axis == from.axis &&
                        to.sum_of.empty() && HasLabels(to, from.labels) && FitsTail(route, from, to);
      // What two files log alike is appended from one of them.
      if (!fits || IsRouted(source.run, i)) continue;
      route.series = i;
      route.kind = Route::Kind::kAppend;
      return;
    }
  }
}

// Whether the run's series ends with all points of the part's: what is appended to one is then appended to the other.
bool LiveRuns::FitsTail(const Route& route, const model::Series& from, const model::Series& to) const {
  if (to.size() < route.taken) return false;
  const std::size_t offset = to.size() - route.taken;
  for (std::size_t i = route.taken; i-- > 0;) {
    if (to.steps[offset + i] != from.steps[i] || !SameBits(to.values[offset + i], Scaled(from.values[i], route.scale)))
      return false;
  }
  return true;
}

// Whether the events of the part are in the run one behind the other, as they are.
void LiveRuns::RouteEvents(Source& source) const {
  const std::vector<model::Event>& events = runs_[source.run]->events;
  const auto is_own = [&](const model::Event& event) { return event.place.source == source.place; };
  const auto first = std::find_if(events.begin(), events.end(), is_own);
  const auto count = std::count_if(first, events.end(), is_own);
  source.first_event = static_cast<std::size_t>(first - events.begin());
  source.has_own_events = static_cast<std::size_t>(count) == source.events.size() && events.end() - first >= count &&
                          std::equal(source.events.begin(), source.events.end(), first, SameEvent);
}

// A series that the join left out, for another one of the same metric that also grows.
void LiveRuns::FindDuplicates(Source& source) const {
  if (source.run == kNoRun) return;
  const std::vector<model::Series>& series = runs_[source.run]->series;
  for (std::size_t i = 0; i < source.routes.size(); ++i) {
    Route& route = source.routes[i];
    if (route.kind != Route::Kind::kUnknown || route.taken == 0) continue;
    const model::Series& from = source.builder->part().series[i];
    for (std::size_t to = 0; to < series.size(); ++to) {
      const bool stands_for_it = series[to].signal == from.signal && series[to].labels == from.labels &&
                                 series[to].axis == from.axis && IsRouted(source.run, to);
      if (!stands_for_it) continue;
      route.kind = Route::Kind::kDuplicate;
      route.series = to;
      break;
    }
  }
}

// Whether the growing part is the only one of its run, so that nothing has to be compared with it.
void LiveRuns::FindOnlyOnes() {
  for (Source& source : sources_) {
    if (source.run == kNoRun) continue;
    const model::Run& run = *runs_[source.run];
    const bool only = std::none_of(sources_.begin(), sources_.end(),
                                   [&](const Source& other) { return &other != &source && other.run == source.run; });
    source.has_all_points = only && std::all_of(run.series.begin(), run.series.end(), [&](const model::Series& series) {
                              return series.source == source.place;
                            });
  }
}

bool LiveRuns::IsRouted(std::size_t run, std::size_t series) const {
  return std::any_of(sources_.begin(), sources_.end(), [&](const Source& one) {
    return one.run == run && std::any_of(one.routes.begin(), one.routes.end(), [&](const Route& route) {
             return route.kind == Route::Kind::kAppend && route.series == series;
           });
  });
}

// A sum is added up further. Any other series that the join made of this part's (points of two files) is only right
// when it is made again: what grows is then not appended.
void LiveRuns::FindMadeSeries(Source& source) {
  if (source.run == kNoRun) return;
  const std::vector<model::Series>& series = runs_[source.run]->series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].source != source.place || IsRouted(source.run, i)) continue;
    Sum sum{source.run, i, {}, {}};
    if (FindParts(sum)) {
      sums_.push_back(std::move(sum));
      continue;
    }
    for (Route& route : source.routes) route.kind = Route::Kind::kUnknown;
    return;
  }
}

bool LiveRuns::FindParts(Sum& sum) const {
  const std::vector<model::Series>& series = runs_[sum.run]->series;
  const model::Series& whole = series[sum.series];
  for (const std::string& name : whole.sum_of) {
    const auto part = std::find_if(series.begin(), series.end(), [&](const model::Series& one) {
      return one.raw == name && one.source == whole.source && one.sum_of.empty();
    });
    if (part == series.end()) return false;
    sum.parts.push_back(static_cast<std::size_t>(part - series.begin()));
    if (!IsRouted(sum.run, sum.parts.back())) return false;
  }
  if (sum.parts.empty()) return false;
  model::Series again;  // up to where the join added them up
  return sum.added.Extend(SeriesOf(series, sum.parts), again) && again.steps == whole.steps;
}

// ---- appending

bool LiveRuns::CanAppend() const {
  return std::all_of(sources_.begin(), sources_.end(), [&](const Source& one) { return CanAppend(one); });
}

bool LiveRuns::CanAppend(const Source& source) const {
  const model::Run& part = source.builder->part();
  if (part.facts.size() != source.facts || part.artifacts.size() != source.artifacts ||
      part.planned_steps != source.planned_steps || part.ranks != source.ranks || part.framework != source.framework ||
      part.series.size() != source.routes.size() || part.batches.steps.size() < source.batches)
    return false;
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    if (!CanAppendSeries(source, i)) return false;
  }
  return CanAppendEvents(source);
}

bool LiveRuns::CanAppendSeries(const Source& source, std::size_t at) const {
  const model::Series& from = source.builder->part().series[at];
  const Route& route = source.routes[at];
  if (source.builder->IsLeftOut(Id(at)) != (route.kind == Route::Kind::kLeftOut)) return false;
  if (from.signal != route.signal || from.axis != route.axis || from.aggregation != route.aggregation) return false;
  if (route.kind == Route::Kind::kLeftOut) return true;
  const std::size_t placed = source.builder->PlacedPoints(Id(at));
  // A reader that thins its columns has other points at the same place, and one may fill in a value.
  if (placed < route.taken || (route.taken > 0 && (from.steps[route.taken - 1] != route.last_step ||
                                                   !SameBits(from.values[route.taken - 1], route.last_value))))
    return false;
  if (placed == route.taken || route.kind == Route::Kind::kDuplicate) return true;
  if (route.kind == Route::Kind::kUnknown) return false;
  // Of several files that restart, the join decides which points stand.
  return from.segment_starts.size() == route.segments || source.has_all_points;
}

// Of two files that report the same event the join keeps one, and a restart is placed by what the other file holds.
bool LiveRuns::CanAppendEvents(const Source& source) const {
  const std::vector<model::Event>& now = source.builder->part().events;
  const std::size_t same = UnchangedEvents(source.events, now);
  if (same == source.events.size() && same == now.size()) return true;
  if (source.run == kNoRun || !source.has_own_events) return false;
  const std::vector<model::Event>& known = runs_[source.run]->events;
  for (std::size_t i = std::max(same, source.events.size()); i < now.size(); ++i) {
    if (now[i].kind == model::EventKind::kResume && !source.has_all_points) return false;
    const auto is_same = [&](const model::Event& other) {
      return other.place.source != source.place && model::SameWords(other, now[i]);
    };
    if (std::any_of(known.begin(), known.end(), is_same)) return false;
  }
  return true;
}

// False when the join has to decide.
bool LiveRuns::Append() {
  for (Source& source : sources_) Append(source);
  for (Source& source : sources_) {
    for (std::size_t i = 0; i < source.routes.size(); ++i) {
      if (source.routes[i].kind == Route::Kind::kDuplicate && !PassDuplicates(source, i)) return false;
    }
  }
  return std::all_of(sums_.begin(), sums_.end(), [&](Sum& sum) { return Extend(sum); });
}

// Passes over points that the series of another file has too, but for rounding. A file that is a little ahead waits for
// the other one. False when it says something else, or goes on where the other has stopped.
bool LiveRuns::PassDuplicates(Source& source, std::size_t at) {
  constexpr double kRounding = 0.01;
  constexpr std::size_t kMostAhead = 64;
  Route& route = source.routes[at];
  const model::Series& from = source.builder->part().series[at];
  const model::Series& whole = runs_[source.run]->series[route.series];
  const std::size_t placed = source.builder->PlacedPoints(Id(at));
  const auto first = whole.steps.begin() + (whole.segment_starts.empty() ? 0 : whole.segment_starts.back());
  for (; route.taken < placed; ++route.taken) {
    const double mine = Scaled(from.values[route.taken], route.scale);
    const auto found = std::lower_bound(first, whole.steps.end(), from.steps[route.taken]);
    if (found == whole.steps.end()) return std::isfinite(mine) && placed - route.taken <= kMostAhead;
    const double theirs = whole.values[static_cast<std::size_t>(found - whole.steps.begin())];
    const bool both_bad = !std::isfinite(mine) && !std::isfinite(theirs);
    const bool same = both_bad || std::abs(mine - theirs) <= kRounding * std::abs(theirs);
    if (*found != from.steps[route.taken] || !same) return false;
    route.last_step = from.steps[route.taken];
    route.last_value = from.values[route.taken];
  }
  route.segments = from.segment_starts.size();
  return true;
}

void LiveRuns::Append(Source& source) {
  if (source.run == kNoRun) return;
  const model::Run& part = source.builder->part();
  for (std::size_t i = 0; i < part.series.size(); ++i) AppendPoints(source, i);
  model::BatchFingerprints& batches = runs_[source.run]->batches;
  for (; source.batches < part.batches.steps.size(); ++source.batches)
    batches.Append(part.batches.steps[source.batches], part.batches.hashes[source.batches],
                   part.batches.ranks[source.batches]);
  AppendEvents(source);
}

void LiveRuns::AppendPoints(Source& source, std::size_t at) {
  Route& route = source.routes[at];
  if (route.kind != Route::Kind::kAppend) return;
  const model::Series& from = source.builder->part().series[at];
  const std::size_t placed = source.builder->PlacedPoints(Id(at));
  model::Series& to = runs_[source.run]->series[route.series];
  const bool has_lines = to.lines.size() == to.size() || to.empty();  // lines are those of the first file
  for (std::size_t i = route.taken; i < placed; ++i)
    to.Append(from.steps[i], Scaled(from.values[i], route.scale), from.times.empty() ? model::kNoValue : from.times[i],
              has_lines && !from.lines.empty() ? from.lines[i] : 0);
  route.taken = placed;
  route.segments = from.segment_starts.size();
  if (placed == 0) return;
  route.last_step = from.steps[placed - 1];
  route.last_value = from.values[placed - 1];
}

// Readers change what they said of an event (the run went on after it): from the first that is another one on, they are
// taken again.
void LiveRuns::AppendEvents(Source& source) {
  const std::vector<model::Event>& now = source.builder->part().events;
  const std::size_t same = UnchangedEvents(source.events, now);
  if (!source.has_own_events || (same == source.events.size() && same == now.size())) return;
  std::vector<model::Event>& events = runs_[source.run]->events;
  const auto from = events.begin() + static_cast<std::ptrdiff_t>(source.first_event + same);
  const std::size_t end = source.first_event + source.events.size();
  const auto at = events.erase(from, events.begin() + static_cast<std::ptrdiff_t>(end));
  const std::size_t before = source.events.size();
  source.events.resize(same);
  for (std::size_t i = same; i < now.size(); ++i) source.events.push_back(Placed(now[i], source.place));
  events.insert(at, source.events.begin() + static_cast<std::ptrdiff_t>(same), source.events.end());
  for (Source& other : sources_) {
    if (&other != &source && other.run == source.run && other.first_event >= end)
      other.first_event = other.first_event + source.events.size() - before;
  }
}

// Where a part is negative, the join decides whether there is a sum.
bool LiveRuns::Extend(Sum& sum) {
  std::vector<model::Series>& series = runs_[sum.run]->series;
  return sum.added.Extend(SeriesOf(series, sum.parts), series[sum.series]);
}

// What a run is, and how its axes relate, is found out again when it has grown by an eighth: in proportion to what
// came.
void LiveRuns::LearnMore() {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::size_t points = PointsOf(*runs_[i]);
    if (points < learned_points_[i] + learned_points_[i] / 8 + 1) continue;
    learned_points_[i] = points;
    identify::Classify(*runs_[i]);
    identify::LearnAxes(*runs_[i]);
  }
}

}  // namespace vigil::pipeline
