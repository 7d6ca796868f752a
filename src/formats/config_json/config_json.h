// Settings of a run in a JSON object: an adapter's configuration, a model's, a dump of the training arguments.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseConfigJson(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenConfigJson(ingest::PartBuilder& builder);

}  // namespace vigil::formats
