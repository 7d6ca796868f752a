#include <array>
#include <cstring>
#include <optional>

#include "formats/sqlite/database.h"

// https://www.sqlite.org/fileformat2.html#the_write_ahead_log : a header of 32 bytes, then frames of a header of 24
// bytes and one page each. All numbers are big-endian; the checksum runs over everything from the start of the file.

namespace vigil::formats::sqlite {
namespace {

constexpr std::size_t kLogHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagicLittleEndian = 0x377f0682;
constexpr std::uint32_t kMagicBigEndian = 0x377f0683;
constexpr std::uint64_t kLargestImage = std::uint64_t{1} << 31U;

std::uint32_t BigEndian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint32_t LittleEndian(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = (value << 8U) | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

struct Checksum {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  bool operator==(const Checksum&) const = default;
};

void Extend(Checksum& sum, std::string_view bytes, bool big_endian) {
  const auto read = big_endian ? BigEndian : LittleEndian;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += read(bytes, at) + sum.second;
    sum.second += read(bytes, at + 4) + sum.first;
  }
}

Checksum StoredAt(std::string_view bytes, std::size_t at) { return {BigEndian(bytes, at), BigEndian(bytes, at + 4)}; }

struct Log {
  std::size_t page_bytes = 0;
  bool big_endian = false;
  std::string_view salt;
  Checksum sum;  // over the header
};

std::optional<Log> ReadHeader(std::string_view bytes) {
  if (bytes.size() < kLogHeaderBytes) return std::nullopt;
  const std::uint32_t magic = BigEndian(bytes, 0);
  if (magic != kMagicLittleEndian && magic != kMagicBigEndian) return std::nullopt;
  Log log;
  log.big_endian = magic == kMagicBigEndian;
  log.page_bytes = BigEndian(bytes, 8);
  log.salt = bytes.substr(16, 8);
  const bool is_page_size =
      log.page_bytes >= 512 && log.page_bytes <= 65536 && (log.page_bytes & (log.page_bytes - 1)) == 0;
  Extend(log.sum, bytes.substr(0, 24), log.big_endian);
  return is_page_size && log.sum == StoredAt(bytes, 24) ? std::optional(log) : std::nullopt;
}

// The page size that the database states, so that a log of another database is not laid over it.
std::size_t PageBytesOf(std::string_view image) {
  if (image.size() < 100) return 0;
  const std::size_t stated =
      (static_cast<std::size_t>(static_cast<unsigned char>(image[16])) << 8U) | static_cast<unsigned char>(image[17]);
  return stated == 1 ? 65536 : stated;
}

// Frames up to the last commit that is sound, and the size of the database in pages after it.
struct Committed {
  std::uint64_t frames = 0;
  std::uint64_t pages = 0;
};

Committed FindCommitted(const Log& log, std::string_view bytes) {
  Committed committed;
  Checksum sum = log.sum;
  const std::size_t frame_bytes = kFrameHeaderBytes + log.page_bytes;
  std::uint64_t frames = 0;
  for (std::size_t at = kLogHeaderBytes; bytes.size() - at >= frame_bytes; at += frame_bytes) {
    const std::string_view frame = bytes.substr(at, frame_bytes);
    if (frame.substr(8, 8) != log.salt || BigEndian(frame, 0) == 0) break;
    Extend(sum, frame.substr(0, 8), log.big_endian);
    Extend(sum, frame.substr(kFrameHeaderBytes), log.big_endian);
    if (sum != StoredAt(frame, 16)) break;
    ++frames;
    if (const std::uint32_t pages = BigEndian(frame, 4); pages != 0) committed = {frames, pages};
  }
  return committed;
}

}  // namespace

std::uint64_t ApplyLog(std::string& image, std::string_view bytes) {
  const auto log = ReadHeader(bytes);
  if (!log) return 0;
  const bool fits = image.empty() || PageBytesOf(image) == log->page_bytes;
  const Committed committed = FindCommitted(*log, bytes);
  // Pages that neither the image nor the log holds would be zeros: no sound pair claims more than both hold.
  const std::uint64_t most = image.size() / log->page_bytes + committed.frames + 1;
  if (!fits || committed.frames == 0 || committed.pages > most) return 0;
  if (committed.pages * log->page_bytes > kLargestImage) return 0;
  image.resize(committed.pages * log->page_bytes);
  for (std::uint64_t i = 0; i < committed.frames; ++i) {
    const std::string_view frame =
        bytes.substr(kLogHeaderBytes + i * (kFrameHeaderBytes + log->page_bytes), kFrameHeaderBytes + log->page_bytes);
    const std::uint64_t page = BigEndian(frame, 0);
    // A page beyond the final size was dropped by a later commit.
    if (page > committed.pages) continue;
    std::memcpy(image.data() + (page - 1) * log->page_bytes, frame.data() + kFrameHeaderBytes, log->page_bytes);
  }
  return committed.frames;
}

}  // namespace vigil::formats::sqlite
