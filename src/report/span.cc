#include "report/span.h"

#include <algorithm>

namespace vigil::report {
namespace {

void Widen(Span& span, const model::Series& series) {
  if (series.empty()) return;
  std::int64_t low = series.steps.front();
  std::int64_t high = low;
  // std::minmax_element compares through its results, which takes several times as long.
  for (const std::int64_t step : series.steps) {
    low = std::min(low, step);
    high = std::max(high, step);
  }
  span.first = span.empty() ? low : std::min(span.first, low);
  span.last = span.empty() ? high : std::max(span.last, high);
  span.logged = std::max<std::uint64_t>(span.logged, series.size());
}

}  // namespace

Span SpanOn(const model::Run& run, model::Axis axis) {
  Span span;
  span.axis = axis;
  for (const model::Series& series : run.series) {
    if (series.axis == axis) Widen(span, series);
  }
  return span;
}

Span SpanOf(const model::Run& run) { return SpanOn(run, model::MainAxis(run)); }

std::optional<std::int64_t> CountOn(const model::Run& run, model::Axis axis, model::Position position) {
  return run.axes.To(axis, position).ValueOn(axis);
}

}  // namespace vigil::report
