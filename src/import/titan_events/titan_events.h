// torchtitan's structured log: a JSON object per event of a rank, with phases as pairs of start and end.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseTitanEvents(const Probe& probe);
std::unique_ptr<Reader> OpenTitanEvents(PartBuilder& builder);

}  // namespace vigil::import
