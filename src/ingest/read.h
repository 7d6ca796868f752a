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
Result<OpenedFile> OpenFile(const std::string& path, FormatTable formats, bool is_wanted = false);

// What one source gave: an archive many parts and many errors, any other file either the one or the other.
struct ReadOutcome {
  std::vector<model::Run> parts;
  std::vector<ReadFailure> errors;  // each with the path it is about
};
// Reads the rest. An archive's members are read like files in a directory of the archive's name.
ReadOutcome ReadOpened(OpenedFile opened, FormatTable formats);
// Both, whatever happens: no exception passes. What it takes counts in `all`, the budget of all sources together, where
// there is one.
// `is_wanted`: see Probe.
ReadOutcome ReadSource(const std::string& path, FormatTable formats, platform::MemoryBudget* all = nullptr,
                       bool is_wanted = false);
// What all sources of one diagnosis may take together, by what the machine has available now.
platform::MemoryBudget BudgetForAll();

}  // namespace vigil::ingest
