#include "pipeline.h"

#include <utility>

#include "detect/detect.h"
#include "diagnose/diagnose.h"

namespace vigil::app {
namespace {

// The path stands beside the reason in every report; messages of the reader may begin with it too.
void DropRepeatedPath(model::Unread& unread) {
  const std::string prefix = unread.path + ": ";
  if (unread.reason.starts_with(prefix)) unread.reason.erase(0, prefix.size());
}

}  // namespace

model::RunReport DiagnoseRun(model::Run run, const catalogue::Settings& settings) {
  model::RunReport report;
  report.findings = detect::Detect(run, settings);
  report.diagnoses = diagnose::Diagnose(run, report.findings, settings);
  report.coverage = diagnose::Cover(run);
  report.run = std::move(run);
  return report;
}

Outcome DiagnosePaths(const std::vector<std::string>& paths, const catalogue::Settings& settings,
                      const import::Progress& progress) {
  import::Imported imported = import::ImportPaths(paths, progress);
  Outcome outcome;
  outcome.ignored = imported.ignored.size();
  outcome.report.unread = std::move(imported.unread);
  for (model::Unread& unread : outcome.report.unread) DropRepeatedPath(unread);
  for (model::Run& run : imported.runs) outcome.report.runs.push_back(DiagnoseRun(std::move(run), settings));
  return outcome;
}

}  // namespace vigil::app
