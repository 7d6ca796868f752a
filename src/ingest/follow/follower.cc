// Following files that grow. What was read stays, whatever happens to the file after it, unless the files that are
// there say it again.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>

#include "ingest/follow/covers.h"
#include "ingest/follow/followed_file.h"
#include "ingest/follow/marks.h"
#include "ingest/ignored.h"
#include "ingest/ingest.h"
#include "ingest/paths.h"
#include "ingest/read.h"
#include "ingest/search.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/memory_budget.h"

namespace vigil::ingest {
namespace {

// Looking for new files costs a walk through the folders. One that takes longer than this gets at most that share of
// the time. The processor's time counts, which is the same on a busy machine; waiting for a slow file system does from
// a quarter of a second on.
constexpr double kShortSearchSeconds = 2e-3;
constexpr double kShortWaitSeconds = 0.25;
constexpr double kSearchShare = 0.02;
// A process may have a thousand files open; what is read again does not need to be.
constexpr std::size_t kMostOpenFiles = 256;

// What is known of one path: what it looked like last, and what it gave.
struct Place {
  platform::Entry last;
  std::optional<platform::Entry> companion;  // the file beside it that is part of it
  std::string companion_suffix;
  bool is_document = false;  // each version replaces the one before
  bool is_left_out = false;  // it cannot be read, and is left alone as long as it is the same file
  std::optional<Marks> marks;
  std::unique_ptr<FollowedFile> file;
  std::vector<model::Run> whole;  // as it was read last, where it is read again each time

  bool grows() const { return file != nullptr && file->grows(); }
  bool holds_something() const { return file != nullptr || !whole.empty(); }
  std::vector<model::Run> Parts() const { return grows() ? std::vector<model::Run>{file->Snapshot()} : whole; }
};

// What a file held that is no longer there.
struct Retired {
  std::string folder;
  platform::FileIdentity identity;
  std::vector<model::Run> parts;
};

bool HasChanged(const platform::Entry& before, const platform::Entry& now) {
  return before.size_bytes != now.size_bytes || before.modified_unix_s != now.modified_unix_s ||
         before.identity != now.identity;
}

std::optional<platform::Entry> CompanionOf(const std::string& path, const Place& place) {
  if (place.companion_suffix.empty()) return std::nullopt;
  auto entry = platform::Stat(path + place.companion_suffix);
  return entry ? std::optional(std::move(*entry)) : std::nullopt;
}

bool HasChanged(const std::optional<platform::Entry>& before, const std::optional<platform::Entry>& now) {
  return before.has_value() != now.has_value() || (now && HasChanged(*before, *now));
}

// Where a file went that was rotated: beside its old place, or anywhere as the same file.
bool MayHold(const std::string& path, const Place& place, const Retired& retired) {
  return place.last.identity == retired.identity || FolderOf(path) == retired.folder;
}

}  // namespace

class Follower::Files {
 public:
  Files(std::vector<std::string> paths, FormatTable formats) : paths_(std::move(paths)), formats_(formats) {}

  bool Poll() {
    try {
      SearchNowAndThen();
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the next look searches again
    }
    bool any = false;
    for (auto& [path, place] : places_) {
      // Whatever one file does, the others go on.
      Guard(path, place, [&] { any = Look(path, place) || any; });
    }
    return any;
  }

  const std::vector<model::Unread>& unread() const { return unread_; }

  std::vector<model::Run> Parts() const {
    std::map<std::string, std::vector<model::Run>> live;
    for (const auto& [path, place] : places_) live.emplace(path, place.Parts());
    std::vector<model::Run> parts;
    for (const Retired& retired : retired_) {
      for (const model::Run& part : retired.parts) {
        if (!StandsElsewhere(part, retired, live)) parts.push_back(part);
      }
    }
    for (auto& [path, its] : live) std::move(its.begin(), its.end(), std::back_inserter(parts));
    std::erase_if(parts, [](const model::Run& part) { return !HoldsAnything(part); });
    return parts;
  }

  std::vector<const PartBuilder*> Growing() const {
    std::vector<const PartBuilder*> growing;
    for (const auto& [path, place] : places_) {
      if (place.grows()) growing.push_back(&place.file->builder());
    }
    return growing;
  }
  std::uint64_t structure() const { return structure_; }

  void Conclude() {
    ++structure_;
    for (auto& [path, place] : places_) {
      if (!place.grows()) continue;
      Guard(path, place, [&] {
        place.whole = place.file->Conclude();
        LeaveOutIfGivenUp(path, place);
      });
    }
  }

