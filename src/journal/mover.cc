#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "journal/journal.h"
#include "journal/lane_records.h"
#include "journal/payload.h"
#include "journal/wire.h"

namespace vigil::journal {
namespace {

constexpr std::uint64_t kNamesAgainBytes = std::uint64_t{4} << 20U;
constexpr std::int64_t kClockSlackNs = 1'000'000'000;
constexpr std::uint64_t kLookIntervalNs = 1'000'000'000;
constexpr std::uint64_t kUrgentPercent = 25;
constexpr std::uint32_t kUsualWaitMs = 20;
constexpr std::uint32_t kUrgentWaitMs = 1;
constexpr std::uint32_t kUrgentTicks = 200;
constexpr std::int32_t kMostParts = 100'000;

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

// The file of the first free name.
Result<platform::AppendFile> CreateFile(const std::string& folder, std::int32_t rank, std::int32_t& part) {
  for (part = 1; part < kMostParts; ++part) {
    bool exists = false;
    auto file = platform::AppendFile::Create(folder + "/" + FileName(rank, part), exists);
    if (file || !exists) return file;
  }
  return Fail(fmt::format("{}: holds {} journals of rank {} already", folder, kMostParts, rank));
}

// What the end of a journal says about how much of the ring it holds.
struct EndOfJournal : Visitor {
  std::string ring_id;
  std::array<Position, kLanes> positions = {};
  void OnBegin(const Begin& begin) override { ring_id = begin.ring_id; }
  void OnPosition(const Position& position) override {
    if (position.lane < kLanes && position.position > positions[position.lane].position)
      positions[position.lane] = position;
  }
};

// Decodes the file from an offset on; the number of the block that is due then. With `only_first`, no more than the
// first block can take.
std::uint32_t Decode(const platform::AppendFile& file, std::uint64_t offset, std::uint32_t number, bool only_first,
                     Visitor& visitor) {
  Decoder decoder(visitor, offset, number);
  std::string window;
  for (bool last = false; !last && !decoder.refused();) {
    constexpr std::size_t kPiece = kMostStoredBytes + kBlockHeaderBytes + kFileHeaderBytes;
    const std::size_t kept = window.size();
    window.resize(kept + kPiece);
    window.resize(kept + file.ReadAt(offset + kept, window.data() + kept, kPiece));
    last = window.size() == kept || only_first;
    const std::size_t used = decoder.Consume(window, last);
    window.erase(0, used);
    offset += used;
  }
  return decoder.next_number();
}

}  // namespace

struct Mover::State {
  explicit State(Ring& from, MoverOptions given) : ring(from), options(std::move(given)), begin(options.begin) {
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) moved[lane] = ring.Tail(lane);
  }

  Ring& ring;
  MoverOptions options;
  Begin begin;
  std::optional<platform::AppendFile> file;
  BlockBuilder builder;
  std::string pending;  // a block that is not in the file yet, or not all of it
  std::size_t pending_done = 0;
  std::array<Position, kLanes> moved = {};  // up to the pending block, it included
  std::uint32_t number = 0;
  std::uint64_t names_at = 0;
  std::uint64_t definitions_read = 0;
  std::uint64_t flushed_ns = 0;
  std::uint64_t looked_ns = 0;
  std::uint64_t failing_since_ns = 0;
  std::int64_t clock_offset = 0;
  std::uint32_t urgent_ticks = 0;
  bool adopted = false;
  std::vector<std::string_view> definitions;
  std::vector<std::uint64_t> scratch;
  LaneRecords records;

  std::mutex path_mutex;
  std::string path;
  std::atomic<std::uint64_t> written_bytes = 0;
  std::atomic<std::uint64_t> moved_records = 0;
  std::atomic<std::uint64_t> lost_records = 0;
  std::atomic<int> problem = 0;
  std::atomic<std::uint32_t> files = 0;

  std::uint64_t NowMs() const { return options.monotonic_ns() / 1'000'000; }

  // ---- the file

