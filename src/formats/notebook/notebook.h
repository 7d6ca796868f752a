// A Jupyter notebook: what its cells printed is log text, and a table that a trainer drew in HTML is a table of text.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseNotebook(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenNotebook(ingest::PartBuilder& builder);

}  // namespace vigil::formats
