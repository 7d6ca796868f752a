#include "diagnose/fitted.h"

#include <algorithm>
#include <cmath>

namespace vigil::diagnose {
namespace {

FittedModel FromRows() {
  FittedModel model;
  const std::span<const catalogue::FittedRow> rows = catalogue::Fitted();
  const FeatureSpace& space = FeatureSpace::Get();
  model.weights.assign(space.columns() * rows.size(), 0);
  for (std::size_t cause = 0; cause < rows.size(); ++cause) {
    model.causes.emplace_back(rows[cause].id);
    model.priors.push_back(rows[cause].prior);
    for (const catalogue::LevelWeights& feature : rows[cause].weights) {
      const FeatureSpace::Range range = space.Find(feature.feature);
      for (std::size_t i = 0; i < std::min(range.count, feature.weights.size()); ++i)
        model.weights[(range.first + i) * rows.size() + cause] = feature.weights[i];
    }
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

double NothingWrong(std::span<const double> scores) {
  double highest = 0;
  for (const double score : scores) highest = std::max(highest, score);
  double total = std::exp(-highest);
  const double nothing = total;
  for (const double score : scores) total += std::exp(score - highest);
  return nothing / total;
}

}  // namespace vigil::diagnose
