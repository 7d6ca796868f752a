// Where a reader's bytes come from: a file as it stands, a member of an archive, either of them expanded and decoded on
// the way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/base.h"
#include "ingest/bytes/byte_stream.h"
#include "ingest/bytes/unpack_budget.h"
#include "ingest/bytes/utf16.h"
#include "platform/files.h"

namespace vigil::ingest {

class ByteSource {
 public:
  explicit ByteSource(platform::File file, std::string path);
  // Of a member of an archive; `size_bytes` 0 where the archive does not say.
  ByteSource(std::unique_ptr<ByteStream> member, std::string path, std::uint64_t size_bytes);

  // Expands from here on, when what was read so far (`head`) is the beginning of a compressed file. True when it is.
  // What comes out is counted in `budget`, unless that is null; it outlives the source.
  bool ExpandIfCompressed(std::string_view head, UnpackBudget* budget = nullptr);
  // Turns UTF-16 into UTF-8 from here on, when `head` is the beginning of such text, and `head` itself. True when it
  // is. `marked`: only a byte-order mark counts.
  bool DecodeIfUtf16(std::string& head, bool marked);
  // Whether the bytes are others than those of a file on disk.
  bool is_changed() const { return file_ == nullptr || is_expanded_ || decoder_.has_value(); }
  // Whether it is a member of an archive. What its size is said to be may be a lie.
  bool is_member() const { return file_ == nullptr; }
  // Of the file; how many bytes come out of one that is changed on the way is not known before.
  std::uint64_t size_bytes() const { return size_bytes_; }
  // Reads up to `capacity` bytes; 0 at the end. What expands far beyond what a log can is refused as an error, as is
  // compressed data that is damaged or cut.
  Result<std::size_t> Read(char* into, std::size_t capacity);

  // The file on disk, where the bytes are those of one, unchanged.
  const platform::File* plain_file() const { return is_changed() ? nullptr : file_; }
  // Of the file on disk.
  platform::FileIdentity identity() const { return file_ == nullptr ? platform::FileIdentity() : file_->identity(); }
  // From the first byte again; of a file that is not compressed.
  Status Rewind();
  // The rest of the bytes, without the source: for what is read otherwise.
  std::unique_ptr<ByteStream> TakeStream() { return std::move(stream_); }

 private:
  Result<std::size_t> ReadDecoded(char* into, std::size_t capacity);

  std::string path_;
  std::unique_ptr<ByteStream> stream_;
  platform::File* file_ = nullptr;  // owned by the innermost stream
  std::uint64_t size_bytes_ = 0;
  bool is_expanded_ = false;
  std::optional<Utf16Stream> decoder_;
  std::string decoded_;  // not handed out yet from `decoded_at_` on
  std::size_t decoded_at_ = 0;
};

}  // namespace vigil::ingest
