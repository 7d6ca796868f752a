// Checkpoints: checkpoint-<step>/model.safetensors (weights, step, place in the data, options) and
// optimizer.safetensors (moments, place in the schedule). With both, a run goes on bit for bit.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "gym/data.h"
#include "gym/optimizer.h"

namespace vigil::gym {

struct Place {
  std::int64_t step = 0;
  std::int64_t schedule_step = 0;  // of the learning rate; the same as `step` unless a schedule was lost
  LoaderState loader;
};

std::string CheckpointFolder(const std::string& run_folder, std::int64_t step);

// The folder appears in `run_folder`. With `optimizer` false the moments and the schedule are left out.
Result<std::string> SaveCheckpoint(const std::string& run_folder, const Options& options, const Place& place,
                                   Model& model, AdamW& adam, bool with_optimizer);

// The folder of the checkpoint with the highest step in a run directory, or the one that is given.
Result<std::string> FindCheckpoint(const std::string& given);
// Fills weights, moments and place. Where optimizer.safetensors is not there, moments and schedule start again and
// `optimizer_found` says so.
Result<Place> LoadCheckpoint(const std::string& folder, Model& model, AdamW& adam, bool& optimizer_found);

}  // namespace vigil::gym
