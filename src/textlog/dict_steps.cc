#include "textlog/dict_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vigil::textlog {
namespace {

// Rows without a step are kept until the end, when their steps are known.
constexpr std::size_t kMostRows = 1'000'000;

void RebuildSegments(model::Series& series) {
  series.segment_starts.clear();
  for (std::size_t i = 0; i < series.steps.size(); ++i) {
    if (i == 0 || series.steps[i] <= series.steps[i - 1])
      series.segment_starts.push_back(static_cast<std::uint32_t>(i));
  }
}

RowContext ContextOf(const model::Run& part, std::int64_t total_steps) {
  RowContext context;
  context.total_steps = std::max<std::int64_t>(total_steps, std::llround(part.FactNumber("max_steps").value_or(0)));
  context.logging_steps = std::llround(std::floor(part.FactNumber("logging_steps").value_or(0)));
  context.epochs = part.FactNumber("epochs").value_or(0);
  return context;
}

}  // namespace

bool DictSteps::ObserveBar(const ProgressBar& progress) {
  if (KindOf(progress) != BarKind::kPlain || !bar_.Observe(progress)) return false;
  rows_.ObserveBar(progress.count);
  return true;
}

std::int64_t DictSteps::Add(RowKind kind, double epoch, bool after_wipe) {
  if (rows_.size() >= kMostRows) {
    ++left_out_;
    return -1;
  }
  if (kind == RowKind::kTraining) bar_.ObserveTrainingRow();
  const std::int64_t step = kUnresolved + static_cast<std::int64_t>(rows_.size());
  rows_.Add(kind, epoch, after_wipe, bar_);
  return step;
}

bool DictSteps::Resolve(model::Run& part, StepTracker& steps) {
  if (empty()) return false;
  const std::vector<std::int64_t> resolved = rows_.Resolve(ContextOf(part, steps.total()));
  const model::Axis axis = rows_.counted_as_rows() ? model::Axis::kRow : model::Axis::kStep;
  const auto step_of = [&](std::int64_t step) { return resolved[static_cast<std::size_t>(step - kUnresolved)]; };
  for (model::Series& series : part.series) {
    if (series.steps.empty() || *std::max_element(series.steps.begin(), series.steps.end()) < kUnresolved) continue;
    for (std::int64_t& step : series.steps) {
      if (step >= kUnresolved) step = step_of(step);
    }
    RebuildSegments(series);
    if (rows_.counted_as_rows()) series.axis = axis;
  }
  for (model::Event& event : part.events) {
    if (event.at.known() && event.at.value() >= kUnresolved)
      event.at = model::Position(axis, step_of(event.at.value()));
  }
  if (steps.latest() >= kUnresolved) steps.Observe(step_of(steps.latest()), axis);
  return rows_.counted_as_rows();
}

}  // namespace vigil::textlog
