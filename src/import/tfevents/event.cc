#include "import/tfevents/event.h"

#include "codec/codec.h"

namespace vigil::import::tfevents {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

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

}  // namespace vigil::import::tfevents
