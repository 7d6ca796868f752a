// From bytes to blocks of whole lines: encodings, byte order marks, lines that are too long, a last line without an
// end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "ingest/ingest.h"

namespace vigil::textlog {

// The first '\n' or '\r' in text[at..], text.size() when there is none.
std::size_t FindLineEnd(std::string_view text, std::size_t at);

// Whole lines of a log, as UTF-8.
struct TextBlock {
  std::string_view text;
  bool cut = false;  // no end of line behind the last line
  // Passed since the block before it: the rest of a line that was too long.
  std::uint64_t skipped_bytes = 0;
  std::uint32_t skipped_newlines = 0;
};

class LineSplitter {
 public:
  using Take = std::function<void(const TextBlock&)>;

  // Longer lines are cut to this length; nothing a trainer writes comes near it.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20U;
  // Blocks stay in the cache between the search and the reading.
  static constexpr std::size_t kBlockBytes = std::size_t{256} << 10U;

  // Hands the whole lines at the front of `bytes` to `take`, block by block; with `last` also what follows them.
  // Returns how many bytes were used; the others are to be given again with more behind them.
  std::size_t Split(std::string_view bytes, bool last, const Take& take);
  // Lines that were cut to kLongestLine since the last call.
  std::uint64_t TakeLongLines() { return std::exchange(long_lines_, 0); }

 private:
  bool FindEncoding(std::string_view bytes, bool last);
  std::size_t SplitUtf16(std::string_view bytes, bool last, const Take& take);
  std::size_t SplitText(std::string_view bytes, bool last, const Take& take);
  std::size_t WholeLines(std::string_view rest);
  std::size_t LengthOfBlock(std::string_view rest, bool last);
  std::size_t PassLongLine(std::string_view rest);

  std::optional<ingest::Encoding> encoding_;  // empty before the first bytes
  std::size_t mark_ = 0;                      // bytes of a mark at the front that are still to be passed
  std::string decoded_;                       // UTF-8 of what came in UTF-16, from the last whole line on
  std::size_t searched_ = 0;                  // bytes at the front of the unused ones that hold no end of line
  bool skipping_ = false;                     // within the rest of a line that was too long
  std::uint64_t skipped_bytes_ = 0;
  std::uint32_t skipped_newlines_ = 0;
  std::uint64_t long_lines_ = 0;
};

}  // namespace vigil::textlog
