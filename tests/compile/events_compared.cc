#include "model/run.h"

bool Earlier(const vigil::model::Event& a, const vigil::model::Event& b) { return a.at < b.at; }
