#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "codec/codec.h"
#include "journal/columns.h"
#include "journal/journal.h"
#include "journal/payload.h"
#include "journal/wire.h"

namespace vigil::journal {

std::optional<BlockHeader> ParseHeader(std::string_view bytes) {
  if (bytes.size() < kBlockHeaderBytes || !bytes.starts_with(kSync)) return std::nullopt;
  Input input(bytes.substr(kSync.size(), kBlockHeaderBytes - kSync.size()));
  const auto crc = input.Raw<std::uint32_t>();
  if (crc != codec::Crc32c(bytes.substr(8, kBlockHeaderBytes - 8))) return std::nullopt;
  BlockHeader header;
  header.kind = input.Raw<std::uint8_t>();
  header.storage = input.Raw<std::uint8_t>();
  input.Raw<std::uint16_t>();
  header.stored_bytes = input.Raw<std::uint32_t>();
  header.payload_crc = input.Raw<std::uint32_t>();
  header.number = input.Raw<std::uint32_t>();
  return header;
}

bool HoldsBlock(std::string_view bytes) {
  for (std::size_t at = bytes.find(kSync); at != std::string_view::npos; at = bytes.find(kSync, at + 1)) {
    const auto header = ParseHeader(bytes.substr(at));
    if (header && header->stored_bytes <= kMostStoredBytes) return true;
  }
  return false;
}

struct Decoder::State {
  State(Visitor& to, std::uint64_t at, std::uint32_t number) : visitor(to), offset(at), due(number) {}

  Visitor& visitor;
  std::uint64_t offset;  // of the next byte
  std::uint32_t due;     // number of the next block
  std::uint64_t samples = 0;
  std::uint64_t things = 0;     // seen so far: entries, labels, columns, keys
  std::uint64_t raw_bytes = 0;  // unpacked so far
  std::uint64_t wasted = 0;     // bytes looked through in blocks that were none
  bool refused = false;
  bool searching = false;
  std::uint64_t damaged_from = 0;
  std::string reason;
  bool is_cut = false;  // the file ends within a block
  std::string raw;
  Column column;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> zstd{ZSTD_createDCtx(), ZSTD_freeDCtx};

  std::size_t ReadFileHeader(std::string_view bytes, bool last) {
    if (bytes.size() < kFileHeaderBytes) {
      if (last && !bytes.empty()) visitor.OnCut(0);
      return 0;
    }
    Input input(bytes.substr(kMagic.size()));
    const auto major = input.Raw<std::uint16_t>();
    const auto minor = input.Raw<std::uint16_t>();
    const auto checksum = input.Raw<std::uint32_t>();
    const bool is_checked = checksum == HeaderChecksum(bytes.substr(0, kFileHeaderBytes));
    const bool is_known = major >= 1 && major <= kMajor;
    if (bytes.starts_with(kMagic) && is_checked && !is_known) {
      Refuse(fmt::format("journal of format {}.{}, this vigil reads up to {}.x: read it with a newer one", major, minor,
                         kMajor));
    } else if (!bytes.starts_with(kMagic) || (!is_checked && checksum != 0) || !is_known) {
      // Writers of format 1.0 left the checksum out: then the version can be nothing but 1.0.
      constexpr std::size_t kEnough = std::size_t{64} << 10U;
      if (!last && bytes.size() < kEnough && !HoldsBlock(bytes)) return 0;
      if (!HoldsBlock(bytes)) Refuse("does not begin like a journal");
      if (!refused) visitor.OnDamage(0, kFileHeaderBytes, 0, "a damaged beginning");
    }
    offset = kFileHeaderBytes;
    return kFileHeaderBytes;
  }

  void Refuse(std::string_view why) {
    refused = true;
    visitor.OnRefused(why);
  }

  // From the byte at `offset` on something is wrong: what is whole again is searched behind it.
  void Damaged(std::string_view why, bool cut = false) {
    if (searching) return;
    searching = true;
    damaged_from = offset;
    reason = why;
    is_cut = cut;
  }

  void ReportDamage(std::uint64_t resumed, std::uint64_t missing) {
    visitor.OnDamage(damaged_from, resumed, missing, reason);
    searching = false;
  }

  // A sound block stands here. Numbers tell whether anything is missing before it. One that is due says that the bytes
  // before were an unfinished write, made good by this block.
  void Place(std::uint32_t number) {
    if (number == due) return;
    if (!searching) {
      damaged_from = offset;
      reason = "blocks are missing";
      is_cut = false;
    }
    ReportDamage(offset, number - due);
  }

  bool WasRead(std::uint32_t number) const {
    constexpr std::uint32_t kBackwards = 1U << 31U;
    return number - due >= kBackwards;
  }

