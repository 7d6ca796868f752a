// journal/lane: a lane of the ring and its one writer: records as words that a reader copies at the same time.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "journal/section.h"

namespace vigil::journal {

inline constexpr std::uint64_t kChunkWords = 512;    // records do not cross chunks: a reader can start at any
inline constexpr std::uint64_t kChunkHeadWords = 2;  // before the records of a chunk: where it is, records so far

using Word = std::atomic<std::uint64_t>;

// Control words of a lane, those of the writer and those of the reader in cache lines of their own.
struct LaneControl {
  alignas(64) Word reserved;  // words behind it may be overwritten at any time, capacity before it
  Word head;                  // words written
  Word records;
  Word refused;           // records that found no room
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
  // Counted where it survives a killed process, so that the journal can say what is missing.
  void NoteRefused() {
    control_->refused.store(control_->refused.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

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

}  // namespace vigil::journal
