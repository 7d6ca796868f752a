#include "formats/tfevents/settings.h"

#include "codec/codec.h"
#include "hyperparams/hyperparams.h"

namespace vigil::formats::tfevents {
namespace {

using codec::FieldKey;
using codec::ProtoFields;
using codec::WireType;

// A config has a few hundred settings; what has more than this is not one.
constexpr std::size_t kMaxSettings = 4096;
constexpr std::size_t kMaxValueBytes = 1024;

// The content of the field of that key in a message (the last one counts), empty when absent.
std::string_view SubMessage(std::string_view message, std::uint32_t number) {
  std::string_view found;
  ProtoFields fields(message);
  while (fields.Next()) {
    if (fields.key() == FieldKey(number, WireType::kBytes)) found = fields.bytes();
  }
  return found;
}

// A google.protobuf.Value as text; empty for null, lists and structures.
std::string ValueText(std::string_view value) {
  std::string text;
  ProtoFields fields(value);
  while (fields.Next()) {
    switch (fields.key()) {
      case FieldKey(2, WireType::kFixed64):
        text = FormatExact(fields.AsDouble());
        break;
      case FieldKey(3, WireType::kBytes):
        text = std::string(fields.bytes().substr(0, kMaxValueBytes));
        break;
      case FieldKey(4, WireType::kVarint):
        text = fields.number() != 0 ? "true" : "false";
        break;
      default:
        break;
    }
  }
  return text;
}

// "|key|value|", as loggers without a config of their own write it. The heading and the line of dashes have no place
// among settings.
void AddTableRow(std::string_view line, ingest::PartBuilder& builder) {
  line = Trim(line);
  if (line.size() < 4 || line.front() != '|' || line.back() != '|') return;
  line = line.substr(1, line.size() - 2);
  const std::size_t bar = line.find('|');
  if (bar == std::string_view::npos) return;
  const std::string_view key = Trim(line.substr(0, bar));
  const std::string_view value = Trim(line.substr(bar + 1));
  const bool heading = key.empty() || key.find_first_not_of("-:") == std::string_view::npos || key == "param";
  if (!heading && value.size() <= kMaxValueBytes) builder.AddFact(key, value);
}

// A part of its own takes what is wrong with the text: it is no damage of the event file.
void AddJson(std::string_view text, ingest::PartBuilder& builder) {
  ingest::PartBuilder config("", "");
  hyperparams::StateJsonConfig(text, config);
  for (model::Fact& fact : config.part().facts) {
    fact.place = {};
    builder.part().facts.push_back(std::move(fact));
  }
}

}  // namespace

void AddHparams(std::string_view plugin_content, ingest::PartBuilder& builder) {
  std::size_t count = 0;
  ProtoFields info(SubMessage(plugin_content, 3));
  while (info.Next() && count < kMaxSettings) {
    if (info.key() != FieldKey(1, WireType::kBytes)) continue;
    const std::string_view key = SubMessage(info.bytes(), 1);
    const std::string value = ValueText(SubMessage(info.bytes(), 2));
    if (key.empty() || value.empty()) continue;
    builder.AddFact(key, value);
    ++count;
  }
}

bool AddTextSettings(std::string_view text, ingest::PartBuilder& builder) {
  text = Trim(text);
  const std::size_t before = builder.part().facts.size();
  if (text.starts_with('{')) AddJson(text, builder);
  std::size_t count = 0;
  while (text.starts_with('|') && count++ < kMaxSettings) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    AddTableRow(text.substr(0, end), builder);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return builder.part().facts.size() != before;
}

}  // namespace vigil::formats::tfevents
