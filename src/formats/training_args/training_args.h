// `training_args.bin` and its kin: settings in a pickle, in torch's archive or bare. The pickle is taken apart, never
// executed: classes and calls in it are names.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseTrainingArgs(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenTrainingArgs(ingest::PartBuilder& builder);

}  // namespace vigil::formats
