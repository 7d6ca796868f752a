#include "ingest/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "ingest/paths.h"
#include "ingest/tar/tar.h"
#include "ingest/unsupported.h"

namespace vigil::ingest {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
// A piece stays within the second-level cache, so that parsing reads what the kernel just wrote there.
constexpr std::size_t kPieceBytes = std::size_t{512} << 10U;
// So much of a file tells how dense its points are.
constexpr std::uint64_t kBeginningBytes = std::uint64_t{2} << 20U;
constexpr std::size_t kDocumentLimitBytes = std::size_t{1} << 30U;

// Bytes read but not yet consumed, at the front of a block that grows on demand.
class Window {
 public:
  Window(std::size_t capacity, std::string_view content) {
    Grow(std::max(capacity, content.size()));
    if (!content.empty()) std::memcpy(block_.get(), content.data(), content.size());
    size_ = content.size();
  }

  std::string_view content() const { return {block_.get(), size_}; }
  bool full() const { return size_ == capacity_; }
  std::size_t capacity() const { return capacity_; }

  void Drop(std::size_t count) {
    std::memmove(block_.get(), block_.get() + count, size_ - count);
    size_ -= count;
  }

  void Grow(std::size_t capacity) {
    auto bigger = std::make_unique_for_overwrite<char[]>(capacity);
    if (size_ != 0) std::memcpy(bigger.get(), block_.get(), size_);
    block_ = std::move(bigger);
    capacity_ = capacity;
  }

  // Reads until the block is full or the file ends; true at the end of the file.
  Result<bool> FillFrom(ByteSource& file) {
    while (!full()) {
      const auto count = file.Read(block_.get() + size_, capacity_ - size_);
      if (!count) return Fail(count.error());
      if (*count == 0) return true;
      size_ += *count;
    }
    return false;
  }

