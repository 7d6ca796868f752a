// Parts to runs, with what they are found out. Private to pipeline.
#pragma once

#include <vector>

#include "model/run.h"

namespace vigil::pipeline {

std::vector<model::Run> JoinParts(std::vector<model::Run> parts);

}  // namespace vigil::pipeline
