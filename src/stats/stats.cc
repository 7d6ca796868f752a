#include "stats/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vigil::stats {
namespace {

double Lag1Autocorrelation(std::span<const double> values) {
  const double mean = Mean(values);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double deviation = values[i] - mean;
    squares += deviation * deviation;
    if (i > 0) products += deviation * (values[i - 1] - mean);
  }
  return squares > 0 ? products / squares : 0;
}

// Correction of the variance of the Mann-Kendall sum for tied groups: sum of t(t-1)(2t+5).
double TieCorrection(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  double correction = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    const auto tied = static_cast<double>(end - i);
    correction += tied * (tied - 1) * (2 * tied + 5);
    i = end;
  }
  return correction;
}

double KendallSum(std::span<const double> values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j) {
      sum += values[j] > values[i] ? 1.0 : values[j] < values[i] ? -1.0 : 0.0;
    }
  }
  return sum;
}

}  // namespace

double Mean(std::span<const double> values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(values.begin(), middle));
}

double RobustSigma(std::span<const double> values) {
  const double median = Median({values.begin(), values.end()});
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double value : values) deviations.push_back(std::abs(value - median));
  return kMadToSigma * Median(std::move(deviations));
}

double NoiseSigma(std::span<const double> values) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < values.size(); ++i) steps.push_back(values[i] - values[i - 1]);
  return RobustSigma(steps) / std::sqrt(2.0);
}

double TrendZ(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  if (values.size() < 4) return 0;
  const double sum = KendallSum(values);
  const double variance = (n * (n - 1) * (2 * n + 5) - TieCorrection(values)) / 18;
  if (variance <= 0) return 0;
  const double z = (sum > 0 ? sum - 1 : sum < 0 ? sum + 1 : 0) / std::sqrt(variance);
  const double slope = TheilSenSlope(values);
  std::vector<double> residuals(values.begin(), values.end());
  for (std::size_t i = 0; i < residuals.size(); ++i) residuals[i] -= slope * static_cast<double>(i);
  const double correlation = std::clamp(Lag1Autocorrelation(residuals), 0.0, 0.95);
  return z * std::sqrt((1 - correlation) / (1 + correlation));
}

double TheilSenSlope(std::span<const double> values) {
  std::vector<double> slopes;
  slopes.reserve(values.size() * (values.size() + 1) / 2);
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = i + 1; j < values.size(); ++j)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  return Median(std::move(slopes));
}

std::vector<double> SmoothByMedian(std::span<const double> values, std::size_t neighbours) {
  const std::size_t reach = neighbours / 2;
  std::vector<double> smooth;
  smooth.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t from = i < reach ? 0 : i - reach;
    const std::size_t to = std::min(values.size(), i + reach + 1);
    smooth.push_back(
        Median({values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to)}));
  }
  return smooth;
}

}  // namespace vigil::stats
