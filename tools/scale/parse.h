// One line of a set to a stored run.
#pragma once

#include <string_view>

#include "base/base.h"
#include "scale/record.h"

namespace vigil::scale {

// Fields that are not known are passed over. An Error when the line is no JSON object, has no id, or its class is none.
Result<StoredRun> ParseRun(std::string_view line);

}  // namespace vigil::scale
