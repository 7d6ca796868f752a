// journal/ring: the ring between recording threads and the journal: lanes in shared memory, one writer each, that never
// wait. A full lane refuses what comes next: what was taken stays. Only while the journal cannot be written a full lane
// of samples overwrites its oldest records, since the newest say how the run ended; the reader counts what it missed.
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

// Whether the journal is being written, for those who fill the lanes. Zero in rings of libraries that did not have it.
struct WritingTrouble {
  Word alive_unix_ns;       // when the owner last looked after the ring
  Word fails;               // not 0: the journal cannot be written
  Word alive_monotonic_ns;  // as alive_unix_ns, by the clock that records carry
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
  // `trouble`: of the ring, null for a lane that never overwrites anything.
  LaneWriter(LaneControl* control, Word* words, std::uint64_t capacity, const WritingTrouble* trouble)
      : control_(control), words_(words), mask_(capacity - 1), trouble_(trouble) {}

  // False when there is no room: nothing was recorded.
  [[nodiscard]] bool AddScalar(std::uint32_t series, std::int64_t step, double value, std::uint64_t time_ns) {
    std::uint64_t at = 0;
    if (!Open(4, time_ns, at)) return false;
    Put(at, RecordHead(RecordKind::kScalar, 4, series));
    Put(at + 1, static_cast<std::uint64_t>(step));
    Put(at + 2, std::bit_cast<std::uint64_t>(value));
    Put(at + 3, time_ns);
    return Publish(at + 4);
  }
  [[nodiscard]] bool AddBatch(std::int64_t step, std::uint64_t fingerprint, std::uint64_t time_ns) {
    std::uint64_t at = 0;
    if (!Open(4, time_ns, at)) return false;
    Put(at, RecordHead(RecordKind::kBatch, 4, 0));
    Put(at + 1, static_cast<std::uint64_t>(step));
    Put(at + 2, fingerprint);
    Put(at + 3, time_ns);
    return Publish(at + 4);
  }
  // Values of the series `first_series`, +1, +2, ... of one step; at most kMostRowValues.
  [[nodiscard]] bool AddRow(std::uint32_t first_series, std::int64_t step, std::span<const double> values,
                            std::uint64_t time_ns) {
    const std::uint64_t count = 3 + values.size();
    std::uint64_t at = 0;
    if (!Open(count, time_ns, at)) return false;
    Put(at, RecordHead(RecordKind::kRow, count, first_series));
    Put(at + 1, static_cast<std::uint64_t>(step));
    Put(at + 2, time_ns);
    for (std::size_t i = 0; i < values.size(); ++i) Put(at + 3 + i, std::bit_cast<std::uint64_t>(values[i]));
    return Publish(at + count);
  }
  // An entry of a section, cut into as many records as it takes. A part of the lane is kept for what is important: the
  // words of an error come after those that led to it.
  enum class Importance : std::uint8_t { kUsual, kImportant };
  [[nodiscard]] bool AddText(Section section, std::string_view entry, Importance importance = Importance::kUsual);

  static constexpr std::size_t kMostRowValues = 256;
  // Words that were recorded so far.
  std::uint64_t head() const { return control_->head.load(std::memory_order_relaxed); }

 private:
  void Put(std::uint64_t at, std::uint64_t word) { words_[at & mask_].store(word, std::memory_order_relaxed); }

  // Behind a record of that many words that is added at `at`: records do not cross chunks.
  static std::uint64_t Behind(std::uint64_t at, std::uint64_t count) {
    const std::uint64_t in_chunk = at % kChunkWords;
    if (in_chunk != 0 && in_chunk + count <= kChunkWords) return at + count;
    return (at + kChunkWords - 1) / kChunkWords * kChunkWords + kChunkHeadWords + count;
  }

  // Where a record of that many words begins; false when there is no room for it. Says first, for a reader that copies
  // at the same time, what is about to be overwritten.
  bool Open(std::uint64_t count, std::uint64_t time_ns, std::uint64_t& at) {
    at = control_->head.load(std::memory_order_relaxed);
    const std::uint64_t end = Behind(at, count);
    if (end > free_until_ && !HasRoom(end) && !MayOverwrite(time_ns)) [[unlikely]]
      return false;
    if (end != at + count) [[unlikely]]
      at = OpenChunk(at, count);
    control_->reserved.store(at + count, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    return true;
  }
  std::uint64_t OpenChunk(std::uint64_t at, std::uint64_t count);
  // Looks how far the reader is by now.
  bool HasRoom(std::uint64_t end) {
    free_until_ = control_->tail.load(std::memory_order_acquire) + mask_ + 1;
    return end <= free_until_;
  }
  // Whether nobody moves what the lane holds. The time is that of the record: reading a clock here would double what a
  // refusal costs.
  bool MayOverwrite(std::uint64_t now_ns) const;

  bool Publish(std::uint64_t head) {
    control_->records.store(control_->records.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    control_->head.store(head, std::memory_order_release);
    return true;
  }

  LaneControl* control_ = nullptr;
  Word* words_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint64_t free_until_ = 0;  // words up to here may be written, as far as is known
  const WritingTrouble* trouble_ = nullptr;
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
  kOutOfReach,  // the system would not give the memory to look at it
};

struct RingOptions {
  std::uint64_t lane_bytes = std::uint64_t{2} << 20U;  // a power of two: 65,536 scalars between two flushes
  bool shared = true;                                  // in memory that outlives the process, where there is any
  // What there is of that memory. Containers have 64 MB of it, and other libraries need it: a ring takes an eighth at
  // most, a quarter of what is free, and all rings of a user take a quarter.
  platform::SharedMemorySpace space = platform::SpaceForSharedMemory();
  std::optional<std::uint64_t> taken_bytes = std::nullopt;  // by rings of this user; looked for where not given
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

  // What all rings of this user take of what they may take together, 0 to 1 and more.
  static double ShareTaken(const platform::SharedMemorySpace& space = platform::SpaceForSharedMemory());

  // See SharedMemory. False when this process could be killed and nobody would find what it left.
  bool Renew() { return memory_.Renew(); }
  std::uint64_t reserved_bytes() const;

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
  // Records beyond the first `records` of the lane that were overwritten.
  std::uint64_t Overwritten(std::uint32_t lane, std::uint64_t records) const;
  Position Tail(std::uint32_t lane) const;
  void SetTail(const Position& position);

  // Where the journal is, and where its last block begins.
  bool SetJournal(std::string_view path, std::string_view begin);
  void SetFolder(const platform::FileIdentity& folder);
  void SetAlive(std::int64_t unix_ns, std::uint64_t monotonic_ns);
  void SetFails(bool fails);  // whether the journal cannot be written
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
  static Result<Ring> Prepare(platform::SharedMemory memory, std::uint64_t lane_bytes, std::uint64_t most_bytes);
  bool Reserve(std::uint64_t offset, std::uint64_t size_bytes);
  Header& header() const;
  LaneControl& control(std::uint32_t lane) const;
  std::uint64_t LaneOffset(std::uint32_t lane) const;
  Word* LaneWords(std::uint32_t lane) const;
  RingState LaneState(std::uint32_t lane) const;

  platform::SharedMemory memory_;
  std::uint64_t most_bytes_ = 0;      // that may be reserved
  std::uint64_t reserved_bytes_ = 0;  // changed by several threads, through atomic_ref
  std::uint64_t reserved_lanes_ = 0;  // a bit each: threads that ended leave theirs to others
};

}  // namespace vigil::journal
