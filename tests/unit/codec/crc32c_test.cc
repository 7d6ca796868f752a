#include <gtest/gtest.h>

#include <random>
#include <string>

#include "codec/codec.h"

namespace vigil::codec {
namespace {

// One bit after the other, from the definition.
std::uint32_t Crc32cByBits(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ 0x82f63b78U : crc >> 1U;
  }
  return ~crc;
}

std::string Ramp(int from, int step) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += static_cast<char>(from + step * i);
  return bytes;
}

// RFC 3720, B.4.
TEST(Crc32c, MatchesTheVectorsOfIscsi) {
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(Crc32c(Ramp(0, 1)), 0x46dd794eU);
  EXPECT_EQ(Crc32c(Ramp(31, -1)), 0x113fdb5cU);
}

TEST(Crc32c, MatchesTheMaskedVectorOfEventFiles) {
  EXPECT_EQ(MaskCrc(Crc32c("\x1a\x11"
                           "CRC test, one two")),
            0x5794d08aU);
}

TEST(Crc32c, IsTheSameByInstructionByTableAndByBitsAtEveryLengthAndAlignment) {
  std::mt19937 random(7);
  std::string bytes(300, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::size_t from = 0; from < 9; ++from) {
    for (std::size_t length = 0; from + length <= bytes.size(); ++length) {
      const std::string_view part = std::string_view(bytes).substr(from, length);
      const std::uint32_t expected = Crc32cByBits(part);
      ASSERT_EQ(Crc32c(part), expected) << from << " " << length;
      ASSERT_EQ(Crc32cByTable(part), expected) << from << " " << length;
    }
  }
}

}  // namespace
}  // namespace vigil::codec
