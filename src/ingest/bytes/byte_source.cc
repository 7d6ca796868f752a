#include "ingest/bytes/byte_source.h"

#include <algorithm>
#include <utility>

#include "ingest/bytes/expanded_stream.h"
#include "platform/files.h"

namespace vigil::ingest {
namespace {

constexpr std::size_t kWideBytes = std::size_t{64} << 10U;

class FileStream : public ByteStream {
 public:
  explicit FileStream(platform::File file) : file_(std::move(file)) {}
  Result<std::size_t> Read(char* into, std::size_t capacity) override { return file_.Read(into, capacity); }
  platform::File& file() { return file_; }

 private:
  platform::File file_;
};

}  // namespace

ByteSource::ByteSource(platform::File file, std::string path) : path_(std::move(path)) {
  auto stream = std::make_unique<FileStream>(std::move(file));
  file_ = &stream->file();
  size_bytes_ = file_->size_bytes();
  stream_ = std::move(stream);
}

ByteSource::ByteSource(std::unique_ptr<ByteStream> member, std::string path, std::uint64_t size_bytes)
    : path_(std::move(path)), stream_(std::move(member)), size_bytes_(size_bytes) {}

bool ByteSource::ExpandIfCompressed(std::string_view head, UnpackBudget* budget) {
  auto expanded = ingest::ExpandIfCompressed(head, stream_, path_, budget);
  if (expanded == nullptr) return false;
  stream_ = std::move(expanded);
  is_expanded_ = true;
  return true;
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
  return decoder_ ? ReadDecoded(into, capacity) : stream_->Read(into, capacity);
}

Result<std::size_t> ByteSource::ReadDecoded(char* into, std::size_t capacity) {
  std::string piece;
  while (decoded_at_ == decoded_.size()) {
    decoded_.clear();
    decoded_at_ = 0;
    piece.resize(kWideBytes);
    const auto count = stream_->Read(piece.data(), piece.size());
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

Status ByteSource::Rewind() {
  if (plain_file() == nullptr) return Fail(ErrorCode::kUnsupported, path_, "cannot be read from its beginning again");
  return file_->Rewind();
}

}  // namespace vigil::ingest
