#include <zstd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "codec/codec.h"
#include "journal/columns.h"
#include "journal/journal.h"
#include "journal/ring.h"
#include "journal/wire.h"

namespace vigil::journal {
namespace {

// A block is written when it has this much: packing gains little beyond it, and damage costs no more.
constexpr std::size_t kFullSamples = 16'384;
constexpr std::size_t kFullTextBytes = std::size_t{256} << 10U;
constexpr std::size_t kFirstPackedBytes = 128;  // below, zstd's own frame costs what it saves
constexpr int kZstdLevel = 3;

constexpr std::array kEntrySections = {Section::kDefinitions, Section::kEvents,    Section::kHyperparameters,
                                       Section::kBatches,     Section::kArtifacts, Section::kPositions,
                                       Section::kDropped};
constexpr std::size_t kSections = 16;

void PutSection(std::string& out, Section section, std::string_view content) {
  out += static_cast<char>(section);
  PutText(out, content);
}

std::uint64_t LabelsIn(std::string_view definition) {
  Input input(definition);
  input.Varint();
  input.Text();
  input.Text();
  input.Bytes(3);
  return input.Varint();
}

// zstd passes over frames of this kind: a magic number, a size, bytes.
void PadFrame(std::string& packed, std::size_t least) {
  constexpr std::uint32_t kSkippable = 0x184d2a50;
  constexpr std::size_t kHead = 8;
  if (packed.size() >= least) return;
  const std::size_t zeros = least - std::min(least, packed.size() + kHead);
  PutRaw(packed, kSkippable);
  PutRaw(packed, static_cast<std::uint32_t>(zeros));
  packed.append(zeros, '\0');
}

std::string_view Shortened(std::string_view text) { return text.substr(0, kMostTextBytes); }

}  // namespace

std::string EncodeHeader(const BlockHeader& header) {
  std::string fields;
  fields += static_cast<char>(header.kind);
  fields += static_cast<char>(header.storage);
  PutRaw(fields, std::uint16_t{0});
  PutRaw(fields, header.stored_bytes);
  PutRaw(fields, header.payload_crc);
  PutRaw(fields, header.number);
  std::string out(kSync);
  PutRaw(out, codec::Crc32c(fields));
  return out + fields;
}

std::uint32_t HeaderChecksum(std::string_view file_header) {
  const std::uint32_t checksum = codec::Crc32c(file_header.substr(0, kFileHeaderBytes - sizeof(std::uint32_t)));
  return checksum == 0 ? 1 : checksum;
}

std::string FileHeader() {
  std::string out(kMagic);
  PutRaw(out, kMajor);
  PutRaw(out, kMinor);
  PutRaw(out, HeaderChecksum(out));
  return out;
}

std::string FileName(std::int32_t rank, std::int32_t part) {
  const std::string name = "rank-" + std::to_string(rank);
  return (part == 1 ? name : name + "." + std::to_string(part)) + ".vigil";
}

// ---- entries

std::string EncodeEntry(const Definition& definition) {
  std::string out;
  PutVarint(out, definition.id);
  PutText(out, Shortened(definition.name));
  PutText(out, Shortened(definition.unit));
  out += static_cast<char>(definition.axis);
  out += static_cast<char>(definition.aggregation);
  out += static_cast<char>(definition.clipping);
  PutVarint(out, definition.labels.size());
  for (const auto& [key, value] : definition.labels) {
    PutText(out, Shortened(key));
    PutText(out, Shortened(value));
  }
  return out;
}

std::string EncodeEntry(const Event& event) {
  std::string out;
  PutVarint(out, event.time_ms);
  PutZigzag(out, event.step);
  out += static_cast<char>(event.severity);
  out += static_cast<char>(event.kind);
  PutText(out, Shortened(event.name));
  PutText(out, Shortened(event.text));
  PutText(out, Shortened(event.json));
  return out;
}

std::string EncodeEntry(const Hyperparameter& hyperparameter) {
  std::string out;
  PutVarint(out, hyperparameter.time_ms);
  PutText(out, Shortened(hyperparameter.key));
  PutText(out, Shortened(hyperparameter.value));
  return out;
}

std::string EncodeEntry(const Artifact& artifact) {
  std::string out;
  PutVarint(out, artifact.time_ms);
  PutZigzag(out, artifact.step);
  PutText(out, Shortened(artifact.kind));
  PutText(out, Shortened(artifact.path));
  return out;
}

std::string EncodeEntry(const End& end) {
  std::string out;
  PutZigzag(out, end.status);
  PutVarint(out, end.time_ms);
  return out;
}

// ---- blocks

struct BlockBuilder::State {
  struct Entries {
    std::uint64_t count = 0;
    std::string bytes;
  };

