#include "assemble/merge.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <string>
#include <unordered_map>

#include "identify/identify.h"

namespace vigil::assemble {
namespace {

std::string KeyOf(const model::Series& series) {
  return std::to_string(static_cast<int>(series.axis)) + SignalKey(series);
}

double TimeAt(const model::Series& series, std::size_t i) {
  return series.times.empty() ? model::kNoValue : series.times[i];
}
std::uint32_t LineAt(const model::Series& series, std::size_t i) { return series.lines.empty() ? 0 : series.lines[i]; }

// Whether two files tell of one thing that happened: a rank's own log, and the one of all ranks. What one of them does
// not say, the other may. Places on two axes are two places: at worst a duplicate stays.
bool IsSameEvent(const model::Event& a, const model::Event& b) {
  const bool ranks = a.rank == b.rank || a.rank < 0 || b.rank < 0;
  const bool places = !a.at.known() || !b.at.known() || model::SamePosition(a.at, b.at);
  return ranks && places && model::SameWords(a, b) && a.detail == b.detail;
}

// Events that both tell are kept once, with all that is known of them.
void KeepNewEvents(model::Run& into, model::Run& from) {
  constexpr std::size_t kMostCompared = 1000;
  if (into.events.size() > kMostCompared || from.events.size() > kMostCompared) return;
  std::vector<bool> matched(into.events.size(), false);
  std::erase_if(from.events, [&](const model::Event& event) {
    if (event.kind == model::EventKind::kResume) return false;
    for (std::size_t i = 0; i < matched.size(); ++i) {
      model::Event& known = into.events[i];
      if (matched[i] || !IsSameEvent(known, event)) continue;
      matched[i] = true;
      if (known.rank < 0) known.rank = event.rank;
      if (!known.at.known()) known.at = event.at;
      return true;
    }
    return false;
  });
}

// The points that no restart overwrote, as indices by rising step.
std::vector<std::size_t> StandingPoints(const model::Series& series) {
  std::vector<std::size_t> standing;
  std::int64_t overwritten_from = std::numeric_limits<std::int64_t>::max();
  std::size_t segment = series.segment_starts.size();
  std::size_t end = series.size();
  while (segment-- > 0) {
    const std::size_t begin = series.segment_starts[segment];
    for (std::size_t i = end; i-- > begin;) {
      if (series.steps[i] < overwritten_from) standing.push_back(i);
    }
    overwritten_from = std::min(overwritten_from, series.steps[begin]);
    end = begin;
  }
  std::reverse(standing.begin(), standing.end());
  return standing;
}

// Takes digits and times from `other` where it has the same point.
bool Refine(model::Series& series, const model::Series& other, bool other_is_finer) {
  bool changed = false;
  const bool wants_times = series.times.empty() && !other.times.empty();
  if (wants_times) series.times.FillTo(series.size(), model::kNoValue);
  const Rounding of_mine = RoundingOf(series.values);
  const Rounding of_theirs = RoundingOf(other.values);
  const auto theirs = StandingPoints(other);
  std::size_t j = 0;
  for (const std::size_t i : StandingPoints(series)) {
    while (j < theirs.size() && other.steps[theirs[j]] < series.steps[i]) ++j;
    if (j == theirs.size()) break;
    const std::size_t at = theirs[j];
    const bool same = other.steps[at] == series.steps[i] &&
                      SameButForRounding(series.values[i], other.values[at], of_mine, of_theirs);
    if (!same) continue;
    if (other_is_finer && series.values[i] != other.values[at]) {
      series.values.MutableFrom(i).front() = other.values[at];
      changed = true;
    }
    if (wants_times) {
      series.times.MutableFrom(i).front() = other.times[at];
      changed = true;
    }
  }
  return changed;
}

// Adds the standing points of `other` at steps that `series` does not have. In a series with restarts only those above
// its last step have a place.
bool AddMissing(model::Series& series, const model::Series& other) {
  model::Series merged;
  const auto theirs = StandingPoints(other);
  const bool restarted = series.segment_starts.size() > 1;
  const std::int64_t last = *std::max_element(series.steps.begin(), series.steps.end());
  std::size_t j = 0;
  bool added = false;
  const auto take_until = [&](std::int64_t step) {
    for (; j < theirs.size() && other.steps[theirs[j]] < step; ++j) {
      const std::size_t at = theirs[j];
      if (restarted && other.steps[at] <= last) continue;
      merged.Append(other.steps[at], other.values[at], TimeAt(other, at));
      added = true;
    }
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (!restarted) take_until(series.steps[i]);
    if (!restarted && j < theirs.size() && other.steps[theirs[j]] == series.steps[i]) ++j;
    merged.Append(series.steps[i], series.values[i], TimeAt(series, i), LineAt(series, i));
  }
  take_until(std::numeric_limits<std::int64_t>::max());
  if (!added) return false;
  series.steps = std::move(merged.steps);
  series.values = std::move(merged.values);
  series.times = std::move(merged.times);
  series.lines = std::move(merged.lines);
  series.segment_starts = std::move(merged.segment_starts);
  return true;
}

// Places of one axis that two series both have, and at how many of them they have the same value.
struct Overlap {
  std::size_t common = 0;
  std::size_t agree = 0;
};

Overlap OverlapOf(const model::Series& a, const model::Series& b) {
  const auto mine = StandingPoints(a);
  const auto theirs = StandingPoints(b);
  const Rounding of_a = RoundingOf(a.values);
  const Rounding of_b = RoundingOf(b.values);
  Overlap overlap;
  std::size_t j = 0;
  for (const std::size_t i : mine) {
    while (j < theirs.size() && b.steps[theirs[j]] < a.steps[i]) ++j;
    if (j == theirs.size()) break;
    if (b.steps[theirs[j]] != a.steps[i]) continue;
    ++overlap.common;
    overlap.agree += SameButForRounding(a.values[i], b.values[theirs[j]], of_a, of_b) ? 1 : 0;
  }
  return overlap;
}

// Whether two series of one signal and axis may hold the same quantity: a run may log a mean beside the value. True for
// two that do not overlap, as parts of one series do not.
bool MayBeSameQuantity(const model::Series& a, const model::Series& b) {
  const Overlap overlap = OverlapOf(a, b);
  return overlap.agree * 2 >= overlap.common;
}

// Times that steps went back; a step that is written twice is none.
std::size_t Restarts(const model::Series& series) {
  return static_cast<std::size_t>(
      std::count_if(series.segment_starts.begin(), series.segment_starts.end(),
                    [&](std::uint32_t start) { return start > 0 && series.steps[start] < series.steps[start - 1]; }));
}

// True when the series of `into` changed.
bool Unite(model::Series& mine, model::Series& theirs, bool theirs_is_finer) {
  if (theirs.empty()) return false;
  if (mine.aggregation == model::Aggregation::kUnknown) mine.aggregation = theirs.aggregation;
  if (mine.clipping == model::Clipping::kUnknown) mine.clipping = theirs.clipping;
  const bool saw_more_restarts = Restarts(theirs) > Restarts(mine);
  if (mine.empty() || saw_more_restarts) {
    std::swap(mine, theirs);
    Refine(mine, theirs, !theirs_is_finer);
    if (!theirs.empty()) AddMissing(mine, theirs);
    return true;
  }
  const bool refined = Refine(mine, theirs, theirs_is_finer);
  return AddMissing(mine, theirs) || refined;
}

// Where the run ends, on the axis that it is counted on.
model::Position EndOf(const model::Run& run) {
  const model::Axis axis = model::MainAxis(run);
  model::Position end;
  for (const model::Series& series : run.series) {
    if (series.axis != axis || series.empty()) continue;
    const model::Position last = series.PositionOf(series.size() - 1);
    if (!end.known() || std::is_gt(CompareOnAxis(last, end))) end = last;
  }
  return end;
}

// A log that begins with "resuming" gives no step: it is where the part before it ended.
void PlaceResumes(const model::Run& into, model::Run& from) {
  for (model::Event& event : from.events) {
    const bool placed = event.at.known() && event.at.value() > 0;
    if (event.kind == model::EventKind::kResume && !placed) event.at = EndOf(into);
  }
}

// The points of `series` with which `known` begins too, as an index behind the last of them.
std::size_t SharedBeginning(const model::Series& known, const model::Series& series) {
  const Rounding of_known = RoundingOf(known.values);
  const Rounding of_series = RoundingOf(series.values);
  const auto standing = StandingPoints(known);
  std::size_t j = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    while (j < standing.size() && known.steps[standing[j]] < series.steps[i]) ++j;
    const bool shared = j < standing.size() && known.steps[standing[j]] == series.steps[i] &&
                        SameButForRounding(known.values[standing[j]], series.values[i], of_known, of_series);
    if (!shared) return i;
  }
  return series.size();
}

// What of a branch is appended: what lies behind the fork.
class Fork {
 public:
  Fork(const model::Run& into, const model::Run& branch, model::Position at) : at_(at) {
    if (!at.known()) return;
    of_branch_ = identify::AxesOf(branch);
    of_run_ = identify::AxesOf(into);
  }

