// The bytes of one source on their way into the reader of its format: all at once for a finished file or a member of an
// archive, bit by bit for a file that grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/bytes/byte_source.h"
#include "ingest/format.h"
#include "platform/memory_budget.h"

namespace vigil::ingest {

// A source with its beginning read and recognised.
struct OpenedFile {
  ByteSource file;
  std::string path;
  std::string head;                // the bytes taken from the file so far
  const Format* format = nullptr;  // null: content that no reader recognises, or an archive
  bool is_archive = false;
};

// No event, row or line of a training log comes near this; what does is damage or no log.
inline constexpr std::size_t kRecordLimitBytes = std::size_t{64} << 20U;
inline constexpr std::size_t kDocumentLimitBytes = std::size_t{1} << 30U;

// Bytes read but not consumed, at the front of a block that grows on demand.
class Window {
 public:
  Window(std::size_t capacity, std::string_view content);

  std::string_view content() const { return {block_.get(), size_}; }
  bool full() const { return size_ == capacity_; }
  std::size_t capacity() const { return capacity_; }
  void Drop(std::size_t count);
  void Grow(std::size_t capacity);
  // Reads until the block is full or the source ends; true at its end.
  Result<bool> FillFrom(ByteSource& file);

 private:
  std::unique_ptr<char[]> block_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

// The parts of a builder when nothing more comes. An Error when they hold nothing: kCorrupt or kNoData.
Reading<std::vector<model::Run>> FinishParts(PartBuilder& builder, const Format& format);

// What reading one source may take, by its size: on disk, or of what was read where that is more (a file that grows, a
// pipe, a member of an archive, whose header may claim any size). What trainings leave stays far below it.
//
// Memory is what operator new gives, in programs that count it (platform/memory_budget.h). Near its end a source that
// is read in pieces is read no further and what came before stays; beyond it the source is left out, and is a failure
// of its own.
//
// Time is that of the processor, so that waiting for a pipe or a busy machine costs nothing. It is looked at between
// pieces of half a megabyte, where what came before stays. Twice the time ends any reader where it takes memory, and
// leaves the source out. A reader that takes a whole document at once and no memory for that long is bounded by limits
// of its own: steps of SQLite's engine by the size of the database, settings and nodes of YAML, TOML and pickles by
// their number, and all of them by the size of a document.
struct SourceBudget {
  std::int64_t memory_bytes = 0;
  double seconds = 0;
};
SourceBudget BudgetFor(std::uint64_t size_bytes);
// Of an archive with all its members, by its size on disk. Text is packed to a tenth of its size or less.
SourceBudget BudgetForArchive(std::uint64_t packed_bytes);
// Beyond so many times its seconds a source is left out.
inline constexpr double kLatestTimes = 2;

// The error of a source when memory ran out on this thread, for whoever caught it.
Error MemoryError(const std::string& path);

class Feed {
 public:
  // `opened.format` must not be null.
  explicit Feed(OpenedFile opened);

  // Hands over all that the source holds now. `last`: nothing more will come, and a record that is cut is damage.
  // Trouble on the way is reported as damage at its byte: what came before it stays. False when the source cannot be
  // read on.
  bool Take(bool last);
  // Brings the part up to date with all that was handed over.
  void Settle(bool paused);
  // Nothing more will come: what was held back is handed over as it is, without another look at the source.
  void Conclude();
  // From the first byte of the source again, into a new part.
  Status Restart();

  const Reader& reader() const { return *reader_; }
  const PartBuilder& builder() const { return *builder_; }
  // Bytes that were read from the source.
  std::uint64_t read_bytes() const { return offset_ + window_.content().size(); }
  // The parts, when nothing more comes; the feed is spent.
  Reading<std::vector<model::Run>> Finish();
  // Why the source was given up; nothing when it was not.
  const std::optional<ReadFailure>& failure() const { return failure_; }

 private:
  // Does a piece of the work within the budget. False when it could not be done: the source is given up.
  template <class Work>
  bool Within(Work&& work);
  void GiveUp(ErrorCode code, std::string message);
  void Open();
  void MakeReader();
  void TakeCompanion();
  bool TakePieces(bool last);
  bool IsTooLong();
  bool IsTooSlow();
  bool IsTooMuch();
  std::uint64_t size_for_memory() const;
  double seconds_allowed() const;
  void UpdateBudget();

  ByteSource file_;
  std::string path_;
  const Format* format_;
  std::unique_ptr<PartBuilder> builder_;
  std::unique_ptr<Reader> reader_;
  bool whole_ = false;  // the reader wants the document in one piece
  Window window_;
  std::uint64_t offset_ = 0;  // in the source, of the window's first byte
  bool over_ = false;
  platform::MemoryBudget memory_ = {.most_bytes = 0};
  double began_s_ = 0;  // by the thread's clock, of the piece of work that is done now
  std::optional<ReadFailure> failure_;
};

// Whether the part of a run holds anything at all.
bool HoldsAnything(const model::Run& part);

}  // namespace vigil::ingest
