#include "model/position.h"

auto Apart(vigil::model::StepAt a, vigil::model::EpochAt b) { return a - b; }
