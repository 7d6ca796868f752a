#include "ingest/bytes/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "platform/files.h"

namespace vigil::ingest::archive {
namespace {

using Handle = struct ::archive;

constexpr std::size_t kPieceBytes = std::size_t{64} << 10U;
constexpr std::size_t kTarBlock = 512;

// Names are shown below the archive's own path: "./a", "/a" and "../a" are all "a".
std::string PlainName(std::string_view name) {
  std::vector<std::string> kept;
  for (const std::string_view step : Split(name, '/')) {
    if (!step.empty() && step != "." && step != "..") kept.emplace_back(step);
  }
  return Join(kept, "/");
}

// The end of a name says what the file is; it begins with a whole directory where it can.
std::string_view WithinLimit(std::string_view name) {
  if (name.size() <= kLongestName) return name;
  name.remove_prefix(name.size() - kLongestName);
  const std::size_t slash = name.find('/');
  return slash == std::string_view::npos ? name : name.substr(slash + 1);
}

std::string NameOf(archive_entry* entry, std::size_t number) {
  const char* name = archive_entry_pathname_utf8(entry);
  if (name == nullptr) name = archive_entry_pathname(entry);  // not UTF-8: as it stands
  std::string plain = name == nullptr ? std::string() : PlainName(WithinLimit(name));
  return plain.empty() ? fmt::format("member-{}", number) : plain;
}

}  // namespace

// The sum over a tar header counts its own field as blanks.
bool IsTar(std::string_view head) {
  constexpr std::size_t kSumAt = 148;
  constexpr std::size_t kSumLength = 8;
  if (head.size() < kTarBlock || head[0] == '\0') return false;
  std::uint64_t stated = 0;
  bool any = false;
  for (const char c : head.substr(kSumAt, kSumLength)) {
    if (c == ' ' && !any) continue;
    if (c < '0' || c > '7') break;
    stated = stated * 8 + static_cast<std::uint64_t>(c - '0');
    any = true;
  }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool in_field = i >= kSumAt && i < kSumAt + kSumLength;
    sum += in_field ? std::uint64_t{' '} : static_cast<unsigned char>(head[i]);
  }
  return any && sum == stated;
}

bool IsArchive(std::string_view head) {
  return head.starts_with("PK\x03\x04") || head.starts_with("7z\xBC\xAF\x27\x1C") || IsTar(head);
}

bool IsFiltered(std::string_view head) {
  const bool bzip2 =
      head.size() > 10 && head.starts_with("BZh") && head[3] >= '1' && head[3] <= '9' &&
      (head.substr(4, 6) == "\x31\x41\x59\x26\x53\x59" || head.substr(4, 6) == "\x17\x72\x45\x38\x50\x90");
  return bzip2 || head.starts_with("\x04\x22\x4D\x18");
}

// The stream, or a file by offset where libarchive wants to seek.
struct Input {
  Input(std::unique_ptr<ByteStream> bytes, const platform::File* on_disk, std::string its_path, UnpackBudget* shared)
      : stream(std::move(bytes)),
        file(on_disk),
        path(std::move(its_path)),
        handle(archive_read_new()),
        budget(shared) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  Input(Input&&) = delete;
  Input& operator=(Input&&) = delete;
  ~Input() { archive_read_free(handle); }

  std::unique_ptr<ByteStream> stream;
  const platform::File* file = nullptr;
  std::string path;
  std::string piece = std::string(kPieceBytes, '\0');
  Handle* handle;  // behind all that may throw when it is made: it is freed by hand
  std::uint64_t offset = 0;
  ExpansionLimit limit;
  UnpackBudget* budget;
  const char* block = nullptr;  // of the member's content, not handed out yet
  std::size_t block_size = 0;
  bool encrypted = false;      // the member that is read
  std::optional<Error> error;  // the first one: libarchive cannot go on behind it
  std::exception_ptr thrown;   // by what it reads from

  Result<std::size_t> Fill() {
    auto count =
        file == nullptr ? stream->Read(piece.data(), piece.size()) : file->ReadAt(offset, piece.data(), piece.size());
    if (count) {
      offset += *count;
      limit.packed_bytes += *count;
    }
    return count;
  }

  // No exception may pass the library, which is C: it is kept, and goes on behind it.
  Result<std::size_t> FillOrKeep() noexcept {
    try {
      return Fill();
    } catch (...) {
      thrown = std::current_exception();
      return 0;
    }
  }

  static la_ssize_t ReadSome(Handle* handle, void* data, const void** bytes) {
    auto& input = *static_cast<Input*>(data);
    const auto count = input.FillOrKeep();
    if (input.thrown) return ARCHIVE_FATAL;
    if (!count) {
      input.error = count.error();
      archive_set_error(handle, EIO, "the archive cannot be read on");
      return ARCHIVE_FATAL;
    }
    *bytes = input.piece.data();
    return static_cast<la_ssize_t>(*count);
  }

  static la_int64_t Seek(Handle* /*handle*/, void* data, la_int64_t to, int whence) {
    auto& input = *static_cast<Input*>(data);
    if (input.file == nullptr) return ARCHIVE_FATAL;
    const auto size = static_cast<la_int64_t>(input.file->size_bytes());
    const la_int64_t base = whence == SEEK_END ? size : whence == SEEK_CUR ? static_cast<la_int64_t>(input.offset) : 0;
    const la_int64_t wanted = std::clamp<la_int64_t>(base + to, 0, size);
    input.offset = static_cast<std::uint64_t>(wanted);
    return wanted;
  }

