// A log line as the training program wrote it: colours removed, and the prefixes that launchers put before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace vigil::textlog {

struct CleanLine {
  std::string_view text;
  std::int32_t rank = -1;   // from the prefix, -1 when it names none
  std::string_view prefix;  // of launchers, as it stood before the text
  bool verbatim = false;    // prefix and text are the line, byte for byte, and the prefix alone names the rank
};

// Removes terminal escapes and launcher prefixes: "[rank3]:", "[default1]:", "(TaskRunner pid=12)", "3: " of srun -l,
// "[1,3]<stdout>:" of mpirun. A rank in brackets further on ("[Rank 3]") counts too, but stays.
// The result refers to the segment or to the cleaner, until the next call.
class LineCleaner {
 public:
  CleanLine Clean(std::string_view segment);

 private:
  bool DropPrefix(CleanLine& line);
  bool DropSrunPrefix(CleanLine& line);

  std::string scratch_;
  std::int64_t latest_label_ = -1;  // of a line that may be counted by it
  bool labels_are_ranks_ = false;   // one came again: what counts does not
};

// Whether the text holds terminal escapes or backspaces, and the text without them; an escape ends with its line.
bool HasControl(std::string_view text);
void RemoveControl(std::string_view text, std::string& out);

// What a notebook runner's log (one JSON object per write: {"stream_name":"stdout","time":1.5,"data":"..."}) or
// Docker's
// ({"log":"...","stream":"stdout","time":"..."}) wrote as text; false when the line is no such object.
bool UnwrapLine(std::string_view line, std::string& text);

// Writes `text` to `out` with ASCII for arrows, dots and quotes of other alphabets that set names and values apart:
// "loss \u2192 2.3 \u00b7 lr" becomes "loss = 2.3 ; lr". False, and `out` not to be used, where there are none.
bool ReplaceSigns(std::string_view text, std::string& out);

bool IsBlank(std::string_view text);
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
inline bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool ContainsIgnoringCase(std::string_view text, std::string_view lower_case_part);
// The decimal digits at the front of `text`, at most 18 of them; `used` is their number. -1 when there are none.
std::int64_t ReadDigits(std::string_view text, std::size_t& used);

}  // namespace vigil::textlog
