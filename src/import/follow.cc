// Following files that grow. Bytes are read once; what was read stays, whatever happens to the file after it.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "import/import.h"
#include "import/read.h"
#include "platform/platform.h"

namespace vigil::import {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{512} << 10U;
// A record that is longer than this is not waited for.
constexpr std::size_t kMostPendingBytes = std::size_t{64} << 20U;
// The first lines of a file may look like something else, and layouts are learned from them: up to this size a file is
// recognised and read anew as it grows.
constexpr std::uint64_t kYoungBytes = std::uint64_t{64} << 10U;
// Looking for new files costs a walk through the folders. One that takes longer than this gets at most that share of
// the time.
constexpr double kShortSearchSeconds = 2e-3;
constexpr double kSearchShare = 0.02;
// A process may have a thousand files open; what is read anew does not need to be.
constexpr std::size_t kMostOpenFiles = 256;

bool HoldsAnything(const model::Run& part) {
  return !part.series.empty() || !part.events.empty() || !part.facts.empty() || !part.artifacts.empty();
}

// One file as it grows: its reader, and the bytes behind the last whole record.
class FollowedFile {
 public:
  explicit FollowedFile(OpenedFile opened)
      : file_(std::move(opened.file)),
        builder_(std::make_unique<PartBuilder>(opened.path, std::string(opened.format->id))),
        reader_(opened.format->open(*builder_)),
        pending_(std::move(opened.head)),
        read_bytes_(pending_.size()) {
    if (!grows()) return;
    Feed();
    TakeNew();
  }

  Growth growth() const { return reader_->growth(); }
  // False where the part is right only when it was read to its end.
  // Nobody appends to a compressed file.
  bool grows() const { return growth() == Growth::kByRecords && read_bytes_ >= kYoungBytes && !file_.is_compressed(); }

  void TakeNew() {
    while (!reader_->IsOver()) {
      const std::size_t before = pending_.size();
      pending_.resize(before + kPieceBytes);
      const auto count = file_.Read(pending_.data() + before, kPieceBytes);
      pending_.resize(before + (count ? *count : 0));
      if (!count || *count == 0) return;
      read_bytes_ += *count;
      Feed();
    }
  }

  model::Run Snapshot() const { return builder_->Snapshot(); }

  // The part when nothing more will come. What was written between the last look and the rotation is still there.
  model::Run Conclude() {
    TakeNew();
    if (!reader_->IsOver()) reader_->Consume(pending_, true);
    return builder_->Finish();
  }

 private:
  void Feed() {
    pending_.erase(0, reader_->IsOver() ? pending_.size() : reader_->Consume(pending_, false));
    if (pending_.size() > kMostPendingBytes) pending_.clear();
  }

  ByteSource file_;
  std::unique_ptr<PartBuilder> builder_;
  std::unique_ptr<Reader> reader_;
  std::string pending_;
  std::uint64_t read_bytes_ = 0;
};

// What is known of one path: what it looked like last, and what it gave.
struct Place {
  platform::Entry last;
  std::unique_ptr<FollowedFile> file;  // kept open, so that what is written before a rotation is not lost
  std::vector<model::Run> whole;       // as it was read last, where it is read anew each time
  bool grows() const { return file != nullptr && file->grows(); }
};

}  // namespace

class Follower::Files {
 public:
  explicit Files(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  bool Poll() {
    SearchNowAndThen();
    bool any = false;
    for (auto& [path, place] : places_) {
      const auto now = platform::Stat(path);
      if (!now) {
        Retire(place);  // removed: what it held stays
      } else if (HasChanged(place.last, *now)) {
        Update(path, place, *now);
        place.last = *now;
        any = true;
      }
    }
    return any;
  }

  std::vector<model::Run> Runs() const {
    std::vector<model::Run> parts = retired_;
    for (const auto& [path, place] : places_) {
      parts.insert(parts.end(), place.whole.begin(), place.whole.end());
      if (place.grows()) parts.push_back(place.file->Snapshot());
    }
    std::erase_if(parts, [](const model::Run& part) { return !HoldsAnything(part); });
    std::vector<model::Run> runs = JoinParts(std::move(parts));
    for (model::Run& run : runs) Classify(run);
    return runs;
  }

  std::size_t file_count() const {
    return static_cast<std::size_t>(std::count_if(places_.begin(), places_.end(), [](const auto& entry) {
      return entry.second.file != nullptr || !entry.second.whole.empty();
    }));
  }

 private:
  void SearchNowAndThen() {
    const double before = platform::SteadySeconds();
    if (before < next_search_) return;
    for (const std::string& path : paths_) Search(path);
    const double after = platform::SteadySeconds();
    next_search_ = after - before < kShortSearchSeconds ? after : after + (after - before) / kSearchShare;
  }

  void Search(const std::string& path) {
    const auto entry = platform::Stat(path);
    if (!entry) return;
    if (entry->kind != platform::EntryKind::kFolder) {
      places_.try_emplace(path);
      return;
    }
    std::vector<std::pair<std::string, std::string>> unreadable;
    for (const platform::Entry& file : platform::ListFiles(path, kMostFiles, unreadable)) {
      if (file.kind == platform::EntryKind::kFile && WhyIgnored(file.path).empty()) places_.try_emplace(file.path);
    }
  }

  static bool HasChanged(const platform::Entry& before, const platform::Entry& now) {
    return before.size_bytes != now.size_bytes || before.modified_unix_s != now.modified_unix_s ||
           before.identity != now.identity;
  }

  void Update(const std::string& path, Place& place, const platform::Entry& now) {
    // A log that is shorter now, or another file, has begun again; a document holds all that it held before.
    const bool begun_again = now.size_bytes < place.last.size_bytes || now.identity != place.last.identity;
    if (begun_again) Retire(place);
    if (place.grows()) return place.file->TakeNew();
    Open(path, place);
  }

  // Recognises the file by what it holds now, and reads it from its beginning.
  void Open(const std::string& path, Place& place) {
    auto opened = OpenAndRecognise(path);
    if (!opened || opened->format == nullptr) return;
    if (place.file == nullptr) ++open_files_;
    place.file = std::make_unique<FollowedFile>(std::move(*opened));
    if (place.grows()) {
      place.whole.clear();
      return;
    }
    // A document that is being written cannot be read: the one before stands until the next is whole.
    if (auto parts = ReadRuns(path); parts) place.whole = std::move(*parts);
    if (place.file->growth() == Growth::kWrittenAnew || open_files_ > kMostOpenFiles) Close(place);
  }

  void Close(Place& place) {
    if (place.file != nullptr) --open_files_;
    place.file = nullptr;
  }

  void Retire(Place& place) {
    if (place.file != nullptr) {
      retired_.push_back(place.file->Conclude());
      place.whole.clear();
    }
    Close(place);
  }

  std::vector<std::string> paths_;
  std::map<std::string, Place> places_;
  std::vector<model::Run> retired_;
  std::size_t open_files_ = 0;
  double next_search_ = 0;
};

Follower::Follower(std::vector<std::string> paths) : files_(std::make_unique<Files>(std::move(paths))) {}
Follower::~Follower() = default;
bool Follower::Poll() { return files_->Poll(); }
std::vector<model::Run> Follower::Runs() const { return files_->Runs(); }
std::size_t Follower::file_count() const { return files_->file_count(); }

}  // namespace vigil::import
