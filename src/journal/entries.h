// What a journal holds, entry by entry.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "journal/section.h"
#include "model/finding.h"
#include "model/position.h"
#include "model/run.h"

namespace vigil::journal {

// Who writes: the first section of every journal.
struct Begin {
  std::string run;  // id, equal for all ranks
  std::string name;
  std::int32_t rank = 0;
  std::int32_t world = 1;
  std::string host;
  std::string boot;
  std::int32_t pid = 0;
  std::string program;
  std::string writer;
  std::int32_t part = 1;
  std::string ring;
  std::string ring_id;
  std::vector<std::pair<std::string, std::string>> others;  // keys of newer writers
};

struct Definition {
  std::uint32_t id = 0;
  std::string name;
  std::string unit;
  model::Labels labels;
  model::Axis axis = model::Axis::kStep;
  model::Aggregation aggregation = model::Aggregation::kUnknown;
  model::Clipping clipping = model::Clipping::kUnknown;
};

enum class EventKind : std::uint8_t { kMessage, kException, kCheckpoint, kResume, kEpoch, kExit, kDecision, kGap };

// Times are milliseconds of the writer's monotonic clock.
struct Event {
  std::uint64_t time_ms = 0;
  std::int64_t step = model::kNoStep;
  model::Severity severity = model::Severity::kInfo;
  EventKind kind = EventKind::kMessage;
  std::string name;
  std::string text;
  std::string json;
};

struct Hyperparameter {
  std::uint64_t time_ms = 0;
  std::string key;
  std::string value;
};

struct Batch {
  std::uint64_t time_ms = 0;
  std::int64_t step = 0;
  std::uint64_t fingerprint = 0;
};

struct Artifact {
  std::uint64_t time_ms = 0;
  std::int64_t step = model::kNoStep;
  std::string kind;
  std::string path;
};

// The lane of records that found no way into the ring.
inline constexpr std::uint32_t kNoLane = kLanes;

// Records of a lane that were overwritten before they could be written.
struct DroppedRecords {
  std::uint64_t time_ms = 0;
  std::uint32_t lane = 0;
  std::uint64_t records = 0;
};

struct ClockPair {
  std::uint64_t monotonic_ns = 0;
  std::int64_t unix_ns = 0;
};

// The process ended without saying how.
inline constexpr std::int64_t kUnknownEnd = std::numeric_limits<std::int64_t>::min();

struct End {
  std::int64_t status = 0;
  std::uint64_t time_ms = 0;
};

}  // namespace vigil::journal
