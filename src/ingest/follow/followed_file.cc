#include "ingest/follow/followed_file.h"

#include <utility>

namespace vigil::ingest {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{512} << 10U;
// The first lines of a file may look like something else, and layouts are learned from them: up to this size a file is
// recognised and read anew as it grows.
constexpr std::uint64_t kYoungBytes = std::uint64_t{64} << 10U;

}  // namespace

FollowedFile::FollowedFile(OpenedFile opened)
    : file_(std::move(opened.file)),
      path_(std::move(opened.path)),
      format_(opened.format),
      pending_(std::move(opened.head)),
      read_bytes_(pending_.size()) {
  Start();
  Feed();
  const bool readable = TakeNew();
  // Some readers know only from what they read whether later records may change the meaning of earlier ones.
  grows_ = readable && reader_->growth() == Growth::kByRecords && read_bytes_ >= kYoungBytes;
}

void FollowedFile::Start() {
  builder_ = std::make_unique<PartBuilder>(path_, std::string(format_->id));
  reader_ = format_->open(*builder_);
  over_ = false;
}

bool FollowedFile::TakeNew() {
  while (!over_) {
    const std::size_t before = pending_.size();
    pending_.resize(before + kPieceBytes);
    const auto count = file_.Read(pending_.data() + before, kPieceBytes);
    pending_.resize(before + (count ? *count : 0));
    if (!count) {
      builder_->ReportDamage(count.error().Text());
      return false;
    }
    if (*count == 0) return true;
    read_bytes_ += *count;
    Feed();
  }
  return true;
}

void FollowedFile::Feed() {
  pending_.erase(0, reader_->Consume(pending_, false));
  over_ = reader_->IsOver();
  if (over_ || pending_.size() < kRecordLimitBytes) return;
  // As when a file is read that is no longer written: nothing behind such a record can be found.
  builder_->ReportDamage(RecordTooLong(read_bytes_ - pending_.size()));
  reader_->Consume(pending_, true);
  pending_.clear();
  over_ = true;
}

std::vector<model::Run> FollowedFile::Conclude() {
  if (!over_) reader_->Consume(pending_, true);
  over_ = true;
  grows_ = false;
  pending_.clear();
  std::vector<model::Run> parts = builder_->FinishAll();
  std::erase_if(parts, [](const model::Run& part) { return !HoldsAnything(part); });
  return parts;
}

std::vector<model::Run> FollowedFile::ReadAgain() {
  if (!file_.Rewind()) return {};
  pending_.clear();
  read_bytes_ = 0;
  Start();
  TakeNew();
  return Conclude();
}

}  // namespace vigil::ingest
