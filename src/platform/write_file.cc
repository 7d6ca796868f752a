#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <optional>

#include "platform/calls.h"
#include "platform/files.h"
#include "platform/process.h"

namespace vigil::platform {
namespace {

tl::unexpected<Error> NotWritten(const std::string& path, int problem) {
  return Fail(CodeOf(problem), path, fmt::format("cannot be written: {}", SystemReason(problem)));
}

// 0, or the errno of what went wrong.
int WriteAll(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t count = Try([&] { return ::write(descriptor, content.data(), content.size()); });
    if (count >= 0) content.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && !MayTryAgain(descriptor, errno)) return errno;
  }
  return 0;
}

// A device or a pipe takes what is written; it is nothing that could be replaced. A FIFO that nobody reads is refused,
// as a program that waits without a word is of no use.
Status WriteThrough(const std::string& path, std::string_view content) {
  const int descriptor = Try([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
  if (descriptor < 0) return NotWritten(path, errno);
  const int flags = ::fcntl(descriptor, F_GETFL);
  int problem = flags >= 0 && ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0 ? 0 : errno;
  if (problem == 0) problem = WriteAll(descriptor, content);
  if (::close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem != 0) return NotWritten(path, problem);
  return {};
}

// Where a symbolic link leads, whether something is there or not: the link itself stays.
Result<std::string> TargetOf(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as the kernel follows
  std::string target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::array<char, PATH_MAX> text = {};
    const ssize_t size = ::readlink(target.c_str(), text.data(), text.size());
    if (size < 0) return target;
    const std::string_view next(text.data(), static_cast<std::size_t>(size));
    target = next.starts_with('/') ? std::string(next) : fmt::format("{}/{}", FolderOf(target), next);
  }
  return NotWritten(path, ELOOP);
}

// A file that did not exist gets the permissions that the user's mask leaves.
int OpenNew(const std::string& target, std::string& temporary) {
  constexpr mode_t kAsTheMaskSays = 0666;
  for (int tries = 0; tries < 100; ++tries) {
    temporary = TemporaryNameFor(target);
    const int descriptor =
        Try([&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kAsTheMaskSays); });
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// One that is replaced keeps its permissions, and its owner where that is allowed.
int TakePermissionsOf(const struct stat& before, int descriptor) {
  const bool kept = ::fchown(descriptor, before.st_uid, before.st_gid) == 0;
  // Without the owner, what ran with the owner's permissions must not run with ours.
  const mode_t permissions = before.st_mode & (kept ? 07777U : 0777U);
  return Try([&] { return ::fchmod(descriptor, permissions); }) == 0 ? 0 : errno;
}

// `before`: the file that stands there, or null.
Status ReplaceFile(const std::string& target, std::string_view content, const struct stat* before) {
  std::string temporary;
  const int descriptor = OpenNew(target, temporary);
  if (descriptor < 0) return NotWritten(target, errno);
  int problem = before != nullptr ? TakePermissionsOf(*before, descriptor) : 0;
  if (problem == 0) problem = WriteAll(descriptor, content);
  if (::close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem == 0 && Try([&] { return ::rename(temporary.c_str(), target.c_str()); }) != 0) problem = errno;
  if (problem == 0) return {};
  ::unlink(temporary.c_str());
  return NotWritten(target, problem);
}

// Only what is not there may be created. Any other failure to look is one to write: a link of another user in /tmp,
// which the system does not follow, must not be followed by us.
Status WriteWhereUserSays(const std::string& path, std::string_view content) {
  struct stat before = {};
  const bool exists = Try([&] { return ::stat(path.c_str(), &before); }) == 0;
  if (!exists && errno != ENOENT) return NotWritten(path, errno);
  if (exists && !S_ISREG(before.st_mode)) return WriteThrough(path, content);
  const auto target = TargetOf(path);
  if (!target) return Fail(target.error());
  return ReplaceFile(*target, content, exists ? &before : nullptr);
}

Status WriteOwnName(const std::string& path, std::string_view content) {
  struct stat before = {};
  const bool exists = Try([&] { return ::lstat(path.c_str(), &before); }) == 0;
  if (!exists && errno != ENOENT) return NotWritten(path, errno);
  if (exists && !S_ISREG(before.st_mode) && !S_ISLNK(before.st_mode))
    return Fail(ErrorCode::kInvalid, path, "is no regular file, and is left as it is");
  return ReplaceFile(path, content, exists && S_ISREG(before.st_mode) ? &before : nullptr);
}

}  // namespace

std::optional<int> DescriptorNamed(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const auto number = ParseInteger(path.substr(folder.size()));
    if (number && *number >= 0 && *number <= INT_MAX) return static_cast<int>(*number);
  }
  return std::nullopt;
}

std::string TemporaryNameFor(const std::string& path) {
  return fmt::format("{}.{:08x}", path, static_cast<std::uint32_t>(RandomNumber()));
}

Status MoveToFreeName(const std::string& temporary, const std::string& path) {
  int moved = Try([&] { return ::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE); });
  // Not every file system can; a second name for the file never takes the place of another.
  if (moved != 0 && errno == EINVAL) {
    moved = ::link(temporary.c_str(), path.c_str());
    if (moved == 0) RemoveFile(temporary);
  }
  if (moved == 0) return {};
  if (errno == EEXIST) return Fail(ErrorCode::kInvalid, path, "exists already, and is left as it is");
  return NotWritten(path, errno);
}

void RemoveFile(const std::string& path) { ::unlink(path.c_str()); }

Status WriteFileAtomically(const std::string& path, std::string_view content, PathFrom from) {
  if (from == PathFrom::kProgram) return WriteOwnName(path, content);
  const auto descriptor = DescriptorNamed(path);
  if (!descriptor) return WriteWhereUserSays(path, content);
  const int problem = WriteAll(*descriptor, content);
  if (problem != 0) return NotWritten(path, problem);
  return {};
}

}  // namespace vigil::platform
