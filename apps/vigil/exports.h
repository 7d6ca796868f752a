// Files that `vigil diagnose` also writes when asked: for continuous integration, code scanning, collectors and
// TensorBoard.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "base/base.h"
#include "command.h"
#include "model/report.h"

namespace vigil::app {

struct Exports {
  std::string html;
  std::string junit;
  std::string sarif;
  std::string openmetrics;
  bool tensorboard = false;
};
void AddExportOptions(CLI::App& command, Exports& exports);
// For the path of an output: why it cannot be one, or nothing.
std::string WhyNoPath(const std::string& path);
// The file that two options name, or nothing.
std::string RepeatedOutput(const Exports& exports);

// The options whose file is standard output, `-` or /dev/stdout: what they write takes the place of the report.
std::vector<std::string> OptionsOnStandardOutput(const Exports& exports);
// Writes one output, whole or not at all; not over a file that the report was made from or one of `inputs`.
Status WriteOutput(const std::string& path, const std::string& content, const model::Report& report,
                   const std::vector<std::string>& inputs);
// Writes what was asked for, each file whole or not at all. What cannot be written keeps nothing else from being
// written, nor does one that would overwrite what was read: a file of the runs, one of `paths`, which the user named,
// or the settings. `say` hears of every file written.
std::vector<Error> WriteExports(const Exports& exports, const model::Report& report, const Limits& limits,
                                const std::vector<std::string>& paths,
                                const std::function<void(const std::string& path)>& say);

}  // namespace vigil::app
