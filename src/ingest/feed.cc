#include "ingest/feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <new>
#include <utility>

#include "catalogue/says.h"
#include "platform/clock.h"
#include "platform/files.h"

namespace vigil::ingest {
namespace {

// A piece stays within the second-level cache, so that parsing reads what the kernel just wrote there.
constexpr std::size_t kPieceBytes = std::size_t{512} << 10U;
// So much of a file shows how dense its points are.
constexpr std::uint64_t kBeginningBytes = std::uint64_t{2} << 20U;

}  // namespace

Window::Window(std::size_t capacity, std::string_view content) {
  Grow(std::max(capacity, content.size()));
  if (!content.empty()) std::memcpy(block_.get(), content.data(), content.size());
  size_ = content.size();
}

void Window::Drop(std::size_t count) {
  std::memmove(block_.get(), block_.get() + count, size_ - count);
  size_ -= count;
}

void Window::Grow(std::size_t capacity) {
  auto bigger = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ != 0) std::memcpy(bigger.get(), block_.get(), size_);
  block_ = std::move(bigger);
  capacity_ = capacity;
}

Result<bool> Window::FillFrom(ByteSource& file) {
  while (!full()) {
    const auto count = file.Read(block_.get() + size_, capacity_ - size_);
    if (!count) return Fail(count.error());
    if (*count == 0) return true;
    size_ += *count;
  }
  return false;
}

namespace {

// Text is packed to a tenth of its size, at best to a thirtieth.
constexpr std::uint64_t kPackedTimes = 32;

std::uint64_t Times(std::uint64_t size, std::uint64_t times) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return size > kMost / times ? kMost : size * times;
}

SourceBudget BudgetOf(std::uint64_t memory_for_size, std::uint64_t size_bytes) {
  constexpr std::uint64_t kLeastMemory = std::uint64_t{1} << 30U;
  constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30U;
  constexpr double kLeastSeconds = 60;
  constexpr double kBytesPerSecond = 10e6;
  return {static_cast<std::int64_t>(kLeastMemory + std::min(kMostMemory - kLeastMemory, memory_for_size)),
          kLeastSeconds + static_cast<double>(size_bytes) / kBytesPerSecond};
}

}  // namespace

SourceBudget BudgetFor(std::uint64_t size_bytes) {
  constexpr std::uint64_t kMemoryTimes = 8;
  return BudgetOf(Times(size_bytes, kMemoryTimes), size_bytes);
}

SourceBudget BudgetForArchive(std::uint64_t packed_bytes) {
  const std::uint64_t unpacked = Times(packed_bytes, kPackedTimes);
  return BudgetOf(unpacked, unpacked);
}

Error MemoryError(const std::string& path) {
  const auto refusal = platform::TakeRefusal();
  if (!refusal)
    return Error{ErrorCode::kLimit, path, std::nullopt, "memory ran out while it was read, and it is left out"};
  const std::string problem =
      refusal->is_late ? "of the processor's time than it should"
                       : fmt::format("than {} of memory", FormatBytes(static_cast<std::uint64_t>(refusal->most_bytes)));
  if (refusal->of.empty())
    return Error{ErrorCode::kLimit, path, std::nullopt, fmt::format("takes more {} to read, and is left out", problem)};
  return Error{ErrorCode::kLimit, path, std::nullopt,
               fmt::format("{} takes more {} to read, and this is left out", refusal->of, problem)};
}

Feed::Feed(OpenedFile opened)
    : file_(std::move(opened.file)),
      path_(std::move(opened.path)),
      format_(opened.format),
      window_(kPieceBytes, opened.head) {
  Within([&] { Open(); });
}

template <class Work>
bool Feed::Within(Work&& work) {
  if (failure_) return false;
  began_s_ = platform::ThreadSeconds();
  UpdateBudget();
  bool done = false;
  try {
    const platform::MemoryScope scope(memory_);
    work();
    done = true;
  } catch (const std::bad_alloc&) {
    GiveUp(ErrorCode::kLimit, MemoryError(path_).message);
  } catch (const std::exception& problem) {
    GiveUp(ErrorCode::kInternal, fmt::format("its reader failed, and it is left out: {}", problem.what()));
  }
  return done;
}

// A member of an archive is as large as what came out of it, a file that grows as what was read of it. What is packed
// may hold anything.
std::uint64_t Feed::size_for_memory() const {
  if (file_.is_member()) return read_bytes();
  if (!file_.is_changed()) return std::max(file_.size_bytes(), read_bytes());
  return file_.size_bytes() != 0 ? file_.size_bytes() : read_bytes() / kPackedTimes;
}

// Each piece of work has its own: a file is followed for weeks.
double Feed::seconds_allowed() const {
  return BudgetFor(std::max(size_for_memory(), std::min(read_bytes(), Times(size_for_memory(), kPackedTimes)))).seconds;
}

void Feed::UpdateBudget() {
  memory_.most_bytes = std::max(memory_.most_bytes, BudgetFor(size_for_memory()).memory_bytes);
  memory_.until_thread_s = began_s_ + kLatestTimes * seconds_allowed();
}

// What was read so far may be in the middle of a change: nothing of it is used.
void Feed::GiveUp(ErrorCode code, std::string message) {
  over_ = true;
  failure_.emplace(code, path_, std::move(message));
  reader_.reset();
  builder_.reset();
  window_ = Window(0, {});
  MakeReader();
}

void Feed::MakeReader() {
  builder_ = std::make_unique<PartBuilder>(path_, std::string(format_->id));
  reader_ = format_->open(*builder_);
}

