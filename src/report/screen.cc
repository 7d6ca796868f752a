#include "report/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/base.h"
#include "report/words.h"

namespace vigil::report {
namespace {

constexpr int kNarrowest = 40;
constexpr int kWidest = 400;

// Bytes of the character that begins `text`, which is valid UTF-8.
std::size_t CharacterBytes(std::string_view text) {
  std::size_t bytes = 1;
  while (bytes < text.size() && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) ++bytes;
  return bytes;
}

// Bytes of the longest beginning of `text` that takes at most `width` columns.
std::size_t PrefixBytes(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  for (std::size_t columns = 0; used < text.size();) {
    const std::size_t bytes = CharacterBytes(text.substr(used));
    columns += DisplayWidth(text.substr(used, bytes));
    if (columns > width) break;
    used += bytes;
  }
  return used;
}

std::string_view AsciiFor(std::string_view character) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kSpelled = {{{"→", "->"},
                                                                                       {"…", "..."},
                                                                                       {"–", "-"},
                                                                                       {"—", "-"},
                                                                                       {"≥", ">="},
                                                                                       {"≤", "<="},
                                                                                       {"×", "x"},
                                                                                       {"‘", "'"},
                                                                                       {"’", "'"},
                                                                                       {"“", "\""},
                                                                                       {"”", "\""}}};
  for (const auto& [unicode, ascii] : kSpelled) {
    if (unicode == character) return ascii;
  }
  return "?";
}

}  // namespace

std::vector<std::string> Wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t columns = 0;
  const auto flush = [&] {
    if (!line.empty()) lines.push_back(std::move(line));
    line.clear();
    columns = 0;
  };
  for (std::string_view word : Split(text, ' ')) {
    if (word.empty()) continue;
    std::size_t needed = DisplayWidth(word);
    if (columns != 0 && columns + 1 + needed > width) flush();
    while (needed > width) {
      const std::size_t bytes = std::max<std::size_t>(PrefixBytes(word, width), CharacterBytes(word));
      lines.emplace_back(word.substr(0, bytes));
      needed -= DisplayWidth(lines.back());
      word.remove_prefix(bytes);
    }
    if (word.empty()) continue;
    if (columns != 0) line += ' ';
    columns += (columns != 0 ? 1 : 0) + needed;
    line += word;
  }
  flush();
  return lines;
}

std::string Fit(std::string_view text, std::size_t width, std::string_view ellipsis) {
  if (DisplayWidth(text) <= width) return std::string(text);
  const std::size_t mark = DisplayWidth(ellipsis);
  if (width <= mark) return std::string(text.substr(0, PrefixBytes(text, width)));
  return std::string(text.substr(0, PrefixBytes(text, width - mark))) + std::string(ellipsis);
}

std::string FitMiddle(std::string_view text, std::size_t width, std::string_view ellipsis) {
  const std::size_t mark = DisplayWidth(ellipsis);
  if (DisplayWidth(text) <= width || width <= 2 * mark) return Fit(text, width, ellipsis);
  const std::string_view head = text.substr(0, PrefixBytes(text, (width - mark) / 3));
  std::string_view tail = text.substr(head.size());
  const std::size_t room = width - mark - DisplayWidth(head);
  for (std::size_t columns = DisplayWidth(tail); columns > room;) {
    const std::size_t bytes = CharacterBytes(tail);
    columns -= DisplayWidth(tail.substr(0, bytes));
    tail.remove_prefix(bytes);
  }
  return fmt::format("{}{}{}", head, ellipsis, tail);
}

std::string ToAscii(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    out += bytes == 1 ? text.substr(0, 1) : AsciiFor(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return out;
}

std::string PadRight(std::string_view text, std::size_t width) {
  const std::size_t columns = DisplayWidth(text);
  return std::string(text) + std::string(width > columns ? width - columns : 0, ' ');
}

std::string PadLeft(std::string_view text, std::size_t width) {
  const std::size_t columns = DisplayWidth(text);
  return std::string(width > columns ? width - columns : 0, ' ') + std::string(text);
}

Screen::Screen(const TextOptions& options)
    : width_(static_cast<std::size_t>(std::clamp(options.width, kNarrowest, kWidest))),
      colour_(options.colour),
      unicode_(options.unicode) {}

std::string Screen::Paint(std::string_view text, Ink ink) const {
  constexpr std::array<std::string_view, 7> kCodes = {"", "1", "2", "1;31", "33", "32", "36"};
  const std::string_view code = kCodes[static_cast<std::size_t>(ink)];
  if (!colour_ || code.empty() || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Screen::Clean(std::string_view text) const {
  std::string clean = OneLine(text);
  return unicode_ ? clean : ToAscii(clean);
}

void Screen::Raw(std::string_view line) {
  out_ += line;
  out_ += '\n';
}

void Screen::Blank() { out_ += '\n'; }

void Screen::Heading(std::string_view text) {
  Blank();
  Raw("  " + Paint(Cut(Clean(text), width_ - 2), Ink::kBold));
}

void Screen::Item(std::size_t indent, std::string_view lead, std::string_view text, Ink lead_ink, Ink text_ink) {
  const std::size_t margin = indent + DisplayWidth(lead);
  const std::size_t room = width_ > margin + 10 ? width_ - margin : 10;
  std::string before = std::string(indent, ' ') + Paint(lead, lead_ink);
  std::vector<std::string> lines = Wrap(Clean(text), room);
  if (lines.empty()) lines.emplace_back();
  for (const std::string& line : lines) {
    Raw(before + Paint(line, text_ink));
    before = std::string(margin, ' ');
  }
}

void Screen::Short(std::size_t indent, std::string_view lead, std::string_view text, Ink lead_ink, Ink text_ink) {
  const std::size_t margin = indent + DisplayWidth(lead);
  const std::size_t room = width_ > margin ? width_ - margin : 1;
  Raw(std::string(indent, ' ') + Paint(lead, lead_ink) + Paint(Cut(Clean(text), room), text_ink));
}

}  // namespace vigil::report
