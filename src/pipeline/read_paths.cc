// Paths in, runs out: parts are read, joined, and what they are is found out.
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

Imported ImportPaths(const std::vector<std::string>& paths, const ingest::Progress& progress) {
  ingest::FoundParts found = ingest::ReadPaths(paths, formats::Formats(), progress);
  return {JoinParts(std::move(found.parts)), std::move(found.unread), std::move(found.ignored)};
}

Follower::Follower(std::vector<std::string> paths) : files_(std::move(paths), formats::Formats()) {}

std::vector<model::Run> Follower::Runs() const { return JoinParts(files_.Parts()); }

}  // namespace vigil::pipeline
