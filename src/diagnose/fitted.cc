#include "diagnose/fitted.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

namespace vigil::diagnose {
namespace {

// Calls `take` with the column and the weight of each weight of the row.
void ForEachWeight(const catalogue::FittedRow& row, const std::function<void(std::size_t, double)>& take) {
  for (const catalogue::LevelWeights& feature : row.weights) {
    const FeatureSpace::Range range = FeatureSpace::Get().Find(feature.feature);
    for (std::size_t i = 0; i < std::min(range.count, feature.weights.size()); ++i)
      take(range.first + i, feature.weights[i]);
  }
}

FittedModel FromRows() {
  FittedModel model;
  const std::size_t columns = FeatureSpace::Get().columns();
  for (const catalogue::FittedRow& row : catalogue::Fitted()) {
    if (row.id != catalogue::kAnyCause) model.causes.emplace_back(row.id);
  }
  model.trouble.assign(columns, 0);
  model.weights.assign(columns * model.causes.size(), 0);
  for (const catalogue::FittedRow& row : catalogue::Fitted()) {
    if (row.id == catalogue::kAnyCause) {
      model.trouble_prior = row.prior;
      ForEachWeight(row, [&](std::size_t column, double weight) { model.trouble[column] = weight; });
      continue;
    }
    const std::size_t cause = model.priors.size();
    model.priors.push_back(row.prior);
    ForEachWeight(
        row, [&](std::size_t column, double weight) { model.weights[column * model.causes.size() + cause] = weight; });
  }
  return model;
}

template <class Row>
std::optional<std::size_t> PlaceOf(std::span<const Row> rows, std::string_view id) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.id == id; });
  if (at == rows.end()) return std::nullopt;
  return static_cast<std::size_t>(at - rows.begin());
}

}  // namespace

FeatureSpace::FeatureSpace() {
  for (const catalogue::MeasureRow& row : catalogue::Measures()) {
    measures_.push_back(columns_);
    columns_ += row.levels.size() + 1;
  }
  evidence_ = columns_;
  columns_ += 2 * catalogue::EvidenceTests().size();
  findings_ = columns_;
  columns_ += catalogue::Findings().size();
}

// Built once, from constant rows, and never changed.
const FeatureSpace& FeatureSpace::Get() {
  static const FeatureSpace space;
  return space;
}

FeatureSpace::Range FeatureSpace::Find(std::string_view feature) const {
  if (const auto at = PlaceOf(catalogue::Measures(), feature))
    return {measures_[*at], catalogue::Measures()[*at].levels.size() + 1};
  if (const auto at = PlaceOf(catalogue::EvidenceTests(), feature)) return {evidence_ + 2 * *at, 2};
  if (const auto at = PlaceOf(catalogue::Findings(), feature)) return {findings_ + *at, 1};
  return {};
}

std::string_view FeatureSpace::NameOf(std::size_t column) const {
  if (column >= findings_) return catalogue::Findings()[column - findings_].id;
  if (column >= evidence_) return catalogue::EvidenceTests()[(column - evidence_) / 2].id;
  const auto behind = std::upper_bound(measures_.begin(), measures_.end(), column);
  return catalogue::Measures()[static_cast<std::size_t>(behind - measures_.begin()) - 1].id;
}

std::vector<double> FittedModel::Score(std::span<const std::size_t> columns) const {
  std::vector<double> scores = priors;
  for (const std::size_t column : columns) {
    for (std::size_t cause = 0; cause < causes.size(); ++cause) scores[cause] += Weight(column, cause);
  }
  return scores;
}

const FittedModel& FittedModel::Shipped() {
  static const FittedModel model = FromRows();
  return model;
}

double FittedModel::Trouble(std::span<const std::size_t> columns) const {
  double odds = trouble_prior;
  for (const std::size_t column : columns) odds += trouble[column];
  return 1 / (1 + std::exp(-odds));
}

}  // namespace vigil::diagnose
