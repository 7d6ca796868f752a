// Hugging Face `trainer_state.json`, an excerpt of one, or a bare list of its log entries.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseTrainerState(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenTrainerState(ingest::PartBuilder& builder);

}  // namespace vigil::formats
