// Where a reader's bytes come from: a file as it stands, or a compressed one expanded and UTF-16 decoded on the way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/base.h"
#include "codec/codec.h"
#include "ingest/utf16.h"
#include "platform/platform.h"

namespace vigil::ingest {

class ByteSource {
 public:
  explicit ByteSource(platform::File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  // Expands from here on, when what was read so far (`head`) is the beginning of a compressed file.
  void ExpandIfCompressed(std::string_view head);
  // Turns UTF-16 into UTF-8 from here on, when `head` is the beginning of such text, and `head` itself. True when it
  // is. `marked`: only a byte-order mark counts.
  bool DecodeIfUtf16(std::string& head, bool marked);
  // Whether the bytes are others than those of the file.
  bool is_changed() const { return expander_ != nullptr || decoder_.has_value(); }
  // Of the file; how many bytes come out of one that is changed on the way is not known before.
  std::uint64_t size_bytes() const { return file_.size_bytes(); }
  // Reads up to `capacity` bytes; 0 at the end. What expands far beyond what a log can is refused as an error, as is
  // compressed data that is damaged or cut.
  Result<std::size_t> Read(char* into, std::size_t capacity);
  const platform::FileIdentity& identity() const { return file_.identity(); }
  // From the first byte again; of a file that is not compressed.
  Status Rewind() { return file_.Rewind(); }

 private:
  Result<std::size_t> ReadPlain(char* into, std::size_t capacity);
  Result<std::size_t> ReadDecoded(char* into, std::size_t capacity);
  Result<std::size_t> ReadExpanded(char* into, std::size_t capacity);
  Result<bool> Refill();
  bool GrowsTooFast() const;

  platform::File file_;
  std::string path_;
  std::unique_ptr<codec::Decompressor> expander_;
  std::optional<Utf16Stream> decoder_;
  std::string decoded_;  // not handed out yet from `decoded_at_` on
  std::size_t decoded_at_ = 0;
  std::string packed_;  // read from the file, not yet expanded from `packed_at_` on
  std::size_t packed_at_ = 0;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t expanded_bytes_ = 0;
  bool may_end_ = false;
  bool at_end_ = false;
};

}  // namespace vigil::ingest
