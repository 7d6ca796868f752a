#include "journal/mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "journal/journal.h"
#include "journal/journal_end.h"
#include "journal/lane_records.h"
#include "journal/ring.h"
#include "journal/wire.h"
#include "platform/files.h"
#include "platform/recording.h"

namespace vigil::journal {
namespace {

// Names are repeated after so many bytes, or so many times what they take.
constexpr std::uint64_t kNamesAgainBytes = std::uint64_t{4} << 20U;
constexpr std::uint64_t kNamesAgainTimes = 4;
constexpr std::int64_t kClockSlackNs = 1'000'000'000;
constexpr std::uint64_t kLookIntervalNs = 1'000'000'000;
constexpr std::uint64_t kUrgentPercent = 25;
constexpr std::uint32_t kUsualWaitMs = 20;
constexpr std::uint32_t kUrgentWaitMs = 1;
constexpr std::uint32_t kTroubleWaitMs = 1000;  // however rarely it is to be written: somebody may wait for a flush
constexpr std::uint32_t kUrgentTicks = 200;
constexpr std::int32_t kMostParts = 100'000;

// The file of the first free name.
Result<platform::AppendFile> CreateFile(const std::string& folder, std::int32_t rank, std::int32_t& part) {
  for (part = 1; part < kMostParts; ++part) {
    bool exists = false;
    auto file = platform::AppendFile::Create(folder + "/" + FileName(rank, part), exists);
    if (file || !exists) return file;
  }
  return Fail(ErrorCode::kInvalid, folder, fmt::format("holds {} journals of rank {} already", kMostParts, rank));
}

}  // namespace

struct Mover::State {
  explicit State(Ring& from, MoverOptions given) : ring(from), options(std::move(given)), begin(options.begin) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      moved[lane] = ring.Tail(lane);
      committed[lane] = moved[lane].position;
    }
    refused = pending_refused = ring.RefusedNoted();
  }

  Ring& ring;
  MoverOptions options;
  Begin begin;
  std::optional<platform::AppendFile> file;
  BlockBuilder builder;
  std::string pending;  // a block that is not in the file yet, or not all of it
  std::size_t pending_done = 0;
  std::array<Position, kLanes> moved = {};           // up to what the builder holds, it included
  std::array<Position, kLanes> pending_moved = {};   // up to the pending block, it included
  std::array<std::uint64_t, kLanes> committed = {};  // up to what is in the file, as the ring has it
  // What the journal does not get to know from the ring, until it is in the file.
  struct Counts {
    std::uint64_t records = 0;
    std::uint64_t overwritten = 0;
    std::uint64_t dropped = 0;
  };
  Counts in_builder;
  Counts in_pending;
  std::uint64_t dropped = 0;          // not in the builder yet
  std::uint64_t refused = 0;          // by the lanes, up to what the builder holds, it included
  std::uint64_t pending_refused = 0;  // up to the pending block, it included
  std::uint32_t number = 0;
  bool names_due = false;
  std::uint64_t names_at = 0;  // behind the last names
  std::uint64_t names_bytes = 0;
  std::uint64_t definitions_read = 0;
  std::uint64_t flushed_ns = 0;
  std::uint64_t looked_ns = 0;
  std::uint64_t failing_since_ns = 0;
  std::int64_t clock_offset = 0;
  std::uint32_t urgent_ticks = 0;
  bool taken_over = false;       // the ring is that of a dead process
  bool published = false;        // the ring says where the file is
  bool unsynced = false;         // something was written since the last sync
  bool folder_unsynced = false;  // the file is new
  std::uint64_t synced_ns = 0;
  std::vector<std::string_view> definitions;
  std::vector<std::uint64_t> scratch;
  LaneRecords records;

  std::mutex path_mutex;
  std::string path;
  std::atomic<std::uint64_t> written_bytes = 0;
  std::atomic<std::uint64_t> moved_records = 0;
  std::atomic<std::uint64_t> dropped_records = 0;
  std::atomic<std::uint64_t> overwritten_now = 0;  // and in no block yet
  std::atomic<int> problem = 0;
  std::atomic<std::uint32_t> files = 0;
  std::atomic<std::uint32_t> sync_failures = 0;

  // Those who record hear of it: with no way out, a full lane keeps the newest.
  void SetProblem(int reason) noexcept {
    problem.store(reason);
    ring.SetFails(reason != 0);
  }

  std::uint64_t NowMs() const { return options.monotonic_ns() / 1'000'000; }

  // ---- the file

  void UseFile(platform::AppendFile opened) {
    file.emplace(std::move(opened));
    const std::lock_guard lock(path_mutex);
    path = file->path();
  }

  // What is in a file that another takes the place of is not synced by the syncs to come.
  void LeaveFile() {
    if (options.sync_interval_ms == 0 || !file || !unsynced) return;
    int reason = 0;
    if (!file->Sync(reason)) sync_failures.fetch_add(1);
  }

  Status OpenNew() {
    auto created = CreateFile(options.folder, begin.rank, begin.part);
    if (!created) return Fail(created.error());
    LeaveFile();
    UseFile(std::move(*created));
    files.fetch_add(1);
    folder_unsynced = true;
    number = 0;
    published = false;
    ForgetPending();
    pending = FileHeader();
    AddNames();
    Finish();
    WritePending();
    return {};
  }

  // The pending block will never be written: what it held is taken from the ring again.
  void ForgetPending() {
    pending.clear();
    pending_done = 0;
    dropped += in_pending.dropped;
    in_pending = {};
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) moved[lane] = ring.Tail(lane);
    refused = ring.RefusedNoted();
    definitions_read = 0;
  }

  // Memory was out in the middle of something: what was collected and is not in a block yet is collected again.
  void Restart() noexcept {
    builder.Reset();
    dropped += in_builder.dropped;
    in_builder = {};
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      moved[lane] = pending.empty() ? ring.Tail(lane) : pending_moved[lane];
    refused = pending.empty() ? ring.RefusedNoted() : pending_refused;
    definitions_read = 0;
    names_due = true;
    if (failing_since_ns == 0) failing_since_ns = options.monotonic_ns();
    SetProblem(ENOMEM);
  }

  // Who writes, which series there are, and what the clock says: enough to understand what follows.
  void AddNames() {
    builder.AddBegin(begin);
    SetClock();
    names_due = false;
  }

  void SetClock() {
    const ClockPair clock = {options.monotonic_ns(), options.unix_ns()};
    clock_offset = clock.unix_ns - static_cast<std::int64_t>(clock.monotonic_ns);
    builder.SetClock(clock);
  }

  void NoteClockJump() {
    const std::int64_t offset = options.unix_ns() - static_cast<std::int64_t>(options.monotonic_ns());
    if (std::abs(offset - clock_offset) > kClockSlackNs) SetClock();
  }

  // True when the pending block is in the file.
  bool WritePending() {
    while (pending_done < pending.size()) {
      int reason = 0;
      const std::size_t count = file->Write(std::string_view(pending).substr(pending_done), reason);
      if (count == 0) {
        if (failing_since_ns == 0) failing_since_ns = options.monotonic_ns();
        SetProblem(reason);
        return false;
      }
      pending_done += count;
    }
    SetProblem(0);
    if (pending.empty()) return true;
    Commit();
    return true;
  }

  void Commit() {
    const std::uint64_t header = pending.starts_with(kMagic) ? kFileHeaderBytes : 0;
    // Where the last block begins shortens the search for the end; what is known of an earlier one serves too.
    const std::uint64_t size = file->size_bytes();
    if (size >= pending.size()) ring.SetCommitted(size - pending.size() + header);
    for (const Position& position : moved) {
      if (position.position != ring.Tail(position.lane).position) ring.SetTail(position);
      committed[position.lane] = position.position;
    }
    ring.SetRefusedNoted(pending_refused);
    unsynced = true;
    written_bytes.fetch_add(pending.size());
    moved_records.fetch_add(in_pending.records);
    dropped_records.fetch_add(in_pending.overwritten);
    in_pending = {};
    pending.clear();
    pending_done = 0;
  }

  void Finish() {
    builder.Finish(number, pending);
    ++number;
    pending_moved = moved;
    pending_refused = refused;
    in_pending = std::exchange(in_builder, {});
  }

  bool FinishBlock() {
    if (builder.empty()) return true;
    Finish();
    return WritePending();
  }

  // ---- trouble

  // A removed file is begun again, where its folder is. What the old one held is missing.
  bool ReviveFile() {
    const std::uint64_t now = options.monotonic_ns();
    if (now - looked_ns < kLookIntervalNs) return file && problem.load() != ENOENT;
    looked_ns = now;
    if (file && !file->is_ours()) ReopenFile();
    if (file && file->is_ours() && !file->is_removed()) return true;
    if (failing_since_ns == 0) failing_since_ns = now;
    if (const Status opened = OpenNew(); !opened) {
      SetProblem(ENOENT);
      return false;
    }
    AddGap("the file of the journal was removed; what it held is missing");
    return true;
  }

  // The application closed our descriptor: the file is where it was.
  void ReopenFile() {
    auto opened = platform::AppendFile::OpenExisting(file->path());
    if (opened && opened->identity() == file->identity()) UseFile(std::move(*opened));
  }

  void AddGap(std::string_view text) {
    const double seconds = static_cast<double>(options.monotonic_ns() - failing_since_ns) * 1e-9;
    AddGapEvent(fmt::format("{} (no writing for {:.1f} s)", text, seconds));
    failing_since_ns = 0;
  }

  void AddGapEvent(std::string text) {
    Event event;
    event.time_ms = NowMs();
    event.severity = model::Severity::kWarning;
    event.kind = EventKind::kGap;
    event.name = "journal";
    event.text = std::move(text);
    builder.AddEntry(Section::kEvents, EncodeEntry(event));
  }

  // True when writing works, after trouble too.
  bool IsWritable() {
    const int reason = problem.load();
    if (!ReviveFile()) return false;
    if (!WritePending()) return false;
    if (failing_since_ns != 0)
      AddGap(fmt::format("the journal could not be written: {}", platform::SystemReason(reason)));
    return true;
  }

  // ---- moving

  bool AddNewDefinitions() {
    const bool all = definitions_read == 0;
    const std::uint64_t before = written_bytes.load();
    definitions.clear();
    definitions_read = ring.ReadDefinitions(definitions_read, definitions);
    for (const std::string_view entry : definitions) {
      builder.AddEntry(Section::kDefinitions, entry);
      if (builder.IsFull() && !FinishBlock()) {
        definitions_read = 0;  // all again, in the block after this one
        return false;
      }
    }
    if (all) {
      names_at = written_bytes.load();
      names_bytes = names_at - before;
    }
    return true;
  }

  bool RepeatNames() {
    const std::uint64_t interval = std::max(kNamesAgainBytes, kNamesAgainTimes * names_bytes);
    if (!names_due && written_bytes.load() - names_at < interval) return true;
    AddNames();
    definitions_read = 0;
    return AddNewDefinitions();
  }

  // Definitions are read after the records were copied: a record's series was defined before it was recorded.
  bool MoveLane(std::uint32_t lane) {
    const Collected collected = ring.Collect(moved[lane], scratch);
    if (collected.end.position == moved[lane].position) return true;
    if (!AddNewDefinitions()) return false;
    if (collected.dropped_records != 0) {
      in_builder.overwritten += collected.dropped_records;
      builder.AddDropped({NowMs(), lane, collected.dropped_records});
    }
    Position at = {lane, collected.end.position - collected.words.size(),
                   moved[lane].records + collected.dropped_records};
    records.Start(collected.words, at);
    while (records.AddNext(builder)) {
      ++in_builder.records;
      if (!builder.IsFull() || !records.is_whole()) continue;
      moved[lane] = records.position();
      builder.AddPosition(moved[lane]);
      if (!FinishBlock()) return false;
    }
    if (records.is_damaged()) AddGapEvent(fmt::format("lane {} of the ring is damaged; what it held is missing", lane));
    moved[lane] = records.is_whole() || records.is_damaged()
                      ? Position{lane, collected.end.position, records.position().records}
                      : records.whole_position();
    builder.AddPosition(moved[lane]);
    return true;
  }

  void AddDropped() {
    const std::uint64_t refused_now = ring.Refused();
    // Any words may stand in the ring of a dead process.
    const std::uint64_t more = refused_now > refused ? refused_now - refused : 0;
    if (dropped + more == 0) return;
    builder.AddDropped({NowMs(), kNoLane, dropped + more});
    in_builder.dropped += std::exchange(dropped, 0);
    refused = refused_now;
  }

  // Nobody does while our lock is held: but an application that closes all descriptors lets it go.
  bool WasMovedByAnother() const {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (ring.Tail(lane).position != committed[lane]) return true;
    }
    return false;
  }

  // What the other wrote stands in the file behind ours: the rest goes into a file of its own.
  bool GoOnElsewhere() {
    builder.Reset();
    dropped += std::exchange(in_builder, {}).dropped;
    failing_since_ns = options.monotonic_ns();
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) committed[lane] = ring.Tail(lane).position;
    if (const Status opened = OpenNew(); !opened) {
      file.reset();
      SetProblem(ENOENT);
      return false;
    }
    AddGap("another process took this one for dead and emptied its ring; the journal goes on in another file");
    return true;
  }

  // The name of a new file is in its folder, whose name may be new as well. Folders further up that cannot be opened
  // are old, and another's.
  bool SyncNames(int& reason) const {
    std::string folder = platform::FolderOf(file->path());
    if (!platform::SyncFolder(folder, reason)) return false;
    for (int ignored = 0; folder.size() > 1;) {
      folder = platform::FolderOf(folder);
      if (!platform::SyncFolder(folder, ignored)) break;
    }
    return true;
  }

  // Waits for the disk: this thread may. The error is given once by the system, and what was written since the last
  // sync may be lost or not: that is noted, as nothing else can be done.
  bool SyncIfDue(bool force) {
    if (options.sync_interval_ms == 0 || !unsynced) return true;
    const std::uint64_t now = options.monotonic_ns();
    if (!force && now - synced_ns < std::uint64_t{options.sync_interval_ms} * 1'000'000) return true;
    synced_ns = now;
    int reason = 0;
    const bool synced = file->Sync(reason) && (!folder_unsynced || SyncNames(reason));
    unsynced = false;
    if (synced) folder_unsynced = false;
    if (synced) return true;
    problem.store(reason);  // the file can be written: no lane has to overwrite anything
    sync_failures.fetch_add(1);
    AddGapEvent(fmt::format("the journal could not be synced: {}; a loss of power may take what was written before",
                            platform::SystemReason(reason)));
    return false;
  }

  bool MoveAll(bool force) {
    if (!taken_over && WasMovedByAnother() && !GoOnElsewhere()) return false;
    if (!IsWritable()) return false;
    if (!published) PublishJournal();
    NoteClockJump();
    if (!RepeatNames() || !AddNewDefinitions()) return false;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (!MoveLane(lane)) return false;
    }
    AddDropped();
    return FinishBlock() && SyncIfDue(force);
  }

  // What is neither in the file nor in the ring any more. What waits in a block to be written is counted too: a process
  // that is killed loses it.
  void CountOverwritten() {
    std::uint64_t count = 0;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) count += ring.Overwritten(lane, ring.Tail(lane).records);
    overwritten_now.store(count);
  }

  bool IsUrgent() const {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (ring.FillPercent(lane) >= kUrgentPercent) return true;
    }
    return false;
  }

  void PublishJournal() {
    BlockBuilder text;
    text.AddBegin(begin);
    std::string block;
    text.Finish(0, block);
    // Short enough to be stored as it is, or packed: kept as the block it would be.
    ring.SetJournal(platform::AbsolutePath(file->path()), block);
    const auto folder = platform::Stat(options.folder);
    if (folder) ring.SetFolder(folder->identity);
    if (!taken_over) ring.SetAlive(options.unix_ns(), options.monotonic_ns());
    published = folder.has_value();  // else again, at the next turn
  }

  // ---- going on with the journal of a dead process

  Status FindEnd() {
    const auto end = ReadEnd(*file, ring.committed());
    if (!end) return Fail(end.error());
    number = end->number;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (end->positions[lane].position > moved[lane].position) moved[lane] = end->positions[lane];
    }
    return {};
  }

  // The disk was full before the first block was written: nothing says whose file it is, and it is left as it is.
  Status OpenBeside(const std::string& journal) {
    options.folder = platform::FolderOf(journal);
    taken_over = true;
    return OpenNew();
  }

  Status OpenOld(platform::AppendFile journal) {
    options.folder = platform::FolderOf(journal.path());
    taken_over = true;
    published = true;
    UseFile(std::move(journal));
    return FindEnd();
  }
};

