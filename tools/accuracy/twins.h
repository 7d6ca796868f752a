// The same runs in other formats: does the verdict stay the same?
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/base.h"
#include "model/report.h"

namespace vigil::accuracy {

// What counts of a verdict when two of the same run are compared.
struct TwinVerdict {
  bool read = false;
  std::set<std::string> errors;    // ids at `error` and above
  std::set<std::string> findings;  // ids from `warning` up
  std::string cause;               // named first, or empty
};
TwinVerdict TwinVerdictOf(const model::Report& report);

// What is known of a style of writing.
struct Style {
  std::string config;     // how the settings are written; "-" where they are not
  bool is_lossy = false;  // it rounds, or drops columns or points
};
// The list that `gym/scale/render.py --list` prints: name, config, and `lossy` for those that are.
std::map<std::string, Style> ParseStyles(std::string_view text);

// One run in one style.
struct Rendering {
  std::string run;
  std::string style;
  TwinVerdict verdict;
};
// A row for each style: of the runs with a finding in the style `jsonl` the share with the same verdict, of those
// without any the share that stays so; sums over the styles that lose nothing and those that do.
std::string TwinTable(const std::vector<Rendering>& renderings, const std::map<std::string, Style>& styles);

// The table of a folder of run/style/files, with the list of styles in its file STYLES.
Result<std::string> CompareTwins(const std::string& path, unsigned threads = 0);

}  // namespace vigil::accuracy