  bool Unpack(const BlockHeader& header, std::string_view stored, std::string_view& payload) {
    if (header.storage == kStoredAsIs) {
      payload = stored;
      return true;
    }
    if (header.storage != kStoredZstd || !zstd) return false;
    const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
    if (size > kMostRawBytes) return false;  // also when it is unknown
    raw_bytes += size;
    if (raw_bytes > kSpareRawBytes + kMostRawPerByte * (offset + stored.size())) return false;
    raw.resize(static_cast<std::size_t>(size));
    const std::size_t made = ZSTD_decompressDCtx(zstd.get(), raw.data(), raw.size(), stored.data(), stored.size());
    if (ZSTD_isError(made) != 0 || made != size) return false;
    payload = raw;
    return true;
  }

  // Null when the block is fine, else what is wrong with it.
  const char* ReadBlock(const BlockHeader& header, std::string_view stored) {
    if (codec::Crc32c(stored) != header.payload_crc) return "wrong checksum of a block";
    std::string_view payload;
    if (header.kind == kDataBlock && !Unpack(header, stored, payload)) return "a block that cannot be unpacked";
    if (WasRead(header.number)) {
      visitor.OnDamage(offset, offset + kBlockHeaderBytes + stored.size(), 0, "a block that was there before");
      return nullptr;
    }
    Place(header.number);
    due = header.number;
    if (header.kind == kDataBlock) {
      Allowance allowance;
      allowance.samples = kMostSamplesPerByte * (kBlockHeaderBytes + stored.size());
      const std::uint64_t most = kSpareThings + kMostThingsPerByte * (offset + kBlockHeaderBytes + stored.size());
      allowance.things = most - std::min(most, things);
      const std::uint64_t before = allowance.things;
      const bool whole = ReadPayload(payload, allowance, column, samples, visitor);
      things += before - allowance.things;
      if (allowance.exceeded) return "a block that unfolds to too much";
      if (!whole) return "a block that makes no sense";
    }
    ++due;
    searching = false;
    return nullptr;
  }

  // How far to go on behind the front of `rest`, where a block with a sound header is damaged. Headers that overlap
  // could have the same bytes looked through over and over: from some point on their word is taken for their size.
  std::size_t PassDamaged(std::string_view rest, std::size_t size, bool last) {
    constexpr std::uint64_t kSpareWaste = std::uint64_t{16} << 20U;
    wasted += size;
    if (wasted > kSpareWaste + offset) return size;
    return std::max<std::size_t>(1, SearchFrom(rest, 1, last));
  }

  // Bytes of `rest` that can be left behind while searching: up to the next place that may be a block.
  static std::size_t SearchFrom(std::string_view rest, std::size_t from, bool last) {
    const std::size_t found = rest.find(kSync, from);
    if (found != std::string_view::npos) return found;
    if (last) return rest.size();
    return rest.size() - std::min(rest.size(), kSync.size() - 1);
  }

  // Takes one block, or bytes that are none, from the front of `rest`; 0 when more bytes are needed.
  std::size_t Step(std::string_view rest, bool last) {
    if (searching && !rest.starts_with(kSync)) return SearchFrom(rest, 0, last);
    if (rest.size() < kBlockHeaderBytes) {
      if (!last) return 0;
      Damaged("cut", true);
      return rest.size();
    }
    const auto header = ParseHeader(rest);
    const bool sound = header && header->stored_bytes <= kMostStoredBytes;
    if (!sound) {
      Damaged("no sound block begins here");
      return std::max<std::size_t>(1, SearchFrom(rest, 1, last));
    }
    const std::size_t size = kBlockHeaderBytes + header->stored_bytes;
    if (rest.size() < size) {
      if (!last) return 0;
      Damaged("cut", true);
      return std::max<std::size_t>(1, SearchFrom(rest, 1, last));
    }
    if (const char* wrong = ReadBlock(*header, rest.substr(kBlockHeaderBytes, header->stored_bytes))) {
      // The block is due still: when a killed process left half of it, it stands whole behind.
      Damaged(wrong);
      return PassDamaged(rest, size, last);
    }
    return size;
  }

  void Conclude() {
    if (!searching) return;
    if (is_cut) {
      visitor.OnCut(damaged_from);
      searching = false;
    } else {
      ReportDamage(offset, 0);
    }
  }
};

Decoder::Decoder(Visitor& visitor, std::uint64_t offset, std::uint32_t number)
    : state_(std::make_unique<State>(visitor, offset, number)) {}
Decoder::~Decoder() = default;

std::size_t Decoder::Consume(std::string_view bytes, bool last) {
  State& state = *state_;
  if (state.refused) return bytes.size();
  std::size_t used = state.offset == 0 ? state.ReadFileHeader(bytes, last) : 0;
  if (state.offset == 0 || state.refused) return state.refused ? bytes.size() : used;
  while (used < bytes.size()) {
    const std::size_t step = state.Step(bytes.substr(used), last);
    if (step == 0) break;
    used += step;
    state.offset += step;
  }
  if (last) state.Conclude();
  return used;
}

bool Decoder::refused() const { return state_->refused; }
std::uint64_t Decoder::offset() const { return state_->offset; }
std::uint32_t Decoder::next_number() const { return state_->due; }
std::uint64_t Decoder::samples() const { return state_->samples; }

}  // namespace vigil::journal
