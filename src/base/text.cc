#include <algorithm>
#include <array>
#include <cctype>

#include "base/base.h"

namespace vigil {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// A decoded code point and the bytes it took; length 0 marks an invalid byte.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

CodePoint Decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  std::uint32_t value = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    value = (value << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

bool IsControl(std::uint32_t c) { return (c < 0x20 && c != '\t') || (c >= 0x7F && c < 0xA0); }

// Line and paragraph separators, the marks that turn the direction of what follows ("txt.exe" shown as "exe.txt"), and
// what is not seen at all: spaces without width, tags.
bool HidesOrReordersText(std::uint32_t c) {
  const bool hides = c == 0x200B || c == 0x2060 || c == 0xFEFF || (c >= 0xE0000 && c <= 0xE007F);
  return hides || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F ||
         c == 0x061C;
}

bool IsCombining(std::uint32_t c) {
  return (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF;
}

bool IsWide(std::uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE4F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFD);
}

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// `text` with only the code points that `keep` takes; an invalid byte becomes U+FFFD.
template <class Keep>
std::string KeepCodePoints(std::string_view text, Keep keep) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = Decode(text);
    if (point.length == 0) out += "\xEF\xBF\xBD";
    const std::size_t used = std::max<std::size_t>(point.length, 1);
    if (point.length != 0 && keep(point.value)) out += text.substr(0, used);
    text.remove_prefix(used);
  }
  return out;
}

}  // namespace

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return Lower(x) == Lower(y); });
}

bool StartsWithIgnoringCase(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && EqualsIgnoringCase(text.substr(0, prefix.size()), prefix);
}

std::string ToLower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  return lower;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t at = text.find(separator, from);
    parts.push_back(text.substr(from, at == std::string_view::npos ? at : at - from));
    if (at == std::string_view::npos) return parts;
    from = at + 1;
  }
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    if (&part != &parts.front()) joined += separator;
    joined += part;
  }
  return joined;
}

std::string ValidUtf8(std::string_view text) {
  return KeepCodePoints(text, [](std::uint32_t) { return true; });
}

std::string Printable(std::string_view text) {
  return KeepCodePoints(text, [](std::uint32_t c) { return !IsControl(c) && !HidesOrReordersText(c); });
}

std::size_t DisplayWidth(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const CodePoint point = Decode(text);
    if (point.length == 0 || !IsCombining(point.value)) width += IsWide(point.value) ? 2 : 1;
    text.remove_prefix(std::max<std::size_t>(point.length, 1));
  }
  return width;
}

std::vector<std::string> NearestNames(std::string_view wanted, const std::vector<std::string>& candidates,
                                      std::size_t most) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const bool contains = !wanted.empty() && candidate.find(wanted) != std::string::npos;
    const std::size_t distance = contains ? 1 : EditDistance(wanted, candidate);
    if (contains || distance <= std::max(wanted.size(), candidate.size()) / 2) ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < ranked.size() && i < most; ++i) nearest.push_back(ranked[i].second);
  return nearest;
}

}  // namespace vigil
