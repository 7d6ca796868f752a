// The smallest pieces of the format: numbers, texts, the header of a block, limits. Private to journal.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace vigil::journal {

inline constexpr std::string_view kSync("\xf6vj\n", 4);
inline constexpr std::size_t kFileHeaderBytes = 16;
inline constexpr std::size_t kBlockHeaderBytes = 24;
inline constexpr std::uint8_t kDataBlock = 1;
inline constexpr std::uint8_t kStoredAsIs = 0;
inline constexpr std::uint8_t kStoredZstd = 1;
inline constexpr std::uint32_t kMostStoredBytes = 1U << 20U;
inline constexpr std::uint32_t kMostRawBytes = 4U << 20U;
// What a stored byte may unfold to, so that a small file cannot become a large one. Things are entries, labels, columns
// and keys. A writer keeps to it in every block; a reader over the file, with something to spare: older writers knew
// the limit of samples alone.
inline constexpr std::uint64_t kMostSamplesPerByte = 4;
inline constexpr std::uint64_t kMostThingsPerByte = 1;
inline constexpr std::uint64_t kMostRawPerByte = 100;
inline constexpr std::uint64_t kSpareThings = 1U << 16U;
inline constexpr std::uint64_t kSpareRawBytes = std::uint64_t{64} << 20U;
inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 10U;    // of one field of an entry
inline constexpr std::size_t kMostEntryBytes = std::size_t{256} << 10U;  // three fields and some numbers

// ---- writing

template <class Number>
void PutRaw(std::string& out, Number value) {
  char raw[sizeof(Number)];
  std::memcpy(raw, &value, sizeof(value));
  out.append(raw, sizeof(raw));
}

inline void PutVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  out += static_cast<char>(value);
}

inline std::uint64_t ToZigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1U) ^ static_cast<std::uint64_t>(value >> 63U);
}
inline std::int64_t FromZigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1U) ^ (~(value & 1U) + 1));
}

inline void PutZigzag(std::string& out, std::int64_t value) { PutVarint(out, ToZigzag(value)); }

inline void PutText(std::string& out, std::string_view text) {
  PutVarint(out, text.size());
  out += text;
}

// ---- reading: never beyond the end; once something does not fit, ok() stays false and all that follows is zero

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  bool empty() const { return bytes_.empty(); }
  std::size_t left() const { return bytes_.size(); }

  std::string_view Bytes(std::uint64_t count) {
    if (count > bytes_.size()) return Fail();
    const std::string_view taken = bytes_.substr(0, static_cast<std::size_t>(count));
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  template <class Number>
  Number Raw() {
    Number value = {};
    const std::string_view taken = Bytes(sizeof(value));
    if (taken.size() == sizeof(value)) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }
  std::int64_t Zigzag() { return FromZigzag(Varint()); }
  std::string_view Text() { return Bytes(Varint()); }

 private:
  std::string_view Fail() {
    ok_ = false;
    bytes_ = {};
    return {};
  }
  std::string_view bytes_;
  bool ok_ = true;
};

// ---- blocks

struct BlockHeader {
  std::uint8_t kind = kDataBlock;
  std::uint8_t storage = kStoredAsIs;
  std::uint32_t stored_bytes = 0;
  std::uint32_t payload_crc = 0;
  std::uint32_t number = 0;
};

// Of the first bytes of a file's header; never 0.
std::uint32_t HeaderChecksum(std::string_view file_header);

std::string EncodeHeader(const BlockHeader& header);
// The header at the front of `bytes` (at least kBlockHeaderBytes), nullopt when there is none or it is damaged.
std::optional<BlockHeader> ParseHeader(std::string_view bytes);

}  // namespace vigil::journal
