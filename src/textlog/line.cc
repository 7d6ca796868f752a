#include "textlog/line.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/base.h"
#include "ingest/ingest.h"

namespace vigil::textlog {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::size_t kLongestPrefix = 80;
constexpr std::size_t kLongestLabel = 5;      // digits of a task
constexpr std::size_t kLongestPreface = 160;  // time, level, file, process and rank before a message

// Length of the terminal escape sequence at the front of `text` (which begins with ESC).
std::size_t EscapeLength(std::string_view text) {
  const auto ends = [&](std::size_t at) { return at >= text.size() || text[at] == '\n' || text[at] == '\r'; };
  if (ends(1)) return 1;
  const bool command = text[1] == ']';  // to the operating system, ended by BEL
  if (!command && text[1] != '[') return 2;
  std::size_t at = 2;
  while (!ends(at) && (command ? text[at] != '\a' : text[at] < '@' || text[at] > '~')) ++at;
  return ends(at) ? at : at + 1;
}

void DropOneSpace(std::string_view& text) {
  if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
}

// "[rank3]:" and "[default3]:" of torchrun.
bool DropTorchrunPrefix(CleanLine& line) {
  for (const std::string_view word : {std::string_view("[rank"), std::string_view("[default")}) {
    if (!line.text.starts_with(word)) continue;
    std::size_t digits = 0;
    const std::int64_t rank = ReadDigits(line.text.substr(word.size()), digits);
    const std::string_view rest = line.text.substr(word.size() + digits);
    if (rank < 0 || digits > 6 || !rest.starts_with("]:")) return false;
    line.rank = static_cast<std::int32_t>(rank);
    line.text = rest.substr(2);
    DropOneSpace(line.text);
    return true;
  }
  return false;
}

// "(TaskRunner pid=87031)" and "(raylet, ip=10.0.0.1)" of Ray.
bool DropRayPrefix(CleanLine& line) {
  if (!line.text.starts_with('(')) return false;
  const std::size_t end = line.text.substr(0, kLongestPrefix).find(')');
  if (end == std::string_view::npos) return false;
  const std::string_view inside = line.text.substr(0, end);
  if (inside.find("pid=") == std::string_view::npos && inside.find("ip=") == std::string_view::npos) return false;
  line.text = line.text.substr(end + 1);
  DropOneSpace(line.text);
  return true;
}

// Behind a step that opens the line: "12: 2.345", "12: 4.44, 4.51 avg, 0.001 rate", "12: loss 2.31 lr 0.001". The lines
// that srun labels are those of a training, which name their steps themselves.
bool IsRowOfLabel(std::string_view rest) {
  constexpr std::array<std::string_view, 7> kSteps = {"step", "iter", "epoch", "batch", "update", "it ", "episode"};
  constexpr std::array<std::string_view, 6> kMetrics = {"loss", "nll", "cost", "err", "obj", "reward"};
  const auto names = [&](const auto& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return ContainsIgnoringCase(rest, word); });
  };
  if (rest.empty()) return false;
  const bool opens_with_number = IsDigit(rest.front()) || ParseNumber(Trim(rest)).has_value();
  return (opens_with_number || (names(kMetrics) && std::any_of(rest.begin(), rest.end(), IsDigit))) && !names(kSteps);
}

// "[1,3]<stdout>:" of mpirun --tag-output: job and rank.
bool DropMpiPrefix(CleanLine& line) {
  std::size_t job = 0;
  if (ReadDigits(line.text.substr(1), job) < 0 || !line.text.substr(1 + job).starts_with(',')) return false;
  std::size_t digits = 0;
  const std::int64_t rank = ReadDigits(line.text.substr(2 + job), digits);
  const std::string_view rest = line.text.substr(2 + job + digits);
  if (rank < 0 || digits > 6 || !rest.starts_with("]<std")) return false;
  const std::size_t end = rest.find(">:");
  if (end > 10) return false;
  line.rank = static_cast<std::int32_t>(rank);
  line.text = rest.substr(end + 2);
  DropOneSpace(line.text);
  return true;
}

// The rank behind an opening bracket ("Rank 3]", "RANK:3]", "rank 3)"), -1 when something else stands there.
std::int32_t RankBehindBracket(std::string_view text) {
  constexpr std::string_view kWord = "rank";
  if (!StartsWithIgnoringCase(text, kWord)) return -1;
  std::string_view rest = text.substr(kWord.size());
  while (!rest.empty() && (rest[0] == ' ' || rest[0] == ':' || rest[0] == '=')) rest.remove_prefix(1);
  std::size_t digits = 0;
  const std::int64_t rank = ReadDigits(rest, digits);
  const bool closed = digits < rest.size() && (rest[digits] == ']' || rest[digits] == ')');
  return rank >= 0 && digits <= 6 && closed ? static_cast<std::int32_t>(rank) : -1;
}

