// platform/clock: the clocks of this machine, and waiting on them.
#pragma once

#include <time.h>

#include <cstdint>
#include <string>

namespace vigil::platform {

inline std::uint64_t ClockNs(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}
// The clock of MonotonicNs at the last tick of the kernel (1 to 4 ms): never a system call, whatever the clock source.
inline std::uint64_t CoarseMonotonicNs() { return ClockNs(CLOCK_MONOTONIC_COARSE); }
inline std::int64_t CoarseUnixNs() { return static_cast<std::int64_t>(ClockNs(CLOCK_REALTIME_COARSE)); }
inline std::int64_t UnixNs() { return static_cast<std::int64_t>(ClockNs(CLOCK_REALTIME)); }
// A clock that never goes back.
inline std::uint64_t MonotonicNs() { return ClockNs(CLOCK_MONOTONIC); }
inline double ThreadSeconds() {  // of the processor, used by this thread
  return static_cast<double>(ClockNs(CLOCK_THREAD_CPUTIME_ID)) * 1e-9;
}
inline double SteadySeconds() { return static_cast<double>(MonotonicNs()) * 1e-9; }  // the same, in seconds

// Waits that long; a signal that is handled ends it early.
void SleepSeconds(double seconds);

// The local time, "2026-11-15T03:12:45".
std::string LocalTime();

}  // namespace vigil::platform
