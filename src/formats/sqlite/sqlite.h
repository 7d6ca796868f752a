// Databases of experiment trackers: MLflow and trackio. One file may hold many runs; each becomes a part of its own.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseSqlite(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenSqlite(ingest::PartBuilder& builder);

}  // namespace vigil::formats