void Feed::Open() {
  MakeReader();
  whole_ = reader_->NeedsWholeFile();
  over_ = false;
  if (whole_ && !file_.is_changed()) {
    // A document on disk fits at once; how large one is that is expanded on the way shows only at its end.
    const std::uint64_t wanted = std::min<std::uint64_t>(file_.size_bytes() + 1, kDocumentLimitBytes);
    if (wanted > window_.capacity()) window_.Grow(static_cast<std::size_t>(wanted));
  }
  TakeCompanion();
}

// The file beside this one that belongs to it, where there is one.
void Feed::TakeCompanion() {
  if (file_.is_changed() || reader_->CompanionSuffix().empty()) return;
  const std::string companion = path_ + std::string(reader_->CompanionSuffix());
  if (!platform::Stat(companion)) return;
  const auto bytes = platform::ReadWholeFile(companion, kDocumentLimitBytes);
  if (bytes) {
    reader_->TakeCompanion(*bytes);
  } else {
    builder_->ReportDamage(bytes.error());
  }
}

bool Feed::Take(bool last) {
  bool readable = false;
  return Within([&] { readable = TakePieces(last); }) && readable;
}

bool Feed::TakePieces(bool last) {
  while (!over_) {
    const auto at_end = window_.FillFrom(file_);
    if (!at_end) builder_->ReportDamage(says::DamageErrorAt{.byte = read_bytes(), .message = at_end.error().message});
    const bool ended = !at_end || *at_end;
    UpdateBudget();
    const bool wait = whole_ && !(ended && last);
    const std::size_t consumed = wait ? 0 : reader_->Consume(window_.content(), ended && last);
    over_ = reader_->IsOver() || (ended && last);
    const bool begun = offset_ < kBeginningBytes && offset_ + consumed >= kBeginningBytes;
    offset_ += consumed;
    if (over_) return at_end.has_value();
    if (begun && !file_.is_changed()) builder_->MakeRoom(offset_, file_.size_bytes());
    window_.Drop(consumed);
    if (ended) return at_end.has_value();
    over_ = (window_.full() && IsTooLong()) || IsTooSlow() || IsTooMuch();
  }
  return true;
}

bool Feed::IsTooSlow() {
  const double seconds = platform::ThreadSeconds() - began_s_;
  if (seconds <= seconds_allowed()) return false;
  builder_->ReportDamage(says::DamageTooSlow{.byte = offset_, .seconds = seconds});
  reader_->Consume(window_.content(), true);
  return true;
}

// What is left is for the end of the reading.
bool Feed::IsTooMuch() {
  if (memory_.used_bytes <= memory_.most_bytes / 8 * 7) return false;
  builder_->ReportDamage(
      says::DamageTooMuchMemory{.byte = offset_, .limit = static_cast<std::uint64_t>(memory_.most_bytes)});
  reader_->Consume(window_.content(), true);
  return true;
}

// Makes room for a record that is longer than the window. Behind one that is longer than the limit nothing can be
// found.
bool Feed::IsTooLong() {
  const std::size_t limit = whole_ ? kDocumentLimitBytes : kRecordLimitBytes;
  if (window_.capacity() < limit) {
    window_.Grow(std::min(limit, window_.capacity() * 2));
    return false;
  }
  const model::Statement what =
      whole_ ? model::Statement(says::DamageTooLargeDocument{}) : says::DamageTooLargeRecord{};
  builder_->ReportDamage(says::DamageTooLarge{.byte = offset_, .what = what, .limit = limit});
  reader_->Consume(window_.content(), true);
  return true;
}

void Feed::Settle(bool paused) {
  if (!over_) Within([&] { reader_->Settle(paused); });
}

void Feed::Conclude() {
  if (!over_) Within([&] { reader_->Consume(window_.content(), true); });
  over_ = true;
}

Status Feed::Restart() {
  if (Status rewound = file_.Rewind(); !rewound) return rewound;
  window_.Drop(window_.content().size());
  offset_ = 0;
  memory_ = {.most_bytes = 0};
  failure_.reset();
  if (!Within([&] { Open(); })) return Fail(Error{failure_->code, failure_->path, failure_->offset, failure_->message});
  return {};
}

Reading<std::vector<model::Run>> Feed::Finish() {
  Reading<std::vector<model::Run>> parts;
  Within([&] { parts = FinishParts(*builder_, *format_); });
  if (failure_) return tl::unexpected<ReadFailure>(*failure_);
  return parts;
}

Reading<std::vector<model::Run>> FinishParts(PartBuilder& builder, const Format& format) {
  std::vector<model::Run> parts = builder.FinishAll();
  const model::Source source = parts.front().sources.front();
  std::erase_if(parts, [](const model::Run& part) { return !HoldsAnything(part); });
  if (!parts.empty()) return parts;
  const bool damaged = source.state == model::SourceState::kPartial;
  ReadFailure failure(damaged ? ErrorCode::kCorrupt : ErrorCode::kNoData, source.path,
                      fmt::format("{}{}", format.title,
                                  damaged ? ": damaged, and nothing of it could be kept"
                                          : " without any value, event or setting in it"));
  failure.notes = source.notes;
  return tl::unexpected<ReadFailure>(std::move(failure));
}

bool HoldsAnything(const model::Run& part) {
  return !part.series.empty() || !part.events.empty() || !part.facts.empty() || !part.artifacts.empty() ||
         !part.batches.steps.empty();
}

}  // namespace vigil::ingest
