// Configurations in YAML (axolotl, Lightning, Hydra, LLaMA-Factory, W&B's config.yaml) and TOML (torchtitan,
// KempnerForge).
#pragma once

#include <memory>

#include "import/import.h"

namespace vigil::import {

int RecogniseConfigYaml(const Probe& probe);
std::unique_ptr<Reader> OpenConfigYaml(PartBuilder& builder);

int RecogniseConfigToml(const Probe& probe);
std::unique_ptr<Reader> OpenConfigToml(PartBuilder& builder);

}  // namespace vigil::import
