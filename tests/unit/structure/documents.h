// What documents promise: paths, make targets, presets, calls of vigil and catalogue ids in code spans and shell
// blocks.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vigil::structure {

// A piece of code in a document: what stands in backticks, or a line of a shell block.
struct Span {
  std::string text;
  int line = 0;
};
std::vector<Span> SpansOf(std::string_view markdown);

// An example that shows what vigil prints: a `console` block whose first line is "$ vigil ...". A last line "..." says
// that the output goes on.
struct Example {
  std::string arguments;
  std::string shown;
  bool cut = false;
  std::size_t from = 0;  // where `shown` begins in the document
};
std::vector<Example> ExamplesOf(std::string_view markdown);
// The part of `output` that the example shows: as many lines, and all of them when it is not cut.
std::string ShownPart(const Example& example, const std::string& output);

// What exists, to judge documents against.
struct Known {
  std::set<std::string> make_targets;
  std::set<std::string> presets;
  std::set<std::string> ids;
  std::map<std::string, std::set<std::string>>
      commands;                                         // subcommand of vigil to its options; "" holds the common ones
  std::function<bool(const std::string& path)> exists;  // a path from the root of the tree
};

// What is wrong with a span, or nothing. Words in capitals and <angles> are placeholders and stand for anything.
std::optional<std::string> Judge(const Known& known, std::string_view span);

// The targets that a Makefile defines, and the preset names of a CMakePresets.json.
std::set<std::string> MakeTargets(std::string_view makefile);
std::set<std::string> PresetNames(std::string_view json);
// The subcommands and options that a help text lists.
std::set<std::string> SubcommandsIn(std::string_view help);
std::set<std::string> OptionsIn(std::string_view help);

}  // namespace vigil::structure
