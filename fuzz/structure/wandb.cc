// W&B transaction logs: 7 bytes, then a log as LevelDB writes it. Records are cut into chunks where blocks of 32 KiB
// end, each with a checksum over its type and its bytes.
#include <libdeflate.h>

#include "codec/codec.h"
#include "frames.h"

namespace vigil::fuzz {
namespace {

constexpr std::string_view kFileHeader("\x3A\x57\x26\x42\xE1\xBE\x00", 7);
constexpr std::size_t kBlockBytes = std::size_t{32} << 10U;
constexpr std::size_t kChunkHeaderBytes = 7;
enum ChunkType : std::uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

std::vector<std::string> ParseRecords(std::string_view input) {
  std::vector<std::string> records;
  if (input.size() < kFileHeader.size()) return records;
  const std::string_view body = input.substr(kFileHeader.size());
  codec::LogBlocks blocks(kFileHeader.size());
  for (;;) {
    const codec::LogRecord record = blocks.Next(body);
    if (record.state == codec::LogState::kRecord) records.emplace_back(record.payload);
    if (record.state == codec::LogState::kEnd || record.state == codec::LogState::kCut) return records;
  }
}

void PutChunk(std::string& out, std::uint8_t type, std::string_view payload) {
  std::string covered(1, static_cast<char>(type));
  covered += payload;
  PutLittle(out, libdeflate_crc32(0, covered.data(), covered.size()), 4);
  PutLittle(out, payload.size(), 2);
  out += covered;
}

// `early`: a chunk ends before its block does, which no writer does and every reader takes.
void PutRecord(std::string& out, std::string_view record, bool early, Chance& chance) {
  bool first = true;
  for (bool done = false; !done; first = false) {
    const std::size_t left = kBlockBytes - out.size() % kBlockBytes;
    if (left < kChunkHeaderBytes) out.append(left, '\0');
    std::size_t room = kBlockBytes - out.size() % kBlockBytes - kChunkHeaderBytes;
    if (early && chance.OneIn(2)) room = chance.Below(std::min(room, record.size()) + 1);
    const std::string_view payload = record.substr(0, room);
    record.remove_prefix(payload.size());
    done = record.empty();
    PutChunk(out, first ? (done ? kFull : kFirst) : (done ? kLast : kMiddle), payload);
  }
}

std::string WriteRecords(const std::vector<std::string>& records, Mutation& how) {
  std::string out(kFileHeader);
  const bool early = how.chance.OneIn(16);
  for (const std::string& record : records) {
    const std::size_t before = out.size();
    PutRecord(out, record, early, how.chance);
    if (out.size() <= how.most_bytes) continue;
    out.resize(before);
    break;
  }
  out.resize(std::min(out.size(), how.most_bytes));
  return out;
}

}  // namespace

std::string MutateWandb(std::string_view input, Mutation& how) {
  std::vector<std::string> records = ParseRecords(input);
  if (records.empty()) records.emplace_back(input);
  MutateSequence(
      records, how, [&](std::string& record) { record = MutateMessage(record, how); },
      [](const std::string& record) { return record.size() + kChunkHeaderBytes; });
  return WriteRecords(records, how);
}

}  // namespace vigil::fuzz
