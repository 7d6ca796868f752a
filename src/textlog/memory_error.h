// What a message of PyTorch's allocator says about why the device's memory ran out: its numbers tell who holds it, and
// the frames around it what the training was doing. Each kind has a remedy of its own.
#pragma once

#include <string_view>

#include "textlog/traceback.h"

namespace vigil::textlog {

// The signature of a memory error: `text` is its line, `exception` the one it belongs to, or null.
std::string_view KindOfMemoryError(std::string_view text, const Exception* exception);

}  // namespace vigil::textlog
