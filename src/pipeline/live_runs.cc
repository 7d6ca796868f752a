#include "pipeline/live_runs.h"

#include <algorithm>
#include <utility>

#include "identify/identify.h"
#include "pipeline/join_parts.h"

namespace vigil::pipeline {
namespace {

bool HasSource(const model::Run& run, const model::Source& wanted) {
  return std::any_of(run.sources.begin(), run.sources.end(), [&](const model::Source& source) {
    return source.path == wanted.path && source.run == wanted.run;
  });
}

// Whether a run is the one that was there before, joined again.
bool IsSameRun(const model::Run& before, const model::Run& now) {
  return before.name == now.name && !before.sources.empty() && !now.sources.empty() &&
         before.sources.front().path == now.sources.front().path &&
         before.sources.front().run == now.sources.front().run;
}

// Whether it was named otherwise, or began with another file, before a file came to it.
bool GoesOnIn(const model::Run& before, const model::Run& now) {
  return !before.sources.empty() && HasSource(now, before.sources.front());
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

// Whether a series of that source has the memory of one of the part's.
bool SharesPoints(const model::Run& run, std::uint32_t source, const model::Run& part) {
  return std::any_of(run.series.begin(), run.series.end(), [&](const model::Series& series) {
    if (series.source != source || series.empty()) return false;
    return std::any_of(part.series.begin(), part.series.end(),
                       [&](const model::Series& from) { return series.steps.IsSharedPrefixOf(from.steps); });
  });
}

}  // namespace

void LiveRuns::Update() {
  if (files_.structure() != structure_ || !CanGrow() || !Grow()) return JoinAgain();
  LearnMore();
}

void LiveRuns::Forget() {
  structure_ = static_cast<std::uint64_t>(-1);
  parts_.clear();
  sums_.clear();
  learned_points_.clear();
  runs_.clear();
}

// ---- joining

void LiveRuns::JoinAgain() {
  ++joins_;
  structure_ = files_.structure();
  unread_.clear();
  Replace(JoinFollowed(files_, unread_));
  RouteParts();
  FindOnlyOnes();
  for (const LivePart& part : parts_) {
    if (part.run() != LivePart::kNoRun) part.MakeRoom(RunOf(part));
  }
  learned_points_.clear();
  for (const auto& run : runs_) learned_points_.push_back(PointsOf(*run));
}

// A run that was there stays the same object: whoever follows it goes on from where he is.
void LiveRuns::Replace(std::vector<model::Run> joined) {
  std::vector<std::unique_ptr<model::Run>> before = std::move(runs_);
  runs_.clear();
  runs_.resize(joined.size());
  // What is surely the same run first: no other one may take its place.
  for (const auto is_same : {IsSameRun, GoesOnIn}) {
    for (std::size_t i = 0; i < joined.size(); ++i) {
      const auto same = std::find_if(before.begin(), before.end(),
                                     [&](const auto& old) { return old != nullptr && is_same(*old, joined[i]); });
      if (runs_[i] == nullptr && same != before.end()) runs_[i] = std::move(*same);
    }
  }
  for (std::size_t i = 0; i < joined.size(); ++i) {
    if (runs_[i] == nullptr) runs_[i] = std::make_unique<model::Run>();
    *runs_[i] = std::move(joined[i]);
  }
}

void LiveRuns::RouteParts() {
  std::vector<RouteTargets> targets;
  targets.reserve(runs_.size());
  for (const auto& run : runs_) targets.emplace_back(*run);
  parts_.clear();
  sums_.clear();
  for (const ingest::PartBuilder* builder : files_.Growing()) parts_.push_back(PartOf(*builder));
  const auto for_each = [&](auto&& work) {
    for (LivePart& part : parts_) {
      if (part.run() != LivePart::kNoRun) work(part, targets[part.run()]);
    }
  };
  for_each([&](LivePart& part, RouteTargets& its) { part.Route(RunOf(part), its); });
  for_each([&](LivePart& part, RouteTargets& its) { part.FindDuplicates(RunOf(part), its); });
  for_each([&](LivePart& part, RouteTargets& its) { FindMadeSeries(part, its); });
}

// What a file held before it was rewritten has the same path, in the same run or another one: the source that shares
// points with the part is it, else the last of that path.
LivePart LiveRuns::PartOf(const ingest::PartBuilder& builder) const {
  const std::string& path = builder.part().sources.front().path;
  std::size_t in_run = LivePart::kNoRun;
  std::uint32_t place = 0;
  for (std::size_t run = 0; run < runs_.size(); ++run) {
    const std::vector<model::Source>& its = runs_[run]->sources;
    for (std::uint32_t at = 0; at < its.size(); ++at) {
      if (its[at].path != path) continue;
      in_run = run;
      place = at;
      if (SharesPoints(*runs_[run], at, builder.part())) return {builder, run, at};
    }
  }
  return {builder, in_run, place};
}

// Whether the growing part is the only one of its run, so that nothing has to be compared with it.
void LiveRuns::FindOnlyOnes() {
  for (LivePart& part : parts_) {
    if (part.run() == LivePart::kNoRun) continue;
    const std::vector<model::Series>& series = RunOf(part).series;
    const bool is_only = std::none_of(parts_.begin(), parts_.end(), [&](const LivePart& other) {
      return &other != &part && other.run() == part.run();
    });
    const bool has_all =
        std::all_of(series.begin(), series.end(), [&](const model::Series& one) { return one.source == part.place(); });
    if (is_only && has_all) part.HasAllPoints();
  }
}

// A sum is added up further. Any other series that the join made of this part's (points of two files) is only right
// when it is made again: what grows is then not appended.
void LiveRuns::FindMadeSeries(LivePart& part, const RouteTargets& targets) {
  const std::vector<model::Series>& series = RunOf(part).series;
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (series[i].source != part.place() || targets.IsTaken(i)) continue;
    Sum sum{part.run(), i, {}, {}};
    if (!FindParts(sum, targets)) return part.ForgetRoutes();
    sums_.push_back(std::move(sum));
  }
}

bool LiveRuns::FindParts(Sum& sum, const RouteTargets& targets) const {
  const std::vector<model::Series>& series = runs_[sum.run]->series;
  const model::Series& whole = series[sum.series];
  for (const std::string& name : whole.sum_of) {
    const auto part = std::find_if(series.begin(), series.end(), [&](const model::Series& one) {
      return one.raw == name && one.source == whole.source && one.sum_of.empty();
    });
    if (part == series.end()) return false;
    sum.parts.push_back(static_cast<std::size_t>(part - series.begin()));
    if (!targets.IsTaken(sum.parts.back())) return false;
  }
  if (sum.parts.empty()) return false;
  model::Series again;  // up to where the join added them up
  return sum.added.Extend(SeriesOf(series, sum.parts), again) && again.steps == whole.steps;
}

// ---- growing

bool LiveRuns::CanGrow() const {
  return std::all_of(parts_.begin(), parts_.end(), [&](const LivePart& part) {
    return part.CanGrow(part.run() == LivePart::kNoRun ? nullptr : runs_[part.run()].get());
  });
}

// False when the join has to decide.
bool LiveRuns::Grow() {
  for (LivePart& part : parts_) {
    if (part.run() == LivePart::kNoRun) continue;
    part.Grow(RunOf(part));
    GrowEvents(part);
  }
  const bool passed = std::all_of(parts_.begin(), parts_.end(), [&](LivePart& part) {
    return part.run() == LivePart::kNoRun || part.PassDuplicates(RunOf(part));
  });
  return passed && std::all_of(sums_.begin(), sums_.end(), [&](Sum& sum) { return Extend(sum); });
}

void LiveRuns::GrowEvents(LivePart& part) {
  const std::size_t end = part.events().end();
  const std::ptrdiff_t more = part.UpdateEvents(RunOf(part));
  for (LivePart& other : parts_) {
    if (&other != &part && other.run() == part.run() && other.events().first() >= end) other.events().MoveBy(more);
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
