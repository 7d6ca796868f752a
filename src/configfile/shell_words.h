// A shell script as commands of words, each with its place. Nothing is run: quotes, escapes, comments, continued lines
// and variables that the script itself sets are understood, all else is text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::configfile {

struct Word {
  std::string text;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool quoted = false;            // begins with a quote
  bool has_variable = false;      // an unquoted or double-quoted $ that is not known
  std::uint32_t set_on_line = 0;  // a variable of the script was put in; 0 when none was
};

struct ShellCommand {
  std::vector<Word> words;
};

std::vector<ShellCommand> ShellCommands(std::string_view script);

}  // namespace vigil::configfile
