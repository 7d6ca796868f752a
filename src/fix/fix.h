// fix: a config file with remedies put in. Which of its settings a remedy means, the changed text with comments and
// order kept, and the difference as a unified diff. Pure: texts in, texts out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "configfile/configfile.h"
#include "model/finding.h"

namespace vigil::fix {

// Whether the file holds the setting that the remedy changes; one that is left to the framework ("auto") it does not.
bool HoldsSetting(const configfile::File& file, const model::Remedy& remedy);
// How well the file suits as the place for settings that it does not hold yet: the number of training settings in it.
std::size_t CountSettings(const configfile::File& file);
// A value that can be written into a config: neither words nor a line of code.
bool IsWritable(const model::Remedy& remedy);

// One setting that was changed, or why it was not.
struct Change {
  std::string remedy;
  std::string setting;  // its path in the file
  std::string current;  // as it stood there, empty where it was added
  std::string proposed;
  std::string problem;  // empty when it was changed
};

struct Fixed {
  std::string text;  // as it was where nothing could be changed
  std::vector<Change> changes;
  bool Any() const;
};
// The text with all of the remedies put in, one after the other; with `add`, settings that are not there are added.
Fixed Apply(const configfile::File& file, std::span<const model::Remedy> remedies, bool add);

// In the form of diff -u, three lines around each change; empty when the texts are equal.
std::string UnifiedDiff(std::string_view old_name, std::string_view old_text, std::string_view new_name,
                        std::string_view new_text);

// "dir/config.vigil-fix.yml" of "dir/config.yml": beside it, with its ending. `part` names one of several ("lower-lr"),
// `number` from 2 on is for names that are taken.
std::string FixedName(std::string_view path, std::string_view part = {}, int number = 1);

// The settings as lines that can be copied, for a run without a config file.
std::string Snippet(std::span<const model::Remedy> remedies);

}  // namespace vigil::fix
