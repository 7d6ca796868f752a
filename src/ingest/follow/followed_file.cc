#include "ingest/follow/followed_file.h"

#include <utility>

namespace vigil::ingest {
namespace {

// The first lines of a file may look like something else, and layouts are learned from them: up to this size a file is
// recognised and read again as it grows.
constexpr std::uint64_t kYoungBytes = std::uint64_t{64} << 10U;

}  // namespace

FollowedFile::FollowedFile(OpenedFile opened) : feed_(std::move(opened)) { TakeNew(); }

bool FollowedFile::TakeNew() {
  const bool readable = feed_.Take(false);
  // Readers know only from what they read whether later records may move the points of earlier ones.
  grows_ = readable && feed_.reader().growth() == Growth::kByRecords && feed_.read_bytes() >= kYoungBytes;
  if (!grows_) return false;
  feed_.Settle(false);
  is_settled_ = true;
  grows_ = feed_.reader().growth() == Growth::kByRecords;
  return grows_;
}

bool FollowedFile::Pause() {
  if (!grows_ || !feed_.reader().waits()) return false;
  feed_.Settle(true);
  grows_ = feed_.reader().growth() == Growth::kByRecords;
  return true;
}

std::vector<model::Run> FollowedFile::Conclude() {
  feed_.Conclude();
  grows_ = false;
  // Points were placed while the file grew that its end places otherwise.
  if (is_settled_ && feed_.reader().growth() != Growth::kByRecords) return ReadAgain();
  return feed_.Finish().value_or(std::vector<model::Run>());
}

std::vector<model::Run> FollowedFile::ReadAgain() {
  if (!feed_.Restart()) return {};
  is_settled_ = false;
  feed_.Take(false);
  return Conclude();
}

}  // namespace vigil::ingest
