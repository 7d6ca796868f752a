#include "documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "base/base.h"

namespace vigil::structure {
namespace {

using Problem = std::optional<std::string>;

bool IsPlaceholder(std::string_view word) {
  const bool marked =
      word.find_first_of("<*{[") != std::string_view::npos || word.find("...") != std::string_view::npos;
  const bool capitals = std::any_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) &&
                        std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return marked || capitals;
}

std::vector<std::string> WordsOf(std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view word : Split(text, ' ')) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.find('/')); }

bool EndsLikeOurFile(std::string_view word) {
  constexpr std::string_view kEndings[] = {".md", ".cc", ".h", ".cmake", ".toml", ".sh", ".py", ".tsv"};
  return std::any_of(std::begin(kEndings), std::end(kEndings),
                     [&](std::string_view end) { return word.ends_with(end); });
}

// `a/b`: a path of the tree when the tree has a folder a, an id when the catalogue has ids below a, else neither's.
Problem JudgeSlashed(const Known& known, std::string word) {
  while (word.ends_with('/')) word.pop_back();
  if (word.starts_with("./")) word = word.substr(2);
  if (IsPlaceholder(word)) {
    // What stands before the placeholder must exist; for an id that is nothing to check.
    const std::size_t open = word.find_first_of("<*{[");
    const std::size_t slash = word.rfind('/', open);
    if (open == std::string::npos || slash == std::string::npos) return std::nullopt;
    word = word.substr(0, slash);
  }
  const std::string folder = FolderOf(word);
  if (folder == "build" || known.exists(word) || known.ids.contains(word)) return std::nullopt;
  if (known.exists(folder)) return fmt::format("there is no {} in the tree", word);
  const auto sibling = known.ids.lower_bound(folder + "/");
  const bool is_family = sibling != known.ids.end() && sibling->starts_with(folder + "/");
  if (is_family && word != folder) return fmt::format("the catalogue has no id {}", word);
  return std::nullopt;
}

Problem JudgePreset(const Known& known, const std::vector<std::string>& words) {
  const auto flag = std::find(words.begin(), words.end(), "--preset");
  if (flag == words.end() || std::next(flag) == words.end() || IsPlaceholder(*std::next(flag))) return std::nullopt;
  if (known.presets.contains(*std::next(flag))) return std::nullopt;
  return fmt::format("CMakePresets.json has no preset {}", *std::next(flag));
}

Problem JudgeMake(const Known& known, const std::vector<std::string>& words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool target =
        words[i].find('=') == std::string::npos && !words[i].starts_with('-') && !IsPlaceholder(words[i]);
    if (target && !known.make_targets.contains(words[i])) return fmt::format("the Makefile has no target {}", words[i]);
  }
  return std::nullopt;
}

Problem JudgeOption(const Known& known, const std::string& command, const std::string& word) {
  const std::string option = word.substr(0, word.find('='));
  const auto has = [&](const std::string& name) {
    const auto at = known.commands.find(name);
    return at != known.commands.end() && at->second.contains(option);
  };
  if (has(command) || has("")) return std::nullopt;
  return fmt::format("vigil {} has no option {}", command, option);
}

Problem JudgeVigil(const Known& known, const std::vector<std::string>& words) {
  std::string command;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "|" || word == ">" || word == "2>&1" || word == "--") break;
    Problem problem;
    if (word.starts_with("--")) {
      problem = JudgeOption(known, command, word);
    } else if (IsPlaceholder(word) || word.starts_with('-')) {
      continue;
    } else if (command.empty()) {
      command = word;
      if (!known.commands.contains(word)) problem = fmt::format("vigil has no subcommand {}", word);
    } else if (command == "explain") {
      if (!known.ids.contains(word)) problem = fmt::format("the catalogue has no id {}", word);
    } else if (word.find('/') != std::string::npos) {
      problem = JudgeSlashed(known, word);
    }
    if (problem) return problem;
  }
  return std::nullopt;
}

Problem JudgeWord(const Known& known, const std::string& word) {
  if (word.starts_with("--")) {
    const bool found = std::any_of(known.commands.begin(), known.commands.end(), [&](const auto& command) {
      return command.second.contains(word.substr(0, word.find('=')));
    });
    return found ? std::nullopt : Problem(fmt::format("no command of vigil has the option {}", word));
  }
  const bool elsewhere = word.starts_with('/') || word.starts_with('~') || word.find("://") != std::string::npos;
  if (elsewhere) return std::nullopt;
  if (word.find('/') != std::string::npos) return JudgeSlashed(known, word);
  if (EndsLikeOurFile(word) && !IsPlaceholder(word) && !known.exists(word))
    return fmt::format("there is no {} at the root of the tree", word);
  return std::nullopt;
}

