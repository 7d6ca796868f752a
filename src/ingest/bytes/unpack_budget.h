// One budget for all that is unpacked from one source: an archive within an archive has no limits of its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "ingest/bytes/byte_stream.h"

namespace vigil::ingest {

class UnpackBudget {
 public:
  // No archive of runs has more; what is behind them is not read.
  static constexpr std::size_t kMostMembers = 100'000;
  // Errors of members that are listed; the others are counted.
  static constexpr std::size_t kMostErrors = 10'000;
  // Of a source whose size is not known before its end (standard input).
  static constexpr std::uint64_t kUnsizedBytes = std::uint64_t{64} << 30U;
  // Archives within archives within archives: no run is packed deeper.
  static constexpr int kDeepest = 3;

  // `packed_bytes`: the size of the source, 0 where it is not known.
  explicit UnpackBudget(std::uint64_t packed_bytes)
      : most_bytes_(packed_bytes == 0 ? kUnsizedBytes : std::max(ExpansionLimit::kFreeBytes, Grown(packed_bytes))) {}

  // Bytes that came out of an archive or a compression, at any depth. False when they are too many.
  bool TakeBytes(std::uint64_t count) {
    bytes_ += std::min(count, std::numeric_limits<std::uint64_t>::max() - bytes_);
    return !is_out_of_bytes();
  }
  bool TakeMember() { return members_++ < kMostMembers; }
  // Whether there is room to list another error.
  bool TakeError() { return errors_++ < kMostErrors; }

  bool is_out_of_bytes() const { return bytes_ > most_bytes_; }
  std::size_t errors_left_out() const { return errors_ > kMostErrors ? errors_ - kMostErrors : 0; }

 private:
  static std::uint64_t Grown(std::uint64_t packed) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    return packed > kMost / ExpansionLimit::kMostGrowth ? kMost : packed * ExpansionLimit::kMostGrowth;
  }

  std::uint64_t most_bytes_;
  std::uint64_t bytes_ = 0;
  std::size_t members_ = 0;
  std::size_t errors_ = 0;
};

}  // namespace vigil::ingest
