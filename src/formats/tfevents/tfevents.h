// TensorBoard event files: TFRecord frames around Event messages.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseTfevents(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenTfevents(ingest::PartBuilder& builder);

}  // namespace vigil::formats