Mover::Mover(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mover::~Mover() = default;

Result<std::unique_ptr<Mover>> Mover::Create(Ring& ring, MoverOptions options) {
  options.begin.ring_id = ring.id();
  auto state = std::make_unique<State>(ring, std::move(options));
  if (const Status opened = state->OpenNew(); !opened) return Fail(opened.error());
  state->PublishJournal();
  return std::unique_ptr<Mover>(new Mover(std::move(state)));
}

Result<std::unique_ptr<Mover>> Mover::Resume(Ring& ring, const std::string& path) {
  auto journal = platform::AppendFile::OpenExisting(path);
  if (!journal) return Fail(journal.error());
  // Another may stand where it was, or be seen under its name from another container.
  const auto ring_id = ReadRingId(*journal);
  if (!ring_id) return Fail(ring_id.error());
  if (!ring_id->empty() && *ring_id != ring.id())
    return Fail(ErrorCode::kInvalid, path, "is the journal of another run");
  MoverOptions options;
  options.begin = ReadBegin(ring.journal_begin());
  auto state = std::make_unique<State>(ring, std::move(options));
  const Status opened = ring_id->empty() ? state->OpenBeside(path) : state->OpenOld(std::move(*journal));
  if (!opened) return Fail(opened.error());
  return std::unique_ptr<Mover>(new Mover(std::move(state)));
}

bool Mover::Move(bool force) noexcept {
  State& state = *state_;
  const std::uint64_t now = state.options.monotonic_ns();
  if (!state.taken_over) state.ring.SetAlive(state.options.unix_ns(), now);
  const bool urgent = state.IsUrgent();
  state.urgent_ticks = urgent ? kUrgentTicks : state.urgent_ticks - std::min(state.urgent_ticks, 1U);
  const bool due = now - state.flushed_ns >= std::uint64_t{state.options.flush_interval_ms} * 1'000'000;
  if (!force && !due && !urgent) return true;
  state.flushed_ns = now;
  if (force) state.looked_ns = 0;
  bool whole = false;
  try {
    whole = state.MoveAll(force);
  } catch (...) {
    state.Restart();
  }
  if (!whole || state.overwritten_now.load() != 0) state.CountOverwritten();
  return whole;
}

void Mover::NoteDropped(std::uint64_t records) { state_->dropped += records; }

std::uint32_t Mover::wait_ms() const {
  if (state_->problem.load() != 0) return std::clamp(state_->options.flush_interval_ms, kUsualWaitMs, kTroubleWaitMs);
  if (state_->urgent_ticks > 0) return kUrgentWaitMs;
  return std::clamp(state_->options.flush_interval_ms, kUrgentWaitMs, kUsualWaitMs);
}

MoverStatus Mover::status() const {
  return {state_->written_bytes.load(),
          state_->moved_records.load(),
          state_->dropped_records.load() + state_->overwritten_now.load(),
          state_->problem.load(),
          state_->files.load(),
          state_->sync_failures.load()};
}

std::string Mover::path() const {
  const std::lock_guard lock(state_->path_mutex);
  return state_->path;
}

}  // namespace vigil::journal
