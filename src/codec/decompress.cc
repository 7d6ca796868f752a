#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "codec/codec.h"

namespace vigil::codec {
namespace {

constexpr std::string_view kGzip("\x1f\x8b\x08", 3);
constexpr std::string_view kXz(
    "\xFD"
    "7zXZ\0",
    6);
constexpr std::string_view kZstd("\x28\xb5\x2f\xfd", 4);

unsigned Clamp(std::size_t size) {
  return static_cast<unsigned>(std::min<std::size_t>(size, std::numeric_limits<unsigned>::max() / 2));
}

class Gzip : public Decompressor {
 public:
  Gzip() {
    constexpr int kLargestWindow = 15;
    constexpr int kWithGzipHeader = 16;
    ready_ = inflateInit2(&stream_, kLargestWindow + kWithGzipHeader) == Z_OK;
  }
  ~Gzip() override {
    if (ready_) inflateEnd(&stream_);
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  Gzip(Gzip&&) = delete;
  Gzip& operator=(Gzip&&) = delete;

  Step Continue(std::string_view in, char* out, std::size_t capacity) override {
    if (!ready_) return {0, 0, State::kDamaged};
    if (ended_ && !in.empty()) {
      // Another member, or padding behind the last one, which is no damage.
      if (!std::string_view(kGzip).starts_with(in.substr(0, kGzip.size()))) return {in.size(), 0, State::kMayEnd};
      inflateReset(&stream_);
      ended_ = false;
    }
    const unsigned given = Clamp(in.size());
    const unsigned room = Clamp(capacity);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = room;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    ended_ = ended_ || code == Z_STREAM_END;
    const bool sound = code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR;
    const State state = !sound ? State::kDamaged : ended_ ? State::kMayEnd : State::kGoesOn;
    return {given - stream_.avail_in, room - stream_.avail_out, state};
  }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
  bool ended_ = false;
};

class Zstd : public Decompressor {
 public:
  Step Continue(std::string_view in, char* out, std::size_t capacity) override {
    if (stream_ == nullptr) return {0, 0, State::kDamaged};
    ZSTD_inBuffer input = {in.data(), in.size(), 0};
    ZSTD_outBuffer output = {out, capacity, 0};
    const std::size_t hint = ZSTD_decompressStream(stream_.get(), &output, &input);
    if (ZSTD_isError(hint) != 0) return {input.pos, output.pos, State::kDamaged};
    // Asked with nothing at hand, a frame that is whole says again that it wants a header.
    if (!in.empty() || output.pos != 0) whole_ = hint == 0;
    return {input.pos, output.pos, whole_ ? State::kMayEnd : State::kGoesOn};
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };
  std::unique_ptr<ZSTD_DStream, Free> stream_{ZSTD_createDStream()};
  bool whole_ = false;
};

// By liblzma itself: libarchive's filter drops what was decoded of the last 64 KiB before damage, and has no limit on
// memory, while the file states the size of the dictionary.
class Xz : public Decompressor {
 public:
  Xz() { Begin(); }
  ~Xz() override { lzma_end(&stream_); }
  Xz(const Xz&) = delete;
  Xz& operator=(const Xz&) = delete;
  Xz(Xz&&) = delete;
  Xz& operator=(Xz&&) = delete;

  Step Continue(std::string_view in, char* out, std::size_t capacity) override {
    if (ended_ && !in.empty()) {
      // Another stream, or zeros and whatever else stands behind the last one, which is no damage.
      if (!kXz.starts_with(in.substr(0, kXz.size()))) return {in.size(), 0, State::kMayEnd};
      Begin();
    }
    if (ended_) return {0, 0, State::kMayEnd};
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out);
    stream_.avail_out = capacity;
    const lzma_ret code = ready_ ? lzma_code(&stream_, LZMA_RUN) : LZMA_PROG_ERROR;
    ended_ = code == LZMA_STREAM_END;
    return {in.size() - stream_.avail_in, capacity - stream_.avail_out, StateOf(code)};
  }

 private:
  void Begin() {
    ready_ = lzma_stream_decoder(&stream_, kMostMemoryBytes, 0) == LZMA_OK;
    ended_ = false;
  }

  static State StateOf(lzma_ret code) {
    if (code == LZMA_STREAM_END) return State::kMayEnd;
    if (code == LZMA_MEMLIMIT_ERROR || code == LZMA_MEM_ERROR) return State::kTooMuchMemory;
    return code == LZMA_OK || code == LZMA_BUF_ERROR ? State::kGoesOn : State::kDamaged;
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool ready_ = false;
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> Decompressor::ForContent(std::string_view head) {
  if (head.starts_with(kGzip)) return std::make_unique<Gzip>();
  if (head.starts_with(kXz)) return std::make_unique<Xz>();
  if (head.starts_with(kZstd)) return std::make_unique<Zstd>();
  return nullptr;
}

}  // namespace vigil::codec
