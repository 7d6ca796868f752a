// Paths in, runs out: parts are read, joined, and what they are is found out.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <utility>

#include "assemble/assemble.h"
#include "formats/formats.h"
#include "identify/identify.h"
#include "pipeline/join_parts.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"

namespace vigil::pipeline {
std::vector<model::Run> JoinParts(std::vector<model::Run> parts) {
  std::vector<model::Run> runs = assemble::JoinParts(std::move(parts), formats::Formats());
  for (model::Run& run : runs) {
    identify::Classify(run);
    identify::LearnAxes(run);
  }
  return runs;
}

std::vector<model::Run> JoinEach(std::vector<model::Run> parts, std::vector<model::Unread>& unread) {
  std::map<std::string, std::vector<model::Run>> by_file;
  for (model::Run& part : parts) by_file[part.sources.front().path].push_back(std::move(part));
  std::vector<model::Run> runs;
  for (auto& [file, its] : by_file) {
    try {
      std::vector<model::Run> joined = JoinParts(std::move(its));
      runs.insert(runs.end(), std::make_move_iterator(joined.begin()), std::make_move_iterator(joined.end()));
    } catch (const std::exception& problem) {
      unread.push_back({file, fmt::format("could not be made a run of: {}", problem.what())});
    }
  }
  return runs;
}

std::vector<model::Run> JoinFollowed(const ingest::Follower& files, std::vector<model::Unread>& unread) {
  try {
    return JoinParts(files.Parts());
  } catch (const std::exception&) {
    return JoinEach(files.Parts(), unread);
  }
}

namespace {

// The sources of parts that came from one file on disk: the file itself, or members of an archive.
struct ReadFile {
  std::string path;  // empty: it cannot be read again
  std::vector<std::string> sources;
};

// The file that holds the source: the member of an archive is named like a file below it.
std::string OnDisk(const std::string& source) {
  for (std::string path = source; !path.empty() && path != "/" && path != ".";) {
    if (const auto entry = platform::Stat(path))
      return entry->kind == platform::EntryKind::kFile ? path : std::string();
    path = platform::FolderOf(path);
  }
  return {};
}

std::vector<std::string> SourcesOf(const std::vector<model::Run>& parts) {
  std::vector<std::string> sources;
  for (const model::Run& part : parts) {
    const std::string& source = part.sources.front().path;
    if (sources.empty() || sources.back() != source) sources.push_back(source);
  }
  return sources;
}

std::vector<ReadFile> FilesOf(const std::vector<std::string>& sources) {
  const std::string piped(ingest::kStandardInput);
  std::vector<ReadFile> files;
  for (const std::string& source : sources) {
    const bool is_piped = source == piped || source.starts_with(piped + "/");
    std::string path = is_piped ? std::string() : OnDisk(source);
    if (files.empty() || files.back().path != path) files.push_back({std::move(path), {}});
    files.back().sources.push_back(source);
  }
  return files;
}

void Name(model::Unread unread, Imported& imported) {
  const bool is_named = std::any_of(imported.unread.begin(), imported.unread.end(),
                                    [&](const model::Unread& known) { return known.path == unread.path; });
  if (!is_named) imported.unread.push_back(std::move(unread));
}

void ImportAgain(const std::string& path, Imported& imported) {
  ingest::FoundParts found = ingest::ReadPaths({path}, formats::Formats());
  for (const model::Unread& unread : found.unread) Name(unread, imported);
  std::vector<model::Unread> failed;
  std::vector<model::Run> runs = JoinEach(std::move(found.parts), failed);
  for (const model::Unread& unread : failed) Name(unread, imported);
  imported.runs.insert(imported.runs.end(), std::make_move_iterator(runs.begin()), std::make_move_iterator(runs.end()));
}

// One of the files made joining fail, nobody knows which: each is read again and taken for a run of its own, so that
// the others get their verdict.
void ImportAlone(const std::vector<ReadFile>& files, Imported& imported) {
  for (const ReadFile& file : files) {
    try {
      if (!file.path.empty()) {
        ImportAgain(file.path, imported);
        continue;
      }
      for (const std::string& source : file.sources)
        Name({source, "could not be joined to a run, and cannot be read again"}, imported);
    } catch (const std::exception& problem) {
      for (const std::string& source : file.sources)
        Name({source, fmt::format("could not be made a run of: {}", problem.what())}, imported);
    }
  }
}

}  // namespace

Imported ImportPaths(const std::vector<std::string>& paths, const ingest::Progress& progress) {
  ingest::FoundParts found = ingest::ReadPaths(paths, formats::Formats(), progress);
  Imported imported = {{}, std::move(found.unread), std::move(found.ignored)};
  const std::vector<std::string> sources = SourcesOf(found.parts);
  try {
    imported.runs = JoinParts(std::move(found.parts));
  } catch (const std::exception&) {
    ImportAlone(FilesOf(sources), imported);
  }
  return imported;
}

Follower::Follower(std::vector<std::string> paths) : files_(std::move(paths), formats::Formats()) {}

std::vector<model::Run> Follower::Runs() const {
  std::vector<model::Unread> failed;
  return JoinFollowed(files_, failed);
}

}  // namespace vigil::pipeline
