// The checksum by instruction, inline, so that framing code compiled for it pays no call per checksum.
#pragma once

#include "codec/codec.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#define VIGIL_CRC32C_INSTRUCTION 1
#define VIGIL_CRC32C_TARGET __attribute__((target("sse4.2")))
#else
#define VIGIL_CRC32C_INSTRUCTION 0
#define VIGIL_CRC32C_TARGET
#endif

namespace vigil::codec {

#if VIGIL_CRC32C_INSTRUCTION

inline bool HasCrc32cInstruction() { return __builtin_cpu_supports("sse4.2") != 0; }

VIGIL_CRC32C_TARGET inline std::uint32_t Crc32cInline(std::string_view bytes) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t crc = 0xffffffffU;
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    crc = _mm_crc32_u64(crc, word);
  }
  auto tail = static_cast<std::uint32_t>(crc);
  if ((left & 4U) != 0) {
    std::uint32_t word = 0;
    std::memcpy(&word, at, 4);
    tail = _mm_crc32_u32(tail, word);
    at += 4;
  }
  if ((left & 2U) != 0) {
    std::uint16_t word = 0;
    std::memcpy(&word, at, 2);
    tail = _mm_crc32_u16(tail, word);
    at += 2;
  }
  if ((left & 1U) != 0) tail = _mm_crc32_u8(tail, static_cast<unsigned char>(*at));
  return ~tail;
}

#endif

}  // namespace vigil::codec
