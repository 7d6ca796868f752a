// Settings of two runs beside each other: which of them say what a run does, and which differ.
#pragma once

#include <vector>

#include "model/baseline.h"
#include "model/run.h"

namespace vigil::diagnose {

// Settings that say where a run is kept, and not what it does.
bool IsOfThePlace(const model::Fact& fact);
// Known settings that both runs state, and differently; the seed is none of them.
std::vector<model::DifferingSetting> DifferingSettings(const model::Run& run, const model::Run& reference);

}  // namespace vigil::diagnose
