#include "codec/pickle_text.h"

#include <optional>

#include "base/base.h"
#include "codec/utf8.h"

namespace vigil::codec::pickle {
namespace {

constexpr std::uint32_t kCodePoints = 0x110000;
constexpr std::uint32_t kReplacement = 0xFFFD;

// The number that `count` hexadecimal digits at `at` spell.
std::optional<std::uint32_t> HexAt(std::string_view text, std::size_t at, std::size_t count) {
  if (text.size() < at + count) return std::nullopt;
  const auto number = ParseHex(text.substr(at, count));
  return number ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
}

// Resolves the escape whose backslash is at `at`; returns the bytes it took, 0 when it is none.
std::size_t AppendUnicodeEscape(std::string_view line, std::size_t at, std::string& out) {
  const char kind = line[at + 1];
  const std::size_t digits = kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
  const auto code = digits == 0 ? std::nullopt : HexAt(line, at + 2, digits);
  if (!code || *code >= kCodePoints) return 0;
  const bool is_half = *code >= 0xD800 && *code < 0xE000;
  AppendUtf8(is_half ? kReplacement : *code, out);
  return 2 + digits;
}

std::size_t AppendOctal(std::string_view text, std::size_t at, std::string& out) {
  unsigned value = 0;
  std::size_t used = 0;
  for (; used < 3 && at + used < text.size() && text[at + used] >= '0' && text[at + used] <= '7'; ++used)
    value = value * 8 + static_cast<unsigned>(text[at + used] - '0');
  if (used != 0) out += static_cast<char>(static_cast<unsigned char>(value));
  return used;
}

// Resolves the escape whose backslash is at `at`; returns the bytes it took, 0 when it is none.
std::size_t AppendQuotedEscape(std::string_view text, std::size_t at, std::string& out) {
  constexpr std::string_view kEscapes = "\\'\"abfnrtv";
  constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
  const char kind = text[at + 1];
  if (const std::size_t which = kEscapes.find(kind); which != std::string_view::npos) {
    out += kMeanings[which];
    return 2;
  }
  if (const auto byte = kind == 'x' ? HexAt(text, at + 2, 2) : std::nullopt) {
    out += static_cast<char>(static_cast<unsigned char>(*byte));
    return 4;
  }
  const std::size_t digits = AppendOctal(text, at + 1, out);
  return digits == 0 ? 0 : 1 + digits;
}

}  // namespace

std::string FromRawUnicodeEscape(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    const bool escape = line[at] == '\\' && at + 1 < line.size();
    if (const std::size_t used = escape ? AppendUnicodeEscape(line, at, out) : 0; used != 0) {
      at += used;
      continue;
    }
    // A backslash takes what follows with it: of two, the second begins no escape.
    for (std::size_t left = escape ? 2 : 1; left > 0; --left) AppendUtf8(static_cast<unsigned char>(line[at++]), out);
  }
  return out;
}

std::string FromQuoted(std::string_view line) {
  const bool quoted = line.size() >= 2 && line.front() == line.back() && (line.front() == '\'' || line.front() == '"');
  if (!quoted) return std::string(line);
  const std::string_view text = line.substr(1, line.size() - 2);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool escape = text[at] == '\\' && at + 1 < text.size();
    const std::size_t used = escape ? AppendQuotedEscape(text, at, out) : 0;
    if (used == 0) out += text[at];
    at += used == 0 ? 1 : used;
  }
  return out;
}

}  // namespace vigil::codec::pickle
