// W&B transaction logs (run-<id>.wandb): history, config, console output, system metrics and the exit of a run.
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseWandb(const Probe& probe);
std::unique_ptr<Reader> OpenWandb(PartBuilder& builder);

}  // namespace vigil::import
