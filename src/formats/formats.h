// formats: every source format that vigil reads, one folder and one row each. The table is for ingest, which opens
// files and asks the rows which of them a content is of.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingest/ingest.h"

namespace vigil::formats {

// All of them. Where two are equally sure of a content, the first counts.
ingest::FormatTable Formats();
// The row of that id; null when there is none.
const ingest::Format* Find(std::string_view id);

// What ingest does, with this table.
inline const ingest::Format* Recognise(const ingest::Probe& probe) { return ingest::Recognise(Formats(), probe); }
inline ingest::Reading<std::vector<model::Run>> ReadRuns(const std::string& path) {
  return ingest::ReadRuns(path, Formats());
}
inline ingest::Reading<model::Run> ReadFile(const std::string& path) { return ingest::ReadFile(path, Formats()); }

}  // namespace vigil::formats
