// codec: bytes to tokens. Pure, bounded in depth and memory, fuzzed; knows nothing of runs.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
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
  std::string_view payload;    // of a whole or damaged record; borrowed from the bytes given
  std::size_t size_bytes = 0;  // to the next record; 0 unless kWhole or kBadData
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

}  // namespace vigil::codec