// "[Rank 3]", "[RANK:3]", "[rank3]", "(rank 3)" among the words of a logger; -1 when there is none.
std::int32_t BracketedRank(std::string_view text) {
  text = text.substr(0, kLongestPreface);
  for (const char bracket : {'[', '('}) {
    for (std::size_t at = text.find(bracket); at != std::string_view::npos; at = text.find(bracket, at + 1)) {
      const std::int32_t rank = RankBehindBracket(text.substr(at + 1));
      if (rank >= 0) return rank;
    }
  }
  return -1;
}

// Where the string begins that `key` has in a JSON object, npos without one.
std::size_t FindString(std::string_view object, std::string_view key) {
  std::size_t at = object.find(key);
  if (at == std::string_view::npos) return at;
  at = object.find_first_not_of(": ", at + key.size());
  return at != std::string_view::npos && object[at] == '"' ? at + 1 : std::string_view::npos;
}

// Where the text begins that an object wraps: a notebook runner's, or one of Docker's json-file logs.
std::size_t FindWrappedText(std::string_view object) {
  if (object.starts_with(R"({"stream_name":")")) return FindString(object, R"("data")");
  if (!object.starts_with(R"({"log":)") || object.find(R"("stream":)") == std::string_view::npos)
    return std::string_view::npos;
  return FindString(object, R"("log")");
}

unsigned HexValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return 0;
}

// One escape of a JSON string, at a backslash; returns its length.
std::size_t AppendJsonEscape(std::string_view text, std::string& out) {
  if (text.size() < 2) return text.size();
  if (text[1] == 'u' && text.size() >= 6) {
    unsigned code = 0;
    for (std::size_t i = 2; i < 6; ++i) code = code * 16U + HexValue(text[i]);
    ingest::AppendUtf8(code, out);
    return 6;
  }
  constexpr std::string_view kNames = "nrtbf";
  constexpr std::string_view kValues = "\n\r\t\b\f";
  const std::size_t at = kNames.find(text[1]);
  out += at == std::string_view::npos ? text[1] : kValues[at];
  return 2;
}

}  // namespace

bool HasControl(std::string_view text) {
  return std::memchr(text.data(), kEscape, text.size()) != nullptr ||
         std::memchr(text.data(), '\b', text.size()) != nullptr;
}

void RemoveControl(std::string_view text, std::string& out) {
  out.clear();
  const auto find = [&](char c, std::size_t from) { return std::min(text.find(c, from), text.size()); };
  std::size_t escape = find(kEscape, 0);
  std::size_t backspace = find('\b', 0);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t stop = std::min(escape, backspace);
    out += text.substr(at, stop - at);
    at = stop + (stop == escape ? EscapeLength(text.substr(stop)) : 1);
    if (escape < at) escape = find(kEscape, at);
    if (backspace < at) backspace = find('\b', at);
  }
}

namespace {

struct Sign {
  std::string_view bytes;
  char ascii;
};
// Sides of boxes and the blocks of bars are none of them: tables and bars are known by them.
constexpr std::array kSigns = {
    Sign{"\xC2\xA0", ' '},     Sign{"\xC2\xB7", ';'},     Sign{"\xC2\xBB", '>'},     Sign{"\xE2\x80\xA2", ';'},
    Sign{"\xE2\x80\xA3", '>'}, Sign{"\xE2\x80\xBA", '>'}, Sign{"\xE2\x80\x93", '-'}, Sign{"\xE2\x80\x94", '-'},
    Sign{"\xE2\x80\xAF", ' '}, Sign{"\xE2\x86\x92", '='}, Sign{"\xE2\x87\x92", '='}, Sign{"\xE2\x9E\x9C", '='},
    Sign{"\xE2\x9E\x94", '='}, Sign{"\xE2\x9F\xB6", '='}, Sign{"\xE2\x88\x99", ';'}, Sign{"\xE2\x8B\x85", ';'},
    Sign{"\xE2\x89\x88", '='}, Sign{"\xE2\x96\xB6", '>'}, Sign{"\xE2\x96\xB8", '>'}, Sign{"\xE2\x9D\xAF", '>'},
    Sign{"\xEF\xBC\x9A", ':'}, Sign{"\xEF\xBC\x8C", ','}, Sign{"\xEF\xBC\x9D", '='}, Sign{"\xEF\xBD\x9C", '|'}};

bool IsOutsideAscii(char c) { return (static_cast<unsigned char>(c) & 0x80U) != 0; }

// "3.1 -> 8.9" is a number and what became of it, "loss -> 2.3" a name and its value.
bool FollowsNumber(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return last != std::string_view::npos && IsDigit(text[last]);
}

// Eight characters at a time: every line is asked, and nearly all are.
bool IsAscii(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080U;
  std::uint64_t seen = 0;
  for (; text.size() >= sizeof(seen); text.remove_prefix(sizeof(seen))) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data(), sizeof(eight));
    seen |= eight;
  }
  return (seen & kHighBits) == 0 && std::none_of(text.begin(), text.end(), IsOutsideAscii);
}

}  // namespace

