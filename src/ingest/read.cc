#include "ingest/read.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <optional>
#include <utility>

#include "ingest/bytes/archive.h"
#include "ingest/ignored.h"
#include "ingest/paths.h"
#include "ingest/unsupported.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/process.h"

namespace vigil::ingest {
namespace {

constexpr std::size_t kHeadBytes = std::size_t{64} << 10U;
// An archive of data sets is recognised by finding nothing in so many of its bytes.
constexpr std::uint64_t kFruitlessBytes = std::uint64_t{2} << 30U;
// Bytes of an archive that is piped in may have been expanded before they are counted.
constexpr std::uint64_t kPipedTimes = 8;

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

void Recognise(OpenedFile& opened, FormatTable formats, bool is_wanted) {
  // Between the zeros of a tar header the name of its first member may look like text.
  opened.is_archive = archive::IsTar(opened.head);
  if (opened.is_archive) return;
  const auto recognise = [&](bool asks_for_any = false) {
    const std::string_view path = WithoutCompression(opened.path);
    opened.format = Recognise(formats, {path, opened.head, opened.file.size_bytes(), asks_for_any});
  };
  opened.file.DecodeIfUtf16(opened.head, true);
  recognise();
  // Zeros between the letters hide the format; so they do in what is no text at all.
  if (opened.format == nullptr && opened.file.DecodeIfUtf16(opened.head, false)) recognise();
  // torch saves what it pickles as zip: what a reader recognises is no archive.
  opened.is_archive = opened.format == nullptr && archive::IsArchive(opened.head);
  if (opened.format == nullptr && !opened.is_archive && is_wanted) recognise(true);
}

Result<OpenedFile> OpenSource(ByteSource source, std::string path, FormatTable formats, bool is_wanted = false,
                              UnpackBudget* budget = nullptr) {
  OpenedFile opened{std::move(source), std::move(path), {}, nullptr};
  if (Status read = ReadHead(opened); !read) return tl::unexpected(read.error());
  if (opened.head.empty()) return Fail(ErrorCode::kEmpty, opened.path, "empty file");
  if (opened.file.ExpandIfCompressed(opened.head, budget)) {
    if (Status read = ReadHead(opened); !read) return tl::unexpected(read.error());
  }
  Recognise(opened, formats, is_wanted);
  return opened;
}

Error Unrecognised(const OpenedFile& opened) {
  if (const std::string_view later = WhyUnsupported(opened.path, opened.head); !later.empty())
    return {ErrorCode::kUnsupported, opened.path, std::nullopt, std::string(later)};
  const bool zeros = opened.head.find_first_not_of('\0') == std::string::npos;
  return {ErrorCode::kUnrecognised, opened.path, std::nullopt,
          zeros ? "begins with nothing but zero bytes (never written, or lost in a crash)"
                : "content of no kind that vigil reads"};
}

ReadOutcome ReadOne(OpenedFile opened) {
  Feed feed(std::move(opened));
  feed.Take(true);
  auto parts = feed.Finish();
  return parts ? ReadOutcome{std::move(*parts), {}} : ReadOutcome{{}, {parts.error()}};
}

void Append(ReadOutcome from, ReadOutcome& into) {
  std::move(from.parts.begin(), from.parts.end(), std::back_inserter(into.parts));
  std::move(from.errors.begin(), from.errors.end(), std::back_inserter(into.errors));
}

// Reads sources within sources, all of them within one budget: of bytes that come out, of memory and of time.
class Unpacking {
 public:
  Unpacking(FormatTable formats, std::uint64_t packed_bytes)
      : formats_(formats), budget_(packed_bytes), is_unsized_(packed_bytes == 0) {
    memory_.of = "the archive that it is in";
    LimitBy(packed_bytes);
  }

  ReadOutcome ReadAll(OpenedFile opened) {
    const std::string path = opened.path;
    ReadOutcome all = Read(std::move(opened), 0);
    if (budget_.errors_left_out() > 0)
      all.errors.emplace_back(
          left_out_matters_ ? ErrorCode::kCorrupt : ErrorCode::kUnrecognised, path + "/",
          fmt::format("{} more files in it gave nothing, and are not listed", FormatCount(budget_.errors_left_out())));
    return all;
  }

