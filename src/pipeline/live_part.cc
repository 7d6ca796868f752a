#include "pipeline/live_part.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vigil::pipeline {
namespace {

bool SameBits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

double Scaled(double value, double scale) { return scale == 1 || value != value ? value : value * scale; }

ingest::PartBuilder::SeriesId Id(std::size_t at) { return static_cast<ingest::PartBuilder::SeriesId>(at); }

// The join adds labels (the rank of a file) and takes none away.
bool HasLabels(const model::Series& series, const model::Labels& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const auto& label) {
    return std::find(series.labels.begin(), series.labels.end(), label) != series.labels.end();
  });
}

// Whether `to` is the first `count` numbers of `from`, in the same memory.
template <class T>
bool Shares(const model::Column<T>& to, const model::Column<T>& from, std::size_t count) {
  return to.size() == std::min(count, from.size()) && to.IsSharedPrefixOf(from);
}

// All but the values, which may be in another unit.
bool SharesPlaces(const model::Series& to, const model::Series& from, std::size_t count) {
  return Shares(to.steps, from.steps, count) && Shares(to.times, from.times, count) &&
         Shares(to.lines, from.lines, count);
}

// Whether the values of `to` end with the first `count` of `from`.
bool EndsWithValues(const model::Series& to, const model::Series& from, std::size_t count, double scale) {
  if (scale == 1 && Shares(to.values, from.values, count)) return true;
  const std::size_t offset = to.size() - count;
  for (std::size_t i = count; i-- > 0;) {
    if (!SameBits(to.values[offset + i], Scaled(from.values[i], scale))) return false;
  }
  return true;
}

// Whether the run's series ends with all points of the part's: what is appended to one is then appended to the other.
bool EndsWith(const model::Series& to, const model::Series& from, std::size_t count, double scale) {
  if (to.size() < count) return false;
  const bool same_steps =
      Shares(to.steps, from.steps, count) ||
      std::equal(from.steps.begin(), from.steps.begin() + count, to.steps.end() - static_cast<std::ptrdiff_t>(count));
  return same_steps && EndsWithValues(to, from, count, scale);
}

// Segments that begin at or behind point `first` of both, up to the last point of `to`.
void TakeSegments(const model::Series& from, std::size_t first, model::Series& to) {
  while (!to.segment_starts.empty() && to.segment_starts.back() >= first) to.segment_starts.pop_back();
  auto at = std::lower_bound(from.segment_starts.begin(), from.segment_starts.end(), first);
  for (; at != from.segment_starts.end() && *at < to.size(); ++at) to.segment_starts.push_back(*at);
}

// The points of `from` up to `count`, where `to` has the first `taken` of them.
void ShareMore(const model::Series& from, std::size_t taken, std::size_t count, double scale, model::Series& to) {
  to.steps = from.steps.Prefix(count);
  to.times = from.times.Prefix(count);
  to.lines = from.lines.Prefix(count);
  if (scale == 1) {
    to.values = from.values.Prefix(count);
  } else {
    for (std::size_t i = taken; i < count; ++i) to.values.push_back(Scaled(from.values[i], scale));
  }
  TakeSegments(from, taken, to);
}

void AppendMore(const model::Series& from, std::size_t taken, std::size_t count, double scale, model::Series& to) {
  const bool has_lines = to.lines.size() == to.size() || to.empty();  // lines are those of the first file
  for (std::size_t i = taken; i < count; ++i)
    to.Append(from.steps[i], Scaled(from.values[i], scale), from.times.empty() ? model::kNoValue : from.times[i],
              has_lines && !from.lines.empty() ? from.lines[i] : 0);
}

template <class T>
void Reserve(model::Column<T>& column) {
  if (!column.empty()) column.reserve(column.size() + column.size() / 2);
}

}  // namespace

// ---- what may grow from what

RouteTargets::RouteTargets(const model::Run& run) : is_taken_(run.series.size(), false) {
  for (std::size_t i = 0; i < run.series.size(); ++i) by_name_[run.series[i].raw].push_back(i);
}

std::span<const std::size_t> RouteTargets::Named(std::string_view raw) const {
  const auto at = by_name_.find(raw);
  if (at == by_name_.end()) return {};
  return at->second;
}

void LivePart::SeriesRoute::TakeUpTo(const model::Series& from, std::size_t count) {
  taken = count;
  segments = from.segment_starts.size();
  if (count == 0) return;
  last_step = from.steps[count - 1];
  last_value = from.values[count - 1];
}

