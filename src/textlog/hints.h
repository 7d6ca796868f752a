// Finds, in one pass over a block of text, the places that may matter: words of metric lines, bars, tracebacks and
// error messages. What has no hint near it is never looked at, which is what makes a log of gigabytes cheap.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "textlog/literals.h"

namespace vigil::textlog {

// What trainers write when they are through, in small letters.
inline constexpr std::array<std::string_view, 4> kEndWords = {"training complete", "training finished",
                                                              "finished training", "training done"};

// What a line may be, as bits.
enum HintBits : std::uint32_t {
  kHintMetric = 1U << 0U,
  kHintBar = 1U << 1U,
  kHintDict = 1U << 2U,
  kHintTraceback = 1U << 3U,
  kHintSignature = 1U << 4U,
  kHintArguments = 1U << 5U,
  kHintCleared = 1U << 6U,   // a bar wiped with spaces
  kHintFailures = 1U << 7U,  // a launcher's table of failed processes
  kHintNotice = 1U << 8U,    // loss scale, checkpoint, resume
  kHintWrapped = 1U << 9U,   // a notebook runner's JSON around the text
  kHintTable = 1U << 10U,    // a box of names and numbers
  kHintAll = (1U << 11U) - 1,
};

// One per reader.
class HintScanner {
 public:
  HintScanner();

  // False when the search engine does not run on this machine: then every line has to be taken for everything.
  bool works() const { return scanner_.works(); }
  // The hints of `block` (below 4 GiB) in the order of their ends.
  void Scan(std::string_view block, std::vector<Hint>& hints) { scanner_.Scan(block, hints); }

  static std::uint32_t BitsOf(std::uint32_t literal);
  static std::size_t literal_count();
  static std::string_view TextOf(std::uint32_t literal);

 private:
  struct Engine;
  static const Engine& SharedEngine();

  LiteralScanner scanner_;
};

// Whether the text holds one of the words of that kind: what the miners look at is the same with and without hints.
bool HasWord(std::string_view text, std::uint32_t bit);

}  // namespace vigil::textlog
