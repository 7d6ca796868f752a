// Distributions in event files, as HistogramProto (torch) or as a tensor of rows [left, right, count] (TensorFlow 2).
#pragma once

#include <optional>
#include <string_view>

#include "import/distribution.h"

namespace vigil::import::tfevents {

// Nothing when the message is damaged or counts nothing.
std::optional<Distribution> FromHistogram(std::string_view histogram_proto);
std::optional<Distribution> FromHistogramTensor(std::string_view tensor_proto);

}  // namespace vigil::import::tfevents
