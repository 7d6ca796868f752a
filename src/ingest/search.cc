#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "ingest/ingest.h"
#include "ingest/read.h"
#include "ingest/unsupported.h"
#include "platform/platform.h"

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

 private:
  void AddFolder(const std::string& path) {
    std::vector<std::pair<std::string, std::string>> unreadable;
    const std::size_t before_it = walked_;
    const auto entries = platform::ListFiles(path, kMostFiles, unreadable, [&](std::size_t found) {
      if (progress_) progress_(before_it + found, 0);
    });
    walked_ += entries.size();
    const bool said = !unreadable.empty();
    for (auto& [where, reason] : unreadable) found_.unread.push_back({where, reason});
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
  std::size_t root_ = 0;
  std::set<std::string> seen_;
};

void Keep(std::vector<model::Run> read, std::vector<model::Run>& parts) {
  std::move(read.begin(), read.end(), std::back_inserter(parts));
}

// A file met on the way: nothing of ours, or broken.
void ReadFound(const std::string& path, FormatTable formats, FoundParts& found) {
  auto opened = OpenAndRecognise(path, formats);
  if (!opened) {
    const Error& error = opened.error();
    (error.code == ErrorCode::kEmpty ? found.ignored : found.unread).push_back({path, error.message});
    return;
  }
  if (opened->format == nullptr) {
    const std::string_view later = WhyUnsupported(path, opened->head);
    if (later.empty()) {
      found.ignored.push_back({path, "content of no kind that vigil reads"});
    } else {
      found.unread.push_back({path, std::string(later)});
    }
    return;
  }
  auto part = ReadOpened(std::move(*opened));
  if (part) return Keep(std::move(*part), found.parts);
  // A text that only looked like a log for a moment is no loss; one with damage in it is.
  const Error& error = part.error();
  (error.code == ErrorCode::kNoData ? found.ignored : found.unread).push_back({path, error.message});
}

void ReadNamed(const std::string& path, FormatTable formats, FoundParts& found) {
  auto part = ReadRuns(path, formats);
  if (part) return Keep(std::move(*part), found.parts);
  found.unread.push_back({path, part.error().message});
}

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
};

// A folder that was asked for and holds nothing of ours must not vanish beside one that does.
void NameEmptyPaths(const std::vector<std::string>& paths, const std::vector<Looked>& looked, FoundParts& found) {
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (looked[i].said_something) continue;
    const bool known = std::any_of(found.unread.begin(), found.unread.end(),
                                   [&](const model::Unread& unread) { return unread.path.starts_with(paths[i]); });
    if (known || IsWithinAnother(paths, i)) continue;
    found.unread.push_back(
        {paths[i], fmt::format("nothing that vigil can read ({} files looked at)", FormatCount(looked[i].files))});
  }
}

// What W&B keeps for itself beside a run: <run>/logs/debug.log, debug-internal.log, and links to the latest of them.
bool IsLogOfTracker(std::string_view path) {
  const std::string_view file = FileOf(path);
  const std::string_view folder = FolderOf(path);
  if (!file.starts_with("debug") || !file.ends_with(".log")) return false;
  return FileOf(folder) == "wandb" || (FileOf(folder) == "logs" && FileOf(FolderOf(FolderOf(folder))) == "wandb");
}

}  // namespace

std::string_view WhyIgnored(std::string_view path) {
  struct Known {
    std::string_view extension;
    std::string_view reason;
  };
  static constexpr std::array kKnown = {
      Known{"safetensors", "weights"}, Known{"bin", "weights"},       Known{"pt", "weights or a pickle"},
      Known{"pth", "weights"},         Known{"ckpt", "weights"},      Known{"gguf", "weights"},
      Known{"onnx", "weights"},        Known{"h5", "weights"},        Known{"msgpack", "weights"},
      Known{"distcp", "weights"},      Known{"npy", "array"},         Known{"npz", "array"},
      Known{"parquet", "data set"},    Known{"arrow", "data set"},    Known{"pkl", "pickle"},
      Known{"pickle", "pickle"},       Known{"png", "image"},         Known{"jpg", "image"},
      Known{"jpeg", "image"},          Known{"gif", "image"},         Known{"svg", "image"},
      Known{"pdf", "document"},        Known{"html", "document"},     Known{"md", "document"},
      Known{"py", "source code"},      Known{"pyc", "compiled code"}, Known{"ipynb", "notebook"},
      Known{"cc", "source code"},      Known{"cpp", "source code"},   Known{"cu", "source code"},
      Known{"h", "source code"},       Known{"c", "source code"},     Known{"js", "source code"},
      Known{"so", "compiled code"},    Known{"o", "compiled code"},   Known{"model", "tokenizer"},
      Known{"mp4", "video"},           Known{"wav", "audio"},         Known{"zip", "archive"},
      Known{"tar", "archive"},         Known{"tgz", "archive"},       Known{"xz", "compressed"},
      Known{"bz2", "compressed"},      Known{"lock", "lock file"},    Known{"rst", "document"},
      Known{"tex", "document"},        Known{"sh", "source code"},    Known{"ts", "source code"},
      Known{"css", "source code"},     Known{"diff", "source code"},  Known{"patch", "source code"},
  };
  const std::string_view file = WithoutCompression(FileOf(path));
  // Event files end in anything: a host name, a process id.
  if (file.find("tfevents") != std::string_view::npos) return file.ends_with(".vigil") ? "written by vigil" : "";
  if (IsLogOfTracker(path)) return "the tracker's own log";
  // Pickled settings end like weights.
  if (file.find("args.") != std::string_view::npos) return {};
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string extension = ToLower(file.substr(dot + 1));
  const auto at =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& known) { return known.extension == extension; });
  return at == kKnown.end() ? std::string_view() : at->reason;
}

FoundParts ReadPaths(const std::vector<std::string>& paths, FormatTable formats, const Progress& progress) {
  FoundParts found;
  Search search(found, progress);
  for (const std::string& path : paths) search.Add(path);
  std::vector<Looked> looked(paths.size());
  for (std::size_t done = 0; done < search.files().size(); ++done) {
    const Candidate& file = search.files()[done];
    const std::size_t before = found.parts.size() + found.unread.size();
    (file.named ? ReadNamed : ReadFound)(file.path, formats, found);
    ++looked[file.root].files;
    looked[file.root].said_something |= found.parts.size() + found.unread.size() > before;
    if (progress) progress(done + 1, search.files().size());
  }
  if (!found.parts.empty()) NameEmptyPaths(paths, looked, found);
  return found;
}

}  // namespace vigil::ingest
