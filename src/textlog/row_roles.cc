#include "textlog/row_roles.h"

#include "textlog/row_place.h"

namespace vigil::textlog {

const tabular::ColumnUse& RowRoles::UseOf(std::size_t i, std::string_view name) {
  if (i >= known_.size()) known_.resize(i + 1);
  if (known_[i].name != name) known_[i] = {std::string(name), tabular::UseOfColumn(name)};
  return known_[i].use;
}

RowRoles::Place RowRoles::Find(const NamedNumbers& numbers) {
  Place place;
  int step_priority = 0;
  int epoch_priority = -1;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const tabular::ColumnUse& use = UseOf(i, numbers[i].name);
    const double value = numbers[i].value;
    const bool counts = value >= 0 && value <= kLargestStep;  // false for NaN
    if (!counts) continue;
    if (use.role == tabular::ColumnRole::kStep && use.priority > step_priority) {
      place.step = static_cast<std::int64_t>(value);
      step_priority = use.priority;
    } else if (use.role == tabular::ColumnRole::kEpoch && use.priority > epoch_priority) {
      place.epoch = value;
      epoch_priority = use.priority;
    }
  }
  return place;
}

void RowRoles::KeepMetrics(NamedNumbers& numbers) const {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (tabular::BecomesSeries(known_[i].use.role)) numbers[kept++] = numbers[i];
  }
  numbers.resize(kept);
}

}  // namespace vigil::textlog
