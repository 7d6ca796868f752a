// The words that ring and journal share: sections of a block, lanes of the ring.
#pragma once

#include <cstdint>

namespace vigil::journal {

// Tags of the sections of a block.
enum class Section : std::uint8_t {
  kPadding = 0,
  kBegin = 1,
  kDefinitions = 2,
  kSamples = 3,
  kEvents = 4,
  kHyperparameters = 5,
  kBatches = 6,
  kArtifacts = 7,
  kPositions = 8,
  kDropped = 9,
  kClock = 10,
  kEnd = 11,
};

// Up to where a lane has been moved.
struct Position {
  std::uint32_t lane = 0;
  std::uint64_t position = 0;  // words since the beginning
  std::uint64_t records = 0;   // the same in records
};

inline constexpr std::uint32_t kLanes = 64;

}  // namespace vigil::journal
