// tabular/distribution: distributions that a run logged (histograms of weights and gradients), as series of their
// quantiles.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ingest/ingest.h"

namespace vigil::tabular {

struct Bucket {
  double left = 0;
  double right = 0;
  double count = 0;
};

// What is kept of a distribution. Quantiles are interpolated within their bucket.
struct Distribution {
  double min = 0;
  double p05 = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
};

// Nothing when the buckets count nothing.
std::optional<Distribution> Summarise(std::span<const Bucket> buckets, double min, double max);
// The same of buckets that tell by themselves where the smallest and the largest stand: empty ones at the ends do not.
std::optional<Distribution> SummariseFilled(std::span<const Bucket> buckets);

// The five series of one distribution: `first` holds the minimum, those behind it the quantiles and the maximum.
struct DistributionSeries {
  static constexpr ingest::PartBuilder::SeriesId kCount = 5;
  ingest::PartBuilder::SeriesId first = 0;
  bool opened = false;  // false: there are too many series
};
// They do not take the name of a signal: the largest gradient of a layer is not the gradient norm.
DistributionSeries OpenDistribution(std::string_view name, ingest::PartBuilder& builder);
void AddDistribution(const DistributionSeries& series, std::int64_t step, double time, const Distribution& distribution,
                     ingest::PartBuilder& builder);

}  // namespace vigil::tabular
