// Must not compile: the failure of Save would not be checked.
#include "base/base.h"

vigil::Status Save();

void SaveAndForget() { Save(); }
