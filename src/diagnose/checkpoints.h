// The checkpoints a run is known to have written: folders among its files, and what its log says.
#pragma once

#include <string>
#include <vector>

#include "diagnose/view.h"
#include "model/position.h"

namespace vigil::diagnose {

struct Checkpoint {
  model::Position at;
  std::string folder;  // its name, empty where only the log speaks of it
};
std::vector<Checkpoint> KnownCheckpoints(const RunView& run);

}  // namespace vigil::diagnose
