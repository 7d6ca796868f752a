// A slow, obvious writer of W&B transaction logs, for tests: LevelDB log blocks around Record messages.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vigil::formats::wandb_writer {

// CRC-32 (IEEE), bit by bit.
inline std::uint32_t Crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

inline void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

inline std::string Bytes(std::uint32_t number, std::string_view content) {
  std::string out;
  PutVarint(out, (std::uint64_t{number} << 3U) | 2U);
  PutVarint(out, content.size());
  out += content;
  return out;
}

inline std::string Varint(std::uint32_t number, std::uint64_t value) {
  std::string out;
  PutVarint(out, std::uint64_t{number} << 3U);
  PutVarint(out, value);
  return out;
}

using Items = std::vector<std::pair<std::string, std::string>>;

inline std::string Row(const Items& items) {
  std::string row;
  for (const auto& [key, json] : items) row += Bytes(1, Bytes(1, key) + Bytes(16, json));
  return row;
}

inline std::string History(const Items& items) { return Bytes(2, Row(items)); }
inline std::string Config(const Items& items) { return Bytes(5, Row(items)); }
inline std::string Console(std::string_view text) { return Bytes(13, Bytes(3, text)); }
inline std::string Exit(std::uint64_t code) { return Bytes(18, Varint(1, code)); }

// Records in blocks of 32 KiB; a record that does not fit is cut into chunks.
class LogFile {
 public:
  LogFile() : bytes_("\x3A\x57\x26\x42\xE1\xBE\x00", 7) {}

  LogFile& Add(std::string_view record) {
    bool first = true;
    do {
      std::size_t left = kBlock - bytes_.size() % kBlock;
      if (left < 7) {
        bytes_.append(left, '\0');
        left = kBlock;
      }
      const std::string_view piece = record.substr(0, left - 7);
      record.remove_prefix(piece.size());
      const bool last = record.empty();
      PutChunk(first && last ? 1 : first ? 2 : last ? 4 : 3, piece);
      first = false;
    } while (!record.empty());
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kBlock = 32768;
  void PutChunk(char type, std::string_view piece) {
    const std::uint32_t crc = Crc32(std::string(1, type) + std::string(piece));
    const auto size = static_cast<std::uint16_t>(piece.size());
    std::array<char, 6> head = {};
    std::memcpy(head.data(), &crc, 4);
    std::memcpy(head.data() + 4, &size, 2);
    bytes_.append(head.data(), head.size());
    bytes_ += type;
    bytes_ += piece;
  }
  std::string bytes_;
};

}  // namespace vigil::formats::wandb_writer
