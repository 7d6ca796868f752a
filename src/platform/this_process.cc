#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>

#include "platform/process.h"
#include "platform/recording.h"

namespace vigil::platform {
namespace {

struct Mark {
  std::atomic<std::uint64_t> number = 0;
};

// Used where the page that forks wipe cannot be had.
constinit Mark fallback_mark;

Mark* MakeMark() {
  const long page = ::sysconf(_SC_PAGESIZE);
  const std::size_t size = page > 0 ? static_cast<std::size_t>(page) : 4096;
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED && ::madvise(memory, size, MADV_WIPEONFORK) == 0) return new (memory) Mark;
  if (memory != MAP_FAILED) ::munmap(memory, size);
  ::pthread_atfork(nullptr, nullptr, [] { fallback_mark.number.store(0, std::memory_order_relaxed); });
  return &fallback_mark;
}

Mark& TheMark() {
  static Mark* const mark = MakeMark();
  return *mark;
}

int Membarrier(int command) { return static_cast<int>(::syscall(SYS_membarrier, command, 0, 0)); }

}  // namespace

const std::atomic<std::uint64_t>& ProcessMark() { return TheMark().number; }

std::uint64_t ThisProcess() {
  std::atomic<std::uint64_t>& number = TheMark().number;
  std::uint64_t expected = 0;
  number.compare_exchange_strong(expected, RandomNumber() | 1U);
  return number.load();
}

std::uint32_t ProcessTag() {
  // The kernel gives every program 16 random bytes when it starts; forked children keep them.
  std::array<std::uint64_t, 2> given = {};
  const auto* const random = reinterpret_cast<const void*>(::getauxval(AT_RANDOM));  // NOLINT: an address as a number
  if (random != nullptr) std::memcpy(given.data(), random, sizeof(given));
  const std::uint64_t mixed =
      (given[0] ^ given[1] ^ static_cast<std::uint64_t>(::getpid()) * 0x9e3779b97f4a7c15U) * 0xd6e8feb86659fd93U;
  return static_cast<std::uint32_t>(mixed >> 32U);
}

void YieldProcessor() { ::sched_yield(); }

bool FenceAllThreads() {
  static const bool registered = Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return registered && Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

}  // namespace vigil::platform
