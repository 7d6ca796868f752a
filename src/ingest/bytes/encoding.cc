#include "ingest/bytes/encoding.h"

namespace vigil::ingest {
namespace {

constexpr std::uint32_t kReplacement = 0xFFFD;

std::uint32_t UnitAt(std::string_view bytes, std::size_t at, Encoding encoding) {
  const auto first = static_cast<unsigned char>(bytes[at]);
  const auto second = static_cast<unsigned char>(bytes[at + 1]);
  return encoding == Encoding::kUtf16Little ? first | (std::uint32_t{second} << 8U)
                                            : second | (std::uint32_t{first} << 8U);
}

bool IsHighHalf(std::uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool IsLowHalf(std::uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

}  // namespace

Encoding EncodingOf(std::string_view bytes) {
  if (bytes.size() < kMarkAndCharacter) return Encoding::kBytes;
  if (bytes.starts_with("\xFF\xFE") && bytes[3] == '\0') return Encoding::kUtf16Little;
  return bytes.starts_with("\xFE\xFF") && bytes[2] == '\0' ? Encoding::kUtf16Big : Encoding::kBytes;
}

std::size_t MarkLength(std::string_view bytes) {
  if (EncodingOf(bytes) != Encoding::kBytes) return 2;
  return bytes.starts_with("\xEF\xBB\xBF") ? 3 : 0;
}

void AppendUtf8(std::uint32_t code, std::string& out) {
  const auto tail = [&](std::uint32_t bits) { out += static_cast<char>(0x80U | (bits & 0x3FU)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6U));
    tail(code);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12U));
    tail(code >> 6U);
    tail(code);
  } else {
    out += static_cast<char>(0xF0U | (code >> 18U));
    tail(code >> 12U);
    tail(code >> 6U);
    tail(code);
  }
}

std::size_t DecodeUtf16(std::string_view bytes, Encoding encoding, bool last, std::string& text) {
  std::size_t at = 0;
  while (at + 2 <= bytes.size()) {
    const std::uint32_t unit = UnitAt(bytes, at, encoding);
    if (IsHighHalf(unit) && at + 4 > bytes.size()) break;
    const std::uint32_t next = IsHighHalf(unit) ? UnitAt(bytes, at + 2, encoding) : 0;
    if (IsLowHalf(next)) {
      AppendUtf8(0x10000 + ((unit - 0xD800) << 10U) + (next - 0xDC00), text);
      at += 4;
    } else {
      AppendUtf8(IsHighHalf(unit) || IsLowHalf(unit) ? kReplacement : unit, text);
      at += 2;
    }
  }
  if (!last || at == bytes.size()) return at;
  AppendUtf8(kReplacement, text);
  return bytes.size();
}

}  // namespace vigil::ingest