 private:
  std::unique_ptr<char[]> block_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

std::string TooLong(std::uint64_t offset, std::string_view what, std::size_t limit) {
  return fmt::format("byte {}: {} larger than {}, not read from here on", offset, what, FormatBytes(limit));
}

// Hands the file to the reader piece by piece. Trouble on the way is reported as damage at its byte: what came before
// it stays.
void FeedFile(OpenedFile& opened, Reader& reader, PartBuilder& builder) {
  const bool whole = reader.NeedsWholeFile();
  const std::size_t limit = whole ? kDocumentLimitBytes : kRecordLimitBytes;
  const bool size_known = whole && !opened.file.is_changed();
  const std::uint64_t wanted = size_known ? opened.file.size_bytes() + 1 : kPieceBytes;
  Window window(static_cast<std::size_t>(std::min<std::uint64_t>(wanted, limit)), opened.head);
  std::uint64_t offset = 0;  // in the file, of the window's first byte
  for (;;) {
    const auto at_end = window.FillFrom(opened.file);
    if (!at_end) {
      builder.ReportDamage(fmt::format("byte {}: {}", offset + window.content().size(), at_end.error().message));
    }
    const bool last = !at_end || *at_end;
    const std::size_t consumed = whole && !last ? 0 : reader.Consume(window.content(), last);
    if (last || reader.IsOver()) return;
    const bool begun = offset < kBeginningBytes && offset + consumed >= kBeginningBytes;
    offset += consumed;
    if (begun && !opened.file.is_changed()) builder.MakeRoom(offset, opened.file.size_bytes());
    window.Drop(consumed);
    if (!window.full()) continue;
    if (window.capacity() >= limit) {
      builder.ReportDamage(TooLong(offset, whole ? "document" : "record", limit));
      reader.Consume(window.content(), true);
      return;
    }
    window.Grow(std::min(limit, window.capacity() * 2));
  }
}

Result<std::vector<model::Run>> Finished(PartBuilder& builder, const Format& format) {
  std::vector<model::Run> parts = builder.FinishAll();
  const model::Source source = parts.front().sources.front();
  std::erase_if(parts, [](const model::Run& part) { return !HoldsAnything(part); });
  if (!parts.empty()) return parts;
  const bool damaged = source.state == model::SourceState::kPartial;
  const std::string_view separator = source.note.empty() ? "" : (damaged ? ": " : "; ");
  return Fail(damaged ? ErrorCode::kCorrupt : ErrorCode::kNoData, source.path,
              fmt::format("{} {}{}{}", format.title, kHoldsNothing, separator, source.note));
}

// Fills the head with the first bytes that the source gives.
Status ReadHead(OpenedFile& opened) {
  opened.head.resize(kHeadBytes);
  std::size_t size = 0;
  while (size < kHeadBytes) {
    const auto count = opened.file.Read(opened.head.data() + size, kHeadBytes - size);
    if (!count && size == 0) return tl::unexpected(count.error());
    // What is wrong behind the beginning is met again when the rest is read.
    if (!count || *count == 0) break;
    size += *count;
  }
  opened.head.resize(size);
  return {};
}

// Hands over the file beside this one that belongs to it, where there is one.
void TakeCompanion(const std::string& path, Reader& reader, PartBuilder& builder) {
  if (reader.CompanionSuffix().empty()) return;
  const std::string companion = path + std::string(reader.CompanionSuffix());
  if (!platform::Stat(companion)) return;
  const auto bytes = platform::ReadWholeFile(companion, kDocumentLimitBytes);
  if (bytes) {
    reader.TakeCompanion(*bytes);
  } else {
    builder.ReportDamage(bytes.error().Text());
  }
}

// Each member of an archive is read like a file in a folder of the archive's name.
Result<std::vector<model::Run>> ReadMembers(OpenedFile opened, FormatTable formats) {
  std::vector<model::Run> runs;
  const auto source = [&](char* into, std::size_t capacity) {
    return opened.file.Read(into, capacity).value_or(0);  // damage ends it
  };
  tar::Walk(source, opened.head, [&](const tar::Member& member) {
    const std::string path = opened.path + "/" + member.name;
    const Format* const format =
        WhyIgnored(path).empty()
            ? Recognise(formats, {WithoutCompression(path), member.bytes.substr(0, kHeadBytes), member.bytes.size()})
            : nullptr;
    if (format == nullptr) return;
    auto parts = ReadRunsInBytes(path, member.bytes, *format);
    if (!parts) return;
    if (member.is_cut) {
      for (model::Run& part : *parts) part.sources.front().state = model::SourceState::kPartial;
    }
    std::move(parts->begin(), parts->end(), std::back_inserter(runs));
  });
  if (!runs.empty()) return runs;
  return Fail(ErrorCode::kNoData, opened.path,
              "an archive with nothing in it that vigil reads; unpack it and name the folder");
}

Result<model::Run> FirstOf(Result<std::vector<model::Run>> runs) {
  if (!runs) return tl::unexpected(runs.error());
  return std::move(runs->front());
}

}  // namespace

bool HoldsAnything(const model::Run& part) {
  return !part.series.empty() || !part.events.empty() || !part.facts.empty() || !part.artifacts.empty() ||
         !part.batches.steps.empty();
}

std::string RecordTooLong(std::uint64_t offset) { return TooLong(offset, "record", kRecordLimitBytes); }

Result<OpenedFile> OpenAndRecognise(const std::string& path, FormatTable formats) {
  auto file = path == kStandardInput ? platform::File::StandardInput() : platform::File::Open(path);
  if (!file) return Fail(file.error());
  OpenedFile opened{ByteSource(std::move(*file), path), path, {}, nullptr};
  if (Status read = ReadHead(opened); !read) return tl::unexpected(read.error());
  if (opened.head.empty()) return Fail(ErrorCode::kEmpty, path, "empty file");
  opened.file.ExpandIfCompressed(opened.head);
  if (opened.file.is_changed()) {
    if (Status read = ReadHead(opened); !read) return tl::unexpected(read.error());
  }
  if (tar::IsArchive(opened.head)) return opened;
  opened.file.DecodeIfUtf16(opened.head, true);
  opened.format = Recognise(formats, {WithoutCompression(path), opened.head, opened.file.size_bytes()});
  // Zeros between the letters hide the format; so they do in what is no text at all.
  if (opened.format == nullptr && opened.file.DecodeIfUtf16(opened.head, false))
    opened.format = Recognise(formats, {WithoutCompression(path), opened.head, opened.file.size_bytes()});
  return opened;
}

Result<std::vector<model::Run>> ReadOpened(OpenedFile opened) {
  PartBuilder builder(opened.path, std::string(opened.format->id));
  const auto reader = opened.format->open(builder);
  if (!opened.file.is_changed()) TakeCompanion(opened.path, *reader, builder);
  FeedFile(opened, *reader, builder);
  return Finished(builder, *opened.format);
}

Result<std::vector<model::Run>> ReadRuns(const std::string& path, FormatTable formats) {
  auto opened = OpenAndRecognise(path, formats);
  if (!opened) return Fail(opened.error());
  if (opened->format != nullptr) return ReadOpened(std::move(*opened));
  if (tar::IsArchive(opened->head)) return ReadMembers(std::move(*opened), formats);
  if (const std::string_view later = WhyUnsupported(path, opened->head); !later.empty())
    return Fail(ErrorCode::kUnsupported, path, std::string(later));
  const bool zeros = opened->head.find_first_not_of('\0') == std::string::npos;
  if (zeros)
    return Fail(ErrorCode::kCorrupt, path, "begins with nothing but zero bytes (never written, or lost in a crash)");
  return Fail(ErrorCode::kUnrecognised, path, "content of no kind that vigil reads");
}

Result<std::vector<model::Run>> ReadRunsInBytes(const std::string& path, std::string_view bytes, const Format& format,
                                                std::size_t piece_bytes) {
  PartBuilder builder(path, std::string(format.id));
  const auto reader = format.open(builder);
  const std::size_t piece = piece_bytes == 0 || reader->NeedsWholeFile() ? bytes.size() : piece_bytes;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool last = false;
  while (!last && !reader->IsOver()) {
    end = std::min(bytes.size(), end + piece);
    last = end == bytes.size();
    begin += reader->Consume(bytes.substr(begin, end - begin), last);
  }
  return Finished(builder, format);
}

Result<model::Run> ReadFile(const std::string& path, FormatTable formats) { return FirstOf(ReadRuns(path, formats)); }

Result<model::Run> ReadBytes(const std::string& path, std::string_view bytes, const Format& format,
                             std::size_t piece_bytes) {
  return FirstOf(ReadRunsInBytes(path, bytes, format, piece_bytes));
}

}  // namespace vigil::ingest
