#include "ingest/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "ingest/ignored.h"
#include "ingest/ingest.h"
#include "ingest/paths.h"
#include "ingest/read.h"
#include "ingest/unsupported.h"
#include "platform/files.h"

namespace vigil::ingest {
namespace {

struct Candidate {
  std::string path;
  bool named = false;    // by the user: then it must be read, or said why not
  std::size_t root = 0;  // which of the paths given it was found at
};

// Finds the files to read: each once, in the order of the paths given and by name within a folder.
class Search {
 public:
  Search(FoundParts& found, const Progress& progress) : found_(found), progress_(progress) {}

  void Add(const std::string& path) {
    ++root_;
    if (path == kStandardInput) return AddFile(path, true);
    const auto entry = platform::Stat(path);
    if (!entry) {
      found_.unread.push_back({path, entry.error().message});
    } else if (entry->kind == platform::EntryKind::kFolder) {
      AddFolder(path);
    } else {
      AddFile(path, true);
    }
  }

  const std::vector<Candidate>& files() const { return files_; }
  // Documents and notebooks of a path, for where nothing else there holds metrics.
  const std::vector<Candidate>& documents() const { return documents_; }

 private:
  void AddFolder(const std::string& path) {
    std::vector<Error> unreadable;
    const std::size_t before_it = walked_;
    const auto entries = platform::ListFiles(path, kMostFiles, unreadable, [&](std::size_t found) {
      if (progress_) progress_(before_it + found, 0);
    });
    walked_ += entries.size();
    const bool said = !unreadable.empty();
    for (const Error& error : unreadable) found_.unread.push_back({error.path, error.message});
    const std::size_t before = files_.size();
    for (const platform::Entry& entry : entries) {
      if (entry.kind == platform::EntryKind::kOther) {
        found_.ignored.push_back({entry.path, "no regular file"});
      } else if (entry.size_bytes == 0) {
        found_.ignored.push_back({entry.path, "empty file"});  // a million of them need not be opened
      } else if (const std::string_view later = WhyUnsupported(entry.path, {}); !later.empty()) {
        found_.unread.push_back({entry.path, std::string(later)});
      } else if (const std::string_view reason = WhyIgnored(entry.path); !reason.empty()) {
        found_.ignored.push_back({entry.path, std::string(reason)});
        if (MayHoldMetrics(reason)) documents_.push_back({entry.path, false, root_ - 1});
      } else {
        AddFile(entry.path, false);
      }
    }
    if (entries.empty() && files_.size() == before && !said) found_.unread.push_back({path, "holds no files"});
  }

  void AddFile(const std::string& path, bool named) {
    if (seen_.insert(PlainPath(path)).second) files_.push_back({path, named, root_ - 1});
  }

  FoundParts& found_;
  const Progress& progress_;
  std::size_t walked_ = 0;  // files in the folders so far
  std::vector<Candidate> files_;
  std::vector<Candidate> documents_;
  std::size_t root_ = 0;
  std::set<std::string> seen_;
};

// Errors of a path that the user named are said; those of files met on the way only when the file should have been
// readable: it is damaged, or its name says that it is a log.
void File(const ReadFailure& error, bool named, FoundParts& found) {
  const bool is_log = IsLogName(error.path) && error.code != ErrorCode::kEmpty;
  const bool ignored = !named && IsOfNoUse(error.code) && !is_log;
  (ignored ? found.ignored : found.unread).push_back({error.path, error.message, error.notes});
}

void Read(const Candidate& file, FormatTable formats, platform::MemoryBudget& all, FoundParts& found) {
  ReadOutcome outcome = ReadSource(file.path, formats, &all, file.named);
  std::move(outcome.parts.begin(), outcome.parts.end(), std::back_inserter(found.parts));
  // Nobody named the members of an archive one by one.
  for (const ReadFailure& error : outcome.errors) File(error, file.named && error.path == file.path, found);
}

bool HoldsMetrics(const model::Run& part) {
  // A few numbers may be quoted.
  constexpr std::size_t kFewPoints = 5;
  return std::any_of(part.series.begin(), part.series.end(),
                     [](const model::Series& series) { return series.size() >= kFewPoints; });
}

// Where nothing else at a path holds metrics, its notes and notebooks are read, and files that no reader knew. What
// they quote of errors without any metrics may be another run's.
class Leftovers {
 public:
  Leftovers(FormatTable formats, platform::MemoryBudget& all, FoundParts& found)
      : formats_(formats), all_(all), found_(found) {}

