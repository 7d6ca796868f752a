// A run in MLflow's file store: a folder named by the run's id, with a file per metric, parameter and tag below it.
// Each file is a part; the folder joins them.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseMlflowFiles(const Probe& probe);
std::unique_ptr<Reader> OpenMlflowFiles(PartBuilder& builder);

}  // namespace vigil::import
