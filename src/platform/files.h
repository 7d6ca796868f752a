// platform/files: files and folders. Files are read with plain reads, never mapped: a file that shrinks under a mapping
// would kill the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
// What stands at the path of a file that is written. A path that the user named may be a symbolic link, which stays, a
// device or a pipe. A name that the program makes itself, in a folder that others can write to, is trusted with
// nothing: a link there is replaced, not followed, and a device or a pipe is refused.
enum class PathFrom : std::uint8_t { kUser, kProgram };
// Writes through a temporary file and a rename, so that a reader never sees half of it. A file that is replaced leaves
// its permissions to the new one.
Status WriteFileAtomically(const std::string& path, std::string_view content, PathFrom from = PathFrom::kUser);
// The open descriptor of this process that a path is another name of: /dev/stdout, /dev/fd/3.
std::optional<int> DescriptorNamed(std::string_view path);

// For files that are written in pieces: a name beside `path` that no file has, and its exchange for `path`, which fails
// when something is there.
std::string TemporaryNameFor(const std::string& path);
Status MoveToFreeName(const std::string& temporary, const std::string& path);
void RemoveFile(const std::string& path);

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
// environments. `unreadable` gets what could not be entered, with the reason. Stops at `limit` entries, and behind a
// symbolic link to a folder at some thousand files, without a look at the others there (and says so in `unreadable`).
// `found`, where given, is called now and then with the number of files so far.
std::vector<Entry> ListFiles(const std::string& folder, std::size_t limit, std::vector<Error>& unreadable,
                             const std::function<void(std::size_t)>& found = {});

// Creates the folder and those above it; no error when it is there.
Status MakeFolders(const std::string& path);

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

std::string AbsolutePath(const std::string& path);  // symbolic links resolved, as far as it exists
std::string FolderOf(const std::string& path);      // "/" of "/a", "." of "a"
// A file system that answers says that nothing is there: not when it is out of reach, or may not be looked at.
bool IsAbsent(const std::string& path);
// Names in the folder that begin with `prefix`; none when it cannot be read.
std::vector<std::string> NamesIn(const std::string& folder, std::string_view prefix);

// The reason of an errno, in words, and as the kind of failure it is.
std::string SystemReason(int problem);
ErrorCode CodeOf(int problem);

}  // namespace vigil::platform
