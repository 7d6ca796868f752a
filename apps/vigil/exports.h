// Files that `vigil diagnose` also writes when asked: for continuous integration, code scanning, collectors and
// TensorBoard.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "base/base.h"
#include "model/report.h"

namespace vigil::app {

struct Exports {
  std::string junit;
  std::string sarif;
  std::string openmetrics;
  bool tensorboard = false;
};
void AddExportOptions(CLI::App& command, Exports& exports);

// Writes what was asked for, each file whole or not at all. `say` hears of every file written.
Status WriteExports(const Exports& exports, const model::Report& report, const std::string& fail_on,
                    const std::function<void(const std::string& path)>& say);

}  // namespace vigil::app
