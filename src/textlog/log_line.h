// One line of a log as the line parsers see it, and what a parser answers.
#pragma once

#include <cstdint>

#include "textlog/line.h"

namespace vigil::textlog {

struct LogLine : CleanLine {
  std::uint32_t hints = 0;   // bits of HintBits: what the search found in it
  std::uint32_t number = 0;  // 1-based
  std::uint64_t offset = 0;  // bytes of the log before it
  bool cut = false;          // no end of line behind it: its last number may lack digits
  bool after_wipe = false;   // a progress bar was wiped with spaces just before it
  bool wrapped = false;      // the text inside a notebook runner's line

  // Parsed once for all parsers that need it.
  enum class Parse : std::uint8_t { kNotTried, kFailed, kDone };
  Parse parse = Parse::kNotTried;
};

// kNotMine: the next parser is asked. kNoted: something was taken from the line, and the next parser is asked as well.
// kTaken: the line is done. kRow: the line is done, and was (part of) a row of metrics.
enum class Outcome : std::uint8_t { kNotMine, kNoted, kTaken, kRow };

}  // namespace vigil::textlog
