#include "journal/lane.h"

#include <cstring>

namespace vigil::journal {
namespace {

std::uint64_t RoundUp(std::uint64_t value, std::uint64_t step) { return (value + step - 1) / step * step; }

}  // namespace

std::uint64_t LaneWriter::OpenChunk(std::uint64_t at, std::uint64_t count) {
  const std::uint64_t chunk = RoundUp(at, kChunkWords);
  const std::uint64_t begin = chunk + kChunkHeadWords;
  control_->reserved.store(begin + count, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  if (at != chunk) Put(at, RecordHead(RecordKind::kPad, chunk - at, 0));
  Put(chunk, chunk);
  Put(chunk + 1, control_->records.load(std::memory_order_relaxed));
  return begin;
}

bool LaneWriter::MayOverwrite(std::uint64_t now_ns) const {
  if (trouble_ == nullptr) return false;
  if (trouble_->fails.load(std::memory_order_relaxed) != 0) return true;
  // A file system that does not answer is trouble, too: the owner looks after the ring many times a second.
  constexpr std::int64_t kMostNs = 2'000'000'000;
  const std::uint64_t alive_ns = trouble_->alive_monotonic_ns.load(std::memory_order_relaxed);
  return static_cast<std::int64_t>(now_ns - alive_ns) > kMostNs;
}

bool LaneWriter::AddText(Section section, std::string_view entry, Importance importance) {
  constexpr std::size_t kMostBytes = (kChunkWords - kChunkHeadWords - 1) * sizeof(std::uint64_t);
  const auto words_of = [](std::string_view piece) { return 1 + RoundUp(piece.size(), 8) / 8; };
  std::uint64_t end = control_->head.load(std::memory_order_relaxed);
  for (std::size_t begin = 0; begin == 0 || begin < entry.size(); begin += kMostBytes)
    end = Behind(end, words_of(entry.substr(begin, kMostBytes)));
  const std::uint64_t spared = importance == Importance::kUsual ? (mask_ + 1) / 4 : 0;
  if (!HasRoom(end + spared)) return false;
  auto place = kTextFirst;
  do {
    const std::string_view piece = entry.substr(0, kMostBytes);
    entry.remove_prefix(piece.size());
    const std::uint64_t words = words_of(piece);
    std::uint64_t at = 0;
    if (!Open(words, 0, at)) return false;  // never: there is room for all of it
    const auto flags =
        static_cast<std::uint8_t>(static_cast<std::uint8_t>(section) | place | (entry.empty() ? 0 : kTextMore));
    place = 0;
    Put(at, RecordHead(RecordKind::kText, words, static_cast<std::uint32_t>(piece.size()), flags));
    for (std::uint64_t i = 1; i < words; ++i) {
      std::uint64_t word = 0;
      const std::string_view bytes = piece.substr((i - 1) * 8, 8);
      std::memcpy(&word, bytes.data(), bytes.size());
      Put(at + i, word);
    }
    Publish(at + words);
  } while (!entry.empty());
  return true;
}

}  // namespace vigil::journal
