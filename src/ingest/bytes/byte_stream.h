// Bytes in order, wherever they come from: a file, a member of an archive, what a decompressor makes of another stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/base.h"

namespace vigil::ingest {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads up to `capacity` bytes; 0 at the end. An Error ends the stream.
  virtual Result<std::size_t> Read(char* into, std::size_t capacity) = 0;
};

// What was read of a stream already, and then the rest of it.
class ResumedStream : public ByteStream {
 public:
  ResumedStream(std::string head, std::unique_ptr<ByteStream> rest) : head_(std::move(head)), rest_(std::move(rest)) {}
  Result<std::size_t> Read(char* into, std::size_t capacity) override {
    if (at_ == head_.size()) return rest_->Read(into, capacity);
    const std::size_t size = head_.copy(into, capacity, at_);
    at_ += size;
    return size;
  }

 private:
  std::string head_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteStream> rest_;
};

// Bounds what comes out of something compressed by what went into it. Logs shrink to a tenth or a fiftieth, a file of
// one line again and again to a three-hundredth: what expands more than that was made to.
struct ExpansionLimit {
  static constexpr std::uint64_t kMostGrowth = 400;
  static constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20U;

  std::uint64_t packed_bytes = 0;
  std::uint64_t expanded_bytes = 0;

  bool IsExceeded() const { return expanded_bytes > kFreeBytes && expanded_bytes > kMostGrowth * packed_bytes; }
  static Error Exceeded(const std::string& path);
};

}  // namespace vigil::ingest
