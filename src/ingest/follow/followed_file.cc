#include "ingest/follow/followed_file.h"

#include <utility>

namespace vigil::ingest {
namespace {

// The first lines of a file may look like something else, and layouts are learned from them: up to this size a file is
// recognised and read again as it grows.
constexpr std::uint64_t kYoungBytes = std::uint64_t{64} << 10U;

}  // namespace

FollowedFile::FollowedFile(OpenedFile opened) : feed_(std::move(opened)) {
  const bool readable = TakeNew();
  // Some readers know only from what they read whether later records may change the meaning of earlier ones.
  grows_ = readable && feed_.reader().growth() == Growth::kByRecords && feed_.read_bytes() >= kYoungBytes;
}

std::vector<model::Run> FollowedFile::Conclude() {
  feed_.Conclude();
  grows_ = false;
  return feed_.Finish().value_or(std::vector<model::Run>());
}

std::vector<model::Run> FollowedFile::ReadAgain() {
  if (!feed_.Restart()) return {};
  TakeNew();
  return Conclude();
}

}  // namespace vigil::ingest
