#include "codec/torch_archive.h"

#include <cstdint>

namespace vigil::codec::pickle {
namespace {

constexpr std::string_view kLocalHeader("PK\x03\x04", 4);
constexpr std::string_view kCentralHeader("PK\x01\x02", 4);
constexpr std::size_t kLocalHeaderBytes = 30;
constexpr std::size_t kCentralHeaderBytes = 46;

std::size_t Number(std::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// The content that a central entry describes; nullopt when it is not all there.
std::optional<std::string_view> ContentOf(std::string_view archive, std::string_view entry) {
  const std::size_t method = Number(entry, 10, 2);
  const std::size_t size = Number(entry, 24, 4);
  const std::size_t at = Number(entry, 42, 4);
  if (method != 0 || at + kLocalHeaderBytes > archive.size() || !archive.substr(at).starts_with(kLocalHeader))
    return std::nullopt;
  const std::size_t begin = at + kLocalHeaderBytes + Number(archive, at + 26, 2) + Number(archive, at + 28, 2);
  if (begin > archive.size() || size > archive.size() - begin) return std::nullopt;
  return archive.substr(begin, size);
}

}  // namespace

bool IsArchive(std::string_view bytes) { return bytes.starts_with(kLocalHeader); }

std::optional<std::string_view> FindMember(std::string_view archive, std::string_view ending) {
  for (std::size_t at = archive.find(kCentralHeader); at != std::string_view::npos;
       at = archive.find(kCentralHeader, at + 1)) {
    const std::string_view entry = archive.substr(at);
    if (entry.size() < kCentralHeaderBytes) return std::nullopt;
    const std::size_t name_bytes = Number(entry, 28, 2);
    if (entry.size() - kCentralHeaderBytes < name_bytes) return std::nullopt;
    if (entry.substr(kCentralHeaderBytes, name_bytes).ends_with(ending)) return ContentOf(archive, entry);
  }
  return std::nullopt;
}

}  // namespace vigil::codec::pickle
