// Distributions in event files, as HistogramProto (torch) or as a tensor of rows [left, right, count] (TensorFlow 2).
#pragma once

#include <optional>
#include <string_view>

#include "tabular/distribution.h"

namespace vigil::formats::tfevents {

// Nothing when the message is damaged or counts nothing.
std::optional<tabular::Distribution> FromHistogram(std::string_view histogram_proto);
std::optional<tabular::Distribution> FromHistogramTensor(std::string_view tensor_proto);

}  // namespace vigil::formats::tfevents
