// journal: vigil's own record of a run, one file for each start of a rank. Blocks are compressed and checksummed, the
// file is only appended to, and what follows damage is read; doc/formats/journal.md has every byte.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "journal/entries.h"

namespace vigil::journal {

inline constexpr std::string_view kMagic("\x89VIGIL\r\n", 8);
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 1;

// ---- writing

inline constexpr std::size_t kMostDefinitionBytes = std::size_t{64} << 10U;  // of one definition as an entry

// The bytes of one entry of the sections that hold texts: what the ring carries and the file holds.
std::string EncodeEntry(const Definition& definition);
std::string EncodeEntry(const Event& event);
std::string EncodeEntry(const Hyperparameter& hyperparameter);
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
  void AddDropped(const DroppedRecords& dropped);
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
  virtual void OnHyperparameter(const Hyperparameter& hyperparameter) { static_cast<void>(hyperparameter); }
  virtual void OnBatch(const Batch& batch) { static_cast<void>(batch); }
  virtual void OnArtifact(const Artifact& artifact) { static_cast<void>(artifact); }
  virtual void OnPosition(const Position& position) { static_cast<void>(position); }
  virtual void OnDropped(const DroppedRecords& dropped) { static_cast<void>(dropped); }
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
  // Asked between pieces of a file, by those who read one for it (inspect.h).
  virtual bool wants_more() const { return true; }
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

}  // namespace vigil::journal
