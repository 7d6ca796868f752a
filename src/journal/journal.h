// journal: vigil's own record of a run, one file for each start of a rank. Blocks are compressed and checksummed, the
// file is only appended to, and what follows damage is read; doc/formats/journal.md has every byte. Between the threads
// that record and the file lies a ring in shared memory, which whoever comes next empties when its owner was killed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/base.h"
#include "journal/ring.h"
#include "model/model.h"
#include "platform/platform.h"

namespace vigil::journal {

// ---- what a journal holds

// Who writes: the first section of every journal.
struct Begin {
  std::string run;  // id, equal for all ranks
  std::string name;
  std::int32_t rank = 0;
  std::int32_t world = 1;
  std::string host;
  std::string boot;
  std::int32_t pid = 0;
  std::string program;
  std::string writer;
  std::int32_t part = 1;
  std::string ring;
  std::string ring_id;
  std::vector<std::pair<std::string, std::string>> others;  // keys of newer writers
};

struct Definition {
  std::uint32_t id = 0;
  std::string name;
  std::string unit;
  model::Labels labels;
  model::Axis axis = model::Axis::kStep;
  model::Aggregation aggregation = model::Aggregation::kUnknown;
  model::Clipping clipping = model::Clipping::kUnknown;
};

enum class EventKind : std::uint8_t { kMessage, kException, kCheckpoint, kResume, kEpoch, kExit, kDecision, kGap };

// Times are milliseconds of the writer's monotonic clock.
struct Event {
  std::uint64_t time_ms = 0;
  std::int64_t step = model::kNoStep;
  model::Severity severity = model::Severity::kInfo;
  EventKind kind = EventKind::kMessage;
  std::string name;
  std::string text;
  std::string json;
};

struct Setting {
  std::uint64_t time_ms = 0;
  std::string key;
  std::string value;
};

struct Batch {
  std::uint64_t time_ms = 0;
  std::int64_t step = 0;
  std::uint64_t fingerprint = 0;
};

struct Artifact {
  std::uint64_t time_ms = 0;
  std::int64_t step = model::kNoStep;
  std::string kind;
  std::string path;
};

// The lane of records that found no way into the ring.
inline constexpr std::uint32_t kNoLane = kLanes;

// Records of a lane that were overwritten before they could be written.
struct Loss {
  std::uint64_t time_ms = 0;
  std::uint32_t lane = 0;
  std::uint64_t records = 0;
};

struct ClockPair {
  std::uint64_t monotonic_ns = 0;
  std::int64_t unix_ns = 0;
};

// The process ended without saying how.
inline constexpr std::int64_t kUnknownEnd = std::numeric_limits<std::int64_t>::min();

struct End {
  std::int64_t status = 0;
  std::uint64_t time_ms = 0;
};

inline constexpr std::string_view kMagic("\x89VIGIL\r\n", 8);
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 1;

// ---- writing

inline constexpr std::size_t kMostDefinitionBytes = std::size_t{64} << 10U;  // of one definition as an entry

// The bytes of one entry of the sections that hold texts: what the ring carries and the file holds.
std::string EncodeEntry(const Definition& definition);
std::string EncodeEntry(const Event& event);
std::string EncodeEntry(const Setting& setting);
std::string EncodeEntry(const Artifact& artifact);
std::string EncodeEntry(const End& end);

// Collects what becomes one block. Buffers are kept between blocks: a steady stream allocates nothing.
class BlockBuilder {
 public:
  BlockBuilder();
  ~BlockBuilder();
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;
  BlockBuilder(BlockBuilder&&) = delete;
  BlockBuilder& operator=(BlockBuilder&&) = delete;

  void Add(std::uint32_t series, std::int64_t step, double value, std::uint64_t time_ms);
  void AddEntry(Section section, std::string_view entry);  // as EncodeEntry made it
  void AddBegin(const Begin& begin);
  void AddBatch(const Batch& batch);
  void AddPosition(const Position& position);
  void AddLoss(const Loss& loss);
  void SetClock(const ClockPair& clock);

