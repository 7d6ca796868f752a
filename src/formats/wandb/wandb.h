// W&B transaction logs (run-<id>.wandb): history, config, console output, system metrics and the exit of a run.
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseWandb(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenWandb(ingest::PartBuilder& builder);

}  // namespace vigil::formats
