#include "record/slots.h"

#include <pthread.h>

#include "journal/ring.h"
#include "platform/clock.h"
#include "platform/recording.h"
#include "record/session.h"

namespace vigil::record {
namespace {

// Never destroyed: threads may record until the process ends.
constinit std::array<Slot, kSlots> slots;
constinit std::mutex table_mutex;

// This thread's lanes, by slot. Zero at first, nothing to destroy: reading them costs no guard.
struct ThreadLane {
  std::uint32_t key = 0;
  LaneState* lane = nullptr;
};
thread_local std::array<ThreadLane, kSlots> thread_lanes = {};

// Gives the lanes back when the thread ends.
struct LaneKeeper {
  LaneKeeper() = default;
  LaneKeeper(const LaneKeeper&) = delete;
  LaneKeeper& operator=(const LaneKeeper&) = delete;
  LaneKeeper(LaneKeeper&&) = delete;
  LaneKeeper& operator=(LaneKeeper&&) = delete;
  ~LaneKeeper() {
    for (std::uint32_t i = 0; i < kSlots; ++i) {
      ThreadLane& mine = thread_lanes[i];
      if (mine.lane == nullptr) continue;
      const bool shared = mine.lane == &slots[i].LanesOf(mine.key).each[journal::kSharedLane];
      if (!shared) mine.lane->owned.store(false, std::memory_order_release);
      mine = {};
    }
  }
  bool used = false;
};
thread_local LaneKeeper keeper;
thread_local bool claiming = false;
// The shared lanes that this thread is in, that of texts and the other.
thread_local std::array<Stay, 2> own_stays = {};

// Where a thread may meet itself: in its own lane, in that of texts, in the one for all.
enum class Place : std::uint8_t { kOwn, kTexts, kShared };
constexpr std::size_t kPlaces = 3;

// Whether this thread left a record call in that lane by a jump (siglongjmp out of a handler), and not by its end. A
// handler that interrupted the call meets the same, but it does not take a second.
bool WasLeftByAJump(const LaneState& lane, Place place) {
  struct Meeting {
    const LaneState* lane = nullptr;
    std::uint64_t entries = 0;
    std::uint64_t first_ns = 0;
  };
  thread_local std::array<Meeting, kPlaces> meetings;
  Meeting& last = meetings[static_cast<std::size_t>(place)];
  constexpr std::uint64_t kLongNs = 1'000'000'000;
  const std::uint64_t now = platform::CoarseMonotonicNs();
  const std::uint64_t entries = lane.entries.load(std::memory_order_relaxed);
  if (last.lane != &lane || last.entries != entries) {
    last = {&lane, entries, now};
    return false;
  }
  return now - last.first_ns > kLongNs;
}

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

std::mutex& TableMutex() {
  static const bool forks_wait = [] {
    return ::pthread_atfork([] { table_mutex.lock(); }, [] { table_mutex.unlock(); }, [] { table_mutex.unlock(); }) ==
           0;
  }();
  static_cast<void>(forks_wait);
  return table_mutex;
}

std::span<Slot> Slots() { return slots; }

Slot* SlotOf(std::uint64_t handle) {
  const auto number = static_cast<std::uint32_t>(handle >> 56U);
  return number == 0 || number > kSlots ? nullptr : &slots[number - 1];
}

Code Check(const Slot* slot, std::uint64_t handle) {
  if (slot == nullptr) return Code::kInvalid;
  if (slot->key.load(std::memory_order_acquire) != KeyOf(handle)) return Code::kClosed;
  const auto* const mark = slot->mark.load(std::memory_order_relaxed);
  const bool here = mark->load(std::memory_order_relaxed) == slot->process.load(std::memory_order_relaxed);
  return here ? Code::kOk : Code::kForked;
}

Lease::Lease(Slot* slot, std::uint64_t handle) : code_(Check(slot, handle)) {
  if (code_ != Code::kOk) return;
  const std::uint32_t key = KeyOf(handle);
  const ThreadLane& mine = thread_lanes[static_cast<std::size_t>(slot - slots.data())];
  LaneState* const lane = mine.key == key ? mine.lane : ClaimLane(*slot, key);
  if (lane == &slot->LanesOf(key).each[journal::kSharedLane]) {
    EnterShared(*slot, journal::kSharedLane, key);
  } else {
    Enter(*slot, *lane, key);
  }
}

Lease::Lease(Slot* slot, std::uint64_t handle, ForText) : code_(Check(slot, handle)) {
  if (code_ == Code::kOk) EnterShared(*slot, journal::kTextLane, KeyOf(handle));
}

void Lease::Drop(Slot& slot, std::uint32_t key) {
  slot.LanesOf(key).dropped.fetch_add(1, std::memory_order_relaxed);
  code_ = Code::kBusy;
}

void Lease::Enter(Slot& slot, LaneState& lane, std::uint32_t key) {
  // Set already: a signal handler interrupted a record call of this very thread.
  if (lane.busy.load(std::memory_order_relaxed) != 0 && !WasLeftByAJump(lane, Place::kOwn)) return Drop(slot, key);
  lane.busy.store(1, std::memory_order_relaxed);
  lane.entries.store(lane.entries.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  // Whoever closes the run takes the key away, makes every thread pass a fence, and waits for those that are busy. So
  // either we see that the key is not there, or we are waited for.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (!slot.fences_for_all) std::atomic_thread_fence(std::memory_order_seq_cst);
  if (slot.key.load(std::memory_order_acquire) != key) {
    lane.busy.store(0, std::memory_order_release);
    code_ = Code::kClosed;
    return;
  }
  lane_ = &lane;
}

void Lease::EnterShared(Slot& slot, std::uint32_t number, std::uint32_t key) {
  LaneState& lane = slot.LanesOf(key).each[number];
  Stay& stay = own_stays[number == journal::kTextLane ? 0 : 1];
  // A signal handler that interrupted this very thread in there: not to be waited for.
  const Place place = number == journal::kTextLane ? Place::kTexts : Place::kShared;
  if (stay.lane == &lane && !WasLeftByAJump(lane, place)) return Drop(slot, key);
  if (stay.lane == &lane && stay.is_inside) lane.busy.store(0);
  stay_ = &stay;
  stay = {&lane, false};
  // Who is in there copies a few bytes, but may have lost its processor to those who wait.
  constexpr int kSpins = 200;
  constexpr std::uint64_t kMostNs = 200'000'000;
  const std::uint64_t begin = platform::CoarseMonotonicNs();
  for (int i = 0; lane.busy.exchange(1) != 0; ++i) {
    if (i < kSpins) {
      Pause();
      continue;
    }
    if (platform::CoarseMonotonicNs() - begin > kMostNs) return Drop(slot, key);
    platform::YieldProcessor();
  }
  stay.is_inside = true;
  lane.entries.store(lane.entries.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (slot.key.load() != key) {
    lane.busy.store(0, std::memory_order_release);
    code_ = Code::kClosed;
    return;
  }
  lane_ = &lane;
}

std::unique_lock<std::mutex> LockInTime(std::mutex& mutex) {
  constexpr std::uint64_t kMostNs = 200'000'000;
  const std::uint64_t begin = platform::CoarseMonotonicNs();
  std::unique_lock lock(mutex, std::try_to_lock);
  while (!lock && platform::CoarseMonotonicNs() - begin <= kMostNs) {
    platform::YieldProcessor();
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

LaneState* ClaimLane(Slot& slot, std::uint32_t key) {
  ThreadLane& mine = thread_lanes[static_cast<std::size_t>(&slot - slots.data())];
  Lanes& lanes = slot.LanesOf(key);
  LaneState* found = &lanes.each[journal::kSharedLane];
  // A signal handler that interrupted this very thread while it claims: not to be waited for.
  if (claiming) return found;
  claiming = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const auto lock = LockInTime(slot.lane_mutex);
  if (slot.key.load() != key) {  // closed meanwhile: the lease will see it
    claiming = false;
    return found;
  }
  for (std::uint32_t i = journal::kTextLane + 1; lock && i < journal::kSharedLane; ++i) {
    LaneState& lane = lanes.each[i];
    if (lane.owned.load(std::memory_order_acquire)) continue;
    if (!slot.session->ring->ReserveLane(i)) break;
    lane.writer = slot.session->ring->Writer(i);
    lane.owned.store(true, std::memory_order_relaxed);
    found = &lane;
    break;
  }
  keeper.used = true;  // makes it, so that it is destroyed with the thread
  mine = {key, found};
  std::atomic_signal_fence(std::memory_order_seq_cst);
  claiming = false;
  return found;
}

}  // namespace vigil::record
