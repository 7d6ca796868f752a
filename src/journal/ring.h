// journal/ring: the ring between recording threads and the journal: lanes in shared memory, one writer each, that never
// wait. A full lane refuses what comes next: what was taken stays. Only while the journal cannot be written a full lane
// of samples overwrites its oldest records, since the newest say how the run ended; the reader counts what it missed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "journal/lane.h"
#include "journal/section.h"
#include "platform/files.h"
#include "platform/recording.h"

namespace vigil::journal {

inline constexpr std::uint32_t kTextLane = 0;             // events, settings, artifacts: never pushed out by samples
inline constexpr std::uint32_t kSharedLane = kLanes - 1;  // for threads that find no lane of their own
inline constexpr std::uint32_t kMostSeries = 1'000'000;

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
  std::uint64_t alive_monotonic_ns = 0;
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
  // What the blocks of that prefix take: looked up whenever a ring takes more.
  std::uint64_t (*taken_bytes)(std::string_view prefix) = platform::SharedMemoryUsedBy;
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
  // Records of all lanes that found no room, and those of them that the journal says are missing.
  std::uint64_t Refused() const;
  std::uint64_t RefusedNoted() const;
  void SetRefusedNoted(std::uint64_t records);
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
  // What a ring may take: by itself, and with all others of the user together.
  struct Limits {
    std::uint64_t own_bytes = 0;
    std::uint64_t together_bytes = ~std::uint64_t{0};
    std::uint64_t (*taken_bytes)(std::string_view prefix) = nullptr;
    std::string prefix = {};
  };
  static Result<Ring> Prepare(platform::SharedMemory memory, std::uint64_t lane_bytes, Limits limits);
  bool IsRoomFor(std::uint64_t size_bytes) const;
  bool Reserve(std::uint64_t offset, std::uint64_t size_bytes);
  Header& header() const;
  LaneControl& control(std::uint32_t lane) const;
  std::uint64_t LaneOffset(std::uint32_t lane) const;
  Word* LaneWords(std::uint32_t lane) const;
  RingState LaneState(std::uint32_t lane) const;

  platform::SharedMemory memory_;
  Limits limits_;
  std::uint64_t reserved_bytes_ = 0;  // changed by several threads, through atomic_ref
  std::uint64_t reserved_lanes_ = 0;  // a bit each: threads that ended leave theirs to others
};

}  // namespace vigil::journal
