// Python pickles: a sequence of opcodes, each with an argument of a known form; bare, several in a row (torch before
// 1.6), or as a member of torch's archive, whose directory is written again around it.
#include <libdeflate.h>

#include <array>

#include "codec/torch_archive.h"
#include "frames.h"

namespace vigil::fuzz {
namespace {

// The forms of arguments, as python's pickletools names them.
enum class Form : std::uint8_t { kNone, kBytes1, kBytes2, kBytes4, kBytes8, kLine, kTwoLines, kText1, kText4, kText8 };

struct OpcodeRow {
  Form form;
  std::string_view opcodes;
};

// What is not listed takes no argument.
constexpr std::array<OpcodeRow, 9> kOpcodes = {{
    {Form::kBytes1, std::string_view("Khq\x80\x82", 5)},
    {Form::kBytes2, "M\x83"},
    {Form::kBytes4, "Jjr\x84"},
    {Form::kBytes8, "G\x95"},
    {Form::kLine, "FILSVPgp"},
    {Form::kTwoLines, "ci"},
    {Form::kText1, "UC\x8c\x8a"},
    {Form::kText4, "TBX\x8b"},
    {Form::kText8, "\x8d\x8e\x96"},
}};
constexpr std::string_view kWithoutArgument(
    "(.012NQRabd}elo])stu\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98", 34);

Form FormOf(char opcode) {
  for (const OpcodeRow& row : kOpcodes) {
    if (row.opcodes.find(opcode) != std::string_view::npos) return row.form;
  }
  return Form::kNone;
}

struct Opcode {
  char code = 'N';
  std::string argument = {};  // without the length before it; lines without the end of the last
};

std::size_t FixedBytes(Form form) {
  switch (form) {
    case Form::kBytes1:
      return 1;
    case Form::kBytes2:
      return 2;
    case Form::kBytes4:
      return 4;
    case Form::kBytes8:
      return 8;
    default:
      return 0;
  }
}

std::size_t LengthBytes(Form form) {
  switch (form) {
    case Form::kText1:
      return 1;
    case Form::kText4:
      return 4;
    case Form::kText8:
      return 8;
    default:
      return 0;
  }
}

std::string_view TakeUpTo(std::string_view& bytes, std::uint64_t count) {
  const std::string_view taken =
      bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(count, bytes.size())));
  bytes.remove_prefix(taken.size());
  return taken;
}

std::string TakeLines(std::string_view& bytes, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < count; ++line)
    end = std::min(bytes.size(), bytes.find('\n', line == 0 ? 0 : end + 1));
  const std::string lines(TakeUpTo(bytes, end));
  if (!bytes.empty()) bytes.remove_prefix(1);
  return lines;
}

std::string TakeArgument(std::string_view& bytes, Form form) {
  if (form == Form::kLine) return TakeLines(bytes, 1);
  if (form == Form::kTwoLines) return TakeLines(bytes, 2);
  const std::string_view length = TakeUpTo(bytes, LengthBytes(form));
  const std::uint64_t size = length.empty() ? FixedBytes(form) : LittleAt(length, 0, length.size());
  return std::string(TakeUpTo(bytes, size));
}

std::vector<Opcode> ParseOpcodes(std::string_view bytes) {
  std::vector<Opcode> opcodes;
  while (!bytes.empty()) {
    const char code = bytes.front();
    bytes.remove_prefix(1);
    opcodes.push_back({code, TakeArgument(bytes, FormOf(code))});
  }
  return opcodes;
}

std::string WriteOpcode(const Opcode& opcode) {
  const Form form = FormOf(opcode.code);
  std::string argument = opcode.argument;
  if (FixedBytes(form) != 0) argument.resize(FixedBytes(form), '\0');
  if (form == Form::kNone) argument.clear();
  if (form == Form::kText1) argument.resize(std::min<std::size_t>(argument.size(), 255));
  std::string out(1, opcode.code);
  PutLittle(out, argument.size(), LengthBytes(form));
  out += argument;
  if (form == Form::kLine || form == Form::kTwoLines) out += '\n';
  return out;
}

// ---- changes

// A place of the memo that is likely to be filled.
std::string MemoPlace(Form form, Chance& chance) {
  const std::size_t place = chance.Below(chance.OneIn(4) ? 300 : 8);
  if (form == Form::kLine) return std::to_string(place);
  std::string out;
  PutLittle(out, place, 4);
  return out;
}

bool UsesMemo(char code) { return std::string_view("ghjpqr").find(code) != std::string_view::npos; }

