#include "textlog/command_line.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "textlog/line.h"

namespace vigil::textlog {
namespace {

constexpr std::size_t kLongestBefore = 160;  // times, loggers, "cmd = ", the prompt of a shell
constexpr std::size_t kMostWords = 4096;

// Whether the word, without its folder, starts trainings.
bool IsLauncher(std::string_view word) {
  constexpr std::array<std::string_view, 9> kLaunchers = {
      "torchrun", "accelerate", "deepspeed", "python", "python3", "axolotl", "llamafactory-cli", "mpirun", "srun"};
  if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos) word.remove_prefix(slash + 1);
  if (word.starts_with("python3.")) return true;
  return std::find(kLaunchers.begin(), kLaunchers.end(), word) != kLaunchers.end();
}

// "Run `python train.py --help` ...", "usage: python train.py": speaks of a command.
bool SpeaksOf(std::string_view before) {
  constexpr std::array<std::string_view, 6> kWords = {"usage", "e.g.", "for example", "try ", "please", "you can"};
  return before.size() > kLongestBefore || before.find('`') != std::string_view::npos ||
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return ContainsIgnoringCase(before, word); });
}

// What is started, and told how: a script or a module, and an option or an assignment.
bool StartsSomething(std::string_view rest) {
  const bool program = rest.find(".py") != std::string_view::npos || rest.find(" -m ") != std::string_view::npos ||
                       rest.find(" train ") != std::string_view::npos;
  return program && (rest.find(" --") != std::string_view::npos || rest.find('=') != std::string_view::npos ||
                     rest.ends_with('\\'));
}

}  // namespace

std::size_t FindCommand(std::string_view text) {
  std::size_t begin = 0;
  while (begin < text.size() && begin <= kLongestBefore) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (IsLauncher(text.substr(begin, end - begin)))
      return !SpeaksOf(text.substr(0, begin)) && StartsSomething(text.substr(begin)) ? begin : std::string_view::npos;
    begin = end + 1;
  }
  return std::string_view::npos;
}

void SplitWords(std::string_view text, std::vector<std::string>& words) {
  std::string word;
  bool any = false;
  char quote = '\0';
  const auto close = [&] {
    if (any && words.size() < kMostWords) words.push_back(word);
    word.clear();
    any = false;
  };
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      any = true;
    } else if (c == ' ' || c == '\t') {
      close();
    } else {
      word += c;
      any = true;
    }
  }
  close();
}

}  // namespace vigil::textlog
