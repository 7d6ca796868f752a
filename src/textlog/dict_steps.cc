#include "textlog/dict_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vigil::textlog {
namespace {

// Rows without a step are kept until the end, when their steps are known.
constexpr std::size_t kMostRows = 1'000'000;

void RebuildSegments(model::Series& series, std::size_t from) {
  std::erase_if(series.segment_starts, [&](std::uint32_t start) { return start >= from; });
  for (std::size_t i = from; i < series.steps.size(); ++i) {
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

std::int64_t DictSteps::StepOf(std::int64_t unresolved) const {
  const auto row = static_cast<std::size_t>(unresolved - kUnresolved);
  return unresolved >= kUnresolved && row < given_.size() ? given_[row] : model::kNoStep;
}

void DictSteps::Settle(model::Run& part, std::int64_t total_steps, bool all) {
  const std::size_t ready = all || !has_bar() ? rows_.size() : rows_.before_bar();
  if (ready != given_.size()) {
    GiveSteps(ContextOf(part, total_steps), ready);
    for (model::Series& series : part.series) Place(series);
  }
  for (model::Event& event : part.events) {
    const std::int64_t step = event.at.known() ? StepOf(event.at.value()) : model::kNoStep;
    if (step != model::kNoStep) event.at = model::Position(axis(), step);
  }
}

void DictSteps::GiveSteps(const RowContext& context, std::size_t rows) {
  const model::Axis before = axis();
  std::vector<std::int64_t> resolved = rows_.Resolve(context);
  const bool same = std::equal(given_.begin(), given_.end(), resolved.begin());
  was_revised_ = was_revised_ || !same || (!given_.empty() && axis() != before);
  resolved.resize(rows);
  given_ = std::move(resolved);
}

// Rows that wait stand at the end of their series.
void DictSteps::Place(model::Series& series) const {
  std::size_t first = series.size();
  while (first > 0 && series.steps[first - 1] >= kUnresolved) --first;
  if (first == series.size()) return;
  for (std::size_t i = first; i < series.size() && StepOf(series.steps[i]) != model::kNoStep; ++i)
    series.steps[i] = StepOf(series.steps[i]);
  RebuildSegments(series, first);
  if (counted_as_rows()) series.axis = model::Axis::kRow;
}

}  // namespace vigil::textlog
