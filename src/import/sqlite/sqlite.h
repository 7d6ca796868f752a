// Databases of experiment trackers: MLflow and trackio. One file may hold many runs; each becomes a part of its own.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseSqlite(const Probe& probe);
std::unique_ptr<Reader> OpenSqlite(PartBuilder& builder);

}  // namespace vigil::import
