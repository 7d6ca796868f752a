// Settings of a run in a JSON object: an adapter's configuration, a model's, a dump of the training arguments.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseConfigJson(const Probe& probe);
std::unique_ptr<Reader> OpenConfigJson(PartBuilder& builder);

}  // namespace vigil::import
