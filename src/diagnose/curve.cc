#include "diagnose/curve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

using model::Position;

Stretch Cut(const Stretch& stretch, std::size_t begin, std::size_t end) {
  begin = std::min(begin, end);
  Stretch part = stretch;
  part.steps = stretch.steps.subspan(begin, end - begin);
  part.values = stretch.values.subspan(begin, end - begin);
  return part;
}

// The count of a place on the axis of the stretch; nothing when no map leads there.
std::optional<std::int64_t> CountOn(const Stretch& stretch, Position at) {
  if (!at.known()) return std::nullopt;
  if (at.axis() == stretch.axis || stretch.axes == nullptr) return at.ValueOn(stretch.axis);
  return stretch.axes->To(stretch.axis, at).ValueOn(stretch.axis);
}

std::size_t IndexOf(const Stretch& stretch, std::int64_t count) {
  return static_cast<std::size_t>(std::lower_bound(stretch.steps.begin(), stretch.steps.end(), count) -
                                  stretch.steps.begin());
}

// Index of the first point behind a count.
std::size_t IndexBehind(const Stretch& stretch, std::int64_t count) {
  return static_cast<std::size_t>(std::upper_bound(stretch.steps.begin(), stretch.steps.end(), count) -
                                  stretch.steps.begin());
}

// Empty, but still on the axis of the stretch.
Stretch Nothing(const Stretch& stretch) { return Cut(stretch, 0, 0); }

Stretch Segment(const RunView& run, const model::Series& series, std::size_t index, double interval) {
  const std::size_t begin = series.segment_starts[index];
  const std::size_t end = index + 1 < series.segment_starts.size() ? series.segment_starts[index + 1] : series.size();
  return {std::span(series.steps).subspan(begin, end - begin), std::span(series.values).subspan(begin, end - begin),
          interval, series.axis, &run.axes()};
}

// A restart may log the same step again: the attempt that failed is the one the incident is about.
bool IsNonFiniteAt(const Stretch& stretch, std::int64_t count) {
  const std::size_t at = IndexOf(stretch, count);
  return at < stretch.size() && stretch.steps[at] == count && !std::isfinite(stretch.values[at]);
}

// At most this many points are looked at for a level, a noise or an interval.
constexpr std::size_t kSample = 8192;

std::size_t StrideOf(std::size_t size) { return size / kSample + 1; }

// The median, because restarts and pauses make a few gaps that say nothing about how often the run logs.
double TypicalGap(std::span<const std::int64_t> steps) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < steps.size(); i += StrideOf(steps.size())) {
    if (steps[i] > steps[i - 1]) gaps.push_back(static_cast<double>(steps[i] - steps[i - 1]));
  }
  return gaps.empty() ? 0 : Median(std::move(gaps));
}

// Over all points, not a sample: an extreme is what a sample misses.
template <class Better>
double Extreme(const Stretch& stretch, Better better) {
  double best = model::kNoValue;
  for (const double value : stretch.values) {
    if (std::isfinite(value) && (std::isnan(best) || better(value, best))) best = value;
  }
  return best;
}

}  // namespace

Stretch Stretch::Between(Position first, Position last) const {
  const auto begin = CountOn(*this, first);
  const auto end = CountOn(*this, last);
  if (!begin || !end || *end < *begin) return Nothing(*this);
  return Cut(*this, IndexOf(*this, *begin), IndexBehind(*this, *end));
}

Stretch Stretch::Before(Position at) const {
  const auto count = CountOn(*this, at);
  return count ? Cut(*this, 0, IndexOf(*this, *count)) : Nothing(*this);
}

Stretch Stretch::UpTo(Position at) const {
  const auto count = CountOn(*this, at);
  return count ? Cut(*this, 0, IndexBehind(*this, *count)) : Nothing(*this);
}

Stretch Stretch::From(Position at) const { return Cut(*this, IndexFrom(at), size()); }

Stretch Stretch::After(Position at) const {
  const auto count = CountOn(*this, at);
  return count ? Cut(*this, IndexBehind(*this, *count), size()) : Nothing(*this);
}

