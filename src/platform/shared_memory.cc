#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "platform/calls.h"
#include "platform/files.h"
#include "platform/recording.h"

namespace vigil::platform {
namespace {

std::string PathOf(const std::string& name) { return std::string(SharedMemory::kFolder) + "/" + name; }

// POSIX record locks belong to the process: a forked child does not hold them, and death lets them go. They hold across
// containers that share /dev/shm, where process ids mean nothing.
bool TryLock(int descriptor) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return Try([&] { return ::fcntl(descriptor, F_SETLK, &lock); }) == 0;
}

std::byte* Map(int descriptor, std::size_t size_bytes) {
  const int flags = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const data =
      IsToFail() ? MAP_FAILED : ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

// Anybody may put files into /dev/shm: only a plain file of this user's own is taken.
bool IsPrivate(const struct stat& info) {
  constexpr mode_t kOthers = 077;
  return S_ISREG(info.st_mode) && (info.st_mode & kOthers) == 0 && info.st_nlink == 1;
}
FileIdentity IdentityOf(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}
bool IsOurs(const struct stat& info) { return IsPrivate(info) && info.st_uid == ::geteuid(); }

}  // namespace

SharedMemory::SharedMemory(int descriptor, std::byte* data, std::size_t size_bytes, std::string name)
    : descriptor_(descriptor), data_(data), size_bytes_(size_bytes), name_(std::move(name)) {
  struct stat info = {};
  if (descriptor_ >= 0 && Try([&] { return ::fstat(descriptor_, &info); }) == 0) identity_ = IdentityOf(info);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      identity_(other.identity_),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(other.size_bytes_),
      name_(std::move(other.name_)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(identity_, other.identity_);
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(name_, other.name_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
  if (IsDescriptorOurs()) ::close(descriptor_);
}

bool SharedMemory::IsDescriptorOurs() const {
  struct stat info = {};
  return descriptor_ >= 0 && Try([&] { return ::fstat(descriptor_, &info); }) == 0 && IdentityOf(info) == identity_;
}

bool SharedMemory::Renew() {
  struct stat info = {};
  if (name_.empty() || Try([&] { return ::stat(PathOf(name_).c_str(), &info); }) != 0 || IdentityOf(info) != identity_)
    return false;
  if (IsDescriptorOurs()) return true;
  const int descriptor =
      Try([&] { return ::open(PathOf(name_).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return false;
  if (Try([&] { return ::fstat(descriptor, &info); }) == 0 && IdentityOf(info) == identity_ && TryLock(descriptor)) {
    descriptor_ = descriptor;
    return true;
  }
  ::close(descriptor);
  return false;
}

Result<SharedMemory> SharedMemory::Create(std::size_t size_bytes) {
  const int descriptor = Try([&] { return ::open(kFolder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); });
  if (descriptor < 0) return Fail(CodeOf(errno), kFolder, fmt::format("no shared memory: {}", SystemReason(errno)));
  SharedMemory memory(descriptor, nullptr, size_bytes, {});
  const bool sized =
      TryLock(descriptor) && Try([&] { return ::ftruncate(descriptor, static_cast<off_t>(size_bytes)); }) == 0;
  if (sized) memory.data_ = Map(descriptor, size_bytes);
  if (memory.data_ == nullptr)
    return Fail(CodeOf(errno), kFolder, fmt::format("cannot be mapped: {}", SystemReason(errno)));
  return memory;
}

bool SharedMemory::Publish(const std::string& name) {
  std::string kept = name;  // before the name is there: memory may be out, and one that nobody knows would stay
  const std::string unpublished = fmt::format("/proc/self/fd/{}", descriptor_);
  if (!IsDescriptorOurs() ||
      Try([&] { return ::linkat(AT_FDCWD, unpublished.c_str(), AT_FDCWD, PathOf(name).c_str(), AT_SYMLINK_FOLLOW); }) !=
          0)
    return false;
  name_ = std::move(kept);
  return true;
}

Result<SharedMemory> SharedMemory::TakeOver(const std::string& name) {
  const std::string path = PathOf(name);
  const int descriptor = Try([&] { return ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return Fail(CodeOf(errno), path, fmt::format("cannot be opened: {}", SystemReason(errno)));
  SharedMemory memory(descriptor, nullptr, 0, name);
  struct stat info = {};
  if (Try([&] { return ::fstat(descriptor, &info); }) != 0 || !IsOurs(info))
    return Fail(ErrorCode::kInvalid, path, "is not a ring of this user");
  if (!TryLock(descriptor)) return Fail(ErrorCode::kBusy, path, "is in use");
  // Whoever held the lock before may have removed it.
  if (Try([&] { return ::fstat(descriptor, &info); }) != 0 || !IsOurs(info))
    return Fail(ErrorCode::kNotFound, path, "no longer exists");
  memory.size_bytes_ = static_cast<std::size_t>(info.st_size);
  memory.data_ = memory.size_bytes_ == 0 ? nullptr : Map(descriptor, memory.size_bytes_);
  if (memory.data_ == nullptr && memory.size_bytes_ != 0) return Fail(ErrorCode::kInvalid, path, "cannot be mapped");
  return memory;
}

bool SharedMemory::Peek(const std::string& name, std::span<std::byte> into, Owner owner) {
  const int descriptor =
      Try([&] { return ::open(PathOf(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return false;
  struct stat info = {};
  const bool whole =
      Try([&] { return ::fstat(descriptor, &info); }) == 0 &&
      (owner == Owner::kAnyUser ? IsPrivate(info) : IsOurs(info)) &&
      Try([&] { return ::pread(descriptor, into.data(), into.size(), 0); }) == static_cast<ssize_t>(into.size());
  ::close(descriptor);
  return whole;
}

bool SharedMemory::IsInUse(const std::string& name) {
  const int descriptor =
      Try([&] { return ::open(PathOf(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK); });
  if (descriptor < 0) return false;
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = Try([&] { return ::fcntl(descriptor, F_GETLK, &lock); }) == 0 && lock.l_type != F_UNLCK;
  ::close(descriptor);
  return held;
}

Result<SharedMemory> SharedMemory::CreatePrivate(std::size_t size_bytes) {
  std::byte* const data = Map(-1, size_bytes);
  if (data == nullptr) return Fail(ErrorCode::kLimit, fmt::format("no memory for {}", FormatBytes(size_bytes)));
  return SharedMemory(-1, data, size_bytes, {});
}

bool SharedMemory::Reserve(std::size_t offset, std::size_t size_bytes) const {
  if (offset + size_bytes > size_bytes_) return false;
  if (descriptor_ < 0) return true;
  if (!IsDescriptorOurs()) return false;
  int problem = 0;
  do {
    problem =
        Try([&] { return ::posix_fallocate(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(size_bytes)); });
  } while (problem == EINTR);
  return problem == 0;
}

void SharedMemory::Remove() {
  if (!name_.empty()) static_cast<void>(Try([&] { return ::unlink(PathOf(name_).c_str()); }));
}

bool SharedMemory::Rename(const std::string& name) {
  if (name_.empty() || Try([&] { return ::rename(PathOf(name_).c_str(), PathOf(name).c_str()); }) != 0) return false;
  name_ = name;
  return true;
}

SharedMemorySpace SpaceForSharedMemory() {
  struct statvfs info = {};
  if (Try([&] { return ::statvfs(SharedMemory::kFolder, &info); }) != 0) return {};
  return {std::uint64_t{info.f_blocks} * info.f_frsize, std::uint64_t{info.f_bavail} * info.f_frsize};
}

namespace {

// An entry of a folder as the system hands it out.
struct RawEntry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t kind;
  char name[1];
};

std::uint64_t UsedBy(int folder, const char* name) {
  constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks, whatever the file system has
  struct stat info = {};
  if (::fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || info.st_blocks <= 0) return 0;
  return static_cast<std::uint64_t>(info.st_blocks) * kBlockBytes;
}

}  // namespace

// Without opendir, which allocates: a thread's first record call may be made in a signal handler.
std::uint64_t SharedMemoryUsedBy(std::string_view prefix) {
  const int folder = Try([&] { return ::open(SharedMemory::kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC); });
  if (folder < 0) return 0;
  std::uint64_t bytes = 0;
  alignas(RawEntry) std::array<char, 4096> block = {};
  for (;;) {
    const long count = Try([&] { return ::syscall(SYS_getdents64, folder, block.data(), block.size()); });
    if (count <= 0) break;
    for (long at = 0; at < count;) {
      const auto* const entry = reinterpret_cast<const RawEntry*>(block.data() + at);
      const std::string_view name = entry->name;
      if (name.find(prefix) != std::string_view::npos) bytes += UsedBy(folder, entry->name);
      at += entry->size;
    }
  }
  ::close(folder);
  return bytes;
}

}  // namespace vigil::platform
