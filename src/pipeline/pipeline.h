// pipeline: the whole line in one call: paths to runs, runs to findings, findings to causes. The program and the
// accuracy table use the same one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "diagnose/diagnose.h"
#include "ingest/ingest.h"
#include "model/report.h"
#include "model/run.h"

namespace vigil::pipeline {

struct Imported {
  std::vector<model::Run> runs;
  std::vector<model::Unread> unread;   // could not be read, with the reason: these matter
  std::vector<model::Unread> ignored;  // recognised as of no use to vigil (weights, source code): listed on request
};
// Everything that can be read at the paths (files, folders, ingest::kStandardInput), joined into runs.
Imported ImportPaths(const std::vector<std::string>& paths, const ingest::Progress& progress = {});

// The runs at some paths while their files grow (see ingest::Follower).
class Follower {
 public:
  explicit Follower(std::vector<std::string> paths);

  // Takes what is new at the paths; true when there was anything.
  bool Poll() { return files_.Poll(); }
  // The runs as they stand. Empty as long as nothing could be read.
  std::vector<model::Run> Runs() const;
  // Nothing more will be written.
  void Conclude() { files_.Conclude(); }
  std::size_t file_count() const { return files_.file_count(); }
  // Files that are left alone, with the reason.
  const std::vector<model::Unread>& unread() const { return files_.unread(); }

 private:
  ingest::Follower files_;
};

// The findings of runs while their files grow. A look costs what is new where files only grow: points are appended to
// the runs where they are, and detectors go on from where they were. A new file, metric or setting, and a file that has
// to be read again (ingest::Follower), joins all runs again. The same findings as of the files at that time, but for
// what only a finished run is blamed for, and for a last row that waits a look for its step.
class Monitor {
 public:
  Monitor(std::vector<std::string> paths, const catalogue::Thresholds& thresholds);
  ~Monitor();
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  Monitor(Monitor&&) = delete;
  Monitor& operator=(Monitor&&) = delete;

  // Takes what is new at the paths; true when there was anything.
  bool Poll();
  // The runs and what is found in them now, without diagnoses, and the files that are left alone, with the reason (a
  // budget that was exceeded, a reader that failed). `series` of the runs have their last points only.
  const model::Report& report() const;
  // hang/stalled: nothing was written for so long. Adds it to the findings of the runs that it holds for.
  void AddStalls(double silent_s);
  // Nothing more will be written: the runs as they are read from their finished files, with diagnoses.
  model::Report Conclude();

  // How often files were joined again, and detectors fed from the beginning.
  struct Work {
    std::uint64_t joins = 0;
    std::uint64_t replays = 0;
  };
  Work work() const;

 private:
  class Runs;
  std::unique_ptr<Runs> runs_;
};

// The report of one run. One that has not `ended` is not blamed for what may yet come.
model::RunReport DiagnoseRun(model::Run run, const catalogue::Thresholds& thresholds, bool ended = true,
                             const diagnose::FittedModel& model = diagnose::FittedModel::Shipped());

// What killed processes of these runs left in shared memory, moved into their journals: the one step that writes.
struct Drained {
  std::uint64_t records = 0;    // that were moved
  std::size_t processes = 0;    // whose records they were
  std::vector<Error> problems;  // what stays in shared memory, with the reason (a folder that is read-only)
};
Drained DrainJournals(const std::vector<std::string>& paths);
// The same without writing: what is missing in the journals, and where it is.
std::vector<Error> FindUndrained(const std::vector<std::string>& paths);

// Configs of the runs with the remedies of their first diagnosis put in, written beside them under a name that no file
// has; never over one. Where a run has no config, the settings to copy.
enum class FixWhich : std::uint8_t {
  kFirst,  // the first remedy that is a setting
  kAll,    // all that are, in one file
  kEach,   // all that are, each in a file of its own
};
struct FixOptions {
  FixWhich which = FixWhich::kFirst;
  bool dry = false;                       // nothing is written
  std::vector<std::string> configs = {};  // to be changed instead of those among the files of the run
};
// Adds them to the report. What could not be read or written.
std::vector<Error> FixConfigs(model::Report& report, const FixOptions& options);

struct Outcome {
  model::Report report;
  std::size_t ignored = 0;  // files that are of no use to vigil
};
// Everything at the paths. Never fails: what could not be read stands in the report.
Outcome DiagnosePaths(const std::vector<std::string>& paths, const catalogue::Thresholds& thresholds,
                      const ingest::Progress& progress = {});

// The one run at the path, diagnosed: what others are compared with. An error where there is none, or more than one.
Result<model::RunReport> LoadBaseline(const std::string& path, const catalogue::Thresholds& thresholds);

}  // namespace vigil::pipeline
