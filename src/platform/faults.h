// platform/faults: system calls that fail, and what was asked of a disk, for tests.
#pragma once

#include <cstdint>
#include <string_view>

namespace vigil::platform {

// From now on, in the whole process, so many of platform's system calls succeed and the next one fails with `problem`
// (an errno), and all behind it with `for_good`. Below 0: none fails.
void FailCall(std::int64_t calls_left, int problem, bool for_good = false);
// Whether one did since.
bool HasFailed();

// What was done to files that grow, and succeeded.
struct DiskCall {
  enum class Kind : std::uint8_t { kCreate, kWrite, kSync, kSyncFolder };
  Kind kind = Kind::kCreate;
  std::string_view path;
  std::string_view bytes;  // of a write
};
// Called for each, in the thread that made it, from now on; null: not any more.
using DiskWatcher = void (*)(const DiskCall& call);
void WatchDisk(DiskWatcher watcher);

}  // namespace vigil::platform
