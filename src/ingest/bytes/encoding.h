// ingest/encoding: how a log's bytes are written. Programs write UTF-8; a shell that redirects them may write UTF-16
// (PowerShell's `>` does), which is known by the mark at its beginning and turned into UTF-8 here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vigil::ingest {

enum class Encoding : std::uint8_t { kBytes, kUtf16Little, kUtf16Big };

// So many bytes tell: a byte-order mark may also be broken UTF-8, so that a plain character has to follow it.
inline constexpr std::size_t kMarkAndCharacter = 4;
// By the byte-order mark at the front of `bytes`.
Encoding EncodingOf(std::string_view bytes);
// The length of the mark: 2 for UTF-16, 3 for UTF-8's, 0 where there is none.
std::size_t MarkLength(std::string_view bytes);

// Appends the UTF-8 of whole characters at the front of `bytes` to `text` and returns how many bytes they took; at most
// 3 are left. Halves of pairs become U+FFFD. With `last`, what is left of a character does too.
std::size_t DecodeUtf16(std::string_view bytes, Encoding encoding, bool last, std::string& text);

void AppendUtf8(std::uint32_t code, std::string& out);

}  // namespace vigil::ingest
