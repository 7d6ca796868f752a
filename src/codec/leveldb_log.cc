#include <libdeflate.h>

#include "codec/codec.h"

namespace vigil::codec {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{32} << 10U;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::size_t kRecordLimitBytes = std::size_t{64} << 20U;

enum ChunkType : std::uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

struct Chunk {
  std::uint32_t checksum = 0;
  std::uint16_t size = 0;
  std::uint8_t type = 0;
};

Chunk ParseHeader(std::string_view header) {
  Chunk chunk;
  std::memcpy(&chunk.checksum, header.substr(0, 4).data(), 4);
  std::memcpy(&chunk.size, header.substr(4, 2).data(), 2);
  chunk.type = static_cast<std::uint8_t>(header[6]);
  return chunk;
}

std::uint32_t Crc32(std::string_view bytes) { return libdeflate_crc32(0, bytes.data(), bytes.size()); }

}  // namespace

LogRecord LogBlocks::Next(std::string_view bytes) {
  for (;;) {
    if (skip_ > 0) {
      const std::size_t skipped = std::min(skip_, bytes.size() - taken_);
      skip_ -= skipped;
      Take(skipped);
      if (skip_ > 0) return {LogState::kEnd, {}};
    }
    const std::string_view rest = bytes.substr(taken_);
    const std::size_t left_in_block = kBlockBytes - static_cast<std::size_t>(offset_ % kBlockBytes);
    if (left_in_block < kHeaderBytes) {
      if (rest.size() < left_in_block) return {LogState::kCut, {}};
      Take(left_in_block);
      continue;
    }
    if (rest.size() < kHeaderBytes) return {rest.empty() ? LogState::kEnd : LogState::kCut, {}};
    const Chunk chunk = ParseHeader(rest.substr(0, kHeaderBytes));
    if (chunk.type == kZero && chunk.size == 0) {  // a block that was allocated and never written
      if (rest.size() < left_in_block) return {LogState::kEnd, {}};
      Take(left_in_block);
      continue;
    }
    if (chunk.type > kLast || kHeaderBytes + chunk.size > left_in_block) return SkipBlock(left_in_block);
    if (rest.size() < kHeaderBytes + chunk.size) return {LogState::kCut, {}};
    // The checksum covers the type byte and the payload, which lie side by side.
    if (Crc32(rest.substr(kHeaderBytes - 1, chunk.size + 1U)) != chunk.checksum) return SkipBlock(left_in_block);
    const std::string_view payload = rest.substr(kHeaderBytes, chunk.size);
    Take(kHeaderBytes + chunk.size);
    if (chunk.type == kFull) {
      assembling_ = false;
      return {LogState::kRecord, payload};
    }
    if (Assemble(chunk.type, payload)) return {LogState::kRecord, record_};
  }
}

// True when `payload` completed a record of several chunks.
bool LogBlocks::Assemble(std::uint8_t type, std::string_view payload) {
  if (type == kFirst) {
    record_.clear();
    assembling_ = true;
  }
  if (!assembling_) return false;  // the beginning was lost to damage
  if (record_.size() + payload.size() > kRecordLimitBytes) {
    assembling_ = false;
    return false;
  }
  record_ += payload;
  if (type != kLast) return false;
  assembling_ = false;
  return true;
}

// What follows damage in a block cannot be trusted: its rest is passed over, as it comes.
LogRecord LogBlocks::SkipBlock(std::size_t left_in_block) {
  assembling_ = false;
  skip_ = left_in_block;
  return {LogState::kDamaged, {}};
}

void LogBlocks::Take(std::size_t count) {
  taken_ += count;
  offset_ += count;
}

}  // namespace vigil::codec
