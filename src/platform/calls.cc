#include "platform/calls.h"

#include <poll.h>

#include <atomic>

namespace vigil::platform {
namespace {

constexpr std::int64_t kNever = -1;
std::atomic<std::int64_t> calls_left = kNever;
std::atomic<int> problem_to_give = 0;
std::atomic<bool> fails_for_good = false;
std::atomic<bool> has_failed = false;
std::atomic<DiskWatcher> disk_watcher = nullptr;

}  // namespace

void FailCall(std::int64_t left, int problem, bool for_good) {
  calls_left.store(kNever);
  problem_to_give.store(problem);
  fails_for_good.store(for_good);
  has_failed.store(false);
  calls_left.store(left);
}

void WatchDisk(DiskWatcher watcher) { disk_watcher.store(watcher); }

void NoteDiskCall(const DiskCall& call) {
  const DiskWatcher watcher = disk_watcher.load(std::memory_order_relaxed);
  if (watcher != nullptr) [[unlikely]]
    watcher(call);
}

bool MayTryAgain(int descriptor, int problem) {
  if (problem == EINTR) return true;
  if (problem != EAGAIN && problem != EWOULDBLOCK) return false;
  struct pollfd room = {descriptor, POLLOUT, 0};
  constexpr int kForever = -1;
  return ::poll(&room, 1, kForever) >= 0 || errno == EINTR;
}

bool HasFailed() { return has_failed.load(); }

bool IsToFail() noexcept {
  std::int64_t left = calls_left.load(std::memory_order_relaxed);
  if (left < 0) [[likely]]
    return false;
  while (left > 0 && !calls_left.compare_exchange_weak(left, left - 1)) {
  }
  if (left != 0) return false;
  if (!fails_for_good.load()) calls_left.store(kNever);
  has_failed.store(true);
  errno = problem_to_give.load();
  return true;
}

}  // namespace vigil::platform
