// What the tests of the recorder share: a folder, a run in it, and what its journal holds afterwards.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "ingest/ingest.h"
#include "journal/mover.h"
#include "pipeline/pipeline.h"
#include "record/record.h"

namespace vigil::record {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "vigil_record_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline RunHandle OpenIn(const std::string& folder, std::uint32_t flush_interval_ms = 5) {
  Options options;
  options.folder = folder;
  options.name = "test";
  options.flush_interval_ms = flush_interval_ms;
  RunHandle run = 0;
  std::string message;
  EXPECT_EQ(Open(options, run, message), Code::kOk) << message;
  return run;
}

inline SeriesHandle SeriesIn(RunHandle run, const std::string& name) {
  journal::Definition definition;
  definition.name = name;
  SeriesHandle series = 0;
  EXPECT_EQ(OpenSeries(run, definition, series), Code::kOk);
  return series;
}

// Who wrote that journal.
inline journal::Begin BeginOfJournal(const std::string& path) {
  struct First : journal::Visitor {
    journal::Begin begin;
    void OnBegin(const journal::Begin& found) override { begin = found; }
  } first;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  journal::Decoder(first).Consume(bytes, true);
  return first.begin;
}
// The same of the first journal of rank 0 in that folder.
inline journal::Begin BeginOf(const std::string& folder) { return BeginOfJournal(folder + "/rank-0.vigil"); }

// Empties what killed processes left in that folder.
inline journal::Leftovers DrainIn(const std::string& folder) {
  journal::DrainOptions options;
  options.places = {folder};
  return journal::DrainLeftovers(options);
}

inline model::Run ReadRun(const std::string& folder) {
  pipeline::Imported imported = pipeline::ImportPaths({folder});
  EXPECT_EQ(imported.runs.size(), 1U);
  EXPECT_TRUE(imported.unread.empty());
  return imported.runs.empty() ? model::Run() : std::move(imported.runs[0]);
}

inline const model::Series& SeriesOf(const model::Run& run, std::string_view raw) {
  static const model::Series none;
  for (const model::Series& series : run.series) {
    if (series.raw == raw) return series;
  }
  ADD_FAILURE() << "no series " << raw;
  return none;
}

}  // namespace vigil::record
