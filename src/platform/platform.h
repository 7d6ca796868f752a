// platform: the only place that talks to the operating system. Files are read with plain reads, never mapped: a file
// that shrinks under a mapping would kill the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "platform/recording.h"

namespace vigil::platform {

// Which file it is, whatever its name: two of them are the same file when they are equal.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

// A regular file opened for reading. Errors name the path and the reason.
class File {
 public:
  static Result<File> Open(const std::string& path);  // directories, FIFOs, devices and sockets are refused
  // What is piped or typed into the program; its size is not known, and 0.
  static Result<File> StandardInput();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  std::uint64_t size_bytes() const { return size_bytes_; }  // at the time of opening
  // Reads up to `capacity` bytes at the current position; 0 at the end of the file.
  Result<std::size_t> Read(char* into, std::size_t capacity);
  // The same at a place of its own; the current position stays.
  Result<std::size_t> ReadAt(std::uint64_t offset, char* into, std::size_t capacity) const;
  Status Rewind();  // the next Read begins at the file's first byte
  const FileIdentity& identity() const { return identity_; }

 private:
  File(int descriptor, std::uint64_t size_bytes, std::string path);
  int descriptor_ = -1;
  std::uint64_t size_bytes_ = 0;
  FileIdentity identity_;
  std::string path_;
};

// Whole file as text, refused above `limit_bytes`.
Result<std::string> ReadWholeFile(const std::string& path, std::uint64_t limit_bytes);
// Writes through a temporary file and a rename, so that a reader never sees half of it.
Status WriteFileAtomically(const std::string& path, std::string_view content);

enum class EntryKind : std::uint8_t { kFile, kFolder, kOther };
struct Entry {
  std::string path;
  EntryKind kind = EntryKind::kFile;
  std::uint64_t size_bytes = 0;
  double modified_unix_s = 0;
  FileIdentity identity;
};

Result<Entry> Stat(const std::string& path);

// Every file below `folder` in a stable order. Follows symbolic links; what is reached twice, as in a loop, is given
// once, by its real path where that lies below `folder`. Does not enter .git, node_modules, __pycache__ or virtual
// environments. `unreadable` gets what could not be entered, with the reason. Stops at `limit` entries (and says so in
// `unreadable`). `found`, where given, is told now and then how many files there are so far.
std::vector<Entry> ListFiles(const std::string& folder, std::size_t limit,
                             std::vector<std::pair<std::string, std::string>>& unreadable,
                             const std::function<void(std::size_t)>& found = {});

// Asks for large pages behind memory that is about to be filled: a page fault costs as much as parsing a hundred
// values. A hint: does nothing where there are none, or for less than a few of them.
void PreferLargePages(void* memory, std::size_t size_bytes);

// ---- processes and threads of our own

// Creates the folder and those above it; no error when it is there.
Status MakeFolders(const std::string& path);
// A clock that never goes back.
std::uint64_t MonotonicNs();
void SleepSeconds(double seconds);
// Memory of this process that is in RAM; 0 when it cannot be told.
std::uint64_t ResidentBytes();
int ProcessorCount();  // that this process may use, at least 1

// A text file that grows by whole lines: each Write is one call, so that lines of several processes do not mix.
class LineFile {
 public:
  static Result<LineFile> Append(const std::string& path);  // created when it is not there
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  ~LineFile();
  Status Write(std::string_view lines);

 private:
  LineFile(int descriptor, std::string path);
  int descriptor_ = -1;
  std::string path_;
};

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

// ---- terminals

bool IsTerminal(int descriptor);
// Columns of the terminal behind `descriptor`, COLUMNS, or `otherwise`.
int TerminalWidth(int descriptor, int otherwise);

// Writes all of `text`. False when nobody reads any more (a closed pipe): no error, but there is no use in going on.
// Call IgnoreClosedPipes first, or the signal ends the process.
Result<bool> WriteText(int descriptor, std::string_view text);
void IgnoreClosedPipes();
// From now on an interrupt (SIGINT, SIGTERM) first clears the current line of that terminal, then ends the process as
// it would have.
void ClearLineOnInterrupt(int descriptor);

// From now on an interrupt (SIGINT, SIGTERM, SIGHUP) only sets a flag, so that the program can end in good order. A
// second one ends it at once. What came before is forgotten.
void CatchInterrupts();
bool WasInterrupted();
// Waits, or until an interrupt comes.
void Pause(double seconds);
// Seconds on a clock that only goes forward.
double SteadySeconds();
// The local time, "2026-11-15T03:12:45".
std::string LocalTime();

}  // namespace vigil::platform
