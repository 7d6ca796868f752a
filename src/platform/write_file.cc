#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
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
    if (count < 0 && errno != EINTR) return errno;
  }
  return 0;
}

// The open descriptor of this process that a path is another name of.
std::optional<int> DescriptorOf(std::string_view path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    const auto number = ParseInteger(path.substr(folder.size()));
    if (number && *number >= 0 && *number <= INT_MAX) return static_cast<int>(*number);
  }
  return std::nullopt;
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

// A file that does not exist yet gets the rights that the user's mask leaves.
int OpenNew(const std::string& target, std::string& temporary) {
  constexpr mode_t kAsTheMaskSays = 0666;
  for (int tries = 0; tries < 100; ++tries) {
    temporary = fmt::format("{}.{:08x}", target, static_cast<std::uint32_t>(RandomNumber()));
    const int descriptor =
        Try([&] { return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kAsTheMaskSays); });
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  return -1;
}

// One that is replaced keeps its rights, and its owner where that can be had.
int TakeRightsOf(const struct stat& before, int descriptor) {
  const bool kept = ::fchown(descriptor, before.st_uid, before.st_gid) == 0;
  // Without the owner, what ran with his rights must not run with ours.
  const mode_t rights = before.st_mode & (kept ? 07777U : 0777U);
  return Try([&] { return ::fchmod(descriptor, rights); }) == 0 ? 0 : errno;
}

}  // namespace

Status WriteFileAtomically(const std::string& path, std::string_view content) {
  if (const auto descriptor = DescriptorOf(path)) {
    const int problem = WriteAll(*descriptor, content);
    if (problem != 0) return NotWritten(path, problem);
    return {};
  }
  struct stat before = {};
  const bool exists = Try([&] { return ::stat(path.c_str(), &before); }) == 0;
  if (exists && !S_ISREG(before.st_mode)) return WriteThrough(path, content);
  const auto target = TargetOf(path);
  if (!target) return Fail(target.error());
  std::string temporary;
  const int descriptor = OpenNew(*target, temporary);
  if (descriptor < 0) return NotWritten(path, errno);
  int problem = exists ? TakeRightsOf(before, descriptor) : 0;
  if (problem == 0) problem = WriteAll(descriptor, content);
  if (::close(descriptor) != 0 && problem == 0) problem = errno;
  if (problem == 0 && Try([&] { return ::rename(temporary.c_str(), target->c_str()); }) != 0) problem = errno;
  if (problem == 0) return {};
  ::unlink(temporary.c_str());
  return NotWritten(path, problem);
}

}  // namespace vigil::platform