  Error Failure() {
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
    if (error) return *error;
    const char* const said = archive_error_string(handle);
    error = Error{encrypted ? ErrorCode::kUnsupported : ErrorCode::kCorrupt, path, std::nullopt,
                  said == nullptr ? "damaged" : said};
    return *error;
  }

  Status Open() {
    archive_read_set_read_callback(handle, ReadSome);
    if (file != nullptr) archive_read_set_seek_callback(handle, Seek);
    archive_read_set_callback_data(handle, this);
    if (archive_read_open1(handle) != ARCHIVE_OK) return Fail(Failure());
    return {};
  }

  // Block by block: archive_read_data drops what stands before damage. Holes of sparse files are left out.
  Result<std::size_t> ReadData(char* into, std::size_t capacity) {
    while (block_size == 0) {
      if (error) return Fail(*error);
      const void* bytes = nullptr;
      la_int64_t at = 0;
      const int result = archive_read_data_block(handle, &bytes, &block_size, &at);
      if (result == ARCHIVE_EOF) return 0;
      if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return Fail(Failure());
      block = static_cast<const char*>(bytes);
      limit.expanded_bytes += block_size;
      const bool within = budget == nullptr || budget->TakeBytes(block_size);
      if (limit.IsExceeded() || !within) error = ExpansionLimit::Exceeded(path);
    }
    const std::size_t size = std::min(capacity, block_size);
    std::memcpy(into, block, size);
    block += size;
    block_size -= size;
    return size;
  }
};

namespace {

class MemberStream : public ByteStream {
 public:
  explicit MemberStream(Input& input) : input_(input) {}
  Result<std::size_t> Read(char* into, std::size_t capacity) override { return input_.ReadData(into, capacity); }

 private:
  Input& input_;
};

}  // namespace

Members::Members(std::unique_ptr<ByteStream> stream, const platform::File* file, std::string path, UnpackBudget& budget)
    : input_(std::make_unique<Input>(std::move(stream), file, std::move(path), &budget)), budget_(budget) {
  // No more formats than are meant to be read: each is code that hostile input can reach. libarchive takes no limit for
  // the memory of its decoders: a 7z or zip member that states a dictionary of 4 GiB gets it as address space, of which
  // only what is decoded is touched, and that the budget bounds.
  archive_read_support_format_tar(input_->handle);
  archive_read_support_format_zip(input_->handle);
  archive_read_support_format_7zip(input_->handle);
}

Members::~Members() = default;

Result<std::optional<Member>> Members::Next() {
  if (!opened_) {
    opened_ = true;
    if (Status open = input_->Open(); !open) return Fail(open.error());
  }
  if (input_->error) return Fail(*input_->error);
  while (budget_.TakeMember()) {
    ++count_;
    archive_entry* entry = nullptr;
    input_->block_size = 0;
    const int result = archive_read_next_header(input_->handle, &entry);
    if (result == ARCHIVE_EOF) return std::optional<Member>();
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return Fail(input_->Failure());
    if (archive_entry_filetype(entry) != AE_IFREG) continue;
    input_->encrypted = archive_entry_is_encrypted(entry) != 0;
    const bool sized = archive_entry_size_is_set(entry) != 0 && archive_entry_size(entry) > 0;
    return std::optional(
        Member{NameOf(entry, count_), sized ? static_cast<std::uint64_t>(archive_entry_size(entry)) : 0});
  }
  return Fail(ErrorCode::kLimit, input_->path,
              fmt::format("more than {} members, the rest is not read", UnpackBudget::kMostMembers));
}

std::unique_ptr<ByteStream> Members::Open() { return std::make_unique<MemberStream>(*input_); }

std::uint64_t Members::packed_bytes() const { return input_->limit.packed_bytes; }

namespace {

// One compressed stream is to libarchive an archive with one member and no format.
class FilteredStream : public ByteStream {
 public:
  FilteredStream(std::unique_ptr<ByteStream> stream, const std::string& path, UnpackBudget* budget)
      : input_(std::move(stream), nullptr, path, budget) {
    archive_read_support_format_raw(input_.handle);
    archive_read_support_filter_bzip2(input_.handle);
    archive_read_support_filter_lz4(input_.handle);
  }

  Result<std::size_t> Read(char* into, std::size_t capacity) override {
    if (!opened_) {
      opened_ = true;
      archive_entry* entry = nullptr;
      if (Status open = input_.Open(); !open) return Fail(open.error());
      if (archive_read_next_header(input_.handle, &entry) != ARCHIVE_OK) return Fail(input_.Failure());
    }
    return input_.ReadData(into, capacity);
  }

 private:
  Input input_;
  bool opened_ = false;
};

}  // namespace

std::unique_ptr<ByteStream> OpenFiltered(std::unique_ptr<ByteStream> stream, const std::string& path,
                                         UnpackBudget* budget) {
  return std::make_unique<FilteredStream>(std::move(stream), path, budget);
}

}  // namespace vigil::ingest::archive
