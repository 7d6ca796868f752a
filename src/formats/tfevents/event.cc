#include "formats/tfevents/event.h"

#include <cstring>

#include "codec/codec.h"

namespace vigil::formats::tfevents {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

namespace {

// Reads a sequence of bytes that is known beforehand, up to its varying parts. Reading past the end gives false.
class Pattern {
 public:
  explicit Pattern(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool Key(std::uint32_t key) {
    if (at_ == end_ || static_cast<unsigned char>(*at_) != key) return false;
    ++at_;
    return true;
  }

  template <class Number>
  bool Fixed(Number& number) {
    if (end_ - at_ < static_cast<std::ptrdiff_t>(sizeof(Number))) return false;
    std::memcpy(&number, at_, sizeof(Number));
    at_ += sizeof(Number);
    return true;
  }

  // A varint of at most eight bytes: no step is longer.
  bool Varint(std::int64_t& number) {
    std::uint64_t bits = 0;
    for (unsigned shift = 0; shift < 56 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      bits |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) {
        number = static_cast<std::int64_t>(bits);
        return true;
      }
    }
    return false;
  }

  // A length that covers exactly what is left, and a short one.
  bool LengthToEnd() {
    if (at_ == end_ || *at_ < 0 || *at_ != end_ - at_ - 1) return false;
    ++at_;
    return true;
  }
  bool ShortBytes(std::string_view& bytes) {
    if (at_ == end_ || *at_ < 0 || *at_ > end_ - at_ - 1) return false;
    bytes = {at_ + 1, static_cast<std::size_t>(*at_)};
    at_ += 1 + *at_;
    return true;
  }

  bool AtEnd() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

}  // namespace

bool ParsePlainScalar(std::string_view bytes, PlainScalar& scalar) {
  Pattern event(bytes);
  return event.Key(FieldKey(1, WireType::kFixed64)) && event.Fixed(scalar.wall_time) &&  //
         event.Key(FieldKey(2, WireType::kVarint)) && event.Varint(scalar.step) &&       //
         event.Key(FieldKey(5, WireType::kBytes)) && event.LengthToEnd() &&              // summary
         event.Key(FieldKey(1, WireType::kBytes)) && event.LengthToEnd() &&              // value
         event.Key(FieldKey(1, WireType::kBytes)) && event.ShortBytes(scalar.tag) &&     //
         event.Key(FieldKey(2, WireType::kFixed32)) && event.Fixed(scalar.value) && event.AtEnd();
}

bool ParseEvent(std::string_view bytes, Event& event) {
  ProtoFields fields(bytes);
  while (fields.Next()) {
    switch (fields.key()) {
      case FieldKey(1, WireType::kFixed64):
        event.wall_time = fields.AsDouble();
        break;
      case FieldKey(2, WireType::kVarint):
        event.step = fields.AsInt64();
        break;
      case FieldKey(5, WireType::kBytes):
        event.summary = fields.bytes();
        break;
      case FieldKey(7, WireType::kBytes):
        event.session_log = fields.bytes();
        break;
      default:
        break;
    }
  }
  return !fields.damaged();
}

bool ParseValue(std::string_view bytes, Value& value) {
  ProtoFields fields(bytes);
  while (fields.Next()) {
    switch (fields.key()) {
      case FieldKey(1, WireType::kBytes):
        value.tag = fields.bytes();
        break;
      case FieldKey(2, WireType::kFixed32):
        value.simple = fields.AsFloat();
        value.is_simple = true;
        break;
      case FieldKey(5, WireType::kBytes):
        value.histogram = fields.bytes();
        break;
      case FieldKey(8, WireType::kBytes):
        value.tensor = fields.bytes();
        value.is_tensor = true;
        break;
      case FieldKey(9, WireType::kBytes):
        value.metadata = fields.bytes();
        break;
      default:
        break;
    }
  }
  return !fields.damaged();
}

Plugin ParsePlugin(std::string_view metadata) {
  Plugin plugin;
  ProtoFields fields(metadata);
  while (fields.Next()) {
    if (fields.key() != FieldKey(1, WireType::kBytes)) continue;
    ProtoFields data(fields.bytes());
    while (data.Next()) {
      if (data.key() == FieldKey(1, WireType::kBytes)) plugin.name = data.bytes();
      if (data.key() == FieldKey(2, WireType::kBytes)) plugin.content = data.bytes();
    }
  }
  return plugin;
}

SessionLog ParseSessionLog(std::string_view bytes) {
  SessionLog log;
  ProtoFields fields(bytes);
  while (fields.Next()) {
    if (fields.key() == FieldKey(1, WireType::kVarint) && fields.number() <= 3)
      log.status = static_cast<SessionStatus>(fields.number());
    if (fields.key() == FieldKey(2, WireType::kBytes)) log.checkpoint_path = fields.bytes();
  }
  return log;
}

}  // namespace vigil::formats::tfevents
