// Writes event files the slow and obvious way, from the description of the format alone: shares no code with the
// reader.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::tfevents_writer {

inline std::string LittleEndian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>((value >> (8 * i)) & 0xffU);
  return out;
}

inline std::string MaskedCrc(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ 0x82f63b78U : crc >> 1U;
  }
  crc = ~crc;
  return LittleEndian(static_cast<std::uint32_t>(((crc >> 15U) | (crc << 17U)) + 0xa282ead8U), 4);
}

inline std::string Record(std::string_view payload) {
  const std::string length = LittleEndian(payload.size(), 8);
  return length + MaskedCrc(length) + std::string(payload) + MaskedCrc(payload);
}

// ---- protobuf

inline std::string Varint(std::uint64_t value) {
  std::string out;
  while (value >= 128) {
    out += static_cast<char>(value % 128 + 128);
    value /= 128;
  }
  return out + static_cast<char>(value);
}
inline std::string Key(unsigned number, unsigned type) { return Varint(number * 8 + type); }
inline std::string VarintField(unsigned number, std::uint64_t value) { return Key(number, 0) + Varint(value); }
inline std::string BytesField(unsigned number, std::string_view bytes) {
  return Key(number, 2) + Varint(bytes.size()) + std::string(bytes);
}
inline std::string DoubleField(unsigned number, double value) {
  return Key(number, 1) + LittleEndian(std::bit_cast<std::uint64_t>(value), 8);
}
inline std::string FloatField(unsigned number, float value) {
  return Key(number, 5) + LittleEndian(std::bit_cast<std::uint32_t>(value), 4);
}
inline std::string RawFloat(float value) { return LittleEndian(std::bit_cast<std::uint32_t>(value), 4); }
inline std::string RawDouble(double value) { return LittleEndian(std::bit_cast<std::uint64_t>(value), 8); }

// ---- tensorflow's messages

inline std::string Event(double wall_time, std::int64_t step, std::string_view what) {
  return Record(DoubleField(1, wall_time) + (step == 0 ? "" : VarintField(2, static_cast<std::uint64_t>(step))) +
                std::string(what));
}
inline std::string FileVersion() { return Event(1000, 0, BytesField(3, "brain.Event:2")); }
inline std::string SummaryOf(const std::vector<std::string>& values) {
  std::string summary;
  for (const std::string& value : values) summary += BytesField(1, value);
  return BytesField(5, summary);
}
inline std::string SimpleValue(std::string_view tag, float value) { return BytesField(1, tag) + FloatField(2, value); }
inline std::string Metadata(std::string_view plugin, std::string_view content = "") {
  return BytesField(9, BytesField(1, BytesField(1, plugin) + (content.empty() ? "" : BytesField(2, content))));
}
inline std::string TensorValue(std::string_view tag, std::string_view tensor, std::string_view metadata = "") {
  return BytesField(1, tag) + std::string(metadata) + BytesField(8, tensor);
}
inline std::string Scalar(std::string_view tag, std::int64_t step, float value, double wall_time = 1000) {
  return Event(wall_time, step, SummaryOf({SimpleValue(tag, value)}));
}

}  // namespace vigil::tfevents_writer
