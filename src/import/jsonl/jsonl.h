// JSON lines: an object per line, as trackers and callbacks write them.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseJsonLines(const Probe& probe);
std::unique_ptr<Reader> OpenJsonLines(PartBuilder& builder);

}  // namespace vigil::import
