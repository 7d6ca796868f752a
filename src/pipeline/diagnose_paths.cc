#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "detect/detect.h"
#include "diagnose/diagnose.h"
#include "journal/journal.h"
#include "journal/mover.h"
#include "pipeline/checkpoint_files.h"
#include "pipeline/pipeline.h"
#include "pipeline/rules.h"
#include "platform/files.h"
#include "report/report.h"

namespace vigil::pipeline {
// Broken rules are circumstances: they stand behind what was observed at the same severity.
void AppendRules(std::vector<model::Finding>& findings, std::vector<model::Finding> rules) {
  findings.insert(findings.end(), std::make_move_iterator(rules.begin()), std::make_move_iterator(rules.end()));
  std::stable_sort(findings.begin(), findings.end(),
                   [](const model::Finding& a, const model::Finding& b) { return a.severity > b.severity; });
}

model::RunReport DiagnoseRun(model::Run run, const catalogue::Thresholds& thresholds, bool ended,
                             const diagnose::FittedModel& model) {
  model::RunReport report;
  report.findings = detect::Detect(run, thresholds, ended);
  diagnose::Review(run, report.findings, thresholds, ended, model);
  AppendRules(report.findings, diagnose::CheckConfig(run, thresholds));
  report.diagnoses = diagnose::Diagnose(run, report.findings, thresholds, model);
  report.coverage = diagnose::Cover(run, report.findings);
  report.run = std::move(run);
  return report;
}

void AddDiagnosis(model::Run run, const catalogue::Thresholds& thresholds, model::Report& report) {
  std::string name = run.sources.empty() ? run.name : run.sources.front().path;
  try {
    FindCheckpoints(run);
    report.runs.push_back(DiagnoseRun(std::move(run), thresholds));
  } catch (const std::exception& problem) {
    report.unread.push_back({std::move(name), fmt::format("could not be judged: {}", problem.what())});
  }
}

namespace {

journal::DrainOptions PlacesOf(const std::vector<std::string>& paths) {
  journal::DrainOptions options;
  for (const std::string& path : paths) options.places.push_back(platform::AbsolutePath(path));
  return options;
}

}  // namespace

Drained DrainJournals(const std::vector<std::string>& paths) {
  journal::Leftovers leftovers = journal::DrainLeftovers(PlacesOf(paths));
  return {leftovers.records, leftovers.rings, std::move(leftovers.problems)};
}

std::vector<Error> FindUndrained(const std::vector<std::string>& paths) {
  return journal::FindLeftovers(PlacesOf(paths));
}

Outcome DiagnosePaths(const std::vector<std::string>& paths, const catalogue::Thresholds& thresholds,
                      const ingest::Progress& progress) {
  Imported imported = ImportPaths(paths, progress);
  Outcome outcome;
  outcome.ignored = imported.ignored.size();
  outcome.report.unread = std::move(imported.unread);
  for (model::Run& run : imported.runs) AddDiagnosis(std::move(run), thresholds, outcome.report);
  diagnose::CompareRuns(outcome.report.runs, thresholds);
  return outcome;
}

}  // namespace vigil::pipeline
