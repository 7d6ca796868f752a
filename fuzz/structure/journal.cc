// vigil's journals: a header, then numbered blocks of sections, packed or as they are, with a checksum over the header
// of a block and one over what is stored. doc/formats/journal.md has every byte.
#include "journal/journal.h"

#include <zstd.h>

#include <memory>

#include "codec/codec.h"
#include "frames.h"

namespace vigil::fuzz {
namespace {

constexpr std::string_view kSync("\xf6vj\n", 4);
constexpr std::size_t kBlockHeaderBytes = 24;
constexpr std::size_t kMostStoredBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostRawBytes = std::size_t{4} << 20U;

struct Block {
  bool is_damage = false;  // bytes between blocks: they stay as they are, so that inputs with damage keep it
  std::uint8_t kind = 1;
  bool packed = false;
  std::uint32_t number = 0;
  std::string payload = {};
};

std::string Unpacked(std::string_view stored, bool& packed) {
  const unsigned long long size = ZSTD_getFrameContentSize(stored.data(), stored.size());
  packed = packed && size <= kMostRawBytes;
  if (!packed) return std::string(stored);
  std::string raw(static_cast<std::size_t>(size), '\0');
  packed = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size()) == raw.size();
  return packed ? raw : std::string(stored);
}

std::string Packed(std::string_view raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 1));
  return packed;
}

// The block at the front and its bytes; 0 when there is none. Checksums are not asked: they are made right anyway.
std::size_t ParseBlock(std::string_view bytes, Block& block) {
  if (bytes.size() < kBlockHeaderBytes || !bytes.starts_with(kSync)) return 0;
  const std::uint64_t stored = LittleAt(bytes, 12, 4);
  if (stored > bytes.size() - kBlockHeaderBytes) return 0;
  block.kind = static_cast<std::uint8_t>(bytes[8]);
  block.packed = bytes[9] == 1;
  block.number = static_cast<std::uint32_t>(LittleAt(bytes, 20, 4));
  block.payload = Unpacked(bytes.substr(kBlockHeaderBytes, stored), block.packed);
  return kBlockHeaderBytes + stored;
}

