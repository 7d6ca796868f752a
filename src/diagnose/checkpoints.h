// The checkpoints a run is known to have written: folders among its files, and what its log says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"

namespace vigil::diagnose {

struct Checkpoint {
  std::int64_t step = model::kNoStep;
  std::string name;
};
std::vector<Checkpoint> KnownCheckpoints(const model::Run& run);
std::vector<std::int64_t> CheckpointSteps(const model::Run& run);

}  // namespace vigil::diagnose
