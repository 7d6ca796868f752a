// Configurations in YAML (axolotl, Lightning, Hydra, LLaMA-Factory, W&B's config.yaml) and TOML (torchtitan,
// KempnerForge).
#pragma once

#include <memory>

#include "ingest/ingest.h"

namespace vigil::formats {

int RecogniseConfigYaml(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenConfigYaml(ingest::PartBuilder& builder);

int RecogniseConfigToml(const ingest::Probe& probe);
std::unique_ptr<ingest::Reader> OpenConfigToml(ingest::PartBuilder& builder);

}  // namespace vigil::formats
