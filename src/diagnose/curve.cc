#include "diagnose/curve.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>

#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

Stretch Cut(const Stretch& stretch, std::size_t begin, std::size_t end) {
  begin = std::min(begin, end);
  return {stretch.steps.subspan(begin, end - begin), stretch.values.subspan(begin, end - begin), stretch.interval};
}

std::size_t IndexOf(const Stretch& stretch, std::int64_t step) {
  return static_cast<std::size_t>(std::lower_bound(stretch.steps.begin(), stretch.steps.end(), step) -
                                  stretch.steps.begin());
}

Stretch Segment(const model::Series& series, std::size_t index, double interval) {
  const std::size_t begin = series.segment_starts[index];
  const std::size_t end = index + 1 < series.segment_starts.size() ? series.segment_starts[index + 1] : series.size();
  return {std::span(series.steps).subspan(begin, end - begin), std::span(series.values).subspan(begin, end - begin),
          interval};
}

bool IsNonFiniteAt(const Stretch& stretch, std::int64_t step) {
  const std::size_t at = IndexOf(stretch, step);
  return at < stretch.size() && stretch.steps[at] == step && !std::isfinite(stretch.values[at]);
}

// At most this many points are looked at for a level, a noise or an interval.
constexpr std::size_t kSample = 8192;

std::size_t StrideOf(std::size_t size) { return size / kSample + 1; }

double TypicalGap(std::span<const std::int64_t> steps) {
  std::vector<double> gaps;
  for (std::size_t i = 1; i < steps.size(); i += StrideOf(steps.size())) {
    if (steps[i] > steps[i - 1]) gaps.push_back(static_cast<double>(steps[i] - steps[i - 1]));
  }
  return gaps.empty() ? 0 : Median(std::move(gaps));
}

template <class Better>
double Extreme(const Stretch& stretch, Better better) {
  double best = model::kNoValue;
  for (const double value : stretch.values) {
    if (std::isfinite(value) && (std::isnan(best) || better(value, best))) best = value;
  }
  return best;
}

}  // namespace

Stretch Stretch::Between(std::int64_t first, std::int64_t last) const {
  return Cut(*this, IndexOf(*this, first), last < first ? IndexOf(*this, first) : IndexOf(*this, last + 1));
}
Stretch Stretch::Before(std::int64_t step) const { return Cut(*this, 0, IndexOf(*this, step)); }
Stretch Stretch::From(std::int64_t step) const { return Cut(*this, IndexOf(*this, step), size()); }
Stretch Stretch::Last(std::size_t count) const { return Cut(*this, size() - std::min(count, size()), size()); }
Stretch Stretch::First(std::size_t count) const { return Cut(*this, 0, std::min(count, size())); }

Stretch SegmentAt(const model::Series* series, std::int64_t step) {
  if (series == nullptr || series->empty() || series->segment_starts.empty()) return {};
  const double interval = IntervalOf(*series);
  std::optional<Stretch> holding;
  for (std::size_t i = series->segment_starts.size(); i-- > 0;) {
    const Stretch segment = Segment(*series, i, interval);
    if (IsNonFiniteAt(segment, step)) return segment;
    if (!holding && segment.steps.front() <= step && step <= segment.steps.back()) holding = segment;
  }
  return holding ? *holding : Segment(*series, series->segment_starts.size() - 1, interval);
}

Stretch Course::View() const { return {steps, values, TypicalGap(steps)}; }

Course::Course(const model::Series* series) {
  if (series == nullptr) return;
  if (series->segment_starts.size() <= 1) {
    steps = series->steps;
    values = series->values;
    return;
  }
  for (std::size_t i = 0; i < series->segment_starts.size(); ++i) {
    const Stretch segment = Segment(*series, i, 0);
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

double ValueAt(const Stretch& stretch, std::int64_t step) {
  const std::size_t after = IndexOf(stretch, step + 1);
  return after == 0 ? model::kNoValue : stretch.values[after - 1];
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

std::vector<double> Logs(const std::vector<double>& values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) {
    if (value > 0) logs.push_back(std::log(value));
  }
  return logs;
}

bool Logged(const model::Run& run, std::string_view signal) {
  const model::Series* series = run.Find(signal);
  return series != nullptr && !series->empty();
}

std::int64_t LastStep(const model::Run& run) {
  std::int64_t last = model::kNoStep;
  for (const model::Series& series : run.series) {
    if (series.axis != model::Axis::kStep || series.empty()) continue;
    last = std::max(last, series.steps.back());
    // Steps rise within a segment, so its last point is its highest.
    for (const std::uint32_t start : series.segment_starts) {
      if (start > 0) last = std::max(last, series.steps[start - 1]);
    }
  }
  return last;
}

std::int64_t PlannedOrSeenSteps(const model::Run& run) {
  if (run.planned_steps > 0) return run.planned_steps;
  if (const auto stated = run.FactNumber("max_steps"); stated && *stated >= 1 && *stated < 1e12)
    return static_cast<std::int64_t>(*stated);
  return std::max<std::int64_t>(LastStep(run), 0);
}

}  // namespace vigil::diagnose
