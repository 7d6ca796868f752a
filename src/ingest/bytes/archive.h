// Archives and compressions that libarchive reads: runs that were packed to be sent somewhere. Nothing is written to
// disk; members come one after the other, as they stand in the archive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/base.h"
#include "ingest/bytes/byte_stream.h"
#include "ingest/bytes/unpack_budget.h"
#include "platform/files.h"

namespace vigil::ingest::archive {

// Whether a file begins with the header of a tar member whose checksum is right.
bool IsTar(std::string_view head);
// Whether it begins like tar, zip or 7z.
bool IsArchive(std::string_view head);
// Whether it begins like bzip2 or lz4.
bool IsFiltered(std::string_view head);

// The expanded bytes of such a stream, counted in `budget` unless that is null.
std::unique_ptr<ByteStream> OpenFiltered(std::unique_ptr<ByteStream> stream, const std::string& path,
                                         UnpackBudget* budget);

// No path is longer on a system that a run is trained on; of longer names the end is kept.
inline constexpr std::size_t kLongestName = 4096;

struct Member {
  std::string name;              // plain, below the archive: never absolute, without "..", within kLongestName
  std::uint64_t size_bytes = 0;  // 0 where the archive does not say
};

// What libarchive reads from.
struct Input;

class Members {
 public:
  // Reads the archive in `stream` from its beginning. With `file`, the same bytes in a file on disk, formats can be
  // read that keep their list of members at the end (7z). Members and their bytes are taken from `budget`, which
  // outlives this.
  Members(std::unique_ptr<ByteStream> stream, const platform::File* file, std::string path, UnpackBudget& budget);
  ~Members();
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;
  Members(Members&&) = delete;
  Members& operator=(Members&&) = delete;

  // The next regular file; nothing at the end. An Error where the archive is damaged, cut, encrypted or too large.
  Result<std::optional<Member>> Next();
  // The content of the member that Next returned last, until the next call of Next.
  std::unique_ptr<ByteStream> Open();
  // Bytes of the archive that were read so far; those that could be skipped are not among them.
  std::uint64_t packed_bytes() const;

 private:
  std::unique_ptr<Input> input_;
  UnpackBudget& budget_;
  std::size_t count_ = 0;
  bool opened_ = false;
};

}  // namespace vigil::ingest::archive
