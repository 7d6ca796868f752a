// The checkpoints a run is known to have written: folders and files beside it, and what its log says.
#pragma once

#include <string>
#include <vector>

#include "diagnose/view.h"
#include "model/position.h"

namespace vigil::diagnose {

struct Checkpoint {
  model::Position at;
  std::string folder;                     // its name, empty where only the log speaks of it
  std::string path = {};                  // where it is, empty where it was not found on disk
  std::vector<std::string> missing = {};  // what it lacks to be resumed from
  bool is_stripped = false;               // no weights at all: a copy of the small files of a run

  bool IsThere() const { return !path.empty(); }
  bool IsComplete() const { return missing.empty(); }
};

// All of them. Where checkpoints were found on disk, one that only the log speaks of is no longer there and is left
// out.
std::vector<Checkpoint> KnownCheckpoints(const RunView& run);
// Those that the run ever wrote, whether or not they are still there.
std::vector<Checkpoint> WrittenCheckpoints(const RunView& run);

}  // namespace vigil::diagnose
