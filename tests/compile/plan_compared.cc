#include "model/run.h"

bool IsPlanned(const vigil::model::Run& run, vigil::model::EpochAt at) { return at < run.planned_steps.value(); }