  std::vector<bool> PointsBehind(const model::Series& known, const model::Series& series) const {
    std::vector<bool> behind(series.size(), true);
    if (!at_.known()) return behind;
    const bool is_mapped = !series.empty() && Compare(series.PositionOf(0)) != std::partial_ordering::unordered;
    const std::size_t shared = is_mapped ? 0 : SharedBeginning(known, series);
    for (std::size_t i = 0; i < series.size(); ++i)
      behind[i] = is_mapped ? std::is_gt(Compare(series.PositionOf(i))) : i >= shared;
    return behind;
  }

 private:
  // Not rounded: step 121 lies behind epoch 1 that ends at step 120.
  std::partial_ordering Compare(model::Position position) const {
    const std::partial_ordering order = of_branch_.Compare(position, at_);
    return order == std::partial_ordering::unordered ? of_run_.Compare(position, at_) : order;
  }

  model::Position at_;
  model::AxisMap of_branch_;
  model::AxisMap of_run_;
};

}  // namespace

// Where the series and facts of the run stand.
struct Joiner::Index {
  std::unordered_map<std::string, std::size_t> by_key;
  std::unordered_map<std::string, std::size_t> by_name;
  std::unordered_map<std::string, std::vector<std::size_t>> facts;

  void AddSeries(const model::Series& series, std::size_t at) {
    const std::string key = KeyOf(series);
    by_key.try_emplace(key, at);
    by_name.try_emplace(key + '\x1f' + series.raw, at);
  }
  // The series of the same metric as `like`: of that key, the raw name deciding among several.
  std::optional<std::size_t> Find(const model::Series& like) const {
    const std::string key = KeyOf(like);
    if (const auto at = by_name.find(key + '\x1f' + like.raw); at != by_name.end()) return at->second;
    const auto at = by_key.find(key);
    return at == by_key.end() ? std::nullopt : std::optional(at->second);
  }
};

