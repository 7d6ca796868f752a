#include "tabular/thinning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "catalogue/says.h"

namespace vigil::tabular {
namespace {

// The columns of a series while its points are moved to the front.
class Points {
 public:
  explicit Points(model::Series& series)
      : steps_(series.steps.Mutable()),
        values_(series.values.Mutable()),
        times_(series.times.Mutable()),
        lines_(series.lines.Mutable()) {}

  std::int64_t step(std::size_t at) const { return steps_[at]; }
  double value(std::size_t at) const { return values_[at]; }
  void Move(std::size_t from, std::size_t to) const {
    steps_[to] = steps_[from];
    values_[to] = values_[from];
    if (!times_.empty()) times_[to] = times_[from];
    if (!lines_.empty()) lines_[to] = lines_[from];
  }

 private:
  std::span<std::int64_t> steps_;
  std::span<double> values_;
  std::span<double> times_;
  std::span<std::uint32_t> lines_;
};

// Points that are kept whatever happens to their neighbours.
struct Pinned {
  std::array<std::size_t, 4> places;  // in order: the last, both extremes, the first that is not finite
  Extremes extremes;
  std::size_t turns = 0;  // from finite to not finite, and back
};

Pinned PinnedPoints(const model::Series& series) {
  const model::Column<double>& values = series.values;
  Pinned pinned{{values.size() - 1, 0, 0, 0}, {}, 0};
  bool was_finite = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_finite = std::isfinite(values[i]);
    pinned.turns += is_finite != std::exchange(was_finite, is_finite) ? 1 : 0;
    if (!is_finite) {
      if (pinned.places[3] == 0) pinned.places[3] = i;
      continue;
    }
    if (values[i] < pinned.extremes.least) {
      pinned.extremes.least = values[i];
      pinned.places[1] = i;
    }
    if (values[i] > pinned.extremes.most) {
      pinned.extremes.most = values[i];
      pinned.places[2] = i;
    }
  }
  std::sort(pinned.places.begin(), pinned.places.end());
  return pinned;
}

}  // namespace

Extremes KeepEverySecond(model::Series& series, bool spikes, std::vector<std::uint32_t>& extra) {
  if (series.empty()) return {};
  const Pinned points = PinnedPoints(series);
  const std::array<std::size_t, 4>& pinned = points.places;
  // Values that are not finite are what matters most, as long as they are not half of the series.
  const bool keeps_turns = points.turns <= series.size() / 8;
  const std::vector<std::uint32_t> starts = std::move(series.segment_starts);
  series.segment_starts.clear();
  const std::vector<std::uint32_t> extra_before = std::exchange(extra, {});
  std::size_t next_extra = 0;
  std::size_t turn = 0;  // of the points that are not extra
  std::size_t next = 0;
  std::size_t next_pinned = 0;
  std::size_t kept = 0;
  const Points all(series);
  for (std::size_t i = 0; i < series.size(); ++i) {
    const bool starts_segment = next < starts.size() && starts[next] == i;
    next += starts_segment ? 1 : 0;
    while (next_pinned < pinned.size() && pinned[next_pinned] < i) ++next_pinned;
    const bool is_pinned = next_pinned < pinned.size() && pinned[next_pinned] == i;
    const bool is_extra = next_extra < extra_before.size() && extra_before[next_extra] == i;
    next_extra += is_extra ? 1 : 0;
    const bool is_due = !is_extra && turn++ % 2 == 0;
    const bool is_kept = is_due || is_pinned || kept == 0 ||
                         (spikes && (starts_segment || LeavesLevel(all.value(i), all.value(kept - 1)))) ||
                         (keeps_turns && std::isfinite(all.value(i)) != std::isfinite(all.value(kept - 1)));
    if (!is_kept) continue;
    if (!is_due) extra.push_back(static_cast<std::uint32_t>(kept));
    if (starts_segment || kept == 0 || all.step(i) <= all.step(kept - 1))
      series.segment_starts.push_back(static_cast<std::uint32_t>(kept));
    all.Move(i, kept++);
  }
  series.Truncate(kept);
  return points.extremes;
}

