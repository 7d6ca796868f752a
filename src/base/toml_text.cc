#include <algorithm>
#include <cctype>

#include "base/base.h"

namespace vigil {
namespace {

// A string of TOML from its opening quote on: how many characters it takes. One that is not closed ends with the text.
std::size_t LengthOfString(std::string_view text) {
  const char quote = text[0];
  const bool is_long = text.size() > 2 && text[1] == quote && text[2] == quote;
  std::size_t at = is_long ? 3 : 1;
  for (; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (is_long ? text.substr(at).starts_with(std::string(3, quote)) : text[at] == quote || text[at] == '\n') {
      return at + (is_long ? 3 : 1);
    }
  }
  return text.size();
}

// Where the name of the table whose header begins at `at` should begin.
std::size_t BehindBrackets(std::string_view text, std::size_t at) {
  std::size_t name = text.find_first_not_of(" \t", at + 1);
  if (name != std::string_view::npos && text[name] == '[') name = text.find_first_not_of(" \t", name + 1);
  return name;
}

// What TOML has outside of strings and remarks.
bool IsPlain(char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\r'; }

bool IsControl(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < ' ' && c != '\t' && c != '\r' && c != '\n') || code == 0x7F;
}

// Counts how deep what is written goes: the parser, and those who free what it made, call themselves for each level.
class Depth {
 public:
  explicit Depth(const TomlLimits& limits) : limits_(limits) {}

  // A character outside of strings and remarks. False when it leads deeper than allowed.
  bool Take(char c) {
    if (c == '.') return ++parts_ <= limits_.most_key_parts;
    if (c == '[' || c == '{') ++open_;
    if ((c == ']' || c == '}') && open_ > 0) --open_;
    if (c == '=' || c == ',' || c == '\n' || c == '[' || c == '{') parts_ = 1;
    return open_ <= limits_.most_brackets;
  }

 private:
  TomlLimits limits_;
  std::size_t parts_ = 1;  // of the key that is being read
  std::size_t open_ = 0;
};

// The line on which keys or brackets are nested deeper than allowed; 0 when none are.
std::size_t LineOfTooMuchDepth(std::string_view text, const TomlLimits& limits) {
  Depth depth(limits);
  std::size_t line = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (text[at] == '"' || text[at] == '\'') {
      const std::string_view quoted = text.substr(at, LengthOfString(text.substr(at)));
      line += static_cast<std::size_t>(std::count(quoted.begin(), quoted.end(), '\n'));
      at += quoted.size() - 1;
      if (text[at] == '\n' && !depth.Take('\n')) return line;
    } else if (!depth.Take(text[at])) {
      return line;
    } else if (text[at] == '\n') {
      ++line;
    }
  }
  return 0;
}

// The line of the first table whose name begins with what no name can begin with, or of letters of other alphabets
// outside of strings. 0 when there is none.
std::size_t LineOfBrokenText(std::string_view text) {
  std::size_t line = 1;
  int depth = 0;
  bool at_start = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      at_start = true;
    } else if (c == '#') {
      at = std::min(text.find('\n', at), text.size()) - 1;
    } else if (c == '"' || c == '\'') {
      const std::size_t length = LengthOfString(text.substr(at));
      line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                  text.begin() + static_cast<std::ptrdiff_t>(at + length - 1), '\n'));
      at += length - 1;
      at_start = text[at] == '\n';
      line += at_start ? 1 : 0;
    } else if (c == '[' && at_start && depth == 0) {
      const std::size_t name = BehindBrackets(text, at);
      const char begins = name == std::string_view::npos ? ']' : text[name];
      const bool bare = std::isalnum(static_cast<unsigned char>(begins)) != 0 || begins == '_' || begins == '-';
      if (!bare && begins != '"' && begins != '\'' && begins != ']') return line;
      at = (name == std::string_view::npos ? text.size() : name) - 1;
      depth = 0;
      at_start = false;
    } else if (!IsPlain(c)) {
      return line;
    } else {
      if (c == '[' || c == '{') ++depth;
      if ((c == ']' || c == '}') && depth > 0) --depth;
      at_start = at_start && (c == ' ' || c == '\t' || c == '\r');
    }
  }
  return 0;
}

}  // namespace

std::optional<LineFault> FaultOfToml(std::string_view text, const TomlLimits& limits) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // as editors of Windows begin a file
  if (const auto bad = std::find_if(text.begin(), text.end(), IsControl); bad != text.end())
    return LineFault{static_cast<std::size_t>(1 + std::count(text.begin(), bad, '\n')), "a control character"};
  if (const std::size_t line = LineOfBrokenText(text); line > 0) return LineFault{line, "what stands there is no TOML"};
  if (const std::size_t line = LineOfTooMuchDepth(text, limits); line > 0)
    return LineFault{line, "nested deeper than settings are"};
  return std::nullopt;
}

}  // namespace vigil
