// The whole line in one call: files to runs, runs to findings, findings to causes. The program and the accuracy table
// use the same one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "import/import.h"
#include "model/model.h"

namespace vigil::app {

// The report of one run. One that has not `ended` is not blamed for what may yet come.
model::RunReport DiagnoseRun(model::Run run, const catalogue::Settings& settings, bool ended = true);

// What killed processes of these runs left in shared memory is put into their journals. Returns what had to stay there,
// with the reason.
std::vector<std::string> DrainJournals(const std::vector<std::string>& paths);

struct Outcome {
  model::Report report;
  std::size_t ignored = 0;  // unrecognised files
};
// Everything at the paths. Never fails: what could not be read stands in the report.
Outcome DiagnosePaths(const std::vector<std::string>& paths, const catalogue::Settings& settings,
                      const import::Progress& progress = {});

}  // namespace vigil::app
