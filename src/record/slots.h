// The runs that this process records, in a fixed table that is never freed, so that no handle can dangle; and the way a
// thread gets to its lane. Private to record.
#pragma once

#include <array>
#include <atomic>
#include <mutex>

#include "journal/ring.h"
#include "platform/clock.h"
#include "record/record.h"

namespace vigil::record {

inline constexpr std::uint32_t kSlots = 8;

// A lane as the threads of this process see it.
struct alignas(64) LaneState {
  std::atomic<std::uint32_t> busy = 0;     // a record call is in it
  std::atomic<bool> owned = false;         // by a thread
  std::atomic<std::uint64_t> entries = 0;  // record calls that came in so far
  journal::LaneWriter writer;
};

// Where a thread is in a lane that threads share.
struct Stay {
  LaneState* lane = nullptr;
  bool is_inside = false;  // else it waits to be
};

// The lanes of a run. A slot has several of them and uses them in turn: a thread that was stopped in the middle of a
// record call, and goes on when its run was closed long ago, finds those of its own run.
struct Lanes {
  std::array<LaneState, journal::kLanes> each;
  std::atomic<std::uint64_t> dropped = 0;  // records that did not come to a lane
};

struct Session;

struct alignas(64) Slot {
  std::atomic<std::uint32_t> key = 0;  // upper half of the handles; 0 while closed
  std::atomic<std::uint32_t> series_count = 0;
  std::atomic<const std::atomic<std::uint64_t>*> mark = nullptr;
  std::atomic<std::uint64_t> process = 0;
  bool fences_for_all = false;  // closing can fence for the record calls
  std::uint32_t generation = 0;
  bool taken = false;          // by a run that is open, or being opened or closed; guarded by the table's mutex
  Session* session = nullptr;  // guarded by the table's mutex
  std::mutex lane_mutex;       // of claiming lanes, and of taking the session away
  static constexpr std::uint32_t kTurns = 8;
  std::array<Lanes, kTurns> lanes;
  Lanes& LanesOf(std::uint32_t of_key) { return lanes[of_key % kTurns]; }

  std::atomic<std::int64_t> step = 0;
  std::atomic<std::uint64_t> step_begin_ns = 0;
  std::array<std::atomic<std::uint64_t>, kPhases> phase_begin_ns = {};
  std::array<std::atomic<std::uint64_t>, kPhases> phase_total_ns = {};
};

// Series that every run has.
inline constexpr std::uint32_t kStepTimeSeries = 0;
inline constexpr std::uint32_t kPhaseTimeSeries = 1;
inline constexpr std::uint32_t kFirstFreeSeries = kPhaseTimeSeries + kPhases;

inline constexpr std::uint32_t kNoSeries = 0xffffffffU;  // lower half of a run's handle

// The slot that a handle names, null when it can be no handle.
Slot* SlotOf(std::uint64_t handle);
inline std::uint32_t KeyOf(std::uint64_t handle) { return static_cast<std::uint32_t>(handle >> 32U); }
inline std::uint32_t IdOf(std::uint64_t handle) { return static_cast<std::uint32_t>(handle); }
inline std::uint64_t MakeHandle(std::uint32_t key, std::uint32_t id) { return std::uint64_t{key} << 32U | id; }

// Whether the handle is good in this process.
Code Check(const Slot* slot, std::uint64_t handle);

// A thread's stay in a lane, while which the run cannot be taken down.
class Lease {
 public:
  Lease(Slot* slot, std::uint64_t handle);
  // A stay in the lane of texts.
  struct ForText {};
  Lease(Slot* slot, std::uint64_t handle, ForText tag);
  ~Lease() {
    if (stay_ != nullptr) *stay_ = {};
    if (lane_ != nullptr) lane_->busy.store(0, std::memory_order_release);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Lease(Lease&&) = delete;
  Lease& operator=(Lease&&) = delete;

  Code code() const { return code_; }
  journal::LaneWriter& writer() { return lane_->writer; }
  // The code of a record call that came so far: what the lane did not take is counted.
  Code Done(bool taken) {
    if (taken) [[likely]]
      return Code::kOk;
    return Refuse();
  }

 private:
  void Enter(Slot& slot, LaneState& lane, std::uint32_t key);
  void EnterShared(Slot& slot, std::uint32_t number, std::uint32_t key);
  void Drop(Slot& slot, std::uint32_t key);
  Code Refuse() {
    lane_->writer.NoteRefused();
    return Code::kFull;
  }

  LaneState* lane_ = nullptr;
  Stay* stay_ = nullptr;
  Code code_ = Code::kOk;
};

// Waits a while for a lock, and is empty when it was not to be had: a thread that left a record call by a jump
// (siglongjmp out of a handler) never gives back what it held.
std::unique_lock<std::mutex> LockInTime(std::mutex& mutex);

// The lane of this thread in that run, claimed on first use.
LaneState* ClaimLane(Slot& slot, std::uint32_t key);

inline std::uint64_t NowMs() { return platform::CoarseMonotonicNs() / 1'000'000; }

// Memory may be out: a code, never an exception.
template <class Work>
Code Guarded(Work&& work) noexcept {
  try {
    return work();
  } catch (...) {
    return Code::kNoMemory;
  }
}

// ---- the table

// Guards opening and closing; held across forks.
std::mutex& TableMutex();
std::span<Slot> Slots();

}  // namespace vigil::record