  void UseFile(platform::AppendFile opened) {
    file.emplace(std::move(opened));
    const std::lock_guard lock(path_mutex);
    path = file->path();
  }

  Status OpenNew() {
    auto created = CreateFile(options.folder, begin.rank, begin.part);
    if (!created) return Fail(created.error().message);
    UseFile(std::move(*created));
    files.fetch_add(1);
    number = 0;
    pending = FileHeader();
    pending_done = 0;
    definitions_read = 0;
    AddNames();
    builder.Finish(number++, pending);
    WritePending();
    return {};
  }

  // Who writes, which series there are, and what the clock says: enough to understand what follows.
  void AddNames() {
    builder.AddBegin(begin);
    SetClock();
    names_at = written_bytes.load();
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
        problem.store(reason);
        return false;
      }
      pending_done += count;
    }
    problem.store(0);
    if (pending.empty()) return true;
    Commit();
    return true;
  }

  void Commit() {
    const std::uint64_t header = pending.starts_with(kMagic) ? kFileHeaderBytes : 0;
    ring.SetCommitted(file->size_bytes() - pending.size() + header);
    for (const Position& position : moved) {
      if (position.position != ring.Tail(position.lane).position) ring.SetTail(position);
    }
    written_bytes.fetch_add(pending.size());
    pending.clear();
    pending_done = 0;
  }

  bool FinishBlock() {
    if (builder.empty()) return true;
    builder.Finish(number++, pending);
    return WritePending();
  }

  // ---- trouble

  // A removed file is begun anew, where its folder is. What the old one held is gone with it.
  bool ReviveFile() {
    const std::uint64_t now = options.monotonic_ns();
    if (now - looked_ns < kLookIntervalNs) return file && problem.load() != ENOENT;
    looked_ns = now;
    if (file && !file->is_gone()) return true;
    if (failing_since_ns == 0) failing_since_ns = now;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) moved[lane] = ring.Tail(lane);
    if (const Status opened = OpenNew(); !opened) {
      problem.store(ENOENT);
      return false;
    }
    PublishJournal();
    AddGap("the file of the journal was removed; what it held is gone");
    return true;
  }

  void AddGap(std::string text) {
    const std::uint64_t now = options.monotonic_ns();
    const double seconds = static_cast<double>(now - failing_since_ns) * 1e-9;
    Event event;
    event.time_ms = now / 1'000'000;
    event.severity = model::Severity::kWarning;
    event.kind = EventKind::kGap;
    event.name = "journal";
    event.text = fmt::format("{} (no writing for {:.1f} s)", text, seconds);
    builder.AddEntry(Section::kEvents, EncodeEntry(event));
    failing_since_ns = 0;
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
    definitions.clear();
    definitions_read = ring.ReadDefinitions(definitions_read, definitions);
    for (const std::string_view entry : definitions) {
      builder.AddEntry(Section::kDefinitions, entry);
      if (builder.IsFull() && !FinishBlock()) {
        definitions_read = 0;  // all again, in the block after this one
        return false;
      }
    }
    return true;
  }

  bool RepeatNames() {
    if (written_bytes.load() - names_at < kNamesAgainBytes) return true;
    AddNames();
    definitions_read = 0;
    return AddNewDefinitions();
  }

  // Definitions are read after the records were copied: a record's series was defined before it was recorded.
  bool MoveLane(std::uint32_t lane) {
    const Collected collected = ring.Collect(moved[lane], scratch);
    if (collected.end.position == moved[lane].position) return true;
    if (!AddNewDefinitions()) return false;
    if (collected.lost_records != 0) {
      lost_records.fetch_add(collected.lost_records);
      builder.AddLoss({NowMs(), lane, collected.lost_records});
    }
    Position at = {lane, collected.end.position - collected.words.size(), moved[lane].records + collected.lost_records};
    records.Start(collected.words, at);
    while (records.AddNext(builder)) {
      moved_records.fetch_add(1, std::memory_order_relaxed);
      if (!builder.IsFull() || !records.is_whole()) continue;
      moved[lane] = records.position();
      builder.AddPosition(moved[lane]);
      if (!FinishBlock()) return false;
    }
    moved[lane] = records.is_whole() ? Position{lane, collected.end.position, records.position().records}
                                     : records.whole_position();
    builder.AddPosition(moved[lane]);
    return true;
  }

  bool MoveAll() {
    if (!IsWritable()) return false;
    NoteClockJump();
    if (!RepeatNames() || !AddNewDefinitions()) return false;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (!MoveLane(lane)) return false;
    }
    return FinishBlock();
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
  }

  // ---- going on with the journal of a dead process

  bool BelongsToRing() {
    EndOfJournal first;
    Decode(*file, 0, 0, true, first);
    return first.ring_id == ring.id();
  }

  void FindEnd() {
    std::string head(kBlockHeaderBytes, '\0');
    const std::uint64_t committed = ring.committed();
    head.resize(file->ReadAt(committed, head.data(), head.size()));
    const auto header = ParseHeader(head);
    EndOfJournal end;
    number = header ? Decode(*file, committed, header->number, false, end) : Decode(*file, 0, 0, false, end);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      if (end.positions[lane].position > moved[lane].position) moved[lane] = end.positions[lane];
    }
  }

  Status OpenOld() {
    const std::string old_path = ring.journal_path();
    options.folder = FolderOf(old_path);
    auto opened = platform::AppendFile::OpenExisting(old_path);
    if (opened) {
      UseFile(std::move(*opened));
      if (BelongsToRing()) {
        FindEnd();
        adopted = true;
        return {};
      }
      file.reset();
    } else if (platform::Stat(old_path)) {
      return Fail(opened.error().message);
    }
    return OpenNew();
  }
};

