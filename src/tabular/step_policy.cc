#include "tabular/step_policy.h"

#include <algorithm>
#include <cmath>

namespace vigil::tabular {
namespace {

const std::optional<double>& At(const SampleRow& row, std::size_t column) {
  static constexpr std::optional<double> kNone;
  return column < row.size() ? row[column] : kNone;
}

// Whether two rows give different values for the same column: sparse tables split one step over rows that repeat the
// epoch, and those do not contradict each other.
bool Contradict(const SampleRow& a, const SampleRow& b, std::size_t except) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (i != except && a[i] && b[i] && *a[i] != *b[i]) return true;
  }
  return false;
}

bool Rises(std::span<const SampleRow> sample, std::size_t column) {
  double before = -1;
  std::size_t numbers = 0;
  for (const SampleRow& row : sample) {
    if (!At(row, column)) continue;
    if (*At(row, column) <= before) return false;
    before = *At(row, column);
    ++numbers;
  }
  return numbers >= 2;
}

// The best named column of that role that can count.
ColumnId FindCounter(std::span<const ColumnUse> uses, ColumnRole role, std::span<const SampleRow> sample,
                     bool is_long) {
  ColumnId best = kNoColumn;
  for (ColumnId i = 0; i < uses.size(); ++i) {
    if (uses[i].role != role || (best != kNoColumn && uses[i].priority <= uses[best].priority)) continue;
    // A count of what a single batch held does not rise.
    const bool counts = CanCount(sample, i, is_long) && (role == ColumnRole::kEpoch || Rises(sample, i));
    if (counts) best = i;
  }
  return best;
}

}  // namespace

bool CanCount(std::span<const SampleRow> sample, std::size_t column, bool is_long) {
  std::size_t pairs = 0;
  std::size_t still = 0;
  const SampleRow* previous = nullptr;
  for (const SampleRow& row : sample) {
    if (!At(row, column)) continue;
    if (!IsWholeStep(*At(row, column))) return false;
    if (previous != nullptr && Contradict(*previous, row, column)) {
      ++pairs;
      still += *At(row, column) == *At(*previous, column) ? 1 : 0;
    }
    previous = &row;
  }
  return is_long || pairs == 0 || still * 2 < pairs;
}

AxisChoice ChooseAxis(std::span<const ColumnUse> uses, std::span<const SampleRow> sample, bool is_long) {
  AxisChoice choice;
  for (ColumnId i = 0; i < uses.size(); ++i) {
    if (uses[i].role == ColumnRole::kStep && CanCount(sample, i, is_long)) choice.steps.push_back(i);
  }
  if (!choice.steps.empty()) {
    choice.axis = model::Axis::kStep;
    return choice;
  }
  struct Other {
    ColumnRole role;
    model::Axis axis;
  };
  for (const Other& other :
       {Other{ColumnRole::kEpoch, model::Axis::kEpoch}, Other{ColumnRole::kTokens, model::Axis::kTokens},
        Other{ColumnRole::kSamples, model::Axis::kSamples}}) {
    choice.column = FindCounter(uses, other.role, sample, is_long);
    if (choice.column == kNoColumn) continue;
    choice.axis = other.axis;
    break;
  }
  return choice;
}

std::optional<RowStep> StepCounter::Next(double stated, double epoch, bool counts_whole_run) {
  if (IsWholeStep(stated)) {
    const auto step = static_cast<std::int64_t>(stated);
    if (epoch == epoch) FollowEpoch(step, epoch, counts_whole_run);
    last_ = step;
    return RowStep{step + offset(), false};
  }
  if (last_ < 0) return std::nullopt;
  return RowStep{last_ + offset(), true};
}

void StepCounter::FollowEpoch(std::int64_t step, double epoch, bool counts_whole_run) {
  const std::int64_t before = offset();
  if (epoch > epoch_ && step < last_ && !counts_whole_run && before < static_cast<std::int64_t>(kLargestStep))
    epochs_.push_back({epoch, before + last_ + 1});
  while (epoch < epoch_ && !epochs_.empty() && epochs_.back().number > epoch) epochs_.pop_back();
  epoch_ = epoch;
}

}  // namespace vigil::tabular
