// Hugging Face `trainer_state.json`, an excerpt of one, or a bare list of its log entries.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseTrainerState(const Probe& probe);
std::unique_ptr<Reader> OpenTrainerState(PartBuilder& builder);

}  // namespace vigil::import