std::set<std::string> AllMatches(std::string_view text, const std::string& pattern) {
  const std::string copy(text);
  const std::regex regex(pattern, std::regex::ECMAScript | std::regex::multiline);
  std::set<std::string> found;
  for (std::sregex_iterator at(copy.begin(), copy.end(), regex), end; at != end; ++at) found.insert((*at)[1].str());
  return found;
}

void AddSpansOfLine(std::string_view line, int number, std::vector<Span>& spans) {
  for (std::size_t from = line.find('`'); from != std::string_view::npos;) {
    const std::size_t to = line.find('`', from + 1);
    if (to == std::string_view::npos) return;
    spans.push_back({std::string(line.substr(from + 1, to - from - 1)), number});
    from = line.find('`', to + 1);
  }
}

void AddShellLine(std::string_view line, bool console, int number, std::vector<Span>& spans) {
  line = Trim(line);
  if (console && !line.starts_with("$ ")) return;
  if (line.starts_with("$ ")) line.remove_prefix(2);
  line = Trim(line.substr(0, line.find(" #")));
  if (!line.empty() && !line.starts_with('#')) spans.push_back({std::string(line), number});
}

}  // namespace

std::vector<Span> SpansOf(std::string_view markdown) {
  std::vector<Span> spans;
  std::string fence;  // language of the block we are in, "-" for none
  int number = 0;
  for (const std::string_view line : Split(markdown, '\n')) {
    ++number;
    if (line.starts_with("```")) {
      fence = !fence.empty() ? "" : line.size() > 3 ? std::string(line.substr(3)) : "-";
    } else if (fence == "sh" || fence == "console") {
      AddShellLine(line, fence == "console", number, spans);
    } else if (fence.empty()) {
      AddSpansOfLine(line, number, spans);
    }
  }
  return spans;
}

std::vector<Example> ExamplesOf(std::string_view markdown) {
  constexpr std::string_view kOpen = "```console\n$ vigil ";
  std::vector<Example> examples;
  for (std::size_t at = markdown.find(kOpen); at != std::string_view::npos; at = markdown.find(kOpen, at + 1)) {
    const std::size_t arguments = at + kOpen.size();
    const std::size_t from = markdown.find('\n', arguments) + 1;
    const std::size_t to = markdown.find("```", from);
    if (to == std::string_view::npos) break;
    Example example;
    example.arguments = std::string(markdown.substr(arguments, from - 1 - arguments));
    example.shown = std::string(markdown.substr(from, to - from));
    example.cut = example.shown.ends_with("\n...\n");
    example.from = from;
    examples.push_back(std::move(example));
  }
  return examples;
}

std::string ShownPart(const Example& example, const std::string& output) {
  if (!example.cut) return output;
  const auto lines = std::count(example.shown.begin(), example.shown.end(), '\n') - 1;
  std::size_t end = 0;
  for (std::ptrdiff_t i = 0; i < lines && end != std::string::npos; ++i) end = output.find('\n', end) + 1;
  return output.substr(0, end) + "...\n";
}

Problem Judge(const Known& known, std::string_view span) {
  const std::vector<std::string> words = WordsOf(span);
  if (words.empty()) return std::nullopt;
  if (words[0] == "make") return JudgeMake(known, words);
  if (words.size() > 1 && (words[0] == "vigil" || words[0] == "build/release/vigil")) return JudgeVigil(known, words);
  if (words[0] == "cmake" || words[0] == "ctest") return JudgePreset(known, words);
  if (words.size() == 1) return JudgeWord(known, words[0]);
  for (const std::string& word : words) {
    const bool path = word.find('/') != std::string::npos && known.exists(FolderOf(word));
    if (const Problem problem = path ? JudgeSlashed(known, word) : std::nullopt) return problem;
  }
  return std::nullopt;
}

std::set<std::string> MakeTargets(std::string_view makefile) { return AllMatches(makefile, R"(^([a-z][a-z-]*):)"); }
std::set<std::string> PresetNames(std::string_view json) { return AllMatches(json, R"re("name": "([a-z]+)")re"); }
std::set<std::string> OptionsIn(std::string_view help) { return AllMatches(help, R"((--[a-z][a-z-]*))"); }

std::set<std::string> SubcommandsIn(std::string_view help) {
  const std::size_t from = help.find("ubcommands:");
  return from == std::string_view::npos ? std::set<std::string>() : AllMatches(help.substr(from), R"(^ +([a-z]+) )");
}

}  // namespace vigil::structure
