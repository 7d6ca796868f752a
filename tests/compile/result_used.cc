// Compiles: the result is looked at.
#include "base/base.h"

vigil::Status Save();

bool SaveOrSay() { return Save().has_value(); }
