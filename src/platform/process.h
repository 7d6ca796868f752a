// platform/process: this process, its children and threads, and what it may use of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/base.h"

namespace vigil::platform {

std::string HostName();
std::string BootId();       // of the running kernel; empty when it is not known
std::string ProgramName();  // of this process
std::uint32_t UserId();
std::int32_t ProcessId();
std::uint64_t RandomNumber();

// Memory of this process that is in RAM; 0 when it is not known.
std::uint64_t ResidentBytes();
// Memory that this process may still take without others being pushed out: what the machine has available, and what the
// limits of its control groups (v1 and v2) leave, page cache not counted. 0 when it is not known. `root` is where /proc
// and /sys are.
std::uint64_t AvailableBytes(const std::string& root = "");
int ProcessorCount();  // that this process may use, at least 1

// Asks for large pages behind memory that is about to be filled: a page fault costs as much as parsing a hundred
// values. A hint: does nothing where there are none, or for less than a few of them.
void PreferLargePages(void* memory, std::size_t size_bytes);

// Zeroed memory that this process shares with the children it forks.
class FamilyMemory {
 public:
  static Result<FamilyMemory> Create(std::size_t size_bytes);
  FamilyMemory(const FamilyMemory&) = delete;
  FamilyMemory& operator=(const FamilyMemory&) = delete;
  FamilyMemory(FamilyMemory&& other) noexcept;
  FamilyMemory& operator=(FamilyMemory&& other) noexcept;
  ~FamilyMemory();
  void* data() const { return data_; }

 private:
  FamilyMemory(void* data, std::size_t size_bytes) : data_(data), size_bytes_(size_bytes) {}
  void* data_ = nullptr;
  std::size_t size_bytes_ = 0;
};

// Runs `work` in a forked child that ends with its value, never to return. Call it before any thread is made. The child
// dies with its parent.
Result<int> ForkChild(const std::function<int()>& work);
struct ChildEnd {
  int process = 0;  // 0: none has ended yet
  int code = 0;     // exit code, when `signal` is 0
  int signal = 0;
};
ChildEnd PollChildren();  // one that has ended since; does not wait
void EndChild(int process, int signal);
[[noreturn]] void EndThisProcess(int signal);

// Threads that share out numbered pieces of work. Which thread does a piece is left open: pieces must not depend on it.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // the caller counts as one
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ThreadPool(ThreadPool&&) = delete;
  ThreadPool& operator=(ThreadPool&&) = delete;
  // Calls `piece` with 0 to count - 1 and returns when all are done. Pieces do not throw.
  void Run(std::size_t count, const std::function<void(std::size_t)>& piece);
  int threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vigil::platform
