// Broken rules among the findings. Private to pipeline.
#pragma once

#include <vector>

#include "model/finding.h"

namespace vigil::pipeline {

// Puts them behind what was observed at the same severity.
void AppendRules(std::vector<model::Finding>& findings, std::vector<model::Finding> rules);

}  // namespace vigil::pipeline
