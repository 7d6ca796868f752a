#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "platform/calls.h"
#include "platform/files.h"
#include "platform/recording.h"

namespace vigil::platform {

namespace {

FileIdentity IdentityOf(int descriptor) {
  struct stat info = {};
  if (Try([&] { return ::fstat(descriptor, &info); }) != 0) return {};
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

// A descriptor of which it cannot be said later whether it still leads to our file is of no use.
tl::unexpected<Error> NotKnown(const AppendFile& file, int descriptor) {
  ::close(descriptor);
  return Fail(ErrorCode::kIo, file.path(), "cannot be looked at");
}

}  // namespace

AppendFile::AppendFile(int descriptor, std::string path)
    : descriptor_(descriptor), identity_(IdentityOf(descriptor)), path_(std::move(path)) {}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), identity_(other.identity_), path_(std::move(other.path_)) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  std::swap(path_, other.path_);
  return *this;
}

AppendFile::~AppendFile() {
  if (is_ours()) ::close(descriptor_);
}

bool AppendFile::is_known() const { return identity_ != FileIdentity{}; }
bool AppendFile::is_ours() const { return descriptor_ >= 0 && is_known() && IdentityOf(descriptor_) == identity_; }

Result<AppendFile> AppendFile::Create(const std::string& path, bool& exists) {
  const int descriptor =
      Try([&] { return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644); });
  exists = descriptor < 0 && errno == EEXIST;
  if (descriptor < 0) return Fail(CodeOf(errno), path, fmt::format("cannot be created: {}", SystemReason(errno)));
  AppendFile file(descriptor, path);
  if (!file.is_known()) return NotKnown(file, descriptor);
  NoteDiskCall({DiskCall::Kind::kCreate, path, {}});
  return file;
}

Result<AppendFile> AppendFile::OpenExisting(const std::string& path) {
  const int descriptor =
      Try([&] { return ::open(path.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0)
    return Fail(CodeOf(errno), path, fmt::format("cannot be opened for writing: {}", SystemReason(errno)));
  AppendFile file(descriptor, path);
  if (!file.is_known()) return NotKnown(file, descriptor);
  struct stat info = {};
  if (Try([&] { return ::fstat(descriptor, &info); }) != 0 || !S_ISREG(info.st_mode))
    return Fail(ErrorCode::kInvalid, path, "is no regular file");
  return file;
}

std::size_t AppendFile::Write(std::string_view bytes, int& problem) const {
  problem = is_ours() ? 0 : EBADF;
  while (problem == 0) {
    const ssize_t count = Try([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (count > 0) {
      NoteDiskCall({DiskCall::Kind::kWrite, path_, bytes.substr(0, static_cast<std::size_t>(count))});
      return static_cast<std::size_t>(count);
    }
    if (count < 0 && errno == EINTR) continue;
    problem = count < 0 ? errno : ENOSPC;
  }
  return 0;
}

bool AppendFile::Sync(int& problem) const {
  problem = is_ours() ? 0 : EBADF;
  if (problem == 0 && Try([&] { return ::fdatasync(descriptor_); }) != 0) problem = errno;
  // Pipes and some network file systems cannot: what is there is as safe as it gets.
  if (problem == EINVAL || problem == EROFS) problem = 0;
  if (problem == 0) NoteDiskCall({DiskCall::Kind::kSync, path_, {}});
  return problem == 0;
}

bool SyncFolder(const std::string& path, int& problem) {
  const int descriptor = Try([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  problem = descriptor < 0 ? errno : 0;
  if (problem == 0 && Try([&] { return ::fsync(descriptor); }) != 0) problem = errno;
  if (problem == EINVAL || problem == EROFS) problem = 0;
  if (descriptor >= 0) ::close(descriptor);
  if (problem == 0) NoteDiskCall({DiskCall::Kind::kSyncFolder, path, {}});
  return problem == 0;
}

Result<std::size_t> AppendFile::ReadAt(std::uint64_t offset, char* into, std::size_t capacity) const {
  if (!is_ours()) return Fail(ErrorCode::kIo, path_, "cannot be read: its descriptor was closed");
  for (;;) {
    const ssize_t count = Try([&] { return ::pread(descriptor_, into, capacity, static_cast<off_t>(offset)); });
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) return Fail(CodeOf(errno), path_, fmt::format("cannot be read: {}", SystemReason(errno)));
  }
}

std::uint64_t AppendFile::size_bytes() const {
  struct stat info = {};
  return is_ours() && Try([&] { return ::fstat(descriptor_, &info); }) == 0 && info.st_size > 0
             ? static_cast<std::uint64_t>(info.st_size)
             : 0;
}

bool AppendFile::is_removed() const {
  struct stat info = {};
  return is_ours() && (Try([&] { return ::fstat(descriptor_, &info); }) != 0 || info.st_nlink == 0);
}

}  // namespace vigil::platform