Joiner::Joiner(model::Run& into) : into_(into), index_(std::make_unique<Index>()) {
  for (std::size_t i = 0; i < into.series.size(); ++i) index_->AddSeries(into.series[i], i);
  for (std::size_t i = 0; i < into.facts.size(); ++i) index_->facts[into.facts[i].key].push_back(i);
}

Joiner::~Joiner() = default;

// Facts that the run does not state yet. Of two sources of one kind (checkpoints) the first given counts.
void Joiner::KeepNewFacts(model::Run& from) const {
  std::erase_if(from.facts, [&](const model::Fact& fact) {
    const std::string& format = from.sources[fact.place.source].format;
    const auto known = index_->facts.find(fact.key);
    return known != index_->facts.end() && std::any_of(known->second.begin(), known->second.end(), [&](std::size_t at) {
             const model::Fact& other = into_.facts[at];
             return other.value == fact.value || into_.sources[other.place.source].format == format;
           });
  });
}

// Everything but the series, with places moved behind the sources that are already there.
std::uint32_t Joiner::MoveRest(model::Run& from) {
  const auto offset = static_cast<std::uint32_t>(into_.sources.size());
  for (model::Source& source : from.sources) into_.sources.push_back(std::move(source));
  for (model::Event& event : from.events) {
    event.place.source += offset;
    into_.events.push_back(std::move(event));
  }
  for (model::Fact& fact : from.facts) {
    fact.place.source += offset;
    index_->facts[fact.key].push_back(into_.facts.size());
    into_.facts.push_back(std::move(fact));
  }
  for (model::Artifact& artifact : from.artifacts) into_.artifacts.push_back(std::move(artifact));
  into_.batches.Append(from.batches);
  if (identify::SaysMore(from.framework, into_.framework)) into_.framework = from.framework;
  into_.ranks = std::max(into_.ranks, from.ranks);
  into_.planned_steps = std::max(into_.planned_steps, from.planned_steps);
  return offset;
}

