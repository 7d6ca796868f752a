#include "journal/journal_end.h"

#include "journal/wire.h"
#include "platform/recording.h"

namespace vigil::journal {
namespace {

struct EndVisitor : Visitor {
  Begin begin;
  std::array<Position, kLanes> positions = {};
  void OnBegin(const Begin& found) override { begin = found; }
  void OnPosition(const Position& position) override {
    if (position.lane < kLanes && position.position > positions[position.lane].position)
      positions[position.lane] = position;
  }
};

// Decodes the file from an offset on; the number of the block that is due then. With `only_first`, no more than the
// first block can take.
Result<std::uint32_t> Decode(const platform::AppendFile& file, std::uint64_t offset, std::uint32_t number,
                             bool only_first, Visitor& visitor) {
  Decoder decoder(visitor, offset, number);
  std::string window;
  for (bool last = false; !last && !decoder.refused();) {
    constexpr std::size_t kPiece = kMostStoredBytes + kBlockHeaderBytes + kFileHeaderBytes;
    const std::size_t kept = window.size();
    window.resize(kept + kPiece);
    const auto count = file.ReadAt(offset + kept, window.data() + kept, kPiece);
    if (!count) return Fail(count.error());
    window.resize(kept + *count);
    last = window.size() == kept || only_first;
    const std::size_t used = decoder.Consume(window, last);
    window.erase(0, used);
    offset += used;
  }
  return decoder.next_number();
}

}  // namespace

Result<JournalEnd> ReadEnd(const platform::AppendFile& file, std::uint64_t committed) {
  if (committed > file.size_bytes()) committed = 0;  // any bytes may stand in a ring
  std::string head(kBlockHeaderBytes, '\0');
  const auto count = file.ReadAt(committed, head.data(), head.size());
  if (!count) return Fail(count.error());
  head.resize(*count);
  const auto header = ParseHeader(head);
  EndVisitor visitor;
  const auto number =
      header ? Decode(file, committed, header->number, false, visitor) : Decode(file, 0, 0, false, visitor);
  if (!number) return Fail(number.error());
  return JournalEnd{*number, visitor.positions};
}

Result<std::string> ReadRingId(const platform::AppendFile& file) {
  EndVisitor visitor;
  if (const auto read = Decode(file, 0, 0, true, visitor); !read) return Fail(read.error());
  return visitor.begin.ring_id;
}

Begin ReadBegin(std::string_view block) {
  EndVisitor visitor;
  Decoder(visitor, kFileHeaderBytes).Consume(block, true);
  return visitor.begin;
}

}  // namespace vigil::journal
