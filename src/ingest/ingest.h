// ingest: from paths to the parts of runs that the files there hold. Opens, decompresses, decodes, recognises and feeds
// files to the reader of their format, finished or while they grow. Knows no format: the table of them is given in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/base.h"
#include "ingest/bytes/encoding.h"
#include "ingest/format.h"
#include "ingest/part_builder.h"
#include "ingest/paths.h"
#include "ingest/time.h"
#include "model/report.h"
#include "model/run.h"

namespace vigil::ingest {

// Reads one file with the format its content shows: each run that it holds. A part's source carries path, format, state
// and notes.
// A ReadFailure when nothing could be read from it: unknown format, empty, unreadable.
Reading<std::vector<model::Run>> ReadRuns(const std::string& path, FormatTable formats);
// The first of them: most files hold one.
Reading<model::Run> ReadFile(const std::string& path, FormatTable formats);
// The same over bytes in memory; each Consume sees `piece_bytes` more than was left over (0: all at once).
Reading<std::vector<model::Run>> ReadRunsInBytes(const std::string& path, std::string_view bytes, const Format& format,
                                                 std::size_t piece_bytes = 0);
Reading<model::Run> ReadBytes(const std::string& path, std::string_view bytes, const Format& format,
                              std::size_t piece_bytes = 0);

// Called now and then while reading: files done, files in all. While folders are still walked `total` is 0 and `done`
// says how many files were found.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

// The path that stands for standard input.
inline constexpr std::string_view kStandardInput = "-";

// What was found at some paths.
struct FoundParts {
  std::vector<model::Run> parts;
  std::vector<model::Unread> unread;   // could not be read, with the reason: these matter
  std::vector<model::Unread> ignored;  // recognised as of no use to vigil (weights, source code): listed on request
};
// Everything that can be read at the paths (files, folders, kStandardInput), each file once.
FoundParts ReadPaths(const std::vector<std::string>& paths, FormatTable formats, const Progress& progress = {});

// Follows files that grow. Records are read once where their points stay (Growth::kByRecords), other files again when
// they have changed. A file that is rotated, truncated or rewritten begins a new part; what it held before stays,
// unless a file that is there says all of it. New files below the paths are taken as they appear. A file that takes
// more than its budget, or makes its reader fail, is left alone until another one is in its place, and the others go
// on.
class Follower {
 public:
  Follower(std::vector<std::string> paths, FormatTable formats);
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  Follower(Follower&&) = delete;
  Follower& operator=(Follower&&) = delete;

  // Takes what is new at the paths; true when there was anything.
  bool Poll();
  // The parts as they stand. Empty as long as nothing could be read.
  std::vector<model::Run> Parts() const;
  // The parts that records are appended to, where they grow: each the same object as long as structure() is the same.
  std::vector<const PartBuilder*> Growing() const;
  // A number that changes whenever Parts() changes in another way than by what is appended to those of Growing(): a new
  // file, one that was read again, rotated or removed.
  std::uint64_t structure() const;
  // Nothing more will be written: what stands at the end of a file without an end of its own is taken as it is.
  void Conclude();
  std::size_t file_count() const;
  // Files that exceed their budget or make their reader fail: left alone until another is in their place.
  const std::vector<model::Unread>& unread() const;

 private:
  class Files;
  std::unique_ptr<Files> files_;
};

}  // namespace vigil::ingest
