#include "model/position.h"

bool Earlier(vigil::model::Position a, vigil::model::Position b) { return a < b; }