  std::vector<Column> columns;  // by series
  std::vector<std::uint32_t> touched;
  std::size_t samples = 0;
  std::uint64_t things = 0;  // entries, labels, columns and keys
  std::array<Entries, kSections> entries;
  std::string begin;
  std::string clock;
  std::string end;
  std::string payload;
  std::string section;
  std::string packed;
  Column sorted;
  std::vector<std::size_t> order;
  std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> zstd{ZSTD_createCCtx(), ZSTD_freeCCtx};

  std::size_t TextBytes() const {
    std::size_t bytes = begin.size();
    for (const Entries& each : entries) bytes += each.bytes.size();
    return bytes;
  }

  void Put(Section to, std::string_view entry) {
    Entries& into = entries[static_cast<std::size_t>(to)];
    ++into.count;
    PutText(into.bytes, entry);
    things += 1 + (to == Section::kDefinitions ? LabelsIn(entry) : 0);
  }

  // Threads are emptied one after another: a series that several of them record is put in order of time.
  void PutInOrder(Column& column) {
    if (std::is_sorted(column.times_ms.begin(), column.times_ms.end())) return;
    order.resize(column.values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return column.times_ms[a] < column.times_ms[b]; });
    sorted.Clear();
    for (const std::size_t at : order) {
      sorted.steps.push_back(column.steps[at]);
      sorted.times_ms.push_back(column.times_ms[at]);
      sorted.values.push_back(column.values[at]);
    }
    std::swap(sorted.steps, column.steps);
    std::swap(sorted.times_ms, column.times_ms);
    std::swap(sorted.values, column.values);
  }

  void PutSamples() {
    if (touched.empty()) return;
    section.clear();
    PutVarint(section, touched.size());
    const Column* before = nullptr;
    for (const std::uint32_t series : touched) {
      PutInOrder(columns[series]);
      EncodeColumn(columns[series], before, section);
      before = &columns[series];
    }
    PutSection(payload, Section::kSamples, section);
  }

  void MakePayload() {
    payload.clear();
    if (!begin.empty()) PutSection(payload, Section::kBegin, begin);
    if (!clock.empty()) PutSection(payload, Section::kClock, clock);
    for (const Section each : kEntrySections) {
      const Entries& from = entries[static_cast<std::size_t>(each)];
      if (from.count == 0) continue;
      section.clear();
      PutVarint(section, from.count);
      section += from.bytes;
      PutSection(payload, each, section);
    }
    PutSamples();
    if (!end.empty()) PutSection(payload, Section::kEnd, end);
  }

  // The payload as it is stored: packed where that helps, and padded where it would unfold to too much.
  std::string_view Stored(std::uint8_t& storage) {
    const std::size_t least =
        std::max({samples / kMostSamplesPerByte, (things + 2) / kMostThingsPerByte, payload.size() / kMostRawPerByte}) +
        1;
    storage = kStoredAsIs;
    if (payload.size() >= kFirstPackedBytes && zstd) {
      packed.resize(ZSTD_compressBound(payload.size()));
      const std::size_t size =
          ZSTD_compressCCtx(zstd.get(), packed.data(), packed.size(), payload.data(), payload.size(), kZstdLevel);
      if (ZSTD_isError(size) == 0 && std::max(size, least) < payload.size()) {
        storage = kStoredZstd;
        packed.resize(size);
        PadFrame(packed, least);
        return packed;
      }
    }
    if (payload.size() < least) payload.resize(least, '\0');
    return payload;
  }

