// torchtitan's structured log: a JSON object per event of a rank, with phases as pairs of start and end.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseTitanEvents(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenTitanEvents(ingest::PartBuilder& builder);

}  // namespace vigil::formats
