#include <dirent.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <set>
#include <utility>

#include "platform/calls.h"
#include "platform/files.h"

namespace vigil::platform {
namespace {

bool IsOfTheKernel(const std::string& path) {
  struct statfs info = {};
  return Try([&] { return ::statfs(path.c_str(), &info); }) == 0 &&
         (info.f_type == PROC_SUPER_MAGIC || info.f_type == SYSFS_MAGIC);
}

using Opened = std::unique_ptr<DIR, int (*)(DIR*)>;

bool IsUninteresting(std::string_view folder) {
  constexpr std::array<std::string_view, 6> kSkipped = {".git",  "node_modules",  "__pycache__",
                                                        ".venv", "site-packages", ".mypy_cache"};
  return std::find(kSkipped.begin(), kSkipped.end(), folder) != kSkipped.end();
}

using Place = std::pair<std::uint64_t, std::uint64_t>;
Place PlaceOf(const Entry& entry) { return {entry.identity.device, entry.identity.inode}; }

constexpr std::size_t kFilesBetweenCalls = 2048;  // some milliseconds
// Logs that are kept elsewhere are linked to, and so are data sets and whole disks. Of each link on its own, with the
// links behind it: a data set must not hide the logs that another link leads to.
constexpr std::size_t kMostBehindALink = 20'000;

// Walks real folders first and what links lead to afterwards, so that each file has its real path where it has one.
class Walk {
 public:
  Walk(std::string root, std::size_t limit, std::vector<Error>& unreadable,
       const std::function<void(std::size_t)>& found)
      : root_(std::move(root)), limit_(limit), unreadable_(unreadable), found_(found), folders_{root_} {
    if (const auto entry = Stat(root_)) entered_.insert(PlaceOf(*entry));
    for (std::string path = AbsolutePath(root_); path.size() > 1;) {
      path = FolderOf(path);
      if (const auto entry = Stat(path)) above_.insert(PlaceOf(*entry));
    }
  }