// The series that both share become one; those that only `from` has are moved. True when anything changed.
bool Joiner::UniteSeries(model::Run& from, std::uint32_t offset) {
  bool added = false;
  std::vector<model::Series> moved;
  for (model::Series& series : from.series) {
    const auto at = index_->Find(series);
    const int mine = at ? into_.sources[into_.series[*at].source].digits : 0;
    series.source += offset;
    if (at && MayBeSameQuantity(into_.series[*at], series)) {
      added |= Unite(into_.series[*at], series, into_.sources[series.source].digits > mine);
      index_->AddSeries(into_.series[*at], *at);  // it may have the other's name now
    } else if (!series.empty()) {
      added = true;
      moved.push_back(std::move(series));
    }
  }
  for (model::Series& series : moved) {
    index_->AddSeries(series, into_.series.size());
    into_.series.push_back(std::move(series));
  }
  return added;
}

void Joiner::Append(model::Run from, model::Position after) {
  const Fork fork(into_, from, after);
  KeepNewFacts(from);
  PlaceResumes(into_, from);
  const std::uint32_t offset = MoveRest(from);
  const std::size_t before = into_.series.size();
  for (model::Series& series : from.series) {
    series.source += offset;
    const auto at = index_->Find(series);
    if (!at) {
      into_.series.push_back(std::move(series));
      continue;
    }
    model::Series& mine = into_.series[*at];
    const std::vector<bool> behind = fork.PointsBehind(mine, series);
    for (std::size_t i = 0; i < series.size(); ++i) {
      // A line is one of the series' first source: those of other files are not kept.
      if (behind[i]) mine.Append(series.steps[i], series.values[i], TimeAt(series, i));
    }
  }
  for (std::size_t i = before; i < into_.series.size(); ++i) index_->AddSeries(into_.series[i], i);
}

bool Joiner::Merge(model::Run from) {
  KeepNewFacts(from);
  KeepNewEvents(into_, from);
  const bool added_more = !from.facts.empty() || !from.artifacts.empty() || !from.batches.steps.empty() ||
                          std::any_of(from.events.begin(), from.events.end(), [](const model::Event& event) {
                            return event.kind != model::EventKind::kCheckpoint;
                          });
  const std::string like = into_.sources.front().path;
  const std::uint32_t offset = MoveRest(from);
  const bool added = UniteSeries(from, offset) || added_more;
  if (added) return true;
  for (std::size_t i = offset; i < into_.sources.size(); ++i) {
    model::Source& source = into_.sources[i];
    source.state = model::SourceState::kDuplicate;
    source.duplicate_of = like;
  }
  return false;
}

void AppendRun(model::Run& into, model::Run from, model::Position after) {
  Joiner(into).Append(std::move(from), after);
}
bool MergeRun(model::Run& into, model::Run from) { return Joiner(into).Merge(std::move(from)); }

bool HoldsAlready(const model::Run& run, const model::Series& series) {
  return std::any_of(run.series.begin(), run.series.end(), [&](const model::Series& known) {
    if (known.raw != series.raw || known.labels != series.labels || known.axis != series.axis) return false;
    const Overlap overlap = OverlapOf(known, series);
    return overlap.common > 0 && overlap.agree * 2 >= overlap.common;
  });
}

void PlaceRows(model::Run& part, const RowMatch& match) {
  for (model::Series& series : part.series) {
    if (series.axis != model::Axis::kRow) continue;
    model::Series placed = series;
    placed.axis = match.axis;
    placed.ClearPoints();
    for (std::size_t i = 0; i < series.size(); ++i) {
      const auto next = std::upper_bound(match.rows.begin(), match.rows.end(), series.steps[i]);
      const std::size_t row = next == match.rows.begin() ? 0 : static_cast<std::size_t>(next - match.rows.begin()) - 1;
      if (!placed.steps.empty() && placed.steps.back() == match.steps[row]) continue;
      placed.Append(match.steps[row], series.values[i], TimeAt(series, i), LineAt(series, i));
    }
    series = std::move(placed);
  }
}

}  // namespace vigil::assemble
