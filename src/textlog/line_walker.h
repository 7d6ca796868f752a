// From blocks of text to the lines that may matter. What holds no hint is passed over without being looked at, and what
// is like a line before it is read by its shape: that is what makes a log of gigabytes cheap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "textlog/hints.h"
#include "textlog/line.h"
#include "textlog/line_parsers.h"
#include "textlog/line_splitter.h"
#include "textlog/log_state.h"
#include "textlog/trainer.h"
#include "textlog/unrecognised_line.h"

namespace vigil::textlog {

class LineWalker {
 public:
  LineWalker(LogState& state, LineParsers& parsers, HintScanner& scanner)
      : state_(state), parsers_(parsers), scanner_(scanner) {}

  void Read(const TextBlock& block);

  std::int32_t highest_rank() const { return highest_rank_; }
  const UnrecognisedLine& unrecognised() const { return unrecognised_; }
  const TrainerMarks& trainer() const { return trainer_; }

 private:
  // Where the reading is.
  struct Cursor {
    std::uint64_t block = 0;   // bytes of the log before the text at hand
    std::uint64_t offset = 0;  // before the line at hand
    std::uint32_t line = 1;
    bool cut = false;         // the text at hand has no end of line behind it
    bool after_wipe = false;  // a bar was wiped just before
    bool wrapped = false;     // the text at hand is inside a notebook runner's line
  };
  // Kept between lines for their memory.
  struct Buffers {
    std::string plain;      // the block at hand without colours
    std::string signs;      // the line at hand with ASCII for signs of other alphabets
    std::string unwrapped;  // the text inside a notebook runner's line
    std::vector<Hint> hints;
    std::vector<Hint> wrapped_hints;
  };

  std::size_t TakeLikeBefore(std::string_view block, std::size_t at);
  std::size_t TakeOneLikeBefore(std::string_view rest);
  void ReadWrapped(std::string_view text);
  void ReadLines(std::string_view text, const std::vector<Hint>& hints);
  void ReadSegment(std::string_view segment, char terminator, std::uint32_t bits);
  void ReadLine(std::string_view segment, std::uint32_t bits);
  std::size_t NextSegment(std::string_view block, std::size_t at, const std::vector<Hint>& hints, std::size_t& next);
  std::uint32_t CollectHints(const std::vector<Hint>& hints, std::size_t& next, std::size_t end) const;
  bool WantsEveryLine() const { return !state_.use_hints || parsers_.WantsEveryLine(); }

  LogState& state_;
  LineParsers& parsers_;
  HintScanner& scanner_;
  LineCleaner cleaner_;
  Buffers buffers_;
  Cursor at_;
  UnrecognisedLine unrecognised_;
  TrainerMarks trainer_;
  std::size_t scan_bytes_ = 0;  // how much is searched for hints at once
  std::int32_t highest_rank_ = -1;
};

}  // namespace vigil::textlog