 private:
  ReadOutcome Read(OpenedFile opened, int depth) {
    if (opened.format != nullptr) return Listed(ReadOne(std::move(opened)));
    if (!opened.is_archive) return Listed({{}, {Unrecognised(opened)}});
    if (depth < UnpackBudget::kDeepest) return ReadMembers(std::move(opened), depth);
    return Listed(
        {{},
         {{ErrorCode::kLimit, opened.path, fmt::format("an archive within {} others: unpack the outer ones", depth)}}});
  }

  ReadOutcome ReadMembers(OpenedFile opened, int depth) {
    ReadOutcome all;
    const platform::File* const on_disk = opened.path == kStandardInput ? nullptr : opened.file.plain_file();
    archive::Members members(std::make_unique<ResumedStream>(opened.head, opened.file.TakeStream()), on_disk,
                             opened.path, budget_);
    for (;;) {
      const auto member = members.Next();
      if (!member) all.errors.emplace_back(member.error());
      if (!member || !*member) break;
      Append(ReadCounted(members, **member, opened.path, depth), all);
      if (budget_.is_out_of_bytes() || is_too_slow_) break;  // it was said
      if (depth == 0 && is_unsized_) LimitBy(members.packed_bytes() / kPipedTimes);
      if (IsTooSlow()) {
        all.errors.emplace_back(ErrorCode::kLimit, opened.path,
                                fmt::format("reading it took {:.0f} s of the processor, out of proportion to its size; "
                                            "not read further",
                                            seconds_));
        break;
      }
      if (!all.parts.empty() || members.packed_bytes() < kFruitlessBytes) continue;
      all.errors.emplace_back(ErrorCode::kLimit, opened.path,
                              fmt::format("no metrics in the first {} of the archive, not read further",
                                          FormatBytes(members.packed_bytes())));
      break;
    }
    if (all.parts.empty() && OnlyIgnored(all.errors))
      all.errors.emplace_back(ErrorCode::kNoData, opened.path, "an archive with nothing in it that vigil reads");
    return all;
  }

  void LimitBy(std::uint64_t packed_bytes) {
    const SourceBudget most = BudgetForArchive(packed_bytes);
    memory_.most_bytes = most.memory_bytes;
    seconds_ = most.seconds;
    memory_.until_thread_s = began_s_ + kLatestTimes * seconds_;
  }

  bool IsTooSlow() {
    is_too_slow_ = platform::ThreadSeconds() - began_s_ > seconds_;
    return is_too_slow_;
  }

  // What a member gives stays counted: many small ones must not take more than a large one may. The list of what was
  // read is not, so that there is room for the reason.
  ReadOutcome ReadCounted(archive::Members& members, const archive::Member& member, const std::string& archive,
                          int depth) {
    try {
      std::optional<platform::MemoryScope> scope;
      if (depth == 0) scope.emplace(memory_);  // what is within is counted with it
      return ReadMember(members, member, archive, depth);
    } catch (const std::bad_alloc&) {
      return Listed({{}, {MemoryError(archive + "/" + member.name)}});
    }
  }

  ReadOutcome ReadMember(archive::Members& members, const archive::Member& member, const std::string& archive,
                         int depth) {
    const std::string path = archive + "/" + member.name;
    if (const std::string_view reason = WhyIgnored(path); !reason.empty())
      return Listed({{}, {{ErrorCode::kUnrecognised, path, std::string(reason)}}});
    auto opened = OpenSource(ByteSource(members.Open(), path, member.size_bytes), path, formats_, false, &budget_);
    return opened ? Read(std::move(*opened), depth + 1) : Listed({{}, {opened.error()}});
  }

  static bool OnlyIgnored(const std::vector<ReadFailure>& errors) {
    return std::all_of(errors.begin(), errors.end(), [](const Error& error) { return IsOfNoUse(error.code); });
  }

