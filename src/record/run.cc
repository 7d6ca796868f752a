#include <algorithm>
#include <chrono>
#include <new>

#include "journal/mover.h"
#include "journal/ring.h"
#include "platform/clock.h"
#include "platform/recording.h"
#include "record/session.h"
#include "record/slots.h"

namespace vigil::record {
namespace {

constexpr std::uint32_t kQuietTimeoutMs = 1000;

// What is wrong with the options; empty when nothing is.
std::string_view WhyInvalid(const Options& options) {
  constexpr std::uint32_t kHourMs = 3'600'000;
  if (options.folder.empty()) return "no folder was given";
  if (options.rank < 0) return "the rank is below 0";
  if (options.world < 1) return "the world size is below 1";
  if (options.flush_interval_ms < 1 || options.flush_interval_ms > kHourMs)
    return "the flush interval is not between 1 ms and an hour";
  return {};
}

// A slot that is free, or was that of the parent process: what is there then is a copy that nobody will use again.
Slot* FindFree(std::uint64_t process) {
  for (Slot& slot : Slots()) {
    if (!slot.taken) return &slot;
  }
  for (Slot& slot : Slots()) {
    if (slot.process.load() == process) continue;
    if (slot.session != nullptr) slot.session->worker.Forget();
    if (slot.session != nullptr) slot.session->drainer.Forget();
    new (&slot.lane_mutex) std::mutex;  // a thread of the parent may have held it
    slot.key.store(0);
    slot.session = nullptr;
    return &slot;
  }
  return nullptr;
}

Slot* TakeSlot(std::uint64_t process) {
  const std::lock_guard lock(TableMutex());
  Slot* const slot = FindFree(process);
  if (slot == nullptr) return nullptr;
  slot->taken = true;
  slot->process.store(process);
  return slot;
}

void GiveBack(Slot& slot) {
  const std::lock_guard lock(TableMutex());
  slot.session = nullptr;
  slot.taken = false;
}

// Makes the slot ready for the handles of that key.
void Prepare(Slot& slot, std::uint32_t key, const std::shared_ptr<Session>& session) {
  slot.series_count.store(kFirstFreeSeries);
  slot.step_begin_ns.store(0);
  for (auto& begin : slot.phase_begin_ns) begin.store(0);
  for (auto& total : slot.phase_total_ns) total.store(0);
  Lanes& lanes = slot.LanesOf(key);
  lanes.dropped.store(0);
  for (LaneState& lane : lanes.each) {
    lane.busy.store(0);
    lane.owned.store(false);
  }
  for (const std::uint32_t lane : {journal::kTextLane, journal::kSharedLane})
    lanes.each[lane].writer = session->ring->Writer(lane);
  slot.fences_for_all = platform::FenceAllThreads();
  slot.mark.store(&platform::ProcessMark());
  const std::lock_guard lock(session->mutex);
  session->lanes = &lanes;
}

// From now on the handles of that key are good.
void Publish(Slot& slot, std::uint32_t key, std::shared_ptr<Session> session) {
  const std::lock_guard lock(TableMutex());
  slot.session = session.get();
  slot.session->self = std::move(session);
  slot.key.store(key, std::memory_order_release);
}

// Waits until no record call is inside; false when one stays there (its thread was stopped).
bool WaitUntilQuiet(Lanes& lanes) {
  platform::FenceAllThreads();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t until = platform::MonotonicNs() + std::uint64_t{kQuietTimeoutMs} * 1'000'000;
  for (LaneState& lane : lanes.each) {
    while (lane.busy.load(std::memory_order_acquire) != 0) {
      if (platform::MonotonicNs() > until) return false;
    }
  }
  return true;
}

Code CloseSlot(Slot& slot, std::uint32_t key, std::int64_t status) {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(TableMutex());
    const auto lanes = LockInTime(slot.lane_mutex);
    std::uint32_t expected = key;
    if (!slot.key.compare_exchange_strong(expected, 0)) return Code::kClosed;
    session = std::move(slot.session->self);
  }
  const bool quiet = WaitUntilQuiet(slot.LanesOf(key));
  const Code code = EndSession(*session, status, quiet);
  // What a stuck thread may still touch is left to it.
  if (!quiet || code == Code::kTimeout) KeepForever(session);
  GiveBack(slot);
  return code;
}

// When the process ends without closing: nobody can say how it ended, but nothing is left in the ring.
__attribute__((destructor)) void CloseAll() {
  const std::uint64_t process = platform::ProcessMark().load();
  for (Slot& slot : Slots()) {
    const std::uint32_t key = slot.key.load();
    if (key != 0 && process != 0 && slot.process.load() == process)
      Guarded([&] { return CloseSlot(slot, key, kUnknownEnd); });
  }
}

// Null when the run was closed meanwhile.
std::shared_ptr<Session> SessionOf(Slot& slot, RunHandle run) {
  const std::lock_guard lock(TableMutex());
  return slot.key.load() == KeyOf(run) ? slot.session->self : nullptr;
}

// The table is not held while a disk is waited for: forks wait for the table.
Code OpenIn(Slot& slot, const Options& options, RunHandle& run, std::string& message) {
  Code code = Code::kOk;
  std::shared_ptr<Session> session = StartSession(options, code, message);
  if (!session) return code;
  constexpr std::uint32_t kGenerations = 1U << 24U;
  slot.generation = (slot.generation + 1) % kGenerations;
  const auto number = static_cast<std::uint32_t>(&slot - Slots().data()) + 1;
  const std::uint32_t key = number << 24U | slot.generation;
  Prepare(slot, key, session);
  Publish(slot, key, std::move(session));
  run = MakeHandle(key, kNoSeries);
  return Code::kOk;
}

}  // namespace