LivePart::LivePart(const ingest::PartBuilder& builder, std::size_t run, std::uint32_t place)
    : builder_(&builder), run_(run), place_(place) {
  const model::Run& part = builder.part();
  framework_ = part.framework;
  facts_ = part.facts.size();
  artifacts_ = part.artifacts.size();
  batches_ = part.batches.steps.size();
  planned_steps_ = part.planned_steps;
  ranks_ = part.ranks;
  events_.Take(builder, place);
  for (std::size_t i = 0; i < part.series.size(); ++i) routes_.push_back(Describe(i));
}

LivePart::SeriesRoute LivePart::Describe(std::size_t at) const {
  const model::Series& series = builder_->part().series[at];
  SeriesRoute route;
  route.signal = series.signal;
  route.axis = series.axis;
  route.aggregation = series.aggregation;
  route.scale = builder_->ScaleOf(Id(at));
  if (builder_->IsLeftOut(Id(at))) {
    route.kind = SeriesRoute::Kind::kLeftOut;
  } else {
    route.TakeUpTo(series, builder_->PlacedPoints(Id(at)));
  }
  return route;
}

void LivePart::Route(const model::Run& run, RouteTargets& targets) {
  for (std::size_t i = 0; i < routes_.size(); ++i) RouteSeries(i, run, targets);
  const model::BatchFingerprints& batches = builder_->part().batches;
  shares_batches_ = Shares(run.batches.steps, batches.steps, batches_) &&
                    Shares(run.batches.hashes, batches.hashes, batches_) &&
                    Shares(run.batches.ranks, batches.ranks, batches_);
  rank_ = RankGivenIn(run);
  events_.Find(run);
}

// The rank that the join gave the series of this part, by the name of its file. Its batches have it too.
std::int32_t LivePart::RankGivenIn(const model::Run& run) const {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (!routes_[i].Grows() || !model::FindLabel(builder_->part().series[i].labels, "rank").empty()) continue;
    const auto rank = ParseInteger(model::FindLabel(run.series[routes_[i].series].labels, "rank"));
    if (rank) return static_cast<std::int32_t>(*rank);
  }
  return -1;
}

void LivePart::RouteSeries(std::size_t at, const model::Run& run, RouteTargets& targets) {
  const model::Series& from = builder_->part().series[at];
  SeriesRoute& route = routes_[at];
  if (route.kind == SeriesRoute::Kind::kLeftOut || route.taken == 0) return;
  for (const bool of_this_file : {true, false}) {  // two ranks may have logged the same
    for (const std::size_t i : targets.Named(from.raw)) {
      const model::Series& to = run.series[i];
      // What two files log alike is appended from one of them.
      const bool fits = !targets.IsTaken(i) && (to.source == place_) == of_this_file && to.axis == from.axis &&
                        to.sum_of.empty() && HasLabels(to, from.labels) && EndsWith(to, from, route.taken, route.scale);
      if (!fits) continue;
      const bool shares = SharesPlaces(to, from, route.taken);
      const bool shares_values = route.scale != 1 || Shares(to.values, from.values, route.taken);
      route.kind = shares && shares_values ? SeriesRoute::Kind::kShared : SeriesRoute::Kind::kAppended;
      route.series = i;
      targets.Take(i);
      return;
    }
  }
}

void LivePart::FindDuplicates(const model::Run& run, const RouteTargets& targets) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    SeriesRoute& route = routes_[i];
    if (route.kind != SeriesRoute::Kind::kUnknown || route.taken == 0) continue;
    const model::Series& from = builder_->part().series[i];
    for (std::size_t to = 0; to < run.series.size(); ++to) {
      const model::Series& other = run.series[to];
      const bool holds_it =
          targets.IsTaken(to) && other.signal == from.signal && other.labels == from.labels && other.axis == from.axis;
      if (!holds_it) continue;
      route.kind = SeriesRoute::Kind::kDuplicate;
      route.series = to;
      break;
    }
  }
}

void LivePart::ForgetRoutes() {
  for (SeriesRoute& route : routes_) route.kind = SeriesRoute::Kind::kUnknown;
}

void LivePart::MakeRoom(model::Run& run) const {
  for (const SeriesRoute& route : routes_) {
    if (!route.Grows()) continue;
    model::Series& series = run.series[route.series];
    const bool is_shared = route.kind == SeriesRoute::Kind::kShared;
    if (!is_shared || route.scale != 1) Reserve(series.values);
    if (is_shared) continue;
    Reserve(series.steps);
    Reserve(series.times);
    Reserve(series.lines);
  }
}

