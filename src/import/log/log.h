// log: text that a training wrote to its terminal. Metric lines and dictionaries, progress bars, settings, tracebacks
// and known error messages, in one pass and bounded memory.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseLogText(const Probe& probe);
std::unique_ptr<Reader> OpenLogText(PartBuilder& builder);

}  // namespace vigil::import