  bool empty() const;
  // Whether the block should be written before more is added: limits of a block, with room for one more entry.
  bool IsFull() const;
  // Appends the block, with that number, to `out`, and starts the next one. When memory is out, `out` is as it was.
  void Finish(std::uint32_t number, std::string& out);
  // Forgets what was collected.
  void Reset() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The 16 bytes before the first block.
std::string FileHeader();

// "rank-3.vigil", "rank-3.2.vigil".
std::string FileName(std::int32_t rank, std::int32_t part);

// ---- reading

// Whether the sound header of a block stands somewhere in it.
bool HoldsBlock(std::string_view bytes);

// What a decoder finds, in the order of the file. Spans and views are valid during the call.
class Visitor {
 public:
  virtual ~Visitor() = default;
  virtual void OnBegin(const Begin& begin) { static_cast<void>(begin); }
  virtual void OnDefinition(const Definition& definition) { static_cast<void>(definition); }
  virtual void OnSamples(std::uint32_t series, std::span<const std::int64_t> steps,
                         std::span<const std::uint64_t> times_ms, std::span<const double> values) {
    static_cast<void>(series), static_cast<void>(steps), static_cast<void>(times_ms), static_cast<void>(values);
  }
  virtual void OnEvent(const Event& event) { static_cast<void>(event); }
  virtual void OnSetting(const Setting& setting) { static_cast<void>(setting); }
  virtual void OnBatch(const Batch& batch) { static_cast<void>(batch); }
  virtual void OnArtifact(const Artifact& artifact) { static_cast<void>(artifact); }
  virtual void OnPosition(const Position& position) { static_cast<void>(position); }
  virtual void OnLoss(const Loss& loss) { static_cast<void>(loss); }
  virtual void OnClock(const ClockPair& clock) { static_cast<void>(clock); }
  virtual void OnEnd(const End& end) { static_cast<void>(end); }
  // Bytes from `offset` on are damaged; reading goes on at `resumed`. `missing_blocks` is 0 when none can be counted.
  virtual void OnDamage(std::uint64_t offset, std::uint64_t resumed, std::uint64_t missing_blocks,
                        std::string_view reason) {
    static_cast<void>(offset), static_cast<void>(resumed), static_cast<void>(missing_blocks), static_cast<void>(reason);
  }
  // The file ends inside a block, as that of a run that was killed or still writes.
  virtual void OnCut(std::uint64_t offset) { static_cast<void>(offset); }
  // Nothing can be read: no journal, or one of a newer kind.
  virtual void OnRefused(std::string_view reason) { static_cast<void>(reason); }
};

// Takes blocks from bytes that come in pieces: Consume returns how many bytes it used up; the rest is offered again
// with more behind it. With `last` a block that is not whole is searched for whole ones behind it, and reported as cut.
// Never throws; memory is bounded by the largest block.
class Decoder {
 public:
  // `offset` and `number`: of the first block offered, when that is not the beginning of the file.
  explicit Decoder(Visitor& visitor, std::uint64_t offset = 0, std::uint32_t number = 0);
  ~Decoder();
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  Decoder(Decoder&&) = delete;
  Decoder& operator=(Decoder&&) = delete;

  std::size_t Consume(std::string_view bytes, bool last);
  bool refused() const;
  std::uint64_t offset() const;       // of the next byte
  std::uint32_t next_number() const;  // of the block that is due
  std::uint64_t samples() const;      // seen so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// ---- from the ring to the file

struct MoverOptions {
  std::string folder;
  Begin begin;
  std::uint32_t flush_interval_ms = 250;
  std::uint64_t (*monotonic_ns)() = platform::MonotonicNs;
  std::int64_t (*unix_ns)() = platform::UnixNs;
};

struct MoverStatus {
  std::uint64_t written_bytes = 0;
  std::uint64_t records = 0;       // in the file
  std::uint64_t lost_records = 0;  // overwritten before they could be moved; the file says so
  int problem = 0;                 // errno while writing fails, 0 when all is well
  std::uint32_t files = 0;         // opened: more than one after a folder came back
};

// Moves what the ring holds to the journal. Trouble with the file never loses what the ring can keep: a write that was
// cut is finished later, a file that vanished is begun anew when its folder is there, and what had to be given up is
// counted in the journal. Used by one thread.
class Mover {
 public:
  // Creates the journal's file. The ring must outlive the mover.
  static Result<std::unique_ptr<Mover>> Create(Ring& ring, MoverOptions options);
  // Goes on with the journal of a ring whose owner is dead, where it lies now. Fails when it is not that ring's.
  static Result<std::unique_ptr<Mover>> Resume(Ring& ring, const std::string& path);
  ~Mover();
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;
  Mover(Mover&&) = delete;
  Mover& operator=(Mover&&) = delete;

  // Moves what is there when it is time, or always with `force`. True when nothing was left unwritten. When memory is
  // out it is a problem like a full disk: nothing is lost by it that the ring can keep.
  bool Move(bool force) noexcept;
  // Records that found no way into the ring: counted in the journal as lost.
  void NoteDropped(std::uint64_t records);
  // Milliseconds after which Move should be called again.
  std::uint32_t wait_ms() const;
  // Status and path may be asked for by other threads.
  MoverStatus status() const;
  std::string path() const;

 private:
  struct State;
  explicit Mover(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// ---- what killed processes left

struct Leftovers {
  std::size_t rings = 0;  // emptied and removed
  std::uint64_t records = 0;
  std::vector<std::string> problems;  // rings that had to be left, with the reason
  bool out_of_memory = false;         // not all were looked at
};

struct DrainOptions {
  std::vector<std::string> places;  // folders or files (absolute): rings of journals there are emptied at once
  // Others when their owner has been gone for that long: somebody nearer may want to do it.
  double others_after_s = 600;
  // Rings of journals that are gone from where they were are kept so long: they may come back, or have been moved.
  double forget_after_s = 3 * 86400.0;
};

// Empties rings of this user on this host whose owners are dead, each into its journal. Never throws: what cannot be
// done is a problem, and stays. Damaged rings are put aside.
Leftovers DrainLeftovers(const DrainOptions& options) noexcept;

}  // namespace vigil::journal