  std::size_t file_count() const {
    return static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(),
                                                  [](const auto& entry) { return entry.second.holds_something(); }));
  }

 private:
  template <class Work>
  void Guard(const std::string& path, Place& place, Work&& work) {
    try {
      // New for each look: files share their points with runs, which free them elsewhere.
      platform::MemoryBudget all = {.most_bytes = BytesForAll(), .of = "what is read in all"};
      const platform::MemoryScope scope(all);
      work();
    } catch (const std::bad_alloc&) {
      LeaveOut(path, place, MemoryError(path).message);
    } catch (const std::exception& problem) {
      LeaveOut(path, place, fmt::format("reading it failed: {}", problem.what()));
    }
  }

  // Asked for now and then: it takes reading several files of the system.
  std::int64_t BytesForAll() {
    constexpr double kSecondsBetween = 10;
    const double now = platform::SteadySeconds();
    if (now >= next_budget_) {
      all_bytes_ = BudgetForAll().most_bytes;
      next_budget_ = now + kSecondsBetween;
    }
    return all_bytes_;
  }

  void LeaveOut(const std::string& path, Place& place, std::string reason) {
    ++structure_;
    Close(place);
    place.marks.reset();
    place.is_left_out = true;
    if (auto now = platform::Stat(path)) place.last = std::move(*now);
    const auto known = std::find_if(unread_.begin(), unread_.end(), [&](const auto& one) { return one.path == path; });
    if (known == unread_.end()) unread_.push_back({path, std::move(reason)});
  }

  bool LeaveOutIfGivenUp(const std::string& path, Place& place) {
    if (place.file == nullptr || !place.file->failure()) return false;
    LeaveOut(path, place, place.file->failure()->message);
    return true;
  }

  // Whether the file is still the one that could not be read. It may have grown.
  static bool IsStillLeftOut(Place& place, const platform::Entry& now) {
    const bool is_same = now.identity == place.last.identity && now.size_bytes >= place.last.size_bytes;
    if (!place.is_left_out) return false;
    place.last = is_same ? now : platform::Entry();
    place.is_left_out = is_same;
    return is_same;
  }

  void SearchNowAndThen() {
    const double before = platform::SteadySeconds();
    if (before < next_search_) return;
    const double used_before = platform::ThreadSeconds();
    for (const std::string& path : paths_) Search(path);
    const double used = platform::ThreadSeconds() - used_before;
    const double after = platform::SteadySeconds();
    const bool is_short = used < kShortSearchSeconds && after - before < kShortWaitSeconds;
    next_search_ = is_short ? after : after + (after - before) / kSearchShare;
  }

  void Search(const std::string& path) {
    const auto entry = platform::Stat(path);
    if (!entry) return;
    if (entry->kind != platform::EntryKind::kFolder) return AddPlace(path);
    std::vector<Error> unreadable;
    for (const platform::Entry& file : platform::ListFiles(path, kMostFiles, unreadable)) {
      if (file.kind == platform::EntryKind::kFile && WhyIgnored(file.path).empty()) AddPlace(file.path);
    }
  }

  // A path may be given twice, and be spelled in several ways.
  void AddPlace(const std::string& path) {
    if (known_.insert(PlainPath(path)).second) places_.try_emplace(path);
  }

  // True when there was anything new.
  bool Look(const std::string& path, Place& place) {
    const auto now = platform::Stat(path);
    if (!now) {
      Retire(path, place, true);  // removed, or moved to where it is found again
      place.last = {};
      place.is_left_out = false;
      return false;
    }
    if (IsStillLeftOut(place, *now)) return false;
    auto companion = CompanionOf(path, place);
    if (!HasChanged(place.last, *now) && !HasChanged(place.companion, companion)) return Pause(path, place, *now);
    if (!Update(path, place, *now)) return false;
    if (place.is_left_out) return true;
    place.last = *now;
    place.companion = std::move(companion);  // as it was before the reading: what came meanwhile is seen next time
    // An unrecognised file is no news: the index that a database keeps in shared memory changes all the time.
    return place.holds_something();
  }

  // Nothing came since the last look. True when that is news: what waited for more is placed without it.
  bool Pause(const std::string& path, Place& place, const platform::Entry& now) {
    if (place.file == nullptr || !place.file->Pause()) return false;
    if (LeaveOutIfGivenUp(path, place)) return true;
    if (!place.grows()) Open(path, place, now);
    return true;
  }

  // False when the file is about to be another one: the next look decides.
  bool Update(const std::string& path, Place& place, const platform::Entry& now) {
    const bool moved = now.identity != place.last.identity;
    const bool goes_on = !moved && now.size_bytes >= place.last.size_bytes && place.marks && place.marks->Hold(path);
    if (!goes_on) Retire(path, place, moved);
    if (!goes_on || !place.grows() || !place.file->TakeNew()) {
      if (LeaveOutIfGivenUp(path, place)) return true;
      if (!Open(path, place, now)) return false;
    }
    if (!place.is_document && !place.is_left_out) place.marks = Marks::Of(path, now.size_bytes);
    return true;
  }

  // Recognises the file by what it holds now, and reads it from its beginning.
  bool Open(const std::string& path, Place& place, const platform::Entry& now) {
    auto opened = OpenFile(path, formats_);
    if (opened && opened->file.identity() != now.identity) return false;
    const bool is_recognised = opened && (opened->format != nullptr || opened->is_archive);
    if (is_recognised || place.holds_something()) ++structure_;
    if (!is_recognised) return true;
    if (opened->is_archive) return ReadWhole(path, place, std::move(*opened));
    PartBuilder builder(path, std::string(opened->format->id));
    const auto reader = opened->format->open(builder);
    place.companion_suffix = reader->CompanionSuffix();
    place.is_document = reader->growth() == Growth::kRewritten;
    // Nobody appends to a compressed file.
    if (place.is_document || reader->NeedsWholeFile() || opened->file.is_changed())
      return ReadWhole(path, place, std::move(*opened));
    Close(place);
    auto file = std::make_unique<FollowedFile>(std::move(*opened));
    place.whole.clear();
    const bool room = open_files_ < kMostOpenFiles;
    if (!file->grows() || !room) place.whole = file->Conclude();
    if (file->failure()) {
      LeaveOut(path, place, file->failure()->message);
    } else if (room) {
      Keep(place, std::move(file));
    }
    return true;
  }

  // A document or an archive that is being written cannot be read: the one before stands until the next is whole.
  bool ReadWhole(const std::string& path, Place& place, OpenedFile opened) {
    Close(place);
    ReadOutcome outcome = ReadOpened(std::move(opened), formats_);
    if (!outcome.parts.empty()) {
      place.whole = std::move(outcome.parts);
      return true;
    }
    for (const ReadFailure& error : outcome.errors) {
      if (error.code == ErrorCode::kLimit || error.code == ErrorCode::kInternal) {
        LeaveOut(path, place, error.message);
        break;
      }
    }
    return true;
  }

  void Keep(Place& place, std::unique_ptr<FollowedFile> file) {
    place.file = std::move(file);
    ++open_files_;
  }

  void Close(Place& place) {
    if (place.file != nullptr) --open_files_;
    place.file = nullptr;
  }

  // The file begins again: what it held stays. A document holds all that it held before.
  void Retire(const std::string& path, Place& place, bool moved) {
    if (place.is_document || !place.holds_something()) return;
    ++structure_;
    std::vector<model::Run> parts = LastParts(place, moved);
    Close(place);
    place.whole.clear();
    place.marks.reset();
    if (parts.empty()) return;
    ForgetCovered(path, place, parts);
    retired_.push_back({std::string(FolderOf(path)), place.last.identity, std::move(parts)});
  }

  // A file that is rewritten with more in it again and again holds what it held before: the last version stays.
  void ForgetCovered(const std::string& path, const Place& place, const std::vector<model::Run>& parts) {
    for (Retired& retired : retired_) {
      if (!MayHold(path, place, retired)) continue;
      std::erase_if(retired.parts, [&](const model::Run& before) {
        return std::any_of(parts.begin(), parts.end(), [&](const model::Run& part) { return Covers(part, before); });
      });
    }
    std::erase_if(retired_, [](const Retired& retired) { return retired.parts.empty(); });
  }

  // What was written between the last look and a rotation is still in the open file; when it was cut instead, what was
  // read before is all there is.
  static std::vector<model::Run> LastParts(Place& place, bool moved) {
    if (place.grows()) {
      if (moved) place.file->TakeNew();
      return place.file->Conclude();
    }
    if (place.file != nullptr && moved) {
      if (std::vector<model::Run> again = place.file->ReadAgain(); !again.empty()) return again;
    }
    return std::move(place.whole);
  }

  bool StandsElsewhere(const model::Run& part, const Retired& retired,
                       const std::map<std::string, std::vector<model::Run>>& live) const {
    return std::any_of(live.begin(), live.end(), [&](const auto& entry) {
      return MayHold(entry.first, places_.at(entry.first), retired) &&
             std::any_of(entry.second.begin(), entry.second.end(),
                         [&](const model::Run& other) { return Covers(other, part); });
    });
  }

  std::vector<std::string> paths_;
  FormatTable formats_;
  std::unordered_set<std::string> known_;
  std::map<std::string, Place> places_;
  std::vector<Retired> retired_;
  std::size_t open_files_ = 0;
  std::uint64_t structure_ = 0;
  double next_search_ = 0;
  std::vector<model::Unread> unread_;
  std::int64_t all_bytes_ = 0;
  double next_budget_ = 0;
};

Follower::Follower(std::vector<std::string> paths, FormatTable formats)
    : files_(std::make_unique<Files>(std::move(paths), formats)) {}
Follower::~Follower() = default;
bool Follower::Poll() { return files_->Poll(); }
std::vector<model::Run> Follower::Parts() const { return files_->Parts(); }
std::vector<const PartBuilder*> Follower::Growing() const { return files_->Growing(); }
std::uint64_t Follower::structure() const { return files_->structure(); }
void Follower::Conclude() { files_->Conclude(); }
std::size_t Follower::file_count() const { return files_->file_count(); }
const std::vector<model::Unread>& Follower::unread() const { return files_->unread(); }

}  // namespace vigil::ingest