  // Without the errors that there is no room for.
  ReadOutcome Listed(ReadOutcome outcome) {
    std::erase_if(outcome.errors, [&](const Error& error) {
      if (budget_.TakeError()) return false;
      left_out_matters_ = left_out_matters_ || !IsOfNoUse(error.code);
      return true;
    });
    return outcome;
  }

  FormatTable formats_;
  UnpackBudget budget_;
  platform::MemoryBudget memory_;
  bool is_unsized_;  // piped in: as large as what came
  double seconds_ = 0;
  double began_s_ = platform::ThreadSeconds();
  bool is_too_slow_ = false;
  bool left_out_matters_ = false;  // among the errors that are not listed is one that is worth saying
};

Reading<std::vector<model::Run>> PartsOf(ReadOutcome outcome, const std::string& path) {
  if (!outcome.parts.empty()) return std::move(outcome.parts);
  // Of an archive's errors the last is its own.
  if (!outcome.errors.empty()) return tl::unexpected(std::move(outcome.errors.back()));
  return Fail(ErrorCode::kNoData, path, "nothing that vigil reads");
}

Reading<model::Run> FirstOf(Reading<std::vector<model::Run>> runs) {
  if (!runs) return tl::unexpected(runs.error());
  return std::move(runs->front());
}

}  // namespace

Result<OpenedFile> OpenFile(const std::string& path, FormatTable formats, bool is_wanted) {
  auto file = path == kStandardInput ? platform::File::StandardInput() : platform::File::Open(path);
  if (!file) return Fail(file.error());
  return OpenSource(ByteSource(std::move(*file), path), path, formats, is_wanted);
}

ReadOutcome ReadOpened(OpenedFile opened, FormatTable formats) {
  Unpacking unpacking(formats, opened.path == kStandardInput ? 0 : opened.file.size_bytes());
  return unpacking.ReadAll(std::move(opened));
}

ReadOutcome ReadSource(const std::string& path, FormatTable formats, platform::MemoryBudget* all, bool is_wanted) {
  // Whatever one source does, the others get their verdict.
  try {
    std::optional<platform::MemoryScope> scope;
    if (all != nullptr) scope.emplace(*all);
    auto opened = OpenFile(path, formats, is_wanted);
    return opened ? ReadOpened(std::move(*opened), formats) : ReadOutcome{{}, {opened.error()}};
  } catch (const std::bad_alloc&) {
    return {{}, {MemoryError(path)}};
  } catch (const std::exception& problem) {
    return {{}, {{ErrorCode::kInternal, path, fmt::format("reading it failed: {}", problem.what())}}};
  }
}

platform::MemoryBudget BudgetForAll() {
  constexpr std::uint64_t kLeastBytes = std::uint64_t{2} << 30U;
  const std::uint64_t available = platform::AvailableBytes();
  platform::MemoryBudget all;
  all.of = "what is read in all";
  // The rest is for joining and judging what was read.
  if (available != 0) all.most_bytes = static_cast<std::int64_t>(std::max(kLeastBytes, available / 4 * 3));
  return all;
}

Reading<std::vector<model::Run>> ReadRuns(const std::string& path, FormatTable formats) {
  return PartsOf(ReadSource(path, formats, nullptr, true), path);
}

Reading<model::Run> ReadFile(const std::string& path, FormatTable formats) { return FirstOf(ReadRuns(path, formats)); }

// Many pieces of a size that is asked for, where a Feed takes what the system gives: for tests and fuzzing.
Reading<std::vector<model::Run>> ReadRunsInBytes(const std::string& path, std::string_view bytes, const Format& format,
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
  return FinishParts(builder, format);
}

Reading<model::Run> ReadBytes(const std::string& path, std::string_view bytes, const Format& format,
                              std::size_t piece_bytes) {
  return FirstOf(ReadRunsInBytes(path, bytes, format, piece_bytes));
}

}  // namespace vigil::ingest
