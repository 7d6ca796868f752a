#include "textlog/dict_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace vigil::textlog {
namespace {

// All rows decide together which steps they have. Those behind so many are counted on by the interval of the last of
// them.
constexpr std::size_t kMostRows = 1'000'000;
constexpr std::size_t kRowsOfInterval = 1000;

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
  if (rows_.size() >= kMostRows) return kUnresolved + static_cast<std::int64_t>(rows_.size() + counted_on_++);
  if (kind == RowKind::kTraining) bar_.ObserveTrainingRow();
  const std::int64_t step = kUnresolved + static_cast<std::int64_t>(rows_.size());
  rows_.Add(kind, epoch, after_wipe, bar_);
  return step;
}

std::int64_t DictSteps::StepOf(std::int64_t unresolved) const {
  if (unresolved < kUnresolved) return model::kNoStep;
  const auto row = static_cast<std::size_t>(unresolved - kUnresolved);
  if (row < given_.size()) return given_[row];
  if (given_.size() < kMostRows) return model::kNoStep;
  const std::int64_t reached = given_.back() - given_[kMostRows - 1 - kRowsOfInterval];
  const std::int64_t interval = std::max<std::int64_t>(1, reached / static_cast<std::int64_t>(kRowsOfInterval));
  return given_.back() + static_cast<std::int64_t>(row - kMostRows + 1) * interval;
}

void DictSteps::Settle(model::Run& part, std::int64_t total_steps, bool all) {
  const std::size_t ready = all || !has_bar() || counted_on_ > 0 ? rows_.size() : rows_.before_bar();
  if (ready != given_.size()) GiveSteps(ContextOf(part, total_steps), ready);
  for (model::Series& series : part.series) Place(series);
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
  for (std::int64_t& step : series.steps.MutableFrom(first)) {
    const std::int64_t given = StepOf(step);
    if (given == model::kNoStep) break;
    step = given;
  }
  RebuildSegments(series, first);
  if (axis() != model::Axis::kStep) series.axis = axis();
}

}  // namespace vigil::textlog
