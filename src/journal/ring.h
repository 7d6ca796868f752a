// journal/ring: the ring between recording threads and the journal: lanes in shared memory, one writer each, that never
// wait. A full lane overwrites its oldest records; the reader counts what it missed.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "journal/section.h"
#include "platform/files.h"
#include "platform/recording.h"

namespace vigil::journal {

inline constexpr std::uint32_t kTextLane = 0;             // events, settings, artifacts: never pushed out by samples
inline constexpr std::uint32_t kSharedLane = kLanes - 1;  // for threads that find no lane of their own
inline constexpr std::uint64_t kChunkWords = 512;         // records do not cross chunks: a reader can start at any
inline constexpr std::uint64_t kChunkHeadWords = 2;       // before the records of a chunk: where it is, records so far
inline constexpr std::uint32_t kMostSeries = 1'000'000;

using Word = std::atomic<std::uint64_t>;

// Control words of a lane, those of the writer and those of the reader in cache lines of their own.
struct LaneControl {
  alignas(64) Word reserved;  // words behind it may be overwritten at any time, capacity before it
  Word head;                  // words written
  Word records;
  alignas(64) Word tail;  // words moved to the journal
  Word tail_records;
};

// Flags of a record of text: the first of an entry, and that more of it follow.
inline constexpr std::uint8_t kTextFirst = 0x40;
inline constexpr std::uint8_t kTextMore = 0x80;

enum class RecordKind : std::uint8_t { kPad = 0, kScalar = 1, kBatch = 2, kRow = 3, kText = 4 };

// word 0 of a record: kind, words in it, section and continuation of a text, and 32 bits for the kind's use.
constexpr std::uint64_t RecordHead(RecordKind kind, std::uint64_t words, std::uint32_t id, std::uint8_t flags = 0) {
  return static_cast<std::uint64_t>(kind) | words << 8U | static_cast<std::uint64_t>(flags) << 24U |
         static_cast<std::uint64_t>(id) << 32U;
}

// The writer of a lane: one thread at a time. Nothing here waits, allocates or enters the kernel.
class LaneWriter {
 public:
  LaneWriter() = default;
  LaneWriter(LaneControl* control, Word* words, std::uint64_t capacity)
      : control_(control), words_(words), mask_(capacity - 1) {}

  void AddScalar(std::uint32_t series, std::int64_t step, double value, std::uint64_t time_ns) {
    const std::uint64_t at = Open(4);
    Put(at, RecordHead(RecordKind::kScalar, 4, series));
    Put(at + 1, static_cast<std::uint64_t>(step));
    Put(at + 2, std::bit_cast<std::uint64_t>(value));
    Put(at + 3, time_ns);
    Publish(at + 4);
  }
  void AddBatch(std::int64_t step, std::uint64_t fingerprint, std::uint64_t time_ns) {
    const std::uint64_t at = Open(4);
    Put(at, RecordHead(RecordKind::kBatch, 4, 0));
    Put(at + 1, static_cast<std::uint64_t>(step));
    Put(at + 2, fingerprint);
    Put(at + 3, time_ns);
    Publish(at + 4);
  }
  // Values of the series `first_series`, +1, +2, ... of one step; at most kMostRowValues.
  void AddRow(std::uint32_t first_series, std::int64_t step, std::span<const double> values, std::uint64_t time_ns) {
    const std::uint64_t count = 3 + values.size();
    const std::uint64_t at = Open(count);
    Put(at, RecordHead(RecordKind::kRow, count, first_series));
    Put(at + 1, static_cast<std::uint64_t>(step));
    Put(at + 2, time_ns);
    for (std::size_t i = 0; i < values.size(); ++i) Put(at + 3 + i, std::bit_cast<std::uint64_t>(values[i]));
    Publish(at + count);
  }
  // An entry of a section, cut into as many records as it takes.
  void AddText(Section section, std::string_view entry);

  static constexpr std::size_t kMostRowValues = 256;

 private:
  void Put(std::uint64_t at, std::uint64_t word) { words_[at & mask_].store(word, std::memory_order_relaxed); }