void EditArgument(Opcode& opcode, Mutation& how) {
  const Form form = FormOf(opcode.code);
  if (UsesMemo(opcode.code) && !how.chance.OneIn(4)) {
    opcode.argument = MemoPlace(form, how.chance);
  } else if (FixedBytes(form) != 0 && how.chance.OneIn(2)) {
    opcode.argument.clear();
    PutLittle(opcode.argument, how.chance.OddNumber(), 8);
  } else if (form == Form::kLine && how.chance.OneIn(4)) {
    opcode.argument = std::to_string(static_cast<std::int64_t>(how.chance.OddNumber()));
  } else {
    MutateContent(opcode.argument, how);
  }
}

Opcode AnyOpcode(const std::vector<Opcode>& known, Mutation& how) {
  Opcode opcode;
  if (how.chance.OneIn(2)) {
    opcode.code = kWithoutArgument[how.chance.Below(kWithoutArgument.size())];
    return opcode;
  }
  const OpcodeRow& row = kOpcodes[how.chance.Below(kOpcodes.size())];
  opcode.code = row.opcodes[how.chance.Below(row.opcodes.size())];
  // Words of the pickle itself mean more than any others: names of classes, keys of settings.
  if (!known.empty()) opcode.argument = known[how.chance.Below(known.size())].argument;
  if (UsesMemo(opcode.code)) opcode.argument = MemoPlace(row.form, how.chance);
  if (row.form == Form::kTwoLines && opcode.argument.find('\n') == std::string::npos) opcode.argument += "\nname";
  return opcode;
}

std::string MutateOpcodes(std::string_view pickle, Mutation& how) {
  std::vector<Opcode> opcodes = ParseOpcodes(pickle);
  // Several small changes at once: one opcode more or less mostly ends a pickle early.
  for (std::size_t left = 1 + how.chance.Below(3); left > 0; --left) {
    if (how.chance.OneIn(3)) {
      const std::size_t at = how.chance.Below(opcodes.size() + 1);
      opcodes.insert(opcodes.begin() + static_cast<std::ptrdiff_t>(at), AnyOpcode(opcodes, how));
    } else {
      MutateSequence(
          opcodes, how, [&](Opcode& opcode) { EditArgument(opcode, how); },
          [](const Opcode& opcode) { return opcode.argument.size() + 2; });
    }
  }
  std::string out;
  for (const Opcode& opcode : opcodes) {
    const std::string bytes = WriteOpcode(opcode);
    if (out.size() + bytes.size() > how.most_bytes) break;
    out += bytes;
  }
  return out;
}

// ---- torch's archive: members stored as they are

// What the header of a member and its entry in the directory have in common, from "version needed" to the name.
std::string MemberFields(std::string_view name, std::string_view content) {
  std::string out;
  PutLittle(out, 20, 2);
  PutLittle(out, 0, 8);  // no flags, stored, no time
  PutLittle(out, libdeflate_crc32(0, content.data(), content.size()), 4);
  PutLittle(out, content.size(), 4);
  PutLittle(out, content.size(), 4);
  PutLittle(out, name.size(), 2);
  PutLittle(out, 0, 2);
  return out;
}

std::string WriteArchive(std::string_view name, std::string_view content) {
  const std::string fields = MemberFields(name, content);
  std::string out = "PK\x03\x04" + fields;
  out += name;
  out += content;
  const std::size_t directory = out.size();
  out += "PK\x01\x02";
  PutLittle(out, 20, 2);
  out += fields;
  PutLittle(out, 0, 14);  // no comment, first disk, no attributes, and the member stands at 0
  out += name;
  const std::size_t directory_bytes = out.size() - directory;
  out += "PK\x05\x06";
  PutLittle(out, 0, 4);
  PutLittle(out, 0x00010001, 4);  // one entry, here and in all
  PutLittle(out, directory_bytes, 4);
  PutLittle(out, directory, 4);
  PutLittle(out, 0, 2);
  return out;
}

}  // namespace

std::string MutatePickle(std::string_view input, Mutation& how) {
  constexpr std::string_view kName = "archive/data.pkl";
  const std::size_t framing = WriteArchive(kName, {}).size();
  const auto member = codec::pickle::FindMember(input, "data.pkl");
  const bool is_archive = codec::pickle::IsArchive(input) && member && how.most_bytes > framing;
  if (!is_archive) return MutateOpcodes(input, how);
  how.most_bytes -= framing;
  return WriteArchive(kName, MutateOpcodes(*member, how));
}

}  // namespace vigil::fuzz
