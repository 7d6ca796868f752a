#include "tabular/distribution.h"

#include <algorithm>

namespace vigil::tabular {
namespace {

double Quantile(std::span<const Bucket> buckets, double total, double share) {
  double before = 0;
  for (const Bucket& bucket : buckets) {
    if (!(bucket.count > 0)) continue;
    if (before + bucket.count >= share * total) {
      const double part = std::clamp((share * total - before) / bucket.count, 0.0, 1.0);
      return bucket.left + part * (bucket.right - bucket.left);
    }
    before += bucket.count;
  }
  return buckets.back().right;
}

}  // namespace

std::optional<Distribution> Summarise(std::span<const Bucket> buckets, double min, double max) {
  double total = 0;
  for (const Bucket& bucket : buckets) total += std::max(0.0, bucket.count);
  if (buckets.empty() || !(total > 0)) return std::nullopt;
  return Distribution{min, Quantile(buckets, total, 0.05), Quantile(buckets, total, 0.5),
                      Quantile(buckets, total, 0.95), max};
}

std::optional<Distribution> SummariseFilled(std::span<const Bucket> buckets) {
  const auto counts = [](const Bucket& bucket) { return bucket.count > 0; };
  const auto first = std::find_if(buckets.begin(), buckets.end(), counts);
  const auto last = std::find_if(buckets.rbegin(), buckets.rend(), counts);
  if (first == buckets.end()) return std::nullopt;
  return Summarise(buckets, first->left, last->right);
}

DistributionSeries OpenDistribution(std::string_view name, ingest::PartBuilder& builder) {
  constexpr std::array<const char*, DistributionSeries::kCount> kNames = {"min", "p05", "p50", "p95", "max"};
  DistributionSeries opened{0, true};
  for (ingest::PartBuilder::SeriesId i = 0; i < DistributionSeries::kCount; ++i) {
    const auto series = builder.OpenSeries("histogram/" + std::string(name), {{"statistic", kNames[i]}});
    if (i == 0) opened.first = series;
    // Names beyond the limit share one series.
    opened.opened = opened.opened && series == opened.first + i;
  }
  return opened;
}

void AddDistribution(const DistributionSeries& series, std::int64_t step, double time, const Distribution& distribution,
                     ingest::PartBuilder& builder) {
  const std::array<double, DistributionSeries::kCount> values = {
      distribution.min, distribution.p05, distribution.median, distribution.p95, distribution.max};
  for (ingest::PartBuilder::SeriesId i = 0; i < DistributionSeries::kCount; ++i)
    builder.Add(series.first + i, step, values[i], time);
}

}  // namespace vigil::tabular
