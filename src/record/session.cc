#include "record/session.h"

#include <array>
#include <atomic>
#include <chrono>
#include <utility>

#include "journal/mover.h"
#include "journal/ring.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/recording.h"
#include "record/slots.h"

namespace vigil::record {
namespace {

constexpr std::uint32_t kStartTimeoutMs = 10'000;
constexpr std::uint32_t kJoinTimeoutMs = 1000;
constexpr std::uint32_t kDrainTimeoutMs = 200;
constexpr double kMuch = 0.5;  // of the shared memory that all rings may take
constexpr std::string_view kWriter = "libvigil " VIGIL_VERSION;

constexpr std::array<std::string_view, kPhases> kPhaseNames = {"data", "forward", "backward", "optimizer"};

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

// ---- the worker

Status MakeJournal(Session& session) {
  const Options& options = session.options;
  if (const Status made = platform::MakeFolders(options.folder); !made) return made;
  journal::RingOptions ring_options;
  ring_options.lane_bytes = options.lane_bytes;
  ring_options.shared = options.shared_ring;
  auto ring = journal::Ring::Create(ring_options);
  if (!ring) return Fail(ring.error());
  session.ring.emplace(std::move(*ring));
  journal::MoverOptions to;
  to.folder = platform::AbsolutePath(options.folder);
  to.begin = BeginOf(options);
  to.flush_interval_ms = options.flush_interval_ms;
  to.sync_interval_ms = options.sync_interval_ms;
  if (options.shared_ring && session.ring->Publish(journal::Ring::NewName())) to.begin.ring = session.ring->name();
  session.survives_kill.store(!session.ring->name().empty());
  DefineOwnSeries(*session.ring);
  auto mover = journal::Mover::Create(*session.ring, std::move(to));
  if (!mover) return Fail(mover.error());
  session.mover = std::move(*mover);
  return {};
}

// What is to be done about what killed processes left, for a run in that folder. Rings of runs that were removed are
// kept for days, in case their journals come back: not where they leave no room for those of runs that are there.
journal::DrainOptions DrainOptionsFor(const std::string& folder) {
  constexpr std::uint64_t kMuchBytes = std::uint64_t{1} << 30U;  // large machines have better use for it, too
  constexpr double kNearlyAll = 0.9;
  constexpr double kHour = 3600;
  constexpr double kMinute = 60;
  journal::DrainOptions options;
  options.places = {platform::AbsolutePath(folder)};
  options.tidies_up = true;  // those who make rings see to it that none stays for ever
  const double taken = journal::Ring::ShareTaken();
  const std::uint64_t taken_bytes = platform::SharedMemoryUsedBy(journal::Ring::NamePrefix());
  if (taken > kMuch || taken_bytes > kMuchBytes / 2) options.forget_after_s = kHour;
  if (taken > kNearlyAll || taken_bytes > kMuchBytes) options.forget_after_s = kMinute;
  return options;
}

// What killed processes left in this run's folder. A thread of its own: nothing it waits for keeps records from being
// written. What lies elsewhere is not a trainer's business, unless its journal was removed long ago.
void StartDraining(Session& session) {
  const auto drain = [options = DrainOptionsFor(session.options.folder)] {
    journal::DrainLeftovers(options);
    return platform::Worker::kDone;
  };
  session.drainer.Start("vigil-drain", drain, true);
}

void Enter(Session& session, Session::Stage stage) {
  const std::lock_guard lock(session.mutex);
  session.stage = stage;
  session.changed.notify_all();
}

// The first turn: what opening a run waits for.
std::uint32_t Start(Session& session) noexcept {
  try {
    // What the killed processes of this very run left may be what there is no room for.
    if (session.options.shared_ring && journal::Ring::ShareTaken() > kMuch)
      journal::DrainLeftovers(DrainOptionsFor(session.options.folder));
    const Status made = MakeJournal(session);
    if (made) {
      StartDraining(session);
      Enter(session, Session::Stage::kReady);
      return 0;
    }
    const std::lock_guard lock(session.mutex);
    session.message = made.error().Text();
  } catch (...) {
    session.failure = Code::kNoMemory;
  }
  session.mover.reset();
  if (session.ring) session.ring->Remove();
  Enter(session, Session::Stage::kFailed);
  return platform::Worker::kDone;
}

void NoteDrops(Session& session) {
  const Lanes* lanes = nullptr;
  {
    const std::lock_guard lock(session.mutex);
    lanes = session.lanes;
  }
  if (lanes == nullptr) return;
  const std::uint64_t drops = lanes->dropped.load(std::memory_order_relaxed);
  session.mover->NoteDropped(drops - session.drops_noted);
  session.drops_noted = drops;
}

// The last turn. The ring stays when writing fails: whoever comes next has it.
std::uint32_t Finish(Session& session, bool say_end, std::int64_t status) noexcept {
  bool said = true;
  try {
    const std::string end = EncodeEntry(journal::End{status, NowMs()});
    journal::LaneWriter writer = session.ring->Writer(journal::kTextLane);
    if (say_end) said = writer.AddText(journal::Section::kEnd, end, journal::LaneWriter::Importance::kImportant);
  } catch (...) {
    said = false;  // without memory or room for a few bytes the journal has no end, as that of a killed process
  }
  const bool whole = session.mover->Move(true) && said;
  if (whole) session.ring->Remove();
  const std::lock_guard lock(session.mutex);
  session.whole = whole;
  session.stage = Session::Stage::kEnded;
  session.changed.notify_all();
  return platform::Worker::kDone;
}

// The application may close our descriptors, and others may remove the ring: what that means for a killed process is
// known within a second.
void LookAfterRing(Session& session) {
  constexpr std::uint64_t kIntervalNs = 1'000'000'000;
  const std::uint64_t now = platform::MonotonicNs();
  if (now - session.ring_looked_ns < kIntervalNs) return;
  session.ring_looked_ns = now;
  session.survives_kill.store(session.ring->Renew());
}

// Those who wait for a flush hear when it was done, and when a sync failed since the last: to wait for another would be
// to believe in it, as the system reports an error once and forgets what it could not write.
void EndFlushes(Session& session, std::uint64_t done, std::uint64_t wanted, bool whole) {
  const std::uint32_t failures = session.mover->status().sync_failures;
  const bool failed = failures != std::exchange(session.sync_failures, failures);
  if (!whole && !failed) return;
  if (failed) session.failed_flushes.push_back({done, wanted});
  constexpr std::size_t kMostKept = 64;  // those who wait hear of theirs at once
  if (session.failed_flushes.size() > kMostKept) session.failed_flushes.erase(session.failed_flushes.begin());
  session.flushes_done = wanted;
  session.changed.notify_all();
}

std::uint32_t Tick(Session& session) {
  if (!session.mover) return Start(session);
  LookAfterRing(session);
  std::uint64_t wanted = 0;
  std::uint64_t done = 0;
  {
    const std::lock_guard lock(session.mutex);
    wanted = session.flushes_wanted;
    done = session.flushes_done;
  }
  NoteDrops(session);
  const bool whole = session.mover->Move(wanted != done);
  std::unique_lock lock(session.mutex);
  if (wanted != done) EndFlushes(session, done, wanted, whole);
  if (!session.end_wanted) return session.mover->wait_ms();
  const bool say_end = session.end_said;
  const std::int64_t status = session.end_status;
  lock.unlock();
  NoteDrops(session);
  return Finish(session, say_end, status);
}

void WantEnd(Session& session, bool said, std::int64_t status) {
  session.end_wanted = true;
  session.end_said = said;
  session.end_status = status;
}

}  // namespace

void KeepForever(std::shared_ptr<Session> session) {
  struct Kept {
    std::shared_ptr<Session> session;
    Kept* next = nullptr;
  };
  static std::atomic<Kept*> first = nullptr;
  auto* const kept = new Kept{std::move(session), first.load()};
  while (!first.compare_exchange_weak(kept->next, kept)) {
  }
}

std::shared_ptr<Session> StartSession(const Options& options, Code& code, std::string& message) {
  auto session = std::make_shared<Session>(options);
  Session* const made = session.get();
  code = Code::kNoMemory;
  if (!made->worker.Start("vigil-record", [made] { return Tick(*made); })) return nullptr;
  bool in_time = false;
  {
    std::unique_lock lock(made->mutex);
    in_time = made->changed.wait_for(lock, std::chrono::milliseconds(kStartTimeoutMs),
                                     [&] { return made->stage != Session::Stage::kStarting; });
    if (!in_time) WantEnd(*made, true, kUnknownEnd);
    code = made->failure;
    message = made->message;
    if (made->stage == Session::Stage::kReady) code = Code::kOk;
  }
  if (code == Code::kOk) return session;
  if (!in_time) {
    // Its thread is stuck in the file system, and will end by itself.
    code = Code::kTimeout;
    message = options.folder + ": its file system does not answer";
    KeepForever(session);
  }
  made->worker.Stop(in_time ? kJoinTimeoutMs : 0);
  return nullptr;
}

Code EndSession(Session& session, std::int64_t status, bool is_quiet) {
  bool ended = false;
  bool whole = false;
  {
    std::unique_lock lock(session.mutex);
    WantEnd(session, is_quiet, status);
    session.worker.Wake();
    ended = session.changed.wait_for(lock, std::chrono::milliseconds(session.options.close_timeout_ms),
                                     [&] { return session.stage == Session::Stage::kEnded; });
    whole = session.whole;
  }
  session.drainer.Stop(kDrainTimeoutMs);
  ended = session.worker.Stop(ended ? kJoinTimeoutMs : 0) && ended;
  if (!ended) return Code::kTimeout;
  return whole ? Code::kOk : Code::kIo;
}

}  // namespace vigil::record