bool ReplaceSigns(std::string_view text, std::string& out) {
  if (IsAscii(text)) return false;
  bool found = false;
  out.clear();
  for (std::size_t at = 0; at < text.size();) {
    if (!IsOutsideAscii(text[at])) {
      out += text[at++];
      continue;
    }
    const auto* const sign = std::find_if(
        kSigns.begin(), kSigns.end(), [&](const Sign& one) { return text.substr(at, one.bytes.size()) == one.bytes; });
    if (sign == kSigns.end()) {
      out += text[at++];
      continue;
    }
    found = true;
    out += sign->ascii == '=' && FollowsNumber(out) ? std::string_view("->") : std::string_view(&sign->ascii, 1);
    at += sign->bytes.size();
  }
  return found;
}

bool IsBlank(std::string_view text) { return text.find_first_not_of(" \t") == std::string_view::npos; }

bool ContainsIgnoringCase(std::string_view text, std::string_view lower_case_part) {
  if (lower_case_part.empty()) return true;
  if (text.size() < lower_case_part.size()) return false;
  // Only the first character is looked for; what stands behind it is folded where that one is found.
  const char lower = lower_case_part.front();
  const char upper = lower >= 'a' && lower <= 'z' ? static_cast<char>(lower & ~0x20) : lower;
  const auto equal = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b; };
  const char* const last = text.data() + text.size() - lower_case_part.size();
  for (const char* at = text.data(); at <= last; ++at) {
    if (*at != lower && *at != upper) continue;
    if (std::equal(lower_case_part.begin() + 1, lower_case_part.end(), at + 1,
                   [&](char b, char a) { return equal(a, b); }))
      return true;
  }
  return false;
}

std::int64_t ReadDigits(std::string_view text, std::size_t& used) {
  std::int64_t value = 0;
  used = 0;
  while (used < text.size() && used < 18 && IsDigit(text[used])) {
    value = value * 10 + (text[used] - '0');
    ++used;
  }
  return used == 0 ? -1 : value;
}

bool LineCleaner::DropPrefix(CleanLine& line) {
  if (line.text.empty()) return false;
  switch (line.text[0]) {
    case '[':
      return DropTorchrunPrefix(line) || DropMpiPrefix(line);
    case '(':
      return DropRayPrefix(line);
    default:
      return IsDigit(line.text[0]) && DropSrunPrefix(line);
  }
}

// "12: " of srun --label, unless it counts: then it rises from line to line.
bool LineCleaner::DropSrunPrefix(CleanLine& line) {
  std::size_t digits = 0;
  const std::int64_t task = ReadDigits(line.text, digits);
  if (task < 0 || digits > kLongestLabel || !line.text.substr(digits).starts_with(": ")) return false;
  const std::string_view rest = line.text.substr(digits + 2);
  if (!labels_are_ranks_ && IsRowOfLabel(rest)) {
    if (task > latest_label_) {
      latest_label_ = task;
      return false;
    }
    labels_are_ranks_ = task > 0;  // one that begins again at 0 may be another run
    if (task == 0) return false;
  }
  line.rank = static_cast<std::int32_t>(task);
  line.text = rest;
  return true;
}

CleanLine LineCleaner::Clean(std::string_view segment) {
  CleanLine line;
  // A file that was emptied while its writer went on begins with a hole of zeros.
  while (!segment.empty() && segment[0] == '\0') segment.remove_prefix(1);
  line.text = segment;
  line.verbatim = !HasControl(segment);
  if (!line.verbatim) {
    RemoveControl(segment, scratch_);
    line.text = scratch_;
  }
  const char* const begin = line.text.data();
  // Ray before torchrun, torchrun twice: launchers wrap launchers, but not endlessly.
  for (int i = 0; i < 4 && DropPrefix(line); ++i) {
  }
  line.prefix = {begin, static_cast<std::size_t>(line.text.data() - begin)};
  if (line.rank >= 0) return line;
  line.rank = BracketedRank(line.text);
  line.verbatim = line.verbatim && line.rank < 0;
  return line;
}

bool UnwrapLine(std::string_view line, std::string& text) {
  const std::size_t start = line.substr(0, 2).find('{');
  if (start == std::string_view::npos) return false;
  const std::size_t data = FindWrappedText(line.substr(start));
  if (data == std::string_view::npos) return false;
  text.clear();
  for (std::size_t i = start + data; i < line.size() && line[i] != '"';) {
    if (line[i] == '\\') {
      i += AppendJsonEscape(line.substr(i), text);
    } else {
      text += line[i++];
    }
  }
  return true;
}

}  // namespace vigil::textlog