Mover::Mover(std::unique_ptr<State> state) : state_(std::move(state)) {}
Mover::~Mover() = default;

Result<std::unique_ptr<Mover>> Mover::Create(Ring& ring, MoverOptions options) {
  options.begin.ring_id = ring.id();
  auto state = std::make_unique<State>(ring, std::move(options));
  if (const Status opened = state->OpenNew(); !opened) return Fail(opened.error().message);
  state->PublishJournal();
  return std::unique_ptr<Mover>(new Mover(std::move(state)));
}

Result<std::unique_ptr<Mover>> Mover::Resume(Ring& ring) {
  MoverOptions options;
  struct BeginOnly : Visitor {
    Begin begin;
    void OnBegin(const Begin& found) override { begin = found; }
  } visitor;
  Decoder(visitor, kFileHeaderBytes).Consume(ring.journal_begin(), true);
  options.begin = visitor.begin;
  auto state = std::make_unique<State>(ring, std::move(options));
  if (const Status opened = state->OpenOld(); !opened) return Fail(opened.error().message);
  return std::unique_ptr<Mover>(new Mover(std::move(state)));
}

bool Mover::Move(bool force) {
  State& state = *state_;
  const std::uint64_t now = state.options.monotonic_ns();
  const bool urgent = state.IsUrgent();
  state.urgent_ticks = urgent ? kUrgentTicks : state.urgent_ticks - std::min(state.urgent_ticks, 1U);
  const bool due = now - state.flushed_ns >= std::uint64_t{state.options.flush_interval_ms} * 1'000'000;
  if (!force && !due && !urgent) return true;
  state.flushed_ns = now;
  if (force) state.looked_ns = 0;
  return state.MoveAll();
}

std::uint32_t Mover::wait_ms() const {
  if (state_->problem.load() != 0) return std::max(kUsualWaitMs, state_->options.flush_interval_ms);
  if (state_->urgent_ticks > 0) return kUrgentWaitMs;
  return std::min(kUsualWaitMs, state_->options.flush_interval_ms);
}

MoverStatus Mover::status() const {
  return {state_->written_bytes.load(), state_->moved_records.load(), state_->lost_records.load(),
          state_->problem.load(), state_->files.load()};
}

std::string Mover::path() const {
  const std::lock_guard lock(state_->path_mutex);
  return state_->path;
}

}  // namespace vigil::journal
