#include "journal/lane_records.h"

#include <algorithm>
#include <bit>

#include "journal/ring.h"
#include "journal/wire.h"

namespace vigil::journal {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;

std::uint64_t WordsIn(std::uint64_t head) { return head >> 8U & 0xffffU; }

}  // namespace

void LaneRecords::Start(std::span<const std::uint64_t> words, const Position& at) {
  words_ = words;
  at_ = at;
  whole_at_ = at;
  text_.clear();
  damaged_ = false;
}

bool LaneRecords::AddNext(BlockBuilder& builder) {
  for (;;) {
    const std::uint64_t in_chunk = at_.position % kChunkWords;
    const std::uint64_t skip = in_chunk == 0 ? kChunkHeadWords : 0;
    if (words_.size() <= skip) return false;
    words_ = words_.subspan(skip);
    at_.position += skip;
    const std::uint64_t count = WordsIn(words_[0]);
    damaged_ = count == 0 || count > words_.size() || (at_.position % kChunkWords) + count > kChunkWords;
    if (damaged_) return false;
    const auto record = words_.first(count);
    words_ = words_.subspan(count);
    at_.position += count;
    if (static_cast<RecordKind>(record[0] & 0xffU) == RecordKind::kPad) continue;
    AddRecord(record, builder);
    ++at_.records;
    if (text_.empty()) whole_at_ = at_;
    return true;
  }
}

void LaneRecords::AddRecord(std::span<const std::uint64_t> record, BlockBuilder& builder) {
  const auto id = static_cast<std::uint32_t>(record[0] >> 32U);
  const auto kind = static_cast<RecordKind>(record[0] & 0xffU);
  if (kind == RecordKind::kText) return AddText(record, builder);
  if (record.size() < 4 || id >= kMostSeries) return;
  const auto step = static_cast<std::int64_t>(record[1]);
  if (kind == RecordKind::kScalar) builder.Add(id, step, std::bit_cast<double>(record[2]), record[3] / kNsPerMs);
  if (kind == RecordKind::kBatch) builder.AddBatch({record[3] / kNsPerMs, step, record[2]});
  if (kind != RecordKind::kRow) return;
  const std::size_t end = std::min<std::size_t>(record.size(), 3 + kMostSeries - id);
  for (std::size_t i = 3; i < end; ++i)
    builder.Add(id + static_cast<std::uint32_t>(i - 3), step, std::bit_cast<double>(record[i]), record[2] / kNsPerMs);
}

void LaneRecords::AddText(std::span<const std::uint64_t> record, BlockBuilder& builder) {
  const std::uint64_t flags = record[0] >> 24U & 0xffU;
  const std::size_t bytes = record[0] >> 32U;
  const std::span<const std::uint64_t> content = record.subspan(1);
  if ((flags & kTextFirst) != 0) text_.clear();
  const bool lost_its_beginning = (flags & kTextFirst) == 0 && text_.empty();
  if (lost_its_beginning) return;
  if (bytes > content.size_bytes() || text_.size() + bytes > kMostEntryBytes) {
    text_.clear();
    return;
  }
  text_.append(reinterpret_cast<const char*>(content.data()), bytes);
  if ((flags & kTextMore) != 0) return;
  builder.AddEntry(static_cast<Section>(flags & 0x3fU), text_);
  text_.clear();
}

}  // namespace vigil::journal