  // True when it held some.
  bool Read(const Candidate& file) {
    constexpr std::size_t kMost = 200;
    if (tried_++ >= kMost) return false;
    ReadOutcome outcome = ReadSource(file.path, formats_, &all_, true);
    const bool is_notebook = MayHoldMetrics(WhyIgnored(file.path)) && file.path.ends_with(".ipynb");
    bool any = false;
    for (model::Run& part : outcome.parts) {
      if (!HoldsMetrics(part) && !is_notebook) continue;
      found_.parts.push_back(std::move(part));
      any = true;
    }
    if (any) std::erase_if(found_.ignored, [&](const model::Unread& one) { return one.path == file.path; });
    if (!any && !outcome.errors.empty()) Note(outcome.errors.back());
    return any;
  }

 private:
  // The line that came closest, beside the reason that is there.
  void Note(const ReadFailure& error) {
    for (model::Unread& one : found_.ignored) {
      if (one.path == error.path) one.notes = error.notes;
    }
  }

  FormatTable formats_;
  platform::MemoryBudget& all_;
  FoundParts& found_;
  std::size_t tried_ = 0;
};

// Files of a path that stands before it, or inside another that was given, are found there.
bool IsWithinAnother(const std::vector<std::string>& paths, std::size_t at) {
  const std::string inner = PlainPath(paths[at]);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string other = PlainPath(paths[i]);
    if ((i < at && other == inner) || (i != at && (other.empty() || inner.starts_with(other + "/")))) return true;
  }
  return false;
}

// What came of one of the paths given.
struct Looked {
  std::size_t files = 0;
  bool said_something = false;
  bool has_metrics = false;
};

// Nothing was read at all: which files were looked at, and why each gave nothing.
void NameAll(FoundParts& found) {
  constexpr std::size_t kMost = 100;
  const std::size_t count = std::min(found.ignored.size(), kMost);
  const auto end = found.ignored.begin() + static_cast<std::ptrdiff_t>(count);
  found.unread.insert(found.unread.end(), found.ignored.begin(), end);
  found.ignored.erase(found.ignored.begin(), end);
}

// A directory that was asked for and holds nothing readable must not vanish beside one that does.
void NameEmptyPaths(const std::vector<std::string>& paths, const std::vector<Looked>& looked, FoundParts& found) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (looked[i].said_something) continue;
    const bool known = std::any_of(found.unread.begin(), found.unread.end(),
                                   [&](const model::Unread& unread) { return unread.path.starts_with(paths[i]); });
    if (known || IsWithinAnother(paths, i)) continue;
    const ReadFailure nothing(
        ErrorCode::kNoData, paths[i],
        fmt::format("nothing that vigil can read ({} files looked at)", FormatCount(looked[i].files)));
    File(nothing, true, found);
  }
}

}  // namespace

FoundParts ReadPaths(const std::vector<std::string>& paths, FormatTable formats, const Progress& progress) {
  FoundParts found;
  Search search(found, progress);
  for (const std::string& path : paths) search.Add(path);
  std::vector<Looked> looked(paths.size());
  platform::MemoryBudget all = BudgetForAll();
  std::vector<Candidate> leftovers = search.documents();
  for (std::size_t done = 0; done < search.files().size(); ++done) {
    const Candidate& file = search.files()[done];
    const std::size_t parts = found.parts.size();
    const std::size_t before = parts + found.unread.size();
    Read(file, formats, all, found);
    Looked& here = looked[file.root];
    ++here.files;
    here.said_something |= found.parts.size() + found.unread.size() > before;
    here.has_metrics |= std::any_of(found.parts.begin() + static_cast<std::ptrdiff_t>(parts), found.parts.end(),
                                    [](const model::Run& part) { return !part.series.empty(); });
    if (found.parts.size() == parts && !file.named) leftovers.push_back(file);
    if (progress) progress(done + 1, search.files().size());
  }
  Leftovers rest(formats, all, found);
  for (const Candidate& file : leftovers) {
    if (!looked[file.root].has_metrics && rest.Read(file)) looked[file.root].said_something = true;
  }
  if (!found.parts.empty()) NameEmptyPaths(paths, looked, found);
  if (found.parts.empty() && found.unread.empty()) NameAll(found);
  return found;
}

}  // namespace vigil::ingest
