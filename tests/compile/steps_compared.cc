#include "model/position.h"

bool Earlier(vigil::model::StepAt a, vigil::model::StepAt b) { return a < b && a - b < 5; }
