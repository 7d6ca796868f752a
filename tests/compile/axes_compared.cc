#include "model/position.h"

bool Earlier(vigil::model::StepAt a, vigil::model::EpochAt b) { return a < b; }