Stretch Stretch::Around(Position at, std::int64_t before, std::int64_t after) const {
  const auto count = CountOn(*this, at);
  return count ? Cut(*this, IndexOf(*this, *count - before), IndexBehind(*this, *count + after)) : Nothing(*this);
}

Stretch Stretch::Last(std::size_t count) const { return Cut(*this, size() - std::min(count, size()), size()); }
Stretch Stretch::First(std::size_t count) const { return Cut(*this, 0, std::min(count, size())); }

std::size_t Stretch::IndexFrom(Position at) const {
  const auto count = CountOn(*this, at);
  return count ? IndexOf(*this, *count) : size();
}

Stretch SegmentAt(const RunView& run, const model::Series* series, Position at) {
  if (series == nullptr || series->empty() || series->segment_starts.empty()) return {};
  const double interval = IntervalOf(*series);
  const Stretch last = Segment(run, *series, series->segment_starts.size() - 1, interval);
  const auto count = CountOn(last, at);
  // Without a place on its axis the newest attempt is what the run became.
  if (!count) return last;
  std::optional<Stretch> holding;
  for (std::size_t i = series->segment_starts.size(); i-- > 0;) {
    const Stretch segment = Segment(run, *series, i, interval);
    if (IsNonFiniteAt(segment, *count)) return segment;
    if (!holding && segment.steps.front() <= *count && *count <= segment.steps.back()) holding = segment;
  }
  return holding ? *holding : last;
}

Stretch Course::View() const { return {steps, values, TypicalGap(steps), axis, axes_}; }

Course::Course(const RunView& run, const model::Series* series) : axes_(&run.axes()) {
  if (series == nullptr) return;
  axis = series->axis;
  if (series->segment_starts.size() <= 1) {
    steps = series->steps;
    values = series->values;
    return;
  }
  for (std::size_t i = 0; i < series->segment_starts.size(); ++i) {
    const Stretch segment = Segment(run, *series, i, 0);
    // A later segment overwrites what came before it from its first step on.
    while (!own_steps_.empty() && own_steps_.back() >= segment.steps.front()) {
      own_steps_.pop_back();
      own_values_.pop_back();
    }
    own_steps_.insert(own_steps_.end(), segment.steps.begin(), segment.steps.end());
    own_values_.insert(own_values_.end(), segment.values.begin(), segment.values.end());
  }
  steps = own_steps_;
  values = own_values_;
}

double IntervalOf(const model::Series& series) { return TypicalGap(series.steps); }

bool IsLoggedEvery(const Stretch& stretch, double steps) {
  if (stretch.axis == model::Axis::kStep || stretch.axis == model::Axis::kRow) return stretch.interval <= steps;
  if (stretch.axes == nullptr) return false;
  const auto interval = stretch.axes->To(model::Axis::kStep, model::Extent{stretch.axis, stretch.interval});
  return interval && interval->amount <= steps;
}

double ValueAt(const Stretch& stretch, Position at) {
  const Stretch seen = stretch.UpTo(at);
  return seen.empty() ? model::kNoValue : seen.values.back();
}

double ValueBefore(const Stretch& stretch, Position at) {
  const Stretch seen = stretch.Before(at);
  return seen.empty() ? model::kNoValue : seen.values.back();
}

std::vector<double> FiniteValues(const Stretch& stretch) {
  std::vector<double> finite;
  const std::size_t stride = StrideOf(stretch.size());
  finite.reserve(stretch.size() / stride + 1);
  for (std::size_t i = 0; i < stretch.size(); i += stride) {
    if (std::isfinite(stretch.values[i])) finite.push_back(stretch.values[i]);
  }
  return finite;
}

double Largest(const Stretch& stretch) { return Extreme(stretch, std::greater<>()); }
double Smallest(const Stretch& stretch) { return Extreme(stretch, std::less<>()); }

double Quantile(std::vector<double> values, double share) {
  if (values.empty()) return model::kNoValue;
  const double position = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::lround(position));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

std::vector<double> Logs(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    if (value > 0) logs.push_back(std::log(value));
  }
  return logs;
}

bool Logged(const RunView& run, std::string_view signal) {
  const model::Series* series = run.Find(signal);
  return series != nullptr && !series->empty();
}

}  // namespace vigil::diagnose