// ---- growing

bool LivePart::CanGrow(const model::Run* run) const {
  const model::Run& part = builder_->part();
  if (part.facts.size() != facts_ || part.artifacts.size() != artifacts_ || part.planned_steps != planned_steps_ ||
      part.ranks != ranks_ || part.framework != framework_ || part.series.size() != routes_.size() || !CanGrowBatches())
    return false;
  for (std::size_t i = 0; i < part.series.size(); ++i) {
    if (!CanGrowSeries(i)) return false;
  }
  return events_.IsUnchanged(part) || (run != nullptr && events_.CanUpdate(part, *run, has_all_points_));
}

// Of several parts the join knows which rank a batch without one is of.
bool LivePart::CanGrowBatches() const {
  const model::Column<std::int32_t>& ranks = builder_->part().batches.ranks;
  if (ranks.size() < batches_) return false;
  if (has_all_points_ || rank_ >= 0) return true;
  return std::find(ranks.begin() + static_cast<std::ptrdiff_t>(batches_), ranks.end(), -1) == ranks.end();
}

bool LivePart::CanGrowSeries(std::size_t at) const {
  using Kind = SeriesRoute::Kind;
  const model::Series& from = builder_->part().series[at];
  const SeriesRoute& route = routes_[at];
  if (builder_->IsLeftOut(Id(at)) != (route.kind == Kind::kLeftOut)) return false;
  if (from.signal != route.signal || from.axis != route.axis || from.aggregation != route.aggregation) return false;
  if (route.kind == Kind::kLeftOut) return true;
  const std::size_t placed = builder_->PlacedPoints(Id(at));
  // A reader that thins its columns has other points at the same place, and one may fill in a value.
  if (placed < route.taken || (route.taken > 0 && (from.steps[route.taken - 1] != route.last_step ||
                                                   !SameBits(from.values[route.taken - 1], route.last_value))))
    return false;
  if (placed == route.taken || route.kind == Kind::kDuplicate) return true;
  if (route.kind == Kind::kUnknown) return false;
  // Of several files that restart, the join decides which points stand.
  return from.segment_starts.size() == route.segments || has_all_points_;
}

void LivePart::Grow(model::Run& run) {
  for (std::size_t i = 0; i < routes_.size(); ++i) GrowSeries(i, run);
  GrowBatches(run);
}

void LivePart::GrowSeries(std::size_t at, model::Run& run) {
  SeriesRoute& route = routes_[at];
  const std::size_t placed = builder_->PlacedPoints(Id(at));
  if (!route.Grows() || placed == route.taken) return;
  const model::Series& from = builder_->part().series[at];
  const auto grow = route.kind == SeriesRoute::Kind::kShared ? ShareMore : AppendMore;
  grow(from, route.taken, placed, route.scale, run.series[route.series]);
  route.TakeUpTo(from, placed);
}

void LivePart::GrowBatches(model::Run& run) {
  const model::BatchFingerprints& batches = builder_->part().batches;
  const std::size_t count = batches.steps.size();
  if (count == batches_) return;
  // Empty columns are like any others: only those of one part are surely its own.
  if (shares_batches_ && has_all_points_) {
    run.batches = batches;
  } else {
    for (std::size_t i = batches_; i < count; ++i) {
      const std::int32_t rank = batches.ranks[i];
      run.batches.Append(batches.steps[i], batches.hashes[i], rank < 0 ? rank_ : rank);
    }
  }
  batches_ = count;
}

bool LivePart::PassDuplicates(const model::Run& run) {
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    if (routes_[i].kind == SeriesRoute::Kind::kDuplicate && !PassDuplicates(i, run.series[routes_[i].series]))
      return false;
  }
  return true;
}

// The same but for rounding. A file that is a little ahead waits for the other one. False when it says something else,
// or goes on where the other has stopped.
bool LivePart::PassDuplicates(std::size_t at, const model::Series& whole) {
  constexpr double kRounding = 0.01;
  constexpr std::size_t kMostAhead = 64;
  SeriesRoute& route = routes_[at];
  const model::Series& from = builder_->part().series[at];
  const std::size_t placed = builder_->PlacedPoints(Id(at));
  const auto* const first = whole.steps.begin() + (whole.segment_starts.empty() ? 0 : whole.segment_starts.back());
  for (; route.taken < placed; ++route.taken) {
    const double mine = Scaled(from.values[route.taken], route.scale);
    const auto* const found = std::lower_bound(first, whole.steps.end(), from.steps[route.taken]);
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

}  // namespace vigil::pipeline
