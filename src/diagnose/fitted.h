// The fitted model: how likely it is that something is wrong with a run, and which cause it then has, from its
// measures, the findings that are there and the answers to questions about the incident. Sums of weights that were
// fitted to thousands of runs with known faults (tools/fit) and stand in weights.toml.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"

namespace vigil::diagnose {

// All features as columns of one table: the levels of every measure, then no and yes of every evidence test, then every
// finding. The order is that of the rows.
class FeatureSpace {
 public:
  static const FeatureSpace& Get();

  std::size_t columns() const { return columns_; }
  std::size_t OfMeasure(std::size_t row, std::size_t level) const { return measures_[row] + level; }
  std::size_t OfEvidence(std::size_t row, bool yes) const { return evidence_ + 2 * row + (yes ? 1 : 0); }
  std::size_t OfFinding(std::size_t row) const { return findings_ + row; }
  // Where the columns of a feature begin and how many there are; 0 columns for one that is not known.
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  Range Find(std::string_view feature) const;
  // The feature that a column belongs to.
  std::string_view NameOf(std::size_t column) const;

 private:
  FeatureSpace();

  std::vector<std::size_t> measures_;  // first column of each
  std::size_t evidence_ = 0;
  std::size_t findings_ = 0;
  std::size_t columns_ = 0;
};

struct FittedModel {
  std::vector<std::string> causes;
  std::vector<double> priors;   // one for each cause
  std::vector<double> weights;  // columns x causes
  double trouble_prior = 0;
  std::vector<double> trouble;  // one for each column

  bool empty() const { return causes.empty(); }
  double Weight(std::size_t column, std::size_t cause) const { return weights[column * causes.size() + cause]; }
  // Log odds of the causes among each other, where something is wrong.
  std::vector<double> Score(std::span<const std::size_t> columns) const;
  // How likely it is that something is wrong, 0..1.
  double Trouble(std::span<const std::size_t> columns) const;

  // The one that ships.
  static const FittedModel& Shipped();
};

}  // namespace vigil::diagnose
