#include "ingest/bytes/utf16.h"

#include <algorithm>

namespace vigil::ingest {
namespace {

constexpr std::size_t kFewestPairs = 16;

bool IsPlain(char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t' || c == '\x1b'; }

struct Pairs {
  std::size_t all = 0;
  std::size_t little = 0;  // "a\0"
  std::size_t big = 0;     // "\0a"
};

Pairs CountPairs(std::string_view head) {
  Pairs pairs;
  for (std::size_t i = 0; i + 1 < head.size(); i += 2) {
    ++pairs.all;
    pairs.little += IsPlain(head[i]) && head[i + 1] == '\0' ? 1 : 0;
    pairs.big += head[i] == '\0' && IsPlain(head[i + 1]) ? 1 : 0;
  }
  return pairs;
}

// Where so many characters of two bytes begin that it is no chance; npos when they nowhere do.
std::size_t FindStretch(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 0; i + 1 < bytes.size();) {
    if (IsPlain(bytes[i]) && bytes[i + 1] == '\0') {
      if (++length == kFewestPairs) return i + 2 - 2 * length;
      i += 2;
    } else {
      length = 0;
      ++i;
    }
  }
  return std::string_view::npos;
}

// Text but for the zeros in it.
bool IsTextWithZeros(std::string_view head) {
  const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
    return c != '\0' && !IsPlain(c) && static_cast<unsigned char>(c) < 0x80;
  });
  return odd * 100 <= std::ssize(head);
}

}  // namespace

std::optional<Utf16Stream> Utf16Stream::ForContent(std::string_view head, bool marked) {
  if (const Encoding encoding = EncodingOf(head); encoding != Encoding::kBytes)
    return Utf16Stream(encoding, false, MarkLength(head));
  if (marked || !IsTextWithZeros(head)) return std::nullopt;
  const Pairs pairs = CountPairs(head);
  if (pairs.all < kFewestPairs) return std::nullopt;
  // One that begins with characters of one byte is mixed, however soon they end.
  if (pairs.little * 10 >= pairs.all * 8 && head[1] == '\0') return Utf16Stream(Encoding::kUtf16Little, false, 0);
  if (pairs.big * 10 >= pairs.all * 8 && head[0] == '\0') return Utf16Stream(Encoding::kUtf16Big, false, 0);
  if (FindStretch(head) == std::string_view::npos) return std::nullopt;
  return Utf16Stream(Encoding::kUtf16Little, true, 0);
}

void Utf16Stream::Decode(std::string_view bytes, bool last, std::string& text) {
  rest_ += bytes;
  const std::size_t mark = std::min(mark_, rest_.size());
  mark_ -= mark;
  rest_.erase(0, mark);
  rest_.erase(0, mixed_ ? DecodeMixed(rest_, last, text) : DecodeUtf16(rest_, encoding_, last, text));
}

// A zero behind a plain character opens a stretch of two bytes each, and two plain characters in a row end it. (Which
// of the two bytes comes first makes no difference here: the character in front of the stretch is taken into it.)
std::size_t Utf16Stream::DecodeMixed(std::string_view bytes, bool last, std::string& text) {
  std::size_t at = 0;
  while (at + 1 < bytes.size()) {
    const bool wide = bytes[at + 1] == '\0' && bytes[at] != '\0';
    if (is_wide_ && IsPlain(bytes[at]) && IsPlain(bytes[at + 1])) is_wide_ = false;
    if (!is_wide_ && wide && IsPlain(bytes[at])) is_wide_ = true;
    if (is_wide_) {
      DecodeUtf16(bytes.substr(at, 2), encoding_, true, text);
      at += 2;
    } else {
      text += bytes[at++];
    }
  }
  if (last && at < bytes.size()) text += bytes[at++];
  return at;
}

}  // namespace vigil::ingest
