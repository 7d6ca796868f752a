#include "ingest/bytes/expanded_stream.h"

#include <fmt/format.h>

#include <utility>

#include "codec/codec.h"
#include "ingest/bytes/archive.h"

namespace vigil::ingest {
namespace {

constexpr std::size_t kPackedBytes = std::size_t{64} << 10U;

// gzip, zstd and xz, by decompressors that are faster at them than libarchive's, or lose less before damage.
class ExpandedStream : public ByteStream {
  using State = codec::Decompressor::State;

 public:
  ExpandedStream(std::unique_ptr<codec::Decompressor> expander, std::string_view head,
                 std::unique_ptr<ByteStream> stream, std::string path, UnpackBudget* budget)
      : expander_(std::move(expander)),
        packed_(head),
        stream_(std::move(stream)),
        path_(std::move(path)),
        budget_(budget) {
    limit_.packed_bytes = head.size();
  }

  Result<std::size_t> Read(char* into, std::size_t capacity) override {
    while (!at_end_) {
      const auto step = expander_->Continue(std::string_view(packed_).substr(packed_at_), into, capacity);
      packed_at_ += step.taken;
      limit_.expanded_bytes += step.made;
      may_end_ = step.state == State::kMayEnd;
      exceeded_ = limit_.IsExceeded() || (budget_ != nullptr && !budget_->TakeBytes(step.made));
      needs_memory_ = step.state == State::kTooMuchMemory;
      at_end_ = step.state == State::kDamaged || needs_memory_ || exceeded_;
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
    if (exceeded_) return Fail(ExpansionLimit::Exceeded(path_));
    if (needs_memory_)
      return Fail(ErrorCode::kLimit, path_,
                  fmt::format("needs more than {} of memory to be expanded",
                              FormatBytes(codec::Decompressor::kMostMemoryBytes)));
    return may_end_ ? Result<std::size_t>(0) : Fail(ErrorCode::kCorrupt, path_, "damaged compressed data");
  }

 private:
  // More of the stream behind what is used up; true when there was more.
  Result<bool> Refill() {
    packed_.resize(kPackedBytes);
    packed_at_ = 0;
    const auto count = stream_->Read(packed_.data(), packed_.size());
    if (!count) {
      packed_.clear();
      return tl::unexpected(count.error());
    }
    packed_.resize(*count);
    limit_.packed_bytes += *count;
    return *count != 0;
  }

  std::unique_ptr<codec::Decompressor> expander_;
  std::string packed_;  // read from the stream, not expanded from `packed_at_` on
  std::size_t packed_at_ = 0;
  std::unique_ptr<ByteStream> stream_;
  std::string path_;
  UnpackBudget* budget_;
  ExpansionLimit limit_;
  bool exceeded_ = false;
  bool needs_memory_ = false;
  bool may_end_ = false;
  bool at_end_ = false;
};

}  // namespace

Error ExpansionLimit::Exceeded(const std::string& path) {
  return {ErrorCode::kLimit, path, std::nullopt,
          fmt::format("expands to more than {} times its size, which no log does", kMostGrowth)};
}

std::unique_ptr<ByteStream> ExpandIfCompressed(std::string_view head, std::unique_ptr<ByteStream>& stream,
                                               const std::string& path, UnpackBudget* budget) {
  if (auto expander = codec::Decompressor::ForContent(head); expander != nullptr)
    return std::make_unique<ExpandedStream>(std::move(expander), head, std::move(stream), path, budget);
  if (!archive::IsFiltered(head)) return nullptr;
  return archive::OpenFiltered(std::make_unique<ResumedStream>(std::string(head), std::move(stream)), path, budget);
}

}  // namespace vigil::ingest