std::vector<Block> ParseBlocks(std::string_view bytes) {
  std::vector<Block> blocks;
  while (!bytes.empty()) {
    Block block;
    std::size_t size = ParseBlock(bytes, block);
    if (size == 0) {
      size = std::min(bytes.size(), bytes.find(kSync, 1));
      block.is_damage = true;
      block.payload = bytes.substr(0, size);
    }
    bytes.remove_prefix(size);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::string WriteBlock(const Block& block) {
  if (block.is_damage) return block.payload;
  const std::string stored = block.packed ? Packed(block.payload) : block.payload;
  std::string fields = {static_cast<char>(block.kind), block.packed ? '\1' : '\0', '\0', '\0'};
  PutLittle(fields, stored.size(), 4);
  PutLittle(fields, codec::Crc32c(stored), 4);
  PutLittle(fields, block.number, 4);
  std::string out(kSync);
  PutLittle(out, codec::Crc32c(fields), 4);
  return out + fields + stored;
}

// ---- inside a block: sections of a tag and a length, most of them lists of entries

struct Section {
  std::uint8_t tag = 4;
  std::string content = {};
};

bool HoldsEntries(const Section& section) { return section.tag != 1 && section.tag != 3 && section.tag < 10; }

// False when the bytes are no sections to their end.
bool ParseSections(std::string_view payload, std::vector<Section>& sections) {
  while (!payload.empty()) {
    const auto tag = static_cast<std::uint8_t>(payload.front());
    payload.remove_prefix(1);
    std::uint64_t size = 0;
    if (!TakeVarint(payload, size) || size > payload.size()) return false;
    sections.push_back({tag, std::string(payload.substr(0, static_cast<std::size_t>(size)))});
    payload.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

std::vector<std::string> ParseEntries(std::string_view content) {
  std::vector<std::string> entries;
  std::uint64_t count = 0;
  if (!TakeVarint(content, count)) return entries;
  std::uint64_t size = 0;
  while (TakeVarint(content, size) && size <= content.size()) {
    entries.emplace_back(content.substr(0, static_cast<std::size_t>(size)));
    content.remove_prefix(static_cast<std::size_t>(size));
  }
  return entries;
}

std::string WriteEntries(const std::vector<std::string>& entries) {
  std::string out;
  PutVarint(out, entries.size());
  for (const std::string& entry : entries) {
    PutVarint(out, entry.size());
    out += entry;
  }
  return out;
}

std::string WriteSections(const std::vector<Section>& sections) {
  std::string out;
  for (const Section& section : sections) {
    out += static_cast<char>(section.tag);
    PutVarint(out, section.content.size());
    out += section.content;
  }
  return out;
}

void EditSection(Section& section, Mutation& how) {
  if (how.chance.OneIn(16)) section.tag = static_cast<std::uint8_t>(how.chance.Below(13));
  if (!HoldsEntries(section) || how.chance.OneIn(8)) return MutateContent(section.content, how);
  std::vector<std::string> entries = ParseEntries(section.content);
  MutateSequence(
      entries, how, [&](std::string& entry) { MutateContent(entry, how); },
      [](const std::string& entry) { return entry.size() + 1; });
  section.content = WriteEntries(entries);
}

// What is packed may be far larger than the file: small files that unfold to much.
void Inflate(std::string& payload) {
  constexpr std::size_t kInflatedBytes = std::size_t{96} << 10U;
  const std::string unit = payload;
  while (!unit.empty() && payload.size() + unit.size() <= kInflatedBytes) payload += unit;
}

// The other way: of an input that unfolds to much most children are small, or hardly any other would be tried.
void Deflate(Block& block) {
  constexpr std::size_t kFew = 32;
  std::vector<Section> sections;
  if (block.is_damage || !ParseSections(block.payload, sections)) return;
  sections.resize(std::min(sections.size(), kFew));
  for (Section& section : sections) {
    if (!HoldsEntries(section)) continue;
    std::vector<std::string> entries = ParseEntries(section.content);
    entries.resize(std::min(entries.size(), kFew));
    section.content = WriteEntries(entries);
  }
  block.payload = WriteSections(sections);
}

void EditBlock(Block& block, Mutation& how) {
  if (block.is_damage) return MutateContent(block.payload, how);
  if (how.chance.OneIn(32)) block.kind = static_cast<std::uint8_t>(how.chance.Next());
  if (how.chance.OneIn(16)) block.packed = !block.packed;
  if (block.packed && how.chance.OneIn(64)) return Inflate(block.payload);
  std::vector<Section> sections;
  if (!ParseSections(block.payload, sections)) return MutateContent(block.payload, how);
  MutateSequence(
      sections, how, [&](Section& section) { EditSection(section, how); },
      [](const Section& section) { return section.content.size() + 3; });
  block.payload = WriteSections(sections);
  // A block beyond this is refused for its size alone.
  block.payload.resize(std::min(block.payload.size(), kMostStoredBytes));
}

// Mostly as a writer numbers them; else as they are: then blocks are missing, or were there before.
void Number(std::vector<Block>& blocks, Chance& chance) {
  if (chance.OneIn(8)) return;
  std::uint32_t number = 0;
  for (Block& block : blocks) block.number = block.is_damage ? 0 : number++;
}

}  // namespace

std::string MutateJournal(std::string_view input, Mutation& how) {
  const std::string header = journal::FileHeader();
  const bool headed = input.starts_with(journal::kMagic) && input.size() >= header.size();
  std::vector<Block> blocks = ParseBlocks(headed ? input.substr(header.size()) : input);
  for (Block& block : blocks) {
    if (block.payload.size() > kLargeBytes / 2 && !how.chance.OneIn(16)) Deflate(block);
  }
  MutateSequence(
      blocks, how, [&](Block& block) { EditBlock(block, how); },
      [](const Block& block) { return block.payload.size() + kBlockHeaderBytes; });
  Number(blocks, how.chance);
  std::string out = header.substr(0, how.most_bytes);
  for (const Block& block : blocks) {
    const std::string bytes = WriteBlock(block);
    if (out.size() + bytes.size() > how.most_bytes) break;
    out += bytes;
  }
  return out;
}

}  // namespace vigil::fuzz
