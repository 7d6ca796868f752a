// Tables of metrics as text: CSV with commas, semicolons or tabs, wide or long, with or without a header.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseCsv(const Probe& probe);
std::unique_ptr<Reader> OpenCsv(PartBuilder& builder);

}  // namespace vigil::import
