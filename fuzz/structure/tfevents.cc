// TensorBoard event files: records of a length, its checksum, a message and its checksum.
#include "codec/codec.h"
#include "frames.h"

namespace vigil::fuzz {
namespace {

// The messages of the records; checksums are not asked, and what is no record becomes one.
std::vector<std::string> ParseRecords(std::string_view input) {
  std::vector<std::string> messages;
  while (input.size() > codec::kTfRecordHeaderBytes) {
    const std::string_view rest = input.substr(codec::kTfRecordHeaderBytes);
    const std::size_t size = std::min<std::uint64_t>(LittleAt(input, 0, 8), rest.size());
    messages.emplace_back(rest.substr(0, size));
    input = rest.substr(std::min(rest.size(), size + codec::kTfRecordFooterBytes));
  }
  return messages;
}

std::string WriteRecords(const std::vector<std::string>& messages, std::size_t most_bytes) {
  using codec::Crc32c;
  using codec::MaskCrc;
  std::string out;
  for (const std::string& message : messages) {
    const std::size_t framing = codec::kTfRecordHeaderBytes + codec::kTfRecordFooterBytes;
    if (out.size() + framing + message.size() > most_bytes) break;
    std::string length;
    PutLittle(length, message.size(), 8);
    out += length;
    PutLittle(out, MaskCrc(Crc32c(length)), 4);
    out += message;
    PutLittle(out, MaskCrc(Crc32c(message)), 4);
  }
  return out;
}

}  // namespace

std::string MutateTfevents(std::string_view input, Mutation& how) {
  std::vector<std::string> messages = ParseRecords(input);
  MutateSequence(
      messages, how, [&](std::string& message) { message = MutateMessage(message, how); },
      [](const std::string& message) { return message.size() + 16; });
  return WriteRecords(messages, how.most_bytes);
}

}  // namespace vigil::fuzz
