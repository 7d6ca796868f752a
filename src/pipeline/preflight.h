// pipeline/preflight: paths of configuration files and folders in, what is wrong with the planned runs out. Each file
// is read once; what a configuration names (a DeepSpeed file) is looked for beside it and from the working directory.
#pragma once

#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "model/preflight.h"
#include "preflight/preflight.h"

namespace vigil::pipeline {

struct PreflightRequest {
  std::vector<std::string> paths;
  std::string model;  // the model's config.json, or its folder; empty: what lies beside a training
  preflight::Options options;
};

// In a folder every file that configures a training is one run; a file that belongs to a training goes with the one
// that names it, else with the only one of its folder. Files that are asked for by name go with every training.
model::PreflightReport PreflightPaths(const PreflightRequest& request, const catalogue::Thresholds& thresholds);

}  // namespace vigil::pipeline
