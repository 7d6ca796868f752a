#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "record/slots.h"

namespace vigil::record {
namespace {

constexpr std::uint32_t kStopTimeoutMs = 5000;
constexpr std::uint32_t kQuietTimeoutMs = 1000;
constexpr std::string_view kWriter = "libvigil " VIGIL_VERSION;

constexpr std::array<std::string_view, kPhases> kPhaseNames = {"data", "forward", "backward", "optimizer"};

std::uint64_t NowMs() { return platform::CoarseMonotonicNs() / 1'000'000; }

bool IsValid(const Options& options) {
  return !options.folder.empty() && options.rank >= 0 && options.world >= 1 && options.flush_interval_ms <= 3'600'000;
}

journal::Begin BeginOf(const Options& options) {
  journal::Begin begin;
  constexpr std::size_t kMost = 256;
  begin.run = options.run.substr(0, kMost);
  begin.name = options.name.substr(0, kMost);
  begin.rank = options.rank;
  begin.world = options.world;
  begin.host = platform::HostName();
  begin.boot = platform::BootId();
  begin.pid = platform::ProcessId();
  begin.program = platform::ProgramName();
  begin.writer = kWriter;
  return begin;
}

// Steps and phases have their series from the start: ending a step must not allocate.
bool DefineOwnSeries(journal::Ring& ring) {
  journal::Definition definition;
  definition.id = kStepTimeSeries;
  definition.name = "step_time_s";
  definition.unit = "s";
  definition.aggregation = model::Aggregation::kInstant;
  bool room = ring.AddDefinition(EncodeEntry(definition));
  definition.name = "phase_time_s";
  for (std::uint32_t phase = 0; phase < kPhases; ++phase) {
    definition.id = kPhaseTimeSeries + phase;
    definition.labels = {{"phase", std::string(kPhaseNames[phase])}};
    room = room && ring.AddDefinition(EncodeEntry(definition));
  }
  return room;
}

// One turn of the recorder's thread.
std::uint32_t Tick(Session& session) {
  std::uint64_t wanted = 0;
  std::uint64_t done = 0;
  {
    const std::lock_guard lock(session.flush_mutex);
    wanted = session.flushes_wanted;
    done = session.flushes_done;
  }
  const bool whole = session.mover->Move(wanted != done);
  if (wanted != done && whole) {
    const std::lock_guard lock(session.flush_mutex);
    session.flushes_done = wanted;
    session.flushed.notify_all();
  }
  if (!session.drained) {
    session.drained = true;
    journal::DrainOptions options;
    options.places = {session.folder};
    options.is_own = IsOwnRing;
    journal::DrainLeftovers(options);
  }
  return session.mover->wait_ms();
}

// A slot that is free, or was that of the parent process: what is there then is a copy that nobody will use again.
Slot* FindFree(std::uint64_t process) {
  for (Slot& slot : Slots()) {
    if (slot.key.load() == 0 && slot.session == nullptr) return &slot;
  }
  for (Slot& slot : Slots()) {
    if (slot.process.load() == process || slot.session == nullptr) continue;
    slot.session->worker.Forget();
    new (&slot.lane_mutex) std::mutex;  // a thread of the parent may have held it
    slot.key.store(0);
    slot.session = nullptr;
    return &slot;
  }
  return nullptr;
}

void Prepare(Slot& slot, Session& session, std::uint64_t process) {
  constexpr std::uint32_t kGenerations = 1U << 24U;
  slot.generation = (slot.generation + 1) % kGenerations;
  slot.series_count.store(kFirstFreeSeries);
  slot.dropped.store(0);
  slot.step_begin_ns.store(0);
  for (auto& begin : slot.phase_begin_ns) begin.store(0);
  for (auto& total : slot.phase_total_ns) total.store(0);
  for (LaneState& lane : slot.lanes) {
    lane.busy.store(0);
    lane.owned.store(false);
  }
  for (const std::uint32_t lane : {journal::kTextLane, journal::kSharedLane})
    slot.lanes[lane].writer = session.ring.Writer(lane);
  slot.fences_for_all = platform::FenceAllThreads();
  slot.session = &session;
  slot.mark.store(&platform::ProcessMark());
  slot.process.store(process);
}

// Everything of a run but its place in the table. Null, with the reason, when it cannot be had.
Result<std::shared_ptr<Session>> MakeSession(const Options& options, std::string_view ring_name) {
  if (const Status made = platform::MakeFolders(options.folder); !made) return Fail(made.error().message);
  journal::RingOptions ring_options;
  ring_options.lane_bytes = options.lane_bytes;
  ring_options.shared = options.shared_ring;
  auto ring = journal::Ring::Create(ring_options);
  if (!ring) return Fail(ring.error().message);
  auto session = std::make_shared<Session>(std::move(*ring));
  journal::MoverOptions to;
  to.folder = platform::AbsolutePath(options.folder);
  to.begin = BeginOf(options);
  to.flush_interval_ms = options.flush_interval_ms;
  if (options.shared_ring && session->ring.Publish(std::string(ring_name))) to.begin.ring = session->ring.name();
  session->folder = to.folder;
  DefineOwnSeries(session->ring);
  auto mover = journal::Mover::Create(session->ring, std::move(to));
  if (!mover) {
    session->ring.Remove();
    return Fail(mover.error().message);
  }
  session->mover = std::move(*mover);
  return session;
}

// Waits until no record call is inside; false when one stays there (its thread was stopped).
bool WaitUntilQuiet(Slot& slot) {
  platform::FenceAllThreads();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const std::uint64_t until = platform::MonotonicNs() + std::uint64_t{kQuietTimeoutMs} * 1'000'000;
  for (LaneState& lane : slot.lanes) {
    while (lane.busy.load(std::memory_order_acquire) != 0) {
      if (platform::MonotonicNs() > until) return false;
    }
  }
  return true;
}

// The last writes, in the thread that closes. The ring stays when they fail: whoever comes next has them.
void WriteLast(Session& session, std::int64_t status) {
  session.ring.Writer(journal::kTextLane).AddText(journal::Section::kEnd, EncodeEntry(journal::End{status, NowMs()}));
  if (session.mover->Move(true)) session.ring.Remove();
}

Code CloseSlot(Slot& slot, std::uint32_t key, std::int64_t status) {
  std::shared_ptr<Session> session;
  {
    const std::lock_guard lock(TableMutex());
    const std::lock_guard lanes(slot.lane_mutex);
    std::uint32_t expected = key;
    if (!slot.key.compare_exchange_strong(expected, 0)) return Code::kClosed;
    session = std::move(slot.session->self);
  }
  const bool quiet = WaitUntilQuiet(slot);
  const bool ended = session->worker.Stop(kStopTimeoutMs);
  if (ended) WriteLast(*session, status);
  // What a stuck thread may still touch is left to it.
  if (!quiet || !ended) static_cast<void>(new std::shared_ptr<Session>(session));
  const std::lock_guard lock(TableMutex());
  slot.session = nullptr;
  slot.ring_name = {};
  return ended ? Code::kOk : Code::kTimeout;
}

// When the process ends without closing: nobody can say how it ended, but nothing is left in the ring.
__attribute__((destructor)) void CloseAll() {
  const std::uint64_t process = platform::ProcessMark().load();
  for (Slot& slot : Slots()) {
    const std::uint32_t key = slot.key.load();
    if (key != 0 && process != 0 && slot.process.load() == process) CloseSlot(slot, key, kUnknownEnd);
  }
}

// Null when the run was closed meanwhile.
std::shared_ptr<Session> SessionOf(Slot& slot, RunHandle run) {
  const std::lock_guard lock(TableMutex());
  return slot.key.load() == KeyOf(run) ? slot.session->self : nullptr;
}

Code OpenLocked(const Options& options, RunHandle& run, std::string& message) {
  const std::uint64_t process = platform::ThisProcess();
  Slot* const slot = FindFree(process);
  if (slot == nullptr) return Code::kLimit;
  // Known as ours before it can be found.
  const std::string name = journal::Ring::NewName();
  std::memcpy(slot->ring_name.data(), name.c_str(), std::min(name.size() + 1, slot->ring_name.size() - 1));
  auto session = MakeSession(options, name);
  if (!session) {
    slot->ring_name = {};
    message = session.error().message;
    return Code::kIo;
  }
  Session* const made = session->get();
  Prepare(*slot, *made, process);
  if (!made->worker.Start("vigil-record", [made] { return Tick(*made); })) {
    made->ring.Remove();
    slot->session = nullptr;
    slot->ring_name = {};
    return Code::kNoMemory;
  }
  made->self = std::move(*session);
  const auto number = static_cast<std::uint32_t>(slot - Slots().data()) + 1;
  const std::uint32_t key = number << 24U | slot->generation;
  run = MakeHandle(key, kNoSeries);
  slot->key.store(key, std::memory_order_release);
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
      "the journal could not be created",
      "dropped: recorded from inside another record call, or by too many threads at once",
      "not done in time",
      "out of memory or threads",
  };
  const auto index = static_cast<std::size_t>(code);
  return index < kTexts.size() ? kTexts[index] : "no code of vigil";
}

Code Open(const Options& options, RunHandle& run, std::string& message) noexcept {
  run = 0;
  try {
    if (!IsValid(options)) return Code::kInvalid;
    const std::lock_guard lock(TableMutex());
    return OpenLocked(options, run, message);
  } catch (...) {
    return Code::kNoMemory;
  }
}

Code Close(RunHandle run, std::int64_t status) noexcept {
  try {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    return CloseSlot(*slot, KeyOf(run), status);
  } catch (...) {
    return Code::kNoMemory;
  }
}

Code Flush(RunHandle run, std::uint32_t timeout_ms) noexcept {
  try {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    const auto session = SessionOf(*slot, run);
    if (!session) return Code::kClosed;
    std::unique_lock lock(session->flush_mutex);
    const std::uint64_t mine = ++session->flushes_wanted;
    session->worker.Wake();
    const bool done = session->flushed.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                                                [&] { return session->flushes_done >= mine; });
    return done ? Code::kOk : Code::kTimeout;
  } catch (...) {
    return Code::kNoMemory;
  }
}

Code GetStatus(RunHandle run, RunStatus& status) noexcept {
  try {
    Slot* const slot = SlotOf(run);
    if (const Code code = Check(slot, run); code != Code::kOk) return code;
    const auto session = SessionOf(*slot, run);
    if (!session) return Code::kClosed;
    const journal::MoverStatus moved = session->mover->status();
    status.written_bytes = moved.written_bytes;
    status.records = moved.records;
    status.lost_records = moved.lost_records + slot->dropped.load();
    status.problem = moved.problem;
    status.survives_kill = !session->ring.name().empty();
    status.path = session->mover->path();
    return Code::kOk;
  } catch (...) {
    return Code::kNoMemory;
  }
}

}  // namespace vigil::record
