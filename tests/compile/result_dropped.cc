// Must not compile: the failure of Save would go unseen.
#include "base/base.h"

vigil::Status Save();

void SaveAndForget() { Save(); }
