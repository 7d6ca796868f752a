// pipeline: the whole line in one call: paths to runs, runs to findings, findings to causes. The program and the
// accuracy table use the same one.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "catalogue/catalogue.h"
#include "ingest/ingest.h"
#include "model/model.h"

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

 private:
  ingest::Follower files_;
};

// What is said about one run. One that has not `ended` is not blamed for what may yet come.
model::RunReport DiagnoseRun(model::Run run, const catalogue::Settings& settings, bool ended = true);

// What killed processes of these runs left in shared memory is put into their journals. Returns what had to stay there,
// with the reason.
std::vector<std::string> DrainJournals(const std::vector<std::string>& paths);

struct Outcome {
  model::Report report;
  std::size_t ignored = 0;  // files that are of no use to vigil
};
// Everything at the paths. Never fails: what could not be read stands in the report.
Outcome DiagnosePaths(const std::vector<std::string>& paths, const catalogue::Settings& settings,
                      const ingest::Progress& progress = {});

}  // namespace vigil::pipeline
