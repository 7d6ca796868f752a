#include <gtest/gtest.h>

#include <string>

#include "codec/codec.h"

namespace vigil::codec {
namespace {

std::string LittleEndian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
  return out;
}

std::string Framed(std::string_view payload) {
  const std::string length = LittleEndian(payload.size(), 8);
  return length + LittleEndian(MaskCrc(Crc32cByTable(length)), 4) + std::string(payload) +
         LittleEndian(MaskCrc(Crc32cByTable(payload)), 4);
}

TEST(TfRecord, GivesThePayloadAndTheWayToTheNext) {
  const std::string bytes = Framed("hello") + Framed("");
  const TfRecord first = ReadTfRecord(bytes);
  EXPECT_EQ(first.state, RecordState::kWhole);
  EXPECT_EQ(first.payload, "hello");
  const TfRecord second = ReadTfRecord(std::string_view(bytes).substr(first.size_bytes));
  EXPECT_EQ(second.state, RecordState::kWhole);
  EXPECT_EQ(second.payload, "");
  EXPECT_EQ(first.size_bytes + second.size_bytes, bytes.size());
}

TEST(TfRecord, IsCutAtEveryByteBeforeItsEnd) {
  const std::string bytes = Framed("hello");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_EQ(ReadTfRecord(std::string_view(bytes).substr(0, length)).state, RecordState::kCut) << length;
  }
}

TEST(TfRecord, DistinguishesADamagedLengthFromDamagedData) {
  const std::string sound = Framed("hello");
  for (std::size_t at = 0; at < sound.size(); ++at) {
    std::string bytes = sound;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
    const TfRecord record = ReadTfRecord(bytes);
    EXPECT_EQ(record.state, at < 12 ? RecordState::kBadLength : RecordState::kBadData) << at;
    EXPECT_EQ(record.size_bytes, at < 12 ? 0 : sound.size()) << at;
  }
}

TEST(TfRecord, WithALengthNearTheEndOfNumbersIsCutAndNotRead) {
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 16, std::uint64_t{1} << 63U}) {
    const std::string header = LittleEndian(length, 8);
    const std::string bytes = header + LittleEndian(MaskCrc(Crc32cByTable(header)), 4) + std::string(64, 'x');
    EXPECT_EQ(ReadTfRecord(bytes).state, RecordState::kCut) << length;
    EXPECT_GE(ReadTfRecord(bytes).size_bytes, length);
  }
}

TEST(TfRecord, IsNotMadeOfZeros) { EXPECT_EQ(ReadTfRecord(std::string(1024, '\0')).state, RecordState::kBadLength); }

}  // namespace
}  // namespace vigil::codec
