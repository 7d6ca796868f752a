#include "tabular/thinning.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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
  bool all_finite = true;
};

std::size_t PlaceOf(const model::Column<double>& values, double wanted) {
  const auto at = std::find(values.begin(), values.end(), wanted);
  return at == values.end() ? 0 : static_cast<std::size_t>(at - values.begin());
}

// What is not finite less itself is NaN, which a sum keeps.
struct Course {
  Extremes extremes;
  double nothing = 0;

  void Take(double value) {
    extremes.least = value < extremes.least ? value : extremes.least;
    extremes.most = value > extremes.most ? value : extremes.most;
    nothing += value * 0;
  }
};

// Nearly all series are finite, and tables of millions of points wait for this pass: it has no branch, and four lanes,
// since each comparison would wait for the one before it. Not an array of lanes: that would live in memory.
bool FindExtremes(const model::Column<double>& values, Extremes& extremes) {
  Course a;
  Course b;
  Course c;
  Course d;
  const std::size_t even = values.size() - values.size() % 4;
  for (std::size_t i = 0; i < even; i += 4) {
    a.Take(values[i]);
    b.Take(values[i + 1]);
    c.Take(values[i + 2]);
    d.Take(values[i + 3]);
  }
  for (std::size_t i = even; i < values.size(); ++i) a.Take(values[i]);
  extremes.least = std::min({a.extremes.least, b.extremes.least, c.extremes.least, d.extremes.least});
  extremes.most = std::max({a.extremes.most, b.extremes.most, c.extremes.most, d.extremes.most});
  return a.nothing + b.nothing + c.nothing + d.nothing == 0;
}

void FindTurns(const model::Column<double>& values, Pinned& pinned) {
  bool was_finite = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    const bool is_finite = std::isfinite(value);
    pinned.turns += is_finite != std::exchange(was_finite, is_finite) ? 1 : 0;
    if (!is_finite && pinned.places[3] == 0) pinned.places[3] = i;
    if (is_finite) pinned.extremes.least = std::min(pinned.extremes.least, value);
    if (is_finite) pinned.extremes.most = std::max(pinned.extremes.most, value);
  }
}

Pinned PinnedPoints(const model::Column<double>& values) {
  Pinned pinned{{values.size() - 1, 0, 0, 0}, {}, 0};
  pinned.all_finite = FindExtremes(values, pinned.extremes);
  if (!pinned.all_finite) {
    pinned.extremes = {};
    FindTurns(values, pinned);
  }
  pinned.places[1] = PlaceOf(values, pinned.extremes.least);
  pinned.places[2] = PlaceOf(values, pinned.extremes.most);
  std::sort(pinned.places.begin(), pinned.places.end());
  return pinned;
}

// One pass over a series that moves the points that stay to its front. Most points are plain: they go by their turn,
// and by how they stand out. Few places are marked: the first of a segment, pinned, or extra.
class Halving {
 public:
  Halving(model::Series& series, const Pinned& pinned, bool keeps_starts, std::vector<std::uint32_t>& extra)
      : series_(series),
        all_(series),
        pinned_(pinned),
        keeps_starts_(keeps_starts),
        starts_(std::exchange(series.segment_starts, {})),
        extra_before_(std::exchange(extra, {})),
        extra_(extra) {}

  // `stands_out`: whether a value is kept out of turn, beside the one kept before it.
  template <class StandsOut>
  void Run(const StandsOut& stands_out) {
    const std::size_t size = series_.size();
    for (std::size_t i = 0; i < size;) {
      TakeMarked(i, stands_out);
      const std::size_t mark = std::min(NextMark(), size);
      TakePlain(i + 1, mark, stands_out);
      i = std::max(i + 1, mark);
    }
    series_.Truncate(kept_);
  }

 private:
  template <class StandsOut>
  void TakeMarked(std::size_t i, const StandsOut& stands_out) {
    const bool starts_segment = Passes(starts_, next_start_, i);
    const bool is_extra = Passes(extra_before_, next_extra_, i);
    const bool is_pinned = Passes(pinned_.places, next_pinned_, i);
    const bool is_due = !is_extra && turn_++ % 2 == 0;
    const bool is_kept = is_due || is_pinned || kept_ == 0 || (keeps_starts_ && starts_segment) ||
                         stands_out(all_.value(i), all_.value(kept_ - 1));
    if (is_kept) Keep(i, is_due, starts_segment);
  }

  // In pairs, the first of which is due. The columns are local: a store into them might change a member, for all that
  // the compiler knows.
  template <class StandsOut>
  void TakePlain(std::size_t from, std::size_t to, const StandsOut& stands_out) {
    std::size_t i = from;
    if (i < to && turn_ % 2 == 1) TakeOutOfTurn(i++, stands_out);
    if (i < to) Keep(i++, true, false);  // the only one of these that may begin a segment
    const Points all = all_;
    std::size_t kept = kept_;
    for (; i + 1 < to; i += 2) {
      if (stands_out(all.value(i), all.value(kept - 1))) {
        extra_.push_back(static_cast<std::uint32_t>(kept));
        all.Move(i, kept++);
      }
      all.Move(i + 1, kept++);
    }
    kept_ = kept;
    if (i < to) TakeOutOfTurn(i, stands_out);
    turn_ += to > from ? to - from : 0;
  }

