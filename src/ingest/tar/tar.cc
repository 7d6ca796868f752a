#include "ingest/tar/tar.h"

#include <algorithm>
#include <optional>

namespace vigil::ingest::tar {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::size_t kLongestName = 4096;

// Fields of a header: where, and how long.
struct Place {
  std::size_t at;
  std::size_t length;
};
constexpr Place kName = {0, 100};
constexpr Place kSize = {124, 12};
constexpr Place kChecksum = {148, 8};
constexpr std::size_t kKind = 156;
constexpr Place kMagic = {257, 5};
constexpr Place kPrefix = {345, 155};

std::string_view FieldOf(std::string_view header, Place place) {
  const std::string_view field = header.substr(place.at, place.length);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

// Octal digits, or bytes of a large number when the first bit is set.
std::optional<std::uint64_t> NumberOf(std::string_view header, Place place) {
  const std::string_view field = header.substr(place.at, place.length);
  std::uint64_t number = 0;
  if ((static_cast<unsigned char>(field[0]) & 0x80U) != 0) {
    for (const char c : field.substr(field.size() - 8)) number = (number << 8U) | static_cast<unsigned char>(c);
    return number;
  }
  bool any = false;
  for (const char c : field) {
    if (c == ' ' && !any) continue;
    if (c < '0' || c > '7') break;
    number = number * 8 + static_cast<std::uint64_t>(c - '0');
    any = true;
  }
  return any ? std::optional(number) : std::nullopt;
}

bool HasRightChecksum(std::string_view header) {
  const auto stated = NumberOf(header, kChecksum);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const bool in_field = i >= kChecksum.at && i < kChecksum.at + kChecksum.length;
    sum += in_field ? std::uint64_t{' '} : static_cast<unsigned char>(header[i]);
  }
  return stated && *stated == sum;
}

// Bytes of the archive in order.
class Stream {
 public:
  Stream(const Source& source, std::string_view head) : source_(source), rest_(head) {}

  // The next `count` bytes into `into`, fewer at the end.
  void Take(std::uint64_t count, std::string& into) {
    into.clear();
    while (into.size() < count && Fill()) {
      const std::size_t size = std::min<std::uint64_t>(count - into.size(), rest_.size() - at_);
      into.append(rest_, at_, size);
      at_ += size;
    }
  }
  void Skip(std::uint64_t count) {
    while (count != 0 && Fill()) {
      const std::size_t size = std::min<std::uint64_t>(count, rest_.size() - at_);
      at_ += size;
      count -= size;
    }
  }

 private:
  bool Fill() {
    if (at_ < rest_.size()) return true;
    constexpr std::size_t kPiece = std::size_t{256} << 10U;
    rest_.resize(kPiece);
    at_ = 0;
    rest_.resize(source_(rest_.data(), rest_.size()));
    return !rest_.empty();
  }

  const Source& source_;
  std::string rest_;
  std::size_t at_ = 0;
};

// "27 path=some/long/name\n" among the records of an extended header.
std::string PathInRecords(std::string_view records) {
  constexpr std::string_view kKey = " path=";
  const std::size_t key = records.find(kKey);
  if (key == std::string_view::npos) return {};
  const std::string_view rest = records.substr(key + kKey.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

std::string NameOf(std::string_view header) {
  std::string name(FieldOf(header, kName));
  const std::string_view prefix = FieldOf(header, kPrefix);
  if (FieldOf(header, kMagic) == "ustar" && !prefix.empty()) name = std::string(prefix) + "/" + name;
  return name;
}

}  // namespace

bool IsArchive(std::string_view head) {
  return head.size() >= kBlock && head[0] != '\0' && HasRightChecksum(head.substr(0, kBlock));
}

void Walk(const Source& source, std::string_view head, const std::function<void(const Member&)>& take) {
  Stream stream(source, head);
  std::string header;
  std::string bytes;
  std::string long_name;  // of the next member, from a header of its own
  for (std::size_t members = 0; members < kMostMembers; ++members) {
    stream.Take(kBlock, header);
    if (!IsArchive(header)) return;
    const std::uint64_t size = NumberOf(header, kSize).value_or(0);
    const char kind = header[kKind];
    const bool names = kind == 'L' || kind == 'x';
    const bool regular = kind == '0' || kind == '\0';
    const std::uint64_t wanted = names ? std::min<std::uint64_t>(size, kLongestName) : regular ? size : 0;
    stream.Take(std::min(wanted, kLargestMember), bytes);
    const bool cut = bytes.size() < size;
    if (names) long_name = kind == 'x' ? PathInRecords(bytes) : bytes.substr(0, bytes.find('\0'));
    if (regular && !bytes.empty()) take({long_name.empty() ? NameOf(header) : long_name, bytes, cut});
    if (!names) long_name.clear();
    if (size > UINT64_MAX - kBlock) return;
    const std::uint64_t padded = (size + kBlock - 1) / kBlock * kBlock;
    stream.Skip(padded - bytes.size());
  }
}

}  // namespace vigil::ingest::tar
