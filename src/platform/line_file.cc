#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "platform/files.h"

namespace vigil::platform {

LineFile::LineFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}

LineFile::LineFile(LineFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<LineFile> LineFile::Append(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return Fail(CodeOf(errno), path, fmt::format("cannot be written: {}", SystemReason(errno)));
  return LineFile(descriptor, path);
}

Status LineFile::Write(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t count = ::write(descriptor_, lines.data(), lines.size());
    if (count >= 0) lines.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR)
      return Fail(CodeOf(errno), path_, fmt::format("cannot be written: {}", SystemReason(errno)));
  }
  return {};
}

}  // namespace vigil::platform
