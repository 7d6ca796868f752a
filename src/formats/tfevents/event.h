// The parts of tensorflow's Event, Summary.Value and SummaryMetadata messages that tell something about a run. Fields
// that are absent keep their defaults; everything borrows from the bytes given.
#pragma once

#include <cstdint>
#include <string_view>

namespace vigil::formats::tfevents {

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string_view summary;
  std::string_view session_log;
};

struct Value {
  std::string_view tag;
  std::string_view tensor;
  std::string_view metadata;
  std::string_view histogram = {};
  float simple = 0;
  bool is_simple = false;
  bool is_tensor = false;
};

struct Plugin {
  std::string_view name;
  std::string_view content;
};

enum class SessionStatus : std::uint8_t { kOther = 0, kStart = 1, kCheckpoint = 3 };
struct SessionLog {
  SessionStatus status = SessionStatus::kOther;
  std::string_view checkpoint_path;
};

// The event that nearly every record of a log is: one value, given as simple_value, fields in their usual order.
struct PlainScalar {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string_view tag;
  float value = 0;
};

// Takes such an event apart in one go; false when it is anything else, sound or not. Says the same as ParseEvent and
// ParseValue would, several times faster.
bool ParsePlainScalar(std::string_view bytes, PlainScalar& scalar);

// False when the message is damaged.
bool ParseEvent(std::string_view bytes, Event& event);
bool ParseValue(std::string_view bytes, Value& value);

Plugin ParsePlugin(std::string_view metadata);
SessionLog ParseSessionLog(std::string_view bytes);

}  // namespace vigil::formats::tfevents