std::string_view Describe(Code code) {
  constexpr std::array<std::string_view, kLastCode + 1> kTexts = {
      "ok",
      "an argument makes no sense, or the handle is none",
      "the run of this handle was closed",
      "the handle belongs to the parent process: open a run in this one",
      "too many runs, series or bytes",
      "the journal could not be created, or not be written to its end",
      "dropped: recorded from inside another record call, or by too many threads at once",
      "not done in time",
      "out of memory or threads",
      "not recorded: too much at once, what was recorded before is not written yet",
  };
  const auto index = static_cast<std::size_t>(code);
  return index < kTexts.size() ? kTexts[index] : "no code of vigil";
}

Code Open(const Options& options, RunHandle& run, std::string& message) noexcept {
  run = 0;
  if (const std::string_view why = WhyInvalid(options); !why.empty())
    return Guarded([&] {
      message = why;
      return Code::kInvalid;
    });
  Slot* const slot = TakeSlot(platform::ThisProcess());
  if (slot == nullptr) return Code::kLimit;
  const Code code = Guarded([&] { return OpenIn(*slot, options, run, message); });
  if (code != Code::kOk) GiveBack(*slot);
  return code;
}

Code Close(RunHandle run, std::int64_t status) noexcept {
  return Guarded([&] {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    return CloseSlot(*slot, KeyOf(run), status);
  });
}

Code Flush(RunHandle run, std::uint32_t timeout_ms) noexcept {
  return Guarded([&] {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    const auto session = SessionOf(*slot, run);
    if (!session) return Code::kClosed;
    std::unique_lock lock(session->mutex);
    const std::uint64_t mine = ++session->flushes_wanted;
    session->worker.Wake();
    const bool done = session->changed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                                [&] { return session->flushes_done >= mine; });
    if (!done) return Code::kTimeout;
    const bool failed = std::any_of(session->failed_flushes.begin(), session->failed_flushes.end(),
                                    [&](const Session::Range& it) { return mine > it.after && mine <= it.last; });
    return failed ? Code::kIo : Code::kOk;
  });
}

Code GetStatus(RunHandle run, RunStatus& status) noexcept {
  return Guarded([&] {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    const auto session = SessionOf(*slot, run);
    if (!session) return Code::kClosed;
    const journal::MoverStatus moved = session->mover->status();
    status.written_bytes = moved.written_bytes;
    status.records = moved.records;
    status.dropped_records =
        moved.dropped_records + session->ring->Refused() + slot->LanesOf(KeyOf(run)).dropped.load();
    status.problem = moved.problem;
    status.survives_kill = session->survives_kill.load();
    status.shared_bytes = status.survives_kill ? session->ring->reserved_bytes() : 0;
    status.lane_bytes = session->ring->Capacity(journal::kSharedLane) * sizeof(std::uint64_t);
    status.path = session->mover->path();
    return Code::kOk;
  });
}

}  // namespace vigil::record
