#include "platform/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "platform/calls.h"

namespace vigil::platform {
namespace {

FileIdentity IdentityOf(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

Entry ToEntry(std::string path, const struct stat& info) {
  Entry entry;
  entry.path = std::move(path);
  entry.kind = S_ISREG(info.st_mode)   ? EntryKind::kFile
               : S_ISDIR(info.st_mode) ? EntryKind::kFolder
                                       : EntryKind::kOther;
  entry.size_bytes = info.st_size > 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
  entry.modified_unix_s = static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) * 1e-9;
  entry.identity = IdentityOf(info);
  return entry;
}

}  // namespace

File::File(int descriptor, std::uint64_t size_bytes, std::string path)
    : descriptor_(descriptor), size_bytes_(size_bytes), path_(std::move(path)) {}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_),
      identity_(other.identity_),
      path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  size_bytes_ = other.size_bytes_;
  identity_ = other.identity_;
  path_ = std::move(other.path_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<File> File::Open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int descriptor = Try([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (descriptor < 0) return Fail(CodeOf(errno), path, fmt::format("cannot be opened: {}", SystemReason(errno)));
  struct stat info = {};
  const bool known = Try([&] { return ::fstat(descriptor, &info); }) == 0;
  File file(descriptor, known && info.st_size > 0 ? static_cast<std::uint64_t>(info.st_size) : 0, path);
  if (!known) return Fail(CodeOf(errno), path, fmt::format("cannot be examined: {}", SystemReason(errno)));
  if (S_ISDIR(info.st_mode)) return Fail(ErrorCode::kInvalid, path, "is a folder, expected a file");
  if (!S_ISREG(info.st_mode))
    return Fail(ErrorCode::kInvalid, path,
                "is not a regular file (a FIFO, device or socket); what it gives can be piped in, as -");
  file.identity_ = IdentityOf(info);
  return file;
}

Result<File> File::StandardInput() {
  const int descriptor = ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return Fail(CodeOf(errno), fmt::format("standard input cannot be read: {}", SystemReason(errno)));
  return File(descriptor, 0, "standard input");
}

Result<std::size_t> File::Read(char* into, std::size_t capacity) {
  for (;;) {
    const ssize_t count = Try([&] { return ::read(descriptor_, into, capacity); });
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return Fail(CodeOf(errno), path_, fmt::format("cannot be read: {}", SystemReason(errno)));
  }
}

Result<std::size_t> File::ReadAt(std::uint64_t offset, char* into, std::size_t capacity) const {
  for (;;) {
    const ssize_t count = Try([&] { return ::pread(descriptor_, into, capacity, static_cast<off_t>(offset)); });
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return Fail(CodeOf(errno), path_, fmt::format("cannot be read: {}", SystemReason(errno)));
  }
}

Status File::Rewind() {
  if (Try([&] { return ::lseek(descriptor_, 0, SEEK_SET); }) == 0) return {};
  return Fail(CodeOf(errno), path_, fmt::format("cannot be read from its beginning: {}", SystemReason(errno)));
}

Result<std::string> ReadWholeFile(const std::string& path, std::uint64_t limit_bytes) {
  auto file = File::Open(path);
  if (!file) return Fail(file.error());
  constexpr std::size_t kPiece = std::size_t{1} << 20U;
  std::string content;
  for (;;) {
    const std::size_t before = content.size();
    content.resize(before + kPiece);
    const auto count = file->Read(content.data() + before, kPiece);
    if (!count) return Fail(count.error());
    content.resize(before + *count);
    if (*count == 0) return content;
    if (content.size() > limit_bytes)
      return Fail(ErrorCode::kLimit, path, fmt::format("larger than the limit of {}", FormatBytes(limit_bytes)));
  }
}

Result<Entry> Stat(const std::string& path) {
  struct stat info = {};
  if (Try([&] { return ::stat(path.c_str(), &info); }) != 0) return Fail(CodeOf(errno), path, SystemReason(errno));
  return ToEntry(path, info);
}

Status MakeFolders(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) return Fail(ErrorCode::kInvalid, path, fmt::format("the folder cannot be made: {}", problem.message()));
  return {};
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

bool IsAbsent(const std::string& path) {
  struct stat info = {};
  return Try([&] { return ::stat(path.c_str(), &info); }) != 0 && errno == ENOENT;
}

std::string AbsolutePath(const std::string& path) {
  std::error_code problem;
  const auto absolute = std::filesystem::weakly_canonical(std::filesystem::absolute(path, problem), problem);
  std::string text = problem ? path : absolute.string();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::vector<std::string> NamesIn(const std::string& folder, std::string_view prefix) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  while (opened) {
    const dirent* const entry = ::readdir(opened.get());
    if (entry == nullptr) break;
    if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string SystemReason(int problem) { return std::generic_category().message(problem); }

ErrorCode CodeOf(int problem) {
  switch (problem) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorCode::kPermission;
    case ENOMEM:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return ErrorCode::kLimit;
    case EBUSY:
    case EAGAIN:
      return ErrorCode::kBusy;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace vigil::platform