  void Clear() {
    for (const std::uint32_t series : touched) columns[series].Clear();
    touched.clear();
    samples = 0;
    things = 0;
    for (Entries& each : entries) {
      each.count = 0;
      each.bytes.clear();
    }
    begin.clear();
    clock.clear();
    end.clear();
  }
};

BlockBuilder::BlockBuilder() : state_(std::make_unique<State>()) {}
BlockBuilder::~BlockBuilder() = default;

void BlockBuilder::Add(std::uint32_t series, std::int64_t step, double value, std::uint64_t time_ms) {
  assert(series < kMostSeries);
  if (series >= state_->columns.size()) state_->columns.resize(series + 1);
  Column& column = state_->columns[series];
  if (column.values.empty()) {
    column.series = series;
    state_->touched.push_back(series);
    ++state_->things;
  }
  column.steps.push_back(step);
  column.times_ms.push_back(static_cast<std::int64_t>(time_ms));
  column.values.push_back(value);
  ++state_->samples;
}

void BlockBuilder::AddEntry(Section section, std::string_view entry) {
  const bool known = std::find(kEntrySections.begin(), kEntrySections.end(), section) != kEntrySections.end();
  if (known && entry.size() <= kMostEntryBytes) state_->Put(section, entry);
  if (section == Section::kEnd) state_->end = entry;
}

void BlockBuilder::AddBegin(const Begin& begin) {
  std::vector<std::pair<std::string, std::string>> pairs = {{"run", begin.run},
                                                            {"name", begin.name},
                                                            {"rank", std::to_string(begin.rank)},
                                                            {"world", std::to_string(begin.world)},
                                                            {"host", begin.host},
                                                            {"boot", begin.boot},
                                                            {"pid", std::to_string(begin.pid)},
                                                            {"program", begin.program},
                                                            {"writer", begin.writer},
                                                            {"part", std::to_string(begin.part)},
                                                            {"ring", begin.ring},
                                                            {"ring_id", begin.ring_id}};
  pairs.insert(pairs.end(), begin.others.begin(), begin.others.end());
  std::string& out = state_->begin;
  out.clear();
  PutVarint(out, pairs.size());
  state_->things += pairs.size();
  for (const auto& [key, value] : pairs) {
    PutText(out, Shortened(key));
    PutText(out, Shortened(value));
  }
}

void BlockBuilder::AddBatch(const Batch& batch) {
  std::string entry;
  PutVarint(entry, batch.time_ms);
  PutZigzag(entry, batch.step);
  PutRaw(entry, batch.fingerprint);
  state_->Put(Section::kBatches, entry);
}

void BlockBuilder::AddPosition(const Position& position) {
  std::string entry;
  PutVarint(entry, position.lane);
  PutVarint(entry, position.position);
  PutVarint(entry, position.records);
  state_->Put(Section::kPositions, entry);
}

void BlockBuilder::AddDropped(const DroppedRecords& dropped) {
  std::string entry;
  PutVarint(entry, dropped.time_ms);
  PutVarint(entry, dropped.lane);
  PutVarint(entry, dropped.records);
  state_->Put(Section::kDropped, entry);
}

void BlockBuilder::SetClock(const ClockPair& clock) {
  state_->clock.clear();
  PutVarint(state_->clock, clock.monotonic_ns);
  PutZigzag(state_->clock, clock.unix_ns);
}

bool BlockBuilder::empty() const {
  return state_->samples == 0 && state_->clock.empty() && state_->end.empty() && state_->TextBytes() == 0;
}

bool BlockBuilder::IsFull() const { return state_->samples >= kFullSamples || state_->TextBytes() >= kFullTextBytes; }

void BlockBuilder::Finish(std::uint32_t number, std::string& out) {
  state_->MakePayload();
  BlockHeader header;
  const std::string_view stored = state_->Stored(header.storage);
  assert(stored.size() <= kMostStoredBytes);
  header.stored_bytes = static_cast<std::uint32_t>(stored.size());
  header.payload_crc = codec::Crc32c(stored);
  header.number = number;
  const std::string head = EncodeHeader(header);
  out.reserve(out.size() + head.size() + stored.size());
  out += head;
  out += stored;
  state_->Clear();
}

void BlockBuilder::Reset() noexcept { state_->Clear(); }

}  // namespace vigil::journal
