// Paths in, runs out: parts are read, joined, and what they are is found out.
#include <fmt/format.h>

#include <exception>
#include <iterator>
#include <utility>

#include "assemble/assemble.h"
#include "formats/formats.h"
#include "identify/identify.h"
#include "pipeline/join_parts.h"
#include "pipeline/pipeline.h"

namespace vigil::pipeline {
std::vector<model::Run> JoinParts(std::vector<model::Run> parts) {
  std::vector<model::Run> runs = assemble::JoinParts(std::move(parts), formats::Formats());
  for (model::Run& run : runs) {
    identify::Classify(run);
    identify::LearnAxes(run);
  }
  return runs;
}

namespace {

std::vector<std::string> FilesOf(const std::vector<model::Run>& parts) {
  std::vector<std::string> files;
  for (const model::Run& part : parts) {
    const bool is_new = !part.sources.empty() && (files.empty() || files.back() != part.sources.front().path);
    if (is_new) files.push_back(part.sources.front().path);
  }
  return files;
}

// One of the files made joining fail, nobody knows which: each is read again and taken for a run of its own, so that
// the others get their verdict.
void ImportAlone(const std::vector<std::string>& files, Imported& imported) {
  for (const std::string& file : files) {
    try {
      std::vector<model::Run> runs = JoinParts(ingest::ReadPaths({file}, formats::Formats()).parts);
      imported.runs.insert(imported.runs.end(), std::make_move_iterator(runs.begin()),
                           std::make_move_iterator(runs.end()));
    } catch (const std::exception& problem) {
      imported.unread.push_back({file, fmt::format("could not be made a run of: {}", problem.what())});
    }
  }
}

}  // namespace

Imported ImportPaths(const std::vector<std::string>& paths, const ingest::Progress& progress) {
  ingest::FoundParts found = ingest::ReadPaths(paths, formats::Formats(), progress);
  Imported imported = {{}, std::move(found.unread), std::move(found.ignored)};
  const std::vector<std::string> files = FilesOf(found.parts);
  try {
    imported.runs = JoinParts(std::move(found.parts));
  } catch (const std::exception&) {
    ImportAlone(files, imported);
  }
  return imported;
}

Follower::Follower(std::vector<std::string> paths) : files_(std::move(paths), formats::Formats()) {}

std::vector<model::Run> Follower::Runs() const { return JoinParts(files_.Parts()); }

}  // namespace vigil::pipeline