  // Where a record of that many words begins. Says first, for a reader that copies at the same time, what is about to
  // be overwritten.
  std::uint64_t Open(std::uint64_t count) {
    std::uint64_t at = control_->head.load(std::memory_order_relaxed);
    const std::uint64_t in_chunk = at % kChunkWords;
    if (in_chunk == 0 || in_chunk + count > kChunkWords) [[unlikely]]
      at = OpenChunk(at, count);
    control_->reserved.store(at + count, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    return at;
  }
  std::uint64_t OpenChunk(std::uint64_t at, std::uint64_t count);

  void Publish(std::uint64_t head) {
    control_->records.store(control_->records.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    control_->head.store(head, std::memory_order_release);
  }

  LaneControl* control_ = nullptr;
  Word* words_ = nullptr;
  std::uint64_t mask_ = 0;
};

// What a lane held when it was collected: whole records in `words`, from the oldest that was still there.
struct Collected {
  std::span<const std::uint64_t> words;
  Position end;
  std::uint64_t dropped_records = 0;
};

// What is known of a ring without its lock.
struct RingNote {
  std::string journal_path;        // empty while it is being made
  platform::FileIdentity folder;   // of the journal's folder; zero when it is not known
  std::int64_t alive_unix_ns = 0;  // when its owner last moved records; 0 when it is not known
};

enum class RingState : std::uint8_t {
  kSound,
  kUnfinished,    // its owner died while it was made: nothing was recorded
  kOtherVersion,  // of the library
  kDamaged,
};

struct RingOptions {
  std::uint64_t lane_bytes = std::uint64_t{2} << 20U;  // a power of two: 65,536 scalars between two flushes
  bool shared = true;                                  // in memory that outlives the process, where there is any
};

class Ring {
 public:
  // Falls back to private memory when shared memory cannot be had.
  static Result<Ring> Create(const RingOptions& options);
  // From now on others find it when this process is dead. False when they cannot.
  bool Publish(const std::string& name) { return memory_.Publish(name); }
  // What a dead process left: any bytes may stand in it. Nothing but its state and name may be asked for until that is
  // known to be sound.
  static Ring TakeOver(platform::SharedMemory memory) { return Ring(std::move(memory)); }
  RingState state() const;
  // Of a ring that may be in use, but not by this process; nullopt when there is nothing to be had from it.
  using Owner = platform::SharedMemory::Owner;
  static std::optional<RingNote> Peek(const std::string& name, Owner owner = Owner::kThisUser);
  // Names carry the tag of their process: it is never to open its own rings by name, see SharedMemory.
  static std::string NewName();
  static std::string NamePrefix();  // of this user's
  static constexpr std::string_view kAnyUsersPrefix = "vigil-";
  static bool IsOwnName(std::string_view name);

  const std::string& name() const { return memory_.name(); }
  std::string id() const;
  void Remove() { memory_.Remove(); }
  bool Rename(const std::string& name) { return memory_.Rename(name); }

  // Memory for a lane; false when there is none left. Not before its first use.
  bool ReserveLane(std::uint32_t lane);
  LaneWriter Writer(std::uint32_t lane);

  // Definitions are kept for the life of the ring. One caller at a time; false when there is no room.
  bool AddDefinition(std::string_view entry);
  // Entries from `from` (0: the first) on; returns where to go on.
  std::uint64_t ReadDefinitions(std::uint64_t from, std::vector<std::string_view>& entries) const;

  // Copies what the lane holds beyond `from` into `scratch`. Never behind the lane's head at the time of the call, and
  // never more than the lane can hold, whatever stands in it.
  Collected Collect(const Position& from, std::vector<std::uint64_t>& scratch) const;
  // Share of the lane that is written and not moved, in percent; over 100 when records are being dropped.
  std::uint64_t FillPercent(std::uint32_t lane) const;
  Position Tail(std::uint32_t lane) const;
  void SetTail(const Position& position);

  // Where the journal is, and where its last block begins.
  bool SetJournal(std::string_view path, std::string_view begin);
  void SetFolder(const platform::FileIdentity& folder);
  void SetAlive(std::int64_t unix_ns);
  RingNote note() const;
  std::string journal_path() const;
  std::string journal_begin() const;
  void SetCommitted(std::uint64_t offset);
  std::uint64_t committed() const;
  std::uint64_t Capacity(std::uint32_t lane) const;  // words

 private:
  struct Header;
  static RingNote NoteOf(const Header& header);
  explicit Ring(platform::SharedMemory memory) : memory_(std::move(memory)) {}
  static Result<Ring> Prepare(platform::SharedMemory memory, std::uint64_t lane_bytes);
  Header& header() const;
  LaneControl& control(std::uint32_t lane) const;
  std::uint64_t LaneOffset(std::uint32_t lane) const;
  Word* LaneWords(std::uint32_t lane) const;
  bool IsLaneSound(std::uint32_t lane) const;

  platform::SharedMemory memory_;
};

}  // namespace vigil::journal
