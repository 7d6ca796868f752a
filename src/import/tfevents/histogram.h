// Distributions in event files, as HistogramProto (torch) or as a tensor of rows [left, right, count] (TensorFlow 2).
#pragma once

#include <optional>
#include <string_view>

namespace vigil::import::tfevents {

// What is kept of a distribution. Quantiles are interpolated within their bucket.
struct Distribution {
  double min = 0;
  double p05 = 0;
  double median = 0;
  double p95 = 0;
  double max = 0;
};

// Nothing when the message is damaged or counts nothing.
std::optional<Distribution> FromHistogram(std::string_view histogram_proto);
std::optional<Distribution> FromHistogramTensor(std::string_view tensor_proto);

}  // namespace vigil::import::tfevents
