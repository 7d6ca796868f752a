#include <gtest/gtest.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <string>

#include "codec/codec.h"

namespace vigil::codec {
namespace {

std::string Gzip(const std::string& text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 100, '\0');
  std::string in = text;
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<unsigned>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<unsigned>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string Zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string Xz(const std::string& text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                                    text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

// The same stream, with a header of its first block that states the largest dictionary there is.
std::string WithLargestDictionary(std::string xz) {
  constexpr std::size_t kBlock = 12;  // behind the header of the stream
  const std::size_t size = (static_cast<std::size_t>(static_cast<unsigned char>(xz[kBlock])) + 1) * 4;
  const std::size_t filter = xz.find("\x21\x01", kBlock);
  xz[filter + 2] = 40;
  const auto sum = static_cast<std::uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(xz.data() + kBlock), static_cast<unsigned>(size - 4)));
  for (std::size_t i = 0; i < 4; ++i) xz[kBlock + size - 4 + i] = static_cast<char>(sum >> (8 * i));
  return xz;
}

struct Outcome {
  std::string text;
  bool whole = false;
  bool damaged = false;
};

// Expands with pieces of `in_piece` bytes into room for `out_piece`.
Outcome Expand(std::string_view packed, std::size_t in_piece, std::size_t out_piece) {
  Outcome outcome;
  const auto expander = Decompressor::ForContent(packed);
  if (expander == nullptr) return outcome;
  std::string room(out_piece, '\0');
  for (;;) {
    const auto step = expander->Continue(packed.substr(0, in_piece), room.data(), room.size());
    packed.remove_prefix(step.taken);
    outcome.text.append(room, 0, step.made);
    outcome.whole = step.state == Decompressor::State::kMayEnd;
    outcome.damaged = step.state == Decompressor::State::kDamaged;
    if (outcome.damaged || (step.made == 0 && packed.empty())) return outcome;
  }
}

std::string Text() {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "step " + std::to_string(i) + " loss " + std::to_string(1.0 / (i + 1)) + "\n";
  return text;
}

TEST(Decompressor, ExpandsWhateverThePieces) {
  const std::string text = Text();
  for (const std::string& packed : {Gzip(text), Zstd(text)}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}, packed.size()}) {
      const Outcome outcome = Expand(packed, piece, 777);
      EXPECT_TRUE(outcome.whole);
      EXPECT_EQ(outcome.text, text);
    }
  }
}

TEST(Decompressor, GoesOnWithTheNextMember) {
  EXPECT_EQ(Expand(Gzip("one\n") + Gzip("two\n"), 5, 64).text, "one\ntwo\n");
  EXPECT_EQ(Expand(Zstd("one\n") + Zstd("two\n"), 5, 64).text, "one\ntwo\n");
}

TEST(Decompressor, KnowsAnEndFromACut) {
  for (const std::string& packed : {Gzip(Text()), Zstd(Text())}) {
    const Outcome cut = Expand(std::string_view(packed).substr(0, packed.size() / 2), 1000, 1000);
    EXPECT_FALSE(cut.whole);
  }
}

TEST(Decompressor, SaysWhenBytesAreDamaged) {
  std::string packed = Gzip(Text());
  for (std::size_t i = packed.size() / 2; i < packed.size() / 2 + 50; ++i) packed[i] = '\xff';
  EXPECT_TRUE(Expand(packed, 100, 1000).damaged || !Expand(packed, 100, 1000).whole);
}

TEST(Decompressor, LeavesOtherContentAlone) {
  EXPECT_EQ(Decompressor::ForContent("step 1 loss 2"), nullptr);
  EXPECT_EQ(Decompressor::ForContent(""), nullptr);
}

TEST(Xz, ExpandsInPiecesOfAnySizeAndStreamsInARow) {
  const std::string packed = Xz(Text()) + Xz("more\n");
  for (const auto& [in, out] : {std::pair<std::size_t, std::size_t>{1, 1000}, {1000, 7}, {1 << 20, 1 << 20}}) {
    const Outcome outcome = Expand(packed, in, out);
    EXPECT_EQ(outcome.text, Text() + "more\n") << in;
    EXPECT_TRUE(outcome.whole) << in;
  }
}

TEST(Xz, GivesWhatStandsBeforeACut) {
  const std::string packed = Xz(Text());
  const Outcome outcome = Expand(std::string_view(packed).substr(0, packed.size() / 2), 1 << 20, 1 << 20);
  EXPECT_GT(outcome.text.size(), Text().size() / 3);
  EXPECT_TRUE(Text().starts_with(outcome.text));
  EXPECT_FALSE(outcome.whole);
}

TEST(Xz, DoesNotTakeTheMemoryThatAFileAsksFor) {
  const std::string packed = WithLargestDictionary(Xz(Text()));
  const auto expander = Decompressor::ForContent(packed);
  ASSERT_NE(expander, nullptr);
  std::string room(1 << 20, '\0');
  EXPECT_EQ(expander->Continue(packed, room.data(), room.size()).state, Decompressor::State::kTooMuchMemory);
}

}  // namespace
}  // namespace vigil::codec