model::Statement ThinnedNote(std::uint64_t stride) { return says::NoteThinned{.stride = stride}; }

// Decides what becomes of the point that was the last so far, and whether the new one has a place of its own.
bool Thinning::HasPlace(ingest::PartBuilder::SeriesId id, const Point& point) {
  if (latest_.size() <= id) latest_.resize(id + std::size_t{1});
  Latest& latest = latest_[id];
  const model::Series& series = builder_.series(id);
  const bool restarts =
      latest.is_waiting ? point.step <= latest.waiting.step : !series.empty() && point.step <= series.steps.back();
  if (latest.is_waiting) {
    // A record stays unless the next value exceeds it: a series that falls all the time is nothing but records.
    const double last = latest.waiting.value;
    const bool is_record = (latest.is_least && !(point.value < last)) || (latest.is_most && !(point.value > last));
    if (restarts || is_record) PlaceWaiting(id);
  }
  const bool due = (latest.seen++ & (stride_ - 1)) == 0;  // a power of two
  const bool stands_out =
      spikes_ ? LeavesLevel(point.value, latest.kept) : std::isfinite(point.value) != std::isfinite(latest.kept);
  latest.is_waiting = !due && !restarts && !series.empty() && !stands_out;
  latest.is_least = std::isfinite(point.value) && point.value < latest.extremes.least;
  latest.is_most = std::isfinite(point.value) && point.value > latest.extremes.most;
  if (latest.is_least) latest.extremes.least = point.value;
  if (latest.is_most) latest.extremes.most = point.value;
  if (latest.is_waiting) {
    latest.waiting = point;
  } else {
    latest.kept = point.value;
    if (!due) latest.extra.push_back(static_cast<std::uint32_t>(series.size()));
  }
  return !latest.is_waiting;
}

// Steps that are not known yet are beyond what Add takes, and steps that are impossible are to be counted by it.
void Thinning::PlaceWaiting(ingest::PartBuilder::SeriesId id) {
  Latest& latest = latest_[id];
  const Point& point = latest.waiting;
  latest.is_waiting = false;
  latest.extra.push_back(static_cast<std::uint32_t>(builder_.series(id).size()));
  if (point.step > static_cast<std::int64_t>(ingest::PartBuilder::kMaxStep)) {
    builder_.series(id).Append(point.step, point.value, point.time, point.line);
  } else {
    builder_.Add(id, point.step, point.value, point.time, point.line);
  }
}

void Thinning::Finish() {
  for (ingest::PartBuilder::SeriesId id = 0; id < latest_.size(); ++id) {
    if (latest_[id].is_waiting) PlaceWaiting(id);
  }
}

std::uint64_t Thinning::CountPoints() const {
  std::uint64_t points = 0;
  for (const model::Series& series : builder_.part().series) points += series.size();
  return points;
}

void Thinning::MakeRoom() {
  if (CountPoints() <= most_points_) return;
  Thin(true);
  // A series that jumps all the time is nothing but spikes.
  spikes_ = CountPoints() <= most_points_ / 4 * 3;
  if (!spikes_) Thin(false);
}

void Thinning::Thin(bool spikes) {
  stride_ *= 2;
  std::vector<model::Series>& all = builder_.part().series;
  latest_.resize(std::max(latest_.size(), all.size()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    Latest& latest = latest_[i];
    const std::size_t before = all[i].size();
    const Extremes extremes = KeepEverySecond(all[i], spikes, latest.extra);
    // Before the first thinning nobody counted: all of them were kept.
    if (stride_ == 2) {
      latest.seen = before;
      latest.extremes = extremes;
    }
    if (!all[i].empty()) latest.kept = all[i].values.back();
  }
}

}  // namespace vigil::tabular
