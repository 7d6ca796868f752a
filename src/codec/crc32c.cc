#include "codec/crc32c.h"

#include <array>

namespace vigil::codec {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41, bits reversed

// tables[k][b]: the checksum of byte b followed by k zero bytes, so that eight bytes are looked up at once.
constexpr std::array<std::array<std::uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables = {};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ kPolynomial : crc >> 1U;
    tables[0][byte] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = tables[0][before & 0xffU] ^ (before >> 8U);
    }
  }
  return tables;
}

constexpr auto kTables = MakeTables();

std::uint32_t EightBytes(std::uint32_t crc, std::uint64_t word) {
  word ^= crc;
  std::uint32_t mixed = 0;
  for (std::size_t i = 0; i < 8; ++i) mixed ^= kTables[7 - i][(word >> (8 * i)) & 0xffU];
  return mixed;
}

}  // namespace

std::uint32_t Crc32cByTable(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    crc = EightBytes(crc, word);
    bytes.remove_prefix(8);
  }
  for (const char byte : bytes) crc = kTables[0][(crc ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (crc >> 8U);
  return ~crc;
}

#if VIGIL_CRC32C_INSTRUCTION
VIGIL_CRC32C_TARGET std::uint32_t Crc32cByInstruction(std::string_view bytes) { return Crc32cInline(bytes); }

std::uint32_t Crc32c(std::string_view bytes) {
  return HasCrc32cInstruction() ? Crc32cByInstruction(bytes) : Crc32cByTable(bytes);
}
#else
std::uint32_t Crc32c(std::string_view bytes) { return Crc32cByTable(bytes); }
#endif

}  // namespace vigil::codec
