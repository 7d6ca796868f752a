// platform/recording: what recording in another's process needs of the system: files that grow, memory that outlives
// the process, marks that forks wipe, a thread of its own.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/base.h"
#include "platform/files.h"

namespace vigil::platform {

// ---- files that grow

// A regular file that is only ever appended to. Created by us, or one that we are the only writer of. The application
// may close any descriptor, ours too, and open another file under its number: that is noticed, and left alone.
class AppendFile {
 public:
  // Fails when the path exists: then it is another's. `exists` says whether that was the reason.
  static Result<AppendFile> Create(const std::string& path, bool& exists);
  static Result<AppendFile> OpenExisting(const std::string& path);
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  ~AppendFile();

  // One write: the number of bytes that were taken, which may be fewer than given; `problem` is the errno when none
  // was.
  std::size_t Write(std::string_view bytes, int& problem) const;
  // Returns when what was written is on the disk, and a loss of power cannot take it; false with the errno when that
  // failed. Then nobody knows what is there of it, and to try again would tell nothing.
  bool Sync(int& problem) const;
  // Up to `capacity` bytes at an offset; 0 at the end.
  Result<std::size_t> ReadAt(std::uint64_t offset, char* into, std::size_t capacity) const;
  std::uint64_t size_bytes() const;
  bool is_removed() const;  // the file, or its file system
  bool is_ours() const;     // the descriptor still leads to it
  const FileIdentity& identity() const { return identity_; }
  const std::string& path() const { return path_; }

 private:
  AppendFile(int descriptor, std::string path);
  bool is_known() const;
  int descriptor_ = -1;
  FileIdentity identity_;
  std::string path_;
};

// The same for the names in a folder: a new file whose folder was not synced may be missing after a loss of power.
bool SyncFolder(const std::string& path, int& problem);

// ---- memory that outlives the process

// A block in /dev/shm that only this user can open. Its creator holds a lock on it until it dies; children do not
// inherit the lock. It has no name, and vanishes with the process, until it is published. What is used must be reserved
// first: touching memory that the system cannot give would raise a signal.
class SharedMemory {
 public:
  static constexpr const char* kFolder = "/dev/shm";

  static Result<SharedMemory> Create(std::size_t size_bytes);
  // One that another process left. Fails while its owner lives, and for files that are not this user's own. Never for
  // one that this process holds: its lock would not keep us out, and would be released afterwards.
  static Result<SharedMemory> TakeOver(const std::string& name);
  // The first bytes of one that may be in use. Never of one that this process holds: that would let its lock go.
  enum class Owner : std::uint8_t { kThisUser, kAnyUser };
  static bool Peek(const std::string& name, std::span<std::byte> into, Owner owner = Owner::kThisUser);
  // Whether another process holds its lock. As for Peek, never of one that this process holds.
  static bool IsInUse(const std::string& name);
  // Memory of this process alone, with the same interface.
  static Result<SharedMemory> CreatePrivate(std::size_t size_bytes);
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();  // unmaps and lets the lock go; the memory stays under its name

  bool Reserve(std::size_t offset, std::size_t size_bytes) const;
  bool Publish(const std::string& name);
  // To be called now and then: takes the lock again when the application closed our descriptor. False when nobody can
  // find it by its name any more.
  bool Renew();
  void Remove();
  // Gives it another name, under which nobody looks for it.
  bool Rename(const std::string& name);
  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  const std::string& name() const { return name_; }  // empty: nobody else can find it

 private:
  SharedMemory(int descriptor, std::byte* data, std::size_t size_bytes, std::string name);
  bool IsDescriptorOurs() const;
  int descriptor_ = -1;
  FileIdentity identity_;  // the application may close our descriptor, and open another file under its number
  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  std::string name_;
};

// Room for shared memory on this machine.
struct SharedMemorySpace {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
};
SharedMemorySpace SpaceForSharedMemory();
// What the blocks with that in their names take of it. Allocates nothing.
std::uint64_t SharedMemoryUsedBy(std::string_view prefix);

// ---- this process

// A number of this process that its forked children do not share: 0 in a child until the child asks ThisProcess().
// Reading the word costs a load.
const std::atomic<std::uint64_t>& ProcessMark();
std::uint64_t ThisProcess();
// The same for all copies of this code in the process; another in a forked child, and in a program that took its place.
std::uint32_t ProcessTag();

// After it, every other thread of the process has seen what the caller stored before, and the caller sees what they
// stored before. False when the kernel cannot; then both sides need fences of their own.
bool FenceAllThreads();

// Lets other threads run.
void YieldProcessor();

// A thread of the library in another's process: named, all signals blocked. `Tick` is called every `period_ms` it
// returned last, and at once after Wake. One that throws is called again after a second: no exception ends the process.
class Worker {
 public:
  static constexpr std::uint32_t kDone = 0xffffffffU;  // returned by a tick that was the last

  Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&&) = delete;
  Worker& operator=(Worker&&) = delete;
  ~Worker() { Stop(1000); }

  // False when the system gives no thread. `name` is a literal. `tick` returns the milliseconds to the next call.
  // `ends_alone`: one whose last tick is over need not be stopped.
  bool Start(const char* name, std::function<std::uint32_t()> tick, bool ends_alone = false);
  void Wake();
  // Ends the thread; true when it has ended within the time. The last tick may still run when not.
  bool Stop(std::uint32_t timeout_ms);
  // In a forked child: there is no thread to stop.
  void Forget();
  bool running() const { return state_ != nullptr; }

 private:
  struct State;
  static void* Run(void* argument);
  std::shared_ptr<State> state_;
};

}  // namespace vigil::platform
