// The system calls that recording, draining, reading and following make, each of which a test can make fail. Private to
// platform, but for FailCall.
#pragma once

#include <cerrno>
#include <cstdint>

#include "platform/faults.h"

namespace vigil::platform {

// For whoever watches the disk.
void NoteDiskCall(const DiskCall& call);

// True when this call is the one that is to fail; errno is set.
bool IsToFail() noexcept;

// What `call` returns, or -1 when it is to fail.
template <class Call>
auto Try(Call&& call) -> decltype(call()) {
  if (IsToFail()) return static_cast<decltype(call())>(-1);
  return call();
}

}  // namespace vigil::platform
