// A run in MLflow's file store: a folder named by the run's id, with a file per metric, parameter and tag below it.
// Each file is a part; the folder joins them.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseMlflowFiles(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenMlflowFiles(ingest::PartBuilder& builder);

}  // namespace vigil::formats
