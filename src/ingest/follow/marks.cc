#include "ingest/follow/marks.h"

#include <algorithm>

#include "platform/platform.h"

namespace vigil::ingest {
namespace {

// A header of a table, some lines of a log.
constexpr std::uint64_t kMarkBytes = 4096;

std::optional<std::string> BytesAt(const platform::File& file, std::uint64_t offset, std::uint64_t count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  const auto read = file.ReadAt(offset, bytes.data(), bytes.size());
  return read && *read == bytes.size() ? std::optional(std::move(bytes)) : std::nullopt;
}

}  // namespace

std::optional<Marks> Marks::Of(const std::string& path, std::uint64_t size_bytes) {
  const auto file = platform::File::Open(path);
  if (!file) return std::nullopt;
  const std::uint64_t count = std::min(size_bytes, kMarkBytes);
  auto beginning = BytesAt(*file, 0, count);
  auto end = BytesAt(*file, size_bytes - count, count);
  if (!beginning || !end) return std::nullopt;
  Marks marks;
  marks.size_bytes_ = size_bytes;
  marks.beginning_ = std::move(*beginning);
  marks.end_ = std::move(*end);
  return marks;
}

bool Marks::Hold(const std::string& path) const {
  const auto now = Of(path, size_bytes_);
  return now && now->beginning_ == beginning_ && now->end_ == end_;
}

}  // namespace vigil::ingest
