// The two kinds of TensorProto that tell something about a run: one number, and text.
#pragma once

#include <optional>
#include <string_view>

namespace vigil::formats::tfevents {

// The number in a serialized TensorProto of any numeric type. Nothing when it holds more or less than one element, or
// is damaged.
std::optional<double> TensorScalar(std::string_view tensor);

// The first string of a serialized TensorProto of strings; empty when there is none.
std::string_view TensorText(std::string_view tensor);

}  // namespace vigil::formats::tfevents
