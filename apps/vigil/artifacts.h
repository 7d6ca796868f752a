// The folder that `vigil diagnose --artifacts` writes: all reports of one diagnosis under fixed names, for a job of
// continuous integration to upload.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/base.h"
#include "command.h"
#include "model/report.h"

namespace vigil::app {

// The files of the folder, as paths.
std::vector<std::string> ArtifactPaths(const std::string& folder);
// Why the folder cannot be written, empty when it can: it must not lie in one that is read, where the next diagnosis
// would take the reports for files of the run.
std::string WhyNoArtifacts(const std::string& folder, const std::vector<std::string>& inputs);
// Makes the folder and writes every file, each whole or not at all. The diff of a fix is written where there is one,
// and an old one removed where there is none; the config itself stays as it is. `say` hears of every file written.
std::vector<Error> WriteArtifacts(const std::string& folder, model::Report& report, const Limits& limits,
                                  const std::vector<std::string>& inputs,
                                  const std::function<void(const std::string& path)>& say);

}  // namespace vigil::app