  std::vector<Entry> Run() {
    ListFolders();
    std::vector<Entry> links = std::exchange(linked_folders_, {});
    std::sort(links.begin(), links.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
    for (Entry& link : links) {
      if (full_) break;
      FollowLink(std::move(link));
    }
    AddLinkedFiles();
    std::sort(files_.begin(), files_.end(), [](const Entry& a, const Entry& b) { return a.path < b.path; });
    return std::move(files_);
  }

 private:
  std::size_t count() const { return files_.size() + linked_files_.size(); }
  bool is_over() const { return full_ || given_up_; }

  void ListFolders() {
    while (!is_over() && !folders_.empty()) {
      const std::string folder = std::move(folders_.back());
      folders_.pop_back();
      List(folder);
    }
  }

  // Not by std::filesystem: without memory its iterator ends the program.
  void List(const std::string& folder) {
    const std::string before = folder.ends_with('/') ? folder : folder + "/";
    const Opened opened(IsToFail() ? nullptr : ::opendir(folder.c_str()), ::closedir);
    while (opened && !is_over()) {
      errno = 0;
      const dirent* const at = IsToFail() ? nullptr : ::readdir(opened.get());
      if (at == nullptr) break;
      const std::string_view name = at->d_name;
      if (name != "." && name != "..") Take(before, name, IsLink(*at, before));
    }
    if (const int problem = is_over() ? 0 : errno; problem != 0)
      unreadable_.push_back({CodeOf(problem), folder, std::nullopt, SystemReason(problem)});
  }

  // Some file systems do not say it with the name.
  static bool IsLink(const dirent& entry, const std::string& before) {
    if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_LNK;
    struct stat info = {};
    return Try([&] { return ::lstat((before + entry.d_name).c_str(), &info); }) == 0 && S_ISLNK(info.st_mode);
  }

  void Take(const std::string& before, std::string_view name, bool link) {
    // Before it is looked at: a million files of a data set are not even asked for their sizes.
    if (!link_.empty() && ++behind_link_ > kMostBehindALink) return GiveUpLink();
    auto entry = Stat(before + std::string(name));
    if (!entry) {
      unreadable_.push_back(entry.error());
      return;
    }
    if (entry->kind != EntryKind::kFolder) {
      (link || !link_.empty() ? linked_files_ : files_).push_back(std::move(*entry));
      if (found_ && count() % kFilesBetweenCalls == 0) found_(count());
    } else if (!IsUninteresting(name)) {
      if (link) {
        linked_folders_.push_back(std::move(*entry));
      } else {
        AddFolder(std::move(*entry));
      }
    }
    if (count() + folders_.size() < limit_) return;
    full_ = true;
    unreadable_.push_back(Error{ErrorCode::kLimit, root_, std::nullopt,
                                fmt::format("more than {} files: the rest was not looked at", FormatCount(limit_))});
  }

  // A folder is entered once, so that a link to a folder above it ends there.
  void AddFolder(Entry folder) {
    if (!entered_.insert(PlaceOf(folder)).second) return;
    if (!link_.empty()) entered_behind_link_.push_back(PlaceOf(folder));
    folders_.push_back(std::move(folder.path));
  }

  // All that the link leads to, also over further links.
  void FollowLink(Entry link) {
    link_ = link.path;
    behind_link_ = 0;
    entered_behind_link_.clear();
    given_up_ = false;
    linked_folders_.push_back(std::move(link));
    while (!is_over() && !linked_folders_.empty()) {
      Entry next = std::move(linked_folders_.back());
      linked_folders_.pop_back();
      Enter(std::move(next));
      ListFolders();
    }
    folders_.clear();
    linked_folders_.clear();
  }

  // One above all of them would lead through everything that lies beside what was asked for.
  void Enter(Entry link) {
    if (above_.contains(PlaceOf(link))) {
      unreadable_.push_back({ErrorCode::kLimit, std::move(link.path), std::nullopt,
                             "leads to a folder above the one that was asked for, and is not followed"});
    } else if (IsOfTheKernel(link.path)) {
      unreadable_.push_back(
          {ErrorCode::kLimit, std::move(link.path), std::nullopt,
           "leads into /proc or /sys, whose files are those of other processes, and is not followed"});
    } else {
      AddFolder(std::move(link));
    }
  }

  // Another link may lead to one of the folders that were not listed, or not to their end.
  void GiveUpLink() {
    given_up_ = true;
    for (const Place& place : entered_behind_link_) entered_.erase(place);
    unreadable_.push_back({ErrorCode::kLimit, link_, std::nullopt,
                           fmt::format("more than {} files behind this link: the rest of them was not looked at",
                                       FormatCount(kMostBehindALink))});
  }

  void AddLinkedFiles() {
    if (linked_files_.empty()) return;
    std::set<Place> known;
    for (const Entry& file : files_) known.insert(PlaceOf(file));
    std::sort(linked_files_.begin(), linked_files_.end(),
              [](const Entry& a, const Entry& b) { return a.path < b.path; });
    for (Entry& file : linked_files_) {
      if (known.insert(PlaceOf(file)).second) files_.push_back(std::move(file));
    }
  }

  std::string root_;
  std::size_t limit_;
  std::vector<Error>& unreadable_;
  const std::function<void(std::size_t)>& found_;
  std::vector<std::string> folders_;
  std::vector<Entry> files_;
  std::vector<Entry> linked_files_;  // found by a link, or behind one
  std::vector<Entry> linked_folders_;
  std::set<Place> entered_;
  std::set<Place> above_;        // the folders that the root lies in
  std::string link_;             // the one that is followed; empty in real folders
  std::size_t behind_link_ = 0;  // names met there
  std::vector<Place> entered_behind_link_;
  bool given_up_ = false;  // there is too much behind it
  bool full_ = false;
};

}  // namespace

std::vector<Entry> ListFiles(const std::string& folder, std::size_t limit, std::vector<Error>& unreadable,
                             const std::function<void(std::size_t)>& found) {
  return Walk(folder, limit, unreadable, found).Run();
}

}  // namespace vigil::platform
