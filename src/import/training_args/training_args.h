// `training_args.bin` and its kin: settings in a pickle, in torch's archive or bare. The pickle is taken apart, never
// executed: classes and calls in it are names.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseTrainingArgs(const Probe& probe);
std::unique_ptr<Reader> OpenTrainingArgs(PartBuilder& builder);

}  // namespace vigil::import
