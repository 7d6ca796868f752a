#include "base/base.h"
#include "codec/crc32c.h"

namespace vigil::codec {
namespace {

// The integer at `offset`; it must be there.
template <class Integer>
Integer Load(std::string_view bytes, std::size_t offset) {
  Integer value = 0;
  std::memcpy(&value, &bytes[offset], sizeof(value));
  return value;
}

// One body for both ways to the checksum; always inlined, so that each copy is compiled for its instructions.
template <class Checksum>
[[gnu::always_inline]] inline TfRecord ReadWith(std::string_view bytes, Checksum checksum) {
  if (bytes.size() < kTfRecordHeaderBytes) return {};
  const auto length = Load<std::uint64_t>(bytes, 0);
  if (MaskCrc(checksum(bytes.substr(0, 8))) != Load<std::uint32_t>(bytes, 8)) return {RecordState::kBadLength, {}, 0};
  constexpr std::size_t kFrame = kTfRecordHeaderBytes + kTfRecordFooterBytes;
  if (bytes.size() < kFrame || length > bytes.size() - kFrame)
    return {RecordState::kCut, {}, CheckedAdd(length, kFrame).value_or(length)};
  const std::string_view payload = bytes.substr(kTfRecordHeaderBytes, static_cast<std::size_t>(length));
  const bool intact = MaskCrc(checksum(payload)) == Load<std::uint32_t>(bytes, kTfRecordHeaderBytes + payload.size());
  return {intact ? RecordState::kWhole : RecordState::kBadData, payload, payload.size() + kFrame};
}

TfRecord ReadByTable(std::string_view bytes) {
  return ReadWith(bytes, [](std::string_view part) { return Crc32cByTable(part); });
}

#if VIGIL_CRC32C_INSTRUCTION
VIGIL_CRC32C_TARGET TfRecord ReadByInstruction(std::string_view bytes) {
  return ReadWith(bytes, [](std::string_view part) VIGIL_CRC32C_TARGET { return Crc32cInline(part); });
}
#endif

}  // namespace

TfRecord ReadTfRecord(std::string_view bytes) {
#if VIGIL_CRC32C_INSTRUCTION
  return HasCrc32cInstruction() ? ReadByInstruction(bytes) : ReadByTable(bytes);
#else
  return ReadByTable(bytes);
#endif
}

}  // namespace vigil::codec
