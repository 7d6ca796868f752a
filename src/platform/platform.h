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
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  std::uint64_t size_bytes() const { return size_bytes_; }  // at the time of opening
  // Reads up to `capacity` bytes at the current position; 0 at the end of the file.
  Result<std::size_t> Read(char* into, std::size_t capacity);
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

// Every file below `folder` in a stable order. Follows symbolic links to files, not to folders (no loops); does not
// enter .git, node_modules, __pycache__ or virtual environments. `unreadable` gets what could not be entered, with the
// reason. Stops at `limit` entries (and says so in `unreadable`).
std::vector<Entry> ListFiles(const std::string& folder, std::size_t limit,
                             std::vector<std::pair<std::string, std::string>>& unreadable);

// Asks for large pages behind memory that is about to be filled: a page fault costs as much as parsing a hundred
// values. A hint: does nothing where there are none, or for less than a few of them.
void PreferLargePages(void* memory, std::size_t size_bytes);

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
// second one ends it at once.
void CatchInterrupts();
bool WasInterrupted();
// Waits, or until an interrupt comes.
void Pause(double seconds);
// Seconds on a clock that only goes forward.
double SteadySeconds();

}  // namespace vigil::platform
