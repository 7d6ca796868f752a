#include "platform/process.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "platform/clock.h"
#include "platform/files.h"

namespace vigil::platform {
namespace {

std::string FirstLine(const char* path) {
  const auto text = ReadWholeFile(path, 4096);
  if (!text) return {};
  return std::string(Trim(std::string_view(*text).substr(0, text->find('\n'))));
}

}  // namespace

std::string HostName() {
  std::array<char, 256> name = {};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

std::string BootId() { return FirstLine("/proc/sys/kernel/random/boot_id"); }
std::string ProgramName() { return FirstLine("/proc/self/comm"); }
std::uint32_t UserId() { return ::geteuid(); }
std::int32_t ProcessId() { return ::getpid(); }

std::uint64_t RandomNumber() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof(number), GRND_NONBLOCK) == sizeof(number)) return number;
  // Early in boot, or an old kernel: unlikely to be met twice is enough.
  return MonotonicNs() * 0x9e3779b97f4a7c15U ^ static_cast<std::uint64_t>(::getpid());
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

Result<FamilyMemory> FamilyMemory::Create(std::size_t size_bytes) {
  void* const data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return Fail(CodeOf(errno), fmt::format("no shared memory of {}: {}", FormatBytes(size_bytes), SystemReason(errno)));
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
  if (process < 0) return Fail(CodeOf(errno), fmt::format("no process could be made: {}", SystemReason(errno)));
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

void PreferLargePages(void* memory, std::size_t size_bytes) {
  constexpr std::size_t kLargePage = std::size_t{2} << 20U;
  if (size_bytes < 2 * kLargePage) return;
  // Whole pages inside the block only: what is around it belongs to others.
  void* begin = memory;
  std::size_t space = size_bytes;
  if (std::align(kLargePage, kLargePage, begin, space) == nullptr) return;
  ::madvise(begin, space / kLargePage * kLargePage, MADV_HUGEPAGE);
}

}  // namespace vigil::platform
