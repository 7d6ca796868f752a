#include "diagnose/period.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "diagnose/curve.h"

namespace vigil::diagnose {
namespace {

constexpr std::size_t kMostPoints = 768;
constexpr std::size_t kFewestPoints = 20;
constexpr std::size_t kShortest = 4;

// A centred moving mean over a third of the curve is the trend: wide enough to keep three repetitions.
std::vector<double> WithoutTrend(std::span<const double> values) {
  const std::size_t reach = std::max<std::size_t>(values.size() / 6, 1);
  std::vector<double> sums(values.size() + 1, 0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + values[i];
  std::vector<double> rest;
  rest.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t begin = i < reach ? 0 : i - reach;
    const std::size_t end = std::min(values.size(), i + reach + 1);
    rest.push_back(values[i] - (sums[end] - sums[begin]) / static_cast<double>(end - begin));
  }
  return rest;
}

// One spike is no repetition, and must not hide one.
void CutExtremes(std::vector<double>& values) {
  const double low = Quantile(values, 0.05);
  const double high = Quantile(values, 0.95);
  for (double& value : values) value = std::clamp(value, low, high);
}

double CorrelationAt(std::span<const double> values, std::size_t distance) {
  double both = 0;
  double before = 0;
  double after = 0;
  for (std::size_t i = distance; i < values.size(); ++i) {
    both += values[i - distance] * values[i];
    before += values[i - distance] * values[i - distance];
    after += values[i] * values[i];
  }
  const double scale = std::sqrt(before * after);
  return scale > 0 ? both / scale : 0;
}

}  // namespace

Period FindPeriod(std::span<const double> values) {
  std::span<const double> settled = values.subspan(values.size() * 15 / 100);
  if (settled.size() > kMostPoints) settled = settled.last(kMostPoints);
  if (settled.size() < kFewestPoints) return {};
  std::vector<double> rest = WithoutTrend(settled);
  CutExtremes(rest);
  Period period;
  // Blocks of data make neighbours alike; what jumps at every point swings for another reason.
  if (CorrelationAt(rest, 1) < 0) return period;
  // A smooth curve resembles itself at short distances: only behind the first distance where it does not, likeness is a
  // repetition.
  bool parted = false;
  for (std::size_t distance = 1; distance <= rest.size() / 3; ++distance) {
    const double strength = CorrelationAt(rest, distance);
    parted |= strength < 0;
    if (!parted || distance < kShortest || strength <= period.strength) continue;
    period.points = distance;
    period.strength = strength;
  }
  const double level = std::abs(Median({settled.begin(), settled.end()}));
  period.swing = level > 0 ? (Quantile(rest, 0.9) - Quantile(rest, 0.1)) / level : 0;
  return period;
}

}  // namespace vigil::diagnose
