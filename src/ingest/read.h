// The one way in: a path or a stream becomes parts of runs, the same for a finished file, a member of an archive and
// standard input. A growing file takes the first half of it (OpenFile) and keeps its Feed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/feed.h"
#include "ingest/ingest.h"

namespace vigil::ingest {

// Opens, expands, decodes and recognises. An Error when the file cannot be opened or read, or is empty.
Result<OpenedFile> OpenFile(const std::string& path, FormatTable formats);

// What one source gave: an archive many parts and many errors, any other file either the one or the other.
struct ReadOutcome {
  std::vector<model::Run> parts;
  std::vector<ReadFailure> errors;  // each with the path it is about
};
// Reads the rest. An archive's members are read like files in a directory of the archive's name.
ReadOutcome ReadOpened(OpenedFile opened, FormatTable formats);
// Both.
ReadOutcome ReadSource(const std::string& path, FormatTable formats);

}  // namespace vigil::ingest
