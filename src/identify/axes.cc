// How the axes of a run relate, from what it logged itself. Settings are not asked: `num_train_epochs` beside
// `max_steps` says what was wished for, and trainers let one overrule the other.
#include <string_view>
#include <vector>

#include "identify/identify.h"

namespace vigil::identify {
namespace {

using model::Axis;

// Metrics that are themselves a count on another axis.
struct CountMetric {
  std::string_view signal;
  Axis axis;
};
constexpr CountMetric kCountMetrics[] = {
    {"epoch", Axis::kEpoch}, {"tokens_seen", Axis::kTokens}, {"samples_seen", Axis::kSamples}, {"step", Axis::kStep}};

// A map of some thousand pairs is as good as one of millions.
constexpr std::size_t kMostPairs = 4096;

std::vector<model::AxisMap::Pair> PairsOf(const model::Series& series) {
  std::vector<model::AxisMap::Pair> pairs;
  const std::size_t stride = series.size() / kMostPairs + 1;
  for (std::size_t i = 0; i < series.size(); i += stride)
    pairs.push_back({series.values[i], static_cast<double>(series.steps[i])});
  if (!series.empty()) pairs.push_back({series.values.back(), static_cast<double>(series.steps.back())});
  return pairs;
}

}  // namespace

model::AxisMap AxesOf(const model::Run& run) {
  model::AxisMap axes;
  for (const CountMetric& metric : kCountMetrics) {
    const model::Series* series = run.Find(metric.signal);
    if (series != nullptr && series->axis != metric.axis && series->axis != Axis::kRow)
      axes.Learn(metric.axis, series->axis, PairsOf(*series));
  }
  return axes;
}

void LearnAxes(model::Run& run) { run.axes = AxesOf(run); }

}  // namespace vigil::identify
