// Where a reader's bytes come from: a file as it stands, or a compressed one expanded on the way.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/base.h"
#include "codec/codec.h"
#include "platform/platform.h"

namespace vigil::import {

class ByteSource {
 public:
  explicit ByteSource(platform::File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}

  // Expands from here on, when what was read so far (`head`) is the beginning of a compressed file.
  void ExpandIfCompressed(std::string_view head);
  bool is_compressed() const { return expander_ != nullptr; }
  // Of the file; what comes out of a compressed one is not known before.
  std::uint64_t size_bytes() const { return file_.size_bytes(); }
  // Reads up to `capacity` bytes; 0 at the end. What expands far beyond what a log can is refused as an error, as is
  // compressed data that is damaged or cut.
  Result<std::size_t> Read(char* into, std::size_t capacity);
  const platform::FileIdentity& identity() const { return file_.identity(); }
  // From the first byte again; of a file that is not compressed.
  Status Rewind() { return file_.Rewind(); }

 private:
  Result<std::size_t> ReadExpanded(char* into, std::size_t capacity);
  Result<bool> Refill();
  bool GrowsTooFast() const;

  platform::File file_;
  std::string path_;
  std::unique_ptr<codec::Decompressor> expander_;
  std::string packed_;  // read from the file, not yet expanded from `packed_at_` on
  std::size_t packed_at_ = 0;
  std::uint64_t packed_bytes_ = 0;
  std::uint64_t expanded_bytes_ = 0;
  bool may_end_ = false;
  bool at_end_ = false;
};

}  // namespace vigil::import
