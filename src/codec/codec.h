// codec: bytes to tokens. Pure, bounded in depth and memory, fuzzed; knows nothing of runs.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace vigil::codec {

// ---- CRC-32C (Castagnoli)

// By the processor's instruction where it has one, else by tables.
std::uint32_t Crc32c(std::string_view bytes);
// The twin that runs anywhere.
std::uint32_t Crc32cByTable(std::string_view bytes);
// The form in which TFRecord stores a checksum.
constexpr std::uint32_t MaskCrc(std::uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U; }

// ---- TFRecord framing: length, checksum of the length, payload, checksum of the payload

enum class RecordState : std::uint8_t {
  kWhole,
  kCut,        // the bytes end before the record does
  kBadLength,  // the length is not to be trusted: nothing behind it can be found
  kBadData,    // the payload is damaged; the next record follows
};

struct TfRecord {
  RecordState state = RecordState::kCut;
  std::string_view payload;      // of a whole or damaged record; borrowed from the bytes given
  std::uint64_t size_bytes = 0;  // to the next record; 0 where the length cannot be trusted or is not there yet
};

inline constexpr std::size_t kTfRecordHeaderBytes = 12;
inline constexpr std::size_t kTfRecordFooterBytes = 4;

// The record at the front of `bytes`, both checksums verified.
TfRecord ReadTfRecord(std::string_view bytes);

// ---- LevelDB log framing, as .wandb files use it: blocks of 32 KiB, chunks with a plain CRC-32

enum class LogState : std::uint8_t { kRecord, kEnd, kCut, kDamaged };

struct LogRecord {
  LogState state = LogState::kEnd;
  std::string_view payload;  // of a kRecord: valid until the next call
};

// Takes records from bytes that come in pieces. After damage it goes on at the next block.
class LogBlocks {
 public:
  // `offset`: where in the file the first byte of the next piece stands; blocks are counted from the start of the file.
  explicit LogBlocks(std::uint64_t offset) : offset_(offset) {}

  // The next record of `bytes`, of which taken() bytes are used up already.
  LogRecord Next(std::string_view bytes);
  std::size_t taken() const { return taken_; }
  std::uint64_t offset() const { return offset_; }
  // The next piece begins with the first byte that was not taken.
  void NextPiece() { taken_ = 0; }

 private:
  bool Assemble(std::uint8_t type, std::string_view payload);
  LogRecord SkipBlock(std::size_t left_in_block);
  void Take(std::size_t count);

  std::uint64_t offset_;
  std::size_t taken_ = 0;
  std::size_t skip_ = 0;  // bytes of a damaged block still to come
  bool assembling_ = false;
  std::string record_;
};

// ---- compressed files: gzip (also several members in a row) and zstd

// Expands bytes that come in pieces. Keeps no more than the window that the format needs, within kMostMemoryBytes; how
// much comes out is the caller's to limit.
class Decompressor {
 public:
  enum class State : std::uint8_t { kGoesOn, kMayEnd, kDamaged, kTooMuchMemory };
  struct Step {
    std::size_t taken = 0;         // of the input
    std::size_t made = 0;          // in the output
    State state = State::kGoesOn;  // kMayEnd: what is whole ends here; more may follow
  };

  Decompressor() = default;
  virtual ~Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  Decompressor(Decompressor&&) = delete;
  Decompressor& operator=(Decompressor&&) = delete;

  // No compressor makes files that need more by its own presets.
  static constexpr std::size_t kMostMemoryBytes = std::size_t{256} << 20U;

  // By the first bytes (gzip, zstd, xz); null when they are none's.
  static std::unique_ptr<Decompressor> ForContent(std::string_view head);
  virtual Step Continue(std::string_view in, char* out, std::size_t capacity) = 0;
};

// ---- protobuf wire format

enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// What stands before a field: its number and wire type in one integer, fit for a switch.
constexpr std::uint32_t FieldKey(std::uint32_t number, WireType type) {
  return (number << 3U) | static_cast<std::uint32_t>(type);
}