  template <class StandsOut>
  void TakeOutOfTurn(std::size_t i, const StandsOut& stands_out) {
    if (stands_out(all_.value(i), all_.value(kept_ - 1))) Keep(i, false, false);
  }

  // Whether `at` is the next of the places, which are in order; they are then behind it.
  template <class Places>
  static bool Passes(const Places& places, std::size_t& next, std::size_t at) {
    const bool is_one = next < places.size() && places[next] == at;
    while (next < places.size() && places[next] <= at) ++next;
    return is_one;
  }

  std::size_t NextMark() const {
    std::size_t mark = std::numeric_limits<std::size_t>::max();
    if (next_start_ < starts_.size()) mark = starts_[next_start_];
    if (next_extra_ < extra_before_.size()) mark = std::min<std::size_t>(mark, extra_before_[next_extra_]);
    if (next_pinned_ < pinned_.places.size()) mark = std::min(mark, pinned_.places[next_pinned_]);
    return mark;
  }

  void Keep(std::size_t i, bool is_due, bool starts_segment) {
    if (!is_due) extra_.push_back(static_cast<std::uint32_t>(kept_));
    // A segment whose first point was left out begins with the next that stays.
    if (starts_segment || kept_ == 0 || all_.step(i) <= all_.step(kept_ - 1))
      series_.segment_starts.push_back(static_cast<std::uint32_t>(kept_));
    all_.Move(i, kept_++);
  }

  model::Series& series_;
  Points all_;
  const Pinned& pinned_;
  bool keeps_starts_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> extra_before_;
  std::vector<std::uint32_t>& extra_;
  std::size_t next_start_ = 0;
  std::size_t next_extra_ = 0;
  std::size_t next_pinned_ = 0;
  std::size_t turn_ = 0;  // of the points that are not extra
  std::size_t kept_ = 0;
};

}  // namespace

Extremes KeepEverySecond(model::Series& series, bool spikes, std::vector<std::uint32_t>& extra) {
  if (series.empty()) return {};
  const Pinned pinned = PinnedPoints(series.values);
  // Values that are not finite are what matters most, as long as they are not half of the series.
  const bool keeps_turns = !pinned.all_finite && pinned.turns <= series.size() / 8;
  Halving halving(series, pinned, spikes, extra);
  if (spikes && pinned.all_finite) {
    halving.Run([](double value, double before) { return IsFarFrom(value, before); });
  } else if (spikes) {
    halving.Run([](double value, double before) { return LeavesLevel(value, before); });  // which a turn does
  } else if (keeps_turns) {
    halving.Run([](double value, double before) { return std::isfinite(value) != std::isfinite(before); });
  } else {
    halving.Run([](double, double) { return false; });
  }
  return pinned.extremes;
}

model::Statement ThinnedNote(std::uint64_t stride) { return says::NoteThinned{.stride = stride}; }

// Decides what becomes of the point that was the last so far, and whether the new one has a place of its own.
bool Thinning::HasPlace(ingest::PartBuilder::SeriesId id, std::int64_t step, double value, double time,
                        std::uint32_t line) {
  if (latest_.size() <= id) latest_.resize(id + std::size_t{1});
  Latest& latest = latest_[id];
  const model::Series& series = builder_.series(id);
  const bool restarts =
      latest.is_waiting ? step <= latest.waiting.step : !series.empty() && step <= series.steps.back();
  if (latest.is_waiting) {
    // A record stays unless the next value exceeds it: a series that falls all the time is nothing but records.
    const double last = latest.waiting.value;
    const bool is_record = (latest.is_least && !(value < last)) || (latest.is_most && !(value > last));
    if (restarts || is_record) PlaceWaiting(id);
  }
  const bool due = (latest.seen++ & (stride_ - 1)) == 0;  // a power of two
  const bool stands_out =
      spikes_ ? LeavesLevel(value, latest.kept) : std::isfinite(value) != std::isfinite(latest.kept);
  const bool opens = std::exchange(latest.opens_segment, false);
  latest.is_waiting = !due && !restarts && !opens && !series.empty() && !stands_out;
  latest.is_least = value < latest.extremes.least && std::isfinite(value);
  latest.is_most = value > latest.extremes.most && std::isfinite(value);
  if (latest.is_least) latest.extremes.least = value;
  if (latest.is_most) latest.extremes.most = value;
  if (latest.is_waiting) {
    // One by one: as a struct it would be loaded in other pieces than it was stored in, which waits.
    latest.waiting.step = step;
    latest.waiting.value = value;
    latest.waiting.time = time;
    latest.waiting.line = line;
  } else {
    latest.kept = value;
    if (!due) latest.extra.push_back(static_cast<std::uint32_t>(series.size()));
  }
  return !latest.is_waiting;
}

void Thinning::OpenSegment(ingest::PartBuilder::SeriesId id) {
  if (latest_.size() <= id) latest_.resize(id + std::size_t{1});
  if (IsWaiting(id)) PlaceWaiting(id);
  latest_[id].opens_segment = stride_ != 1;
  model::Series& series = builder_.series(id);
  series.segment_starts.push_back(static_cast<std::uint32_t>(series.size()));
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
