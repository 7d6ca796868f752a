// The step or epoch that a notice of a log states: "Resuming from step 1500", "loaded checkpoint 'x' (epoch 3)".
#pragma once

#include <string_view>

#include "model/position.h"

namespace vigil::textlog {

// Unknown when the text states none.
model::Position StatedPlace(std::string_view text);

}  // namespace vigil::textlog
