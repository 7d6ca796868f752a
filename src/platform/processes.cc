#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "platform/platform.h"

namespace vigil::platform {
namespace {

std::string Reason(int problem) { return std::generic_category().message(problem); }

}  // namespace

Status MakeFolders(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(path, problem);
  if (problem) return Fail(ErrorCode::kInvalid, path, fmt::format("the folder cannot be made: {}", problem.message()));
  return {};
}

std::uint64_t MonotonicNs() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

void SleepSeconds(double seconds) {
  if (!(seconds > 0)) return;
  timespec left = {};
  left.tv_sec = static_cast<time_t>(seconds);
  left.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  // An interrupt ends the sleep: whoever waits looks at its flag next.
  ::nanosleep(&left, nullptr);
}

std::uint64_t ResidentBytes() {
  const auto text = ReadWholeFile("/proc/self/statm", 4096);
  if (!text) return 0;
  const auto cells = Split(*text, ' ');
  const auto pages = cells.size() > 1 ? ParseInteger(cells[1]) : std::nullopt;
  return pages ? static_cast<std::uint64_t>(*pages) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

int ProcessorCount() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

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
  if (descriptor < 0) return Fail(CodeOf(errno), path, fmt::format("cannot be written: {}", Reason(errno)));
  return LineFile(descriptor, path);
}

Status LineFile::Write(std::string_view lines) {
  while (!lines.empty()) {
    const ssize_t count = ::write(descriptor_, lines.data(), lines.size());
    if (count >= 0) lines.remove_prefix(static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR)
      return Fail(CodeOf(errno), path_, fmt::format("cannot be written: {}", Reason(errno)));
  }
  return {};
}

Result<FamilyMemory> FamilyMemory::Create(std::size_t size_bytes) {
  void* const data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return Fail(CodeOf(errno), fmt::format("no shared memory of {}: {}", FormatBytes(size_bytes), Reason(errno)));
  return FamilyMemory(data, size_bytes);
}

FamilyMemory::FamilyMemory(FamilyMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_bytes_(other.size_bytes_) {}

FamilyMemory& FamilyMemory::operator=(FamilyMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_bytes_, other.size_bytes_);
  return *this;
}

FamilyMemory::~FamilyMemory() {
  if (data_ != nullptr) ::munmap(data_, size_bytes_);
}

Result<int> ForkChild(const std::function<int()>& work) {
  const int process = ::fork();
  if (process < 0) return Fail(CodeOf(errno), fmt::format("no process could be made: {}", Reason(errno)));
  if (process > 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // What the parent has open or registered is the parent's to close.
  ::_exit(work());
}

ChildEnd PollChildren() {
  int status = 0;
  ChildEnd end;
  end.process = std::max(0, ::waitpid(-1, &status, WNOHANG));
  if (end.process == 0) return end;
  end.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return end;
}

void EndChild(int process, int signal) { ::kill(process, signal); }

void EndThisProcess(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
  ::_exit(1);
}

}  // namespace vigil::platform