// Walks the fields of one message, without a schema and without descending. Never reads past the end: a field that
// does ends the walk with damaged() set. Written here rather than taken from protozero because that reports damage by
// throwing, and because the walk has to be cheap for messages of two or three fields.
class ProtoFields {
 public:
  explicit ProtoFields(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // Moves to the next field; false at the end and at damage.
  bool Next() {
    if (at_ == end_) return false;
    std::uint64_t key = 0;
    if (!TakeVarint(key) || key > 0xffffffffU || key < 8) return Damage();
    key_ = static_cast<std::uint32_t>(key);
    switch (key & 7U) {
      case 0:
        return TakeVarint(number_) || Damage();
      case 1:
        return TakeFixed(8) || Damage();
      case 2:
        return TakeBytes() || Damage();
      case 5:
        return TakeFixed(4) || Damage();
      default:
        return Damage();  // groups went out of use long before the formats read here
    }
  }

  bool damaged() const { return damaged_; }
  std::uint32_t key() const { return key_; }
  // The value of a kVarint, or the bits of a kFixed64 or kFixed32.
  std::uint64_t number() const { return number_; }
  std::int64_t AsInt64() const { return static_cast<std::int64_t>(number_); }
  double AsDouble() const { return std::bit_cast<double>(number_); }
  float AsFloat() const { return std::bit_cast<float>(static_cast<std::uint32_t>(number_)); }
  // The content of a kBytes: a string, a message or packed numbers.
  std::string_view bytes() const { return bytes_; }

 private:
  bool TakeVarint(std::uint64_t& value) {
    if (at_ != end_ && static_cast<unsigned char>(*at_) < 0x80) {
      value = static_cast<unsigned char>(*at_++);
      return true;
    }
    return TakeLongVarint(value);
  }
  bool TakeLongVarint(std::uint64_t& value);

  bool TakeFixed(std::size_t size) {
    if (static_cast<std::size_t>(end_ - at_) < size) return false;
    number_ = 0;
    std::memcpy(&number_, at_, size);  // little-endian, as the machines that this is built for
    at_ += size;
    return true;
  }

  bool TakeBytes() {
    std::uint64_t size = 0;
    if (!TakeVarint(size) || size > static_cast<std::uint64_t>(end_ - at_)) return false;
    bytes_ = {at_, static_cast<std::size_t>(size)};
    at_ += size;
    return true;
  }

  bool Damage() {
    damaged_ = true;
    at_ = end_;
    return false;
  }

  const char* at_;
  const char* end_;
  std::uint32_t key_ = 0;
  bool damaged_ = false;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};
static_assert(std::endian::native == std::endian::little, "fixed-width fields are copied as they stand");

// The first number of a packed field (or of an unpacked one, whose bytes are the number itself). False when empty.
bool FirstVarint(std::string_view packed, std::uint64_t& value);

// ---- JSON, as Python's json module, orjson and their kin write it

enum class JsonToken : std::uint8_t {
  kObjectBegin,
  kObjectEnd,
  kArrayBegin,
  kArrayEnd,
  kKey,     // text()
  kString,  // text()
  kNumber,  // number(); NaN, Infinity and -Infinity too, and what overflows is infinite
  kTrue,
  kFalse,
  kNull,
  kNeedMore,  // the text given so far ends inside the next token
  kEnd,       // the document is complete; what follows it is not looked at
  kBroken,    // no JSON from here on: problem()
};

// How a key was written: all text from the end of the token before it to its colon. Writers repeat themselves, so that
// text is likely to come again.
struct JsonKeyText {
  std::string text;
  std::uint32_t lines = 0;  // line breaks in it
  bool first = false;       // of its object
};

// Takes a JSON document apart, token by token, while its text arrives in pieces. Keeps one bit per open container and
// copies nothing, so that depth and length of the input cost no memory. Bytes inside strings are not checked beyond
// what finds their end: broken UTF-8 is the caller's to print safely.
class JsonScanner {
 public:
  static constexpr std::size_t kMaxDepth = 512;

  JsonScanner() = default;
  // A whole document in memory.
  explicit JsonScanner(std::string_view document) { Continue(document, true); }

  // The text to go on with: what was not consumed before, and more behind it. With `last` nothing follows, and a
  // document that does not end here is broken. The text must outlive the calls of Next.
  void Continue(std::string_view text, bool last);
  void StayInLine() { one_line_ = true; }  // the text ends with its line, which is not searched for first
  JsonToken Next();
  // Passes over what is open until only `depth` containers are, and returns the token that closed the last of them; or
  // kNeedMore (call again after Continue), or kBroken.
  JsonToken SkipTo(std::size_t depth);

  // Takes a key that stands exactly as one met earlier, at the cost of a comparison. False, and nothing taken, when the
  // text goes on otherwise, or when no key can stand here.
  bool TakeKey(const JsonKeyText& known);
  // Takes a plain number that stands next, as Next would; false, and nothing taken, when something else does.
  bool TakeNumber();
  // After kKey: how it was written.
  void CopyKeyText(JsonKeyText& into) const;

  // Bytes of the text given last that were taken, and lines begun in all text so far (1-based).
  std::size_t consumed() const { return static_cast<std::size_t>(at_ - begin_); }
  std::uint32_t line() const { return line_; }
  // Containers open after the token.
  std::size_t depth() const { return depth_; }
  // What stands between the quotes, escapes as written. Borrowed from the text.
  std::string_view text() const { return text_; }
  double number() const { return number_; }
  // What was expected and not found, after kBroken.
  std::string_view problem() const { return problem_; }

 private:
  enum class Expect : std::uint8_t { kValue, kFirstKey, kKey, kFirstElement, kCommaOrClose, kNothing };

  const char* SkipSpace(const char* at);
  JsonToken Commit(const char* at, Expect next, JsonToken token);
  JsonToken ValueDone(const char* at, JsonToken token);
  JsonToken More();
  JsonToken Break(const char* at, std::string_view problem);
  JsonToken AfterValue(const char* at);
  JsonToken Key(const char* at);
  JsonToken Value(const char* at);
  JsonToken Word(const char* at);
  JsonToken Number(const char* at);
  JsonToken Open(const char* at, bool object);
  JsonToken Close(const char* at, bool object);
  bool InObject() const { return ((kinds_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64)) & 1U) != 0; }

  const char* begin_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool last_ = false;
  bool one_line_ = false;
  Expect expect_ = Expect::kValue;
  std::uint32_t line_ = 1;       // where at_ is
  std::uint32_t seen_line_ = 1;  // where the token under way is
  std::size_t depth_ = 0;
  std::array<std::uint64_t, kMaxDepth / 64> kinds_ = {};  // a bit per open container: object or array
  std::string_view text_;
  const char* key_begin_ = nullptr;  // of the text that JsonKeyText holds, and what else it says
  std::uint32_t key_lines_ = 0;
  bool key_first_ = false;
  double number_ = 0;
  std::string_view problem_;
};

// The text of a string with its escapes resolved; escapes that are none stay as they stand.
std::string UnescapeJson(std::string_view text);

}  // namespace vigil::codec
