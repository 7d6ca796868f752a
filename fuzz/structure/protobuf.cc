#include "codec/codec.h"
#include "frames.h"

namespace vigil::fuzz {
namespace {

struct Field {
  std::uint32_t key = 8;  // field 1, a varint
  std::uint64_t number = 0;
  std::string bytes = {};
};

unsigned WireTypeOf(const Field& field) { return field.key & 7U; }

// What a message holds up to where it is damaged.
std::vector<Field> ParseFields(std::string_view message, bool& whole) {
  std::vector<Field> fields;
  codec::ProtoFields walk(message);
  while (walk.Next()) {
    Field field{walk.key(), walk.number(), {}};
    if (WireTypeOf(field) == 2) field.bytes = walk.bytes();
    fields.push_back(std::move(field));
  }
  whole = !walk.damaged();
  return fields;
}

std::string WriteFields(const std::vector<Field>& fields) {
  std::string out;
  for (const Field& field : fields) {
    PutVarint(out, field.key);
    switch (WireTypeOf(field)) {
      case 0:
        PutVarint(out, field.number);
        break;
      case 1:
        PutLittle(out, field.number, 8);
        break;
      case 5:
        PutLittle(out, field.number, 4);
        break;
      default:
        PutVarint(out, field.bytes.size());
        out += field.bytes;
    }
  }
  return out;
}

// Another field number, or another type for the same one: what a reader of one version meets in a file of another.
void MutateKey(Field& field, Mutation& how) {
  constexpr std::uint32_t kTypes[] = {0, 1, 2, 5};
  const auto number = static_cast<std::uint32_t>(how.chance.OneIn(2) ? field.key >> 3U : 1 + how.chance.Below(30));
  field.key = (number << 3U) | (how.chance.OneIn(2) ? WireTypeOf(field) : kTypes[how.chance.Below(4)]);
}

void EditField(Field& field, Mutation& how) {
  if (how.chance.OneIn(8)) return MutateKey(field, how);
  if (WireTypeOf(field) == 2) return MutateContent(field.bytes, how);
  if (how.chance.OneIn(2)) {
    field.number = how.chance.OddNumber();
  } else {
    field.number ^= std::uint64_t{1} << how.chance.Below(64);
  }
}

}  // namespace

std::string MutateMessage(std::string_view message, Mutation& how) {
  // From the message inwards: at each level the fields, and which of them is entered.
  struct Level {
    std::vector<Field> fields;
    std::size_t inside;
  };
  constexpr std::size_t kDeepest = 6;
  bool whole = true;
  std::vector<Level> levels = {{ParseFields(message, whole), 0}};
  while (levels.size() < kDeepest && !levels.back().fields.empty() && !how.chance.OneIn(4)) {
    Level& level = levels.back();
    level.inside = how.chance.Below(level.fields.size());
    const Field& field = level.fields[level.inside];
    // Texts happen to parse as messages, too; changing them so is one more way to change a text.
    std::vector<Field> inner = WireTypeOf(field) == 2 ? ParseFields(field.bytes, whole) : std::vector<Field>();
    if (inner.empty() || !whole) break;
    levels.push_back({std::move(inner), 0});
  }
  MutateSequence(
      levels.back().fields, how, [&](Field& field) { EditField(field, how); },
      [](const Field& field) { return 12 + field.bytes.size(); });
  std::string bytes = WriteFields(levels.back().fields);
  for (levels.pop_back(); !levels.empty(); levels.pop_back()) {
    levels.back().fields[levels.back().inside].bytes = std::move(bytes);
    bytes = WriteFields(levels.back().fields);
  }
  return bytes;
}

}  // namespace vigil::fuzz
