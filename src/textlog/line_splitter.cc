#include "textlog/line_splitter.h"

#include <algorithm>
#include <cstring>

namespace vigil::textlog {
namespace {

std::size_t AfterLastLineEnd(std::string_view text) {
  const std::size_t at = text.find_last_of("\n\r");
  return at == std::string_view::npos ? 0 : at + 1;
}

}  // namespace

std::size_t FindLineEnd(std::string_view text, std::size_t at) {
  // Two searches of the library are faster than one loop for both characters: lines without '\r' are the rule.
  const char* begin = text.data() + at;
  const auto* newline = static_cast<const char*>(std::memchr(begin, '\n', text.size() - at));
  const std::size_t length = newline == nullptr ? text.size() - at : static_cast<std::size_t>(newline - begin);
  const auto* carriage = static_cast<const char*>(std::memchr(begin, '\r', length));
  return carriage == nullptr ? at + length : static_cast<std::size_t>(carriage - text.data());
}

// The length of the whole lines at the front of `rest`, at most a block of them; 0 when no line ends there. What was
// searched without success is remembered: a long line that comes byte by byte would else cost quadratic time.
std::size_t LineSplitter::WholeLines(std::string_view rest) {
  const std::string_view longest = rest.substr(0, kLongestLine + 1);
  const std::size_t first = FindLineEnd(longest, std::min(searched_, longest.size()));
  searched_ = first == longest.size() ? first : 0;
  return first == longest.size() ? 0 : AfterLastLineEnd(rest.substr(0, std::max(kBlockBytes, first + 1)));
}

// What remains of a line that was too long, as far as it goes.
std::size_t LineSplitter::PassLongLine(std::string_view rest) {
  const std::size_t end = FindLineEnd(rest, 0);
  if (end == rest.size()) return end;
  skipping_ = false;
  if (rest[end] == '\n') ++skipped_newlines_;
  return end + 1;
}

// False while there are too few bytes to decide.
bool LineSplitter::FindEncoding(std::string_view bytes, bool last) {
  if (encoding_) return true;
  if (bytes.size() < ingest::kMarkAndCharacter && !last) return false;
  encoding_ = ingest::EncodingOf(bytes);
  mark_ = ingest::MarkLength(bytes);
  return true;
}

std::size_t LineSplitter::Split(std::string_view bytes, bool last, const Take& take) {
  if (!FindEncoding(bytes, last)) return 0;
  const std::size_t mark = std::min(mark_, bytes.size());
  mark_ = 0;
  bytes.remove_prefix(mark);
  return mark + (*encoding_ == ingest::Encoding::kBytes ? SplitText(bytes, last, take) : SplitUtf16(bytes, last, take));
}

std::size_t LineSplitter::SplitUtf16(std::string_view bytes, bool last, const Take& take) {
  const std::size_t used = ingest::DecodeUtf16(bytes, *encoding_, last, decoded_);
  decoded_.erase(0, SplitText(decoded_, last, take));
  return used;
}

// 0 when more bytes are needed.
std::size_t LineSplitter::LengthOfBlock(std::string_view rest, bool last) {
  const std::size_t whole = WholeLines(rest);
  if (whole != 0) return whole;
  if (rest.size() > kLongestLine) {
    skipping_ = true;
    ++long_lines_;
    return kLongestLine;
  }
  return last ? rest.size() : 0;
}

std::size_t LineSplitter::SplitText(std::string_view bytes, bool last, const Take& take) {
  std::size_t begin = 0;
  while (begin < bytes.size()) {
    const std::string_view rest = bytes.substr(begin);
    if (skipping_) {
      const std::size_t passed = PassLongLine(rest);
      skipped_bytes_ += passed;
      begin += passed;
      continue;
    }
    const std::size_t length = LengthOfBlock(rest, last);
    if (length == 0) break;
    searched_ = 0;
    const char end = rest[length - 1];
    take({rest.substr(0, length), end != '\n' && end != '\r', std::exchange(skipped_bytes_, 0),
          std::exchange(skipped_newlines_, 0)});
    begin += length;
  }
  return begin;
}

}  // namespace vigil::textlog
