#include "ingest/byte_source.h"

#include <fmt/format.h>

#include <algorithm>

namespace vigil::ingest {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{64} << 10U;
// Logs shrink to a tenth or a fiftieth; a file of one line again and again to a three-hundredth.
constexpr std::uint64_t kMostGrowth = 400;
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20U;

}  // namespace

void ByteSource::ExpandIfCompressed(std::string_view head) {
  expander_ = codec::Decompressor::ForContent(head);
  if (expander_ == nullptr) return;
  packed_ = std::string(head);
  packed_bytes_ = head.size();
}

bool ByteSource::DecodeIfUtf16(std::string& head, bool marked) {
  decoder_ = Utf16Stream::ForContent(head, marked);
  if (!decoder_) return false;
  std::string text;
  decoder_->Decode(head, false, text);
  head = std::move(text);
  return true;
}

Result<std::size_t> ByteSource::Read(char* into, std::size_t capacity) {
  return decoder_ ? ReadDecoded(into, capacity) : ReadPlain(into, capacity);
}

Result<std::size_t> ByteSource::ReadPlain(char* into, std::size_t capacity) {
  return expander_ == nullptr ? file_.Read(into, capacity) : ReadExpanded(into, capacity);
}

Result<std::size_t> ByteSource::ReadDecoded(char* into, std::size_t capacity) {
  std::string piece;
  while (decoded_at_ == decoded_.size()) {
    decoded_.clear();
    decoded_at_ = 0;
    piece.resize(kPackedBytes);
    const auto count = ReadPlain(piece.data(), piece.size());
    if (!count) return tl::unexpected(count.error());
    // More may follow when the file grows, and then half a character is made whole.
    decoder_->Decode(std::string_view(piece).substr(0, *count), false, decoded_);
    if (*count == 0) break;
  }
  const std::size_t size = std::min(capacity, decoded_.size() - decoded_at_);
  decoded_.copy(into, size, decoded_at_);
  decoded_at_ += size;
  return size;
}

bool ByteSource::GrowsTooFast() const {
  return expanded_bytes_ > kFreeBytes && expanded_bytes_ > kMostGrowth * packed_bytes_;
}

// More of the file behind what is used up; true when there was more.
Result<bool> ByteSource::Refill() {
  packed_.resize(kPackedBytes);
  packed_at_ = 0;
  const auto count = file_.Read(packed_.data(), packed_.size());
  if (!count) {
    packed_.clear();
    return tl::unexpected(count.error());
  }
  packed_.resize(*count);
  packed_bytes_ += *count;
  return *count != 0;
}

Result<std::size_t> ByteSource::ReadExpanded(char* into, std::size_t capacity) {
  while (!at_end_) {
    const auto step = expander_->Continue(std::string_view(packed_).substr(packed_at_), into, capacity);
    packed_at_ += step.taken;
    expanded_bytes_ += step.made;
    may_end_ = step.state == codec::Decompressor::State::kMayEnd;
    at_end_ = step.state == codec::Decompressor::State::kDamaged || GrowsTooFast();
    if (step.made != 0) return step.made;
    if (at_end_) break;
    if (packed_at_ < packed_.size()) continue;
    const auto more = Refill();
    if (!more) return tl::unexpected(more.error());
    if (*more) continue;
    at_end_ = true;
    if (may_end_) return 0;
    return Fail(ErrorCode::kCorrupt, path_, "the compressed data end early");
  }
  if (GrowsTooFast())
    return Fail(ErrorCode::kLimit, path_,
                fmt::format("expands to more than {} times its size, which no log does", kMostGrowth));
  return may_end_ ? Result<std::size_t>(0) : Fail(ErrorCode::kCorrupt, path_, "damaged compressed data");
}

}  // namespace vigil::ingest
