// platform/faults: system calls that fail, for tests.
#pragma once

#include <cstdint>

namespace vigil::platform {

// From now on, in the whole process, so many of platform's system calls succeed and the next one fails with `problem`
// (an errno), and all behind it with `for_good`. Below 0: none fails.
void FailCall(std::int64_t calls_left, int problem, bool for_good = false);
// Whether one did since.
bool HasFailed();

}  // namespace vigil::platform
