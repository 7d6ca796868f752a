// JSON lines: an object per line, as trackers and callbacks write them.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseJsonLines(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenJsonLines(ingest::PartBuilder& builder);

}  // namespace vigil::formats
