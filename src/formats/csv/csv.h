// Tables of metrics as text: CSV with commas, semicolons or tabs, wide or long, with or without a header.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseCsv(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenCsv(ingest::PartBuilder& builder);

}  // namespace vigil::formats
