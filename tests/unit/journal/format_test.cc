// The format: what is written is read, bit for bit; damage costs what it hits and no more; hostile bytes cost nothing.
#include <gmock/gmock.h>
#include <zstd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "codec/codec.h"
#include "platform/clock.h"
#include "support.h"
#include "support/paths.h"

namespace vigil::journal {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(JournalFormat, KeepsEveryBitOfEveryValue) {
  const double quiet = std::bit_cast<double>(std::uint64_t{0x7ff8'dead'beef'0001});
  const std::vector<std::vector<double>> columns = {
      {0.1, 0.2, 0.3},
      {1, 2, 3, -4, 9007199254740992.0},
      {-0.0, 0.0, 1},
      {std::nan(""), quiet, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()},
      {5e-324, 1.7976931348623157e308, -5e-324},
      {0.5F, 0.25F, 1e-30F, 3.4e38F, -1.5e-45F},
      {7.25},
      {7.25, 7.25, 7.25},
      {1e300, 1e300},
  };
  BlockBuilder builder;
  for (std::uint32_t id = 0; id < columns.size(); ++id) {
    for (std::size_t i = 0; i < columns[id].size(); ++i)
      builder.Add(id, static_cast<std::int64_t>(i * i), columns[id][i], i);
  }
  std::string bytes = FileHeader();
  builder.Finish(0, bytes);
  const Kept kept = Decode(bytes);
  ASSERT_EQ(kept.points.size(), columns.size());
  for (std::uint32_t id = 0; id < columns.size(); ++id) {
    const auto& points = kept.points.at(id);
    ASSERT_EQ(points.size(), columns[id].size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      EXPECT_EQ(points[i].bits, std::bit_cast<std::uint64_t>(columns[id][i])) << id << " " << i;
      EXPECT_EQ(points[i].step, static_cast<std::int64_t>(i * i));
    }
  }
}

TEST(JournalFormat, KeepsRandomColumnsWhole) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    BlockBuilder builder;
    std::map<std::uint32_t, std::vector<Point>> expected;
    const auto columns = static_cast<std::uint32_t>(1 + random() % 5);
    for (std::uint32_t id = 0; id < columns; ++id) {
      const std::uint64_t kind = random() % 4;
      std::int64_t step = static_cast<std::int64_t>(random() % 100);
      std::uint64_t time = random() % 1000;
      const std::uint64_t count = 1 + random() % 300;
      for (std::uint64_t i = 0; i < count; ++i) {
        std::uint64_t bits = random();
        if (kind == 1)
          bits = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<float>(random() % 1000) / 7));
        if (kind == 2) bits = std::bit_cast<std::uint64_t>(static_cast<double>(random() % 100'000));
        if (kind == 3) step = static_cast<std::int64_t>(random() >> 1U);
        builder.Add(id, step, std::bit_cast<double>(bits), time);
        expected[id].push_back({step, bits, time});
        step += static_cast<std::int64_t>(random() % 3) - (random() % 50 == 0 ? 10 : 0);
        time += random() % 4;
      }
    }
    std::string bytes = FileHeader();
    builder.Finish(0, bytes);
    const Kept kept = Decode(bytes);
    EXPECT_THAT(kept.damages, IsEmpty());
    ASSERT_TRUE(kept.points == expected) << round;
  }
}

TEST(JournalFormat, KeepsTextsAndWhoWroteThem) {
  BlockBuilder builder;
  Begin begin = SampleBegin();
  begin.others = {{"later", "key"}};
  builder.AddBegin(begin);
  builder.AddEntry(Section::kDefinitions, EncodeEntry(SampleDefinition(4)));
  Event event;
  event.time_ms = 5;
  event.step = 17;
  event.severity = model::Severity::kError;
  event.kind = EventKind::kException;
  event.name = "RuntimeError";
  event.text = "shape\nmismatch";
  event.json = R"({"a": 1})";
  builder.AddEntry(Section::kEvents, EncodeEntry(event));
  builder.AddEntry(Section::kHyperparameters, EncodeEntry(Hyperparameter{6, "lr", "3e-4"}));
  builder.AddEntry(Section::kArtifacts, EncodeEntry(Artifact{7, 20, "checkpoint", "step-20"}));
  builder.AddBatch({8, 21, 0xfeedfacecafef00d});
  builder.AddDropped({9, 3, 12});
  builder.AddEntry(Section::kEnd, EncodeEntry(End{-9, 10}));
  std::string bytes = FileHeader();
  builder.Finish(0, bytes);
  const Kept kept = Decode(bytes);
  ASSERT_THAT(kept.begins, SizeIs(1));
  EXPECT_EQ(kept.begins[0].run, "run-1");
  EXPECT_EQ(kept.begins[0].rank, 3);
  EXPECT_EQ(kept.begins[0].world, 8);
  EXPECT_EQ(kept.begins[0].others, begin.others);
  EXPECT_EQ(kept.definitions.at(4).labels, SampleDefinition(4).labels);
  EXPECT_EQ(kept.definitions.at(4).aggregation, model::Aggregation::kMean);
  ASSERT_THAT(kept.events, SizeIs(1));
  EXPECT_EQ(kept.events[0].text, event.text);
  EXPECT_EQ(kept.events[0].json, event.json);
  EXPECT_EQ(kept.events[0].kind, EventKind::kException);
  EXPECT_EQ(kept.settings.at(0).value, "3e-4");
  EXPECT_EQ(kept.artifacts.at(0).path, "step-20");
  EXPECT_EQ(kept.batches.at(0).fingerprint, 0xfeedfacecafef00d);
  EXPECT_EQ(kept.dropped.at(0).records, 12U);
  EXPECT_EQ(kept.ends.at(0).status, -9);
}

TEST(JournalFormat, IsReadUpToTheCutAtEveryByte) {
  const Sample sample = MakeSample(4, 5);
  for (std::size_t size = 0; size <= sample.bytes.size(); ++size) {
    const Kept kept = Decode(std::string_view(sample.bytes).substr(0, size));
    std::size_t whole = 0;
    for (std::size_t i = 0; i < sample.starts.size(); ++i) {
      const std::size_t end = i + 1 < sample.starts.size() ? sample.starts[i + 1] : sample.bytes.size();
      whole += end <= size ? 1 : 0;
    }
    ASSERT_EQ(kept.size(), whole * 15) << size;
    ASSERT_THAT(kept.damages, IsEmpty()) << size;
    const bool at_border = size == sample.bytes.size() || size == 0 || size == 16 ||
                           std::find(sample.starts.begin(), sample.starts.end(), size) != sample.starts.end();
    ASSERT_EQ(kept.cuts.empty(), at_border) << size;
  }
}

TEST(JournalFormat, IsTheSameInPieces) {
  const Sample sample = MakeSample(6, 40);
  const Kept whole = Decode(sample.bytes);
  for (const std::size_t piece : {1U, 7U, 100U})
    EXPECT_TRUE(Decode(sample.bytes, piece).points == whole.points) << piece;
}

TEST(JournalFormat, AFlippedBitCostsOneBlockAndIsReported) {
  const Sample sample = MakeSample(5, 5);
  std::mt19937 random(1);
  for (std::size_t at = sample.starts[1]; at < sample.starts[2]; ++at) {
    std::string bytes = sample.bytes;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
    const Kept kept = Decode(bytes);
    ASSERT_EQ(kept.size(), 4 * 15U) << at;
    ASSERT_THAT(kept.damages, SizeIs(1)) << at;
    ASSERT_THAT(kept.damages[0], HasSubstr(fmt::format("{}-{}", sample.starts[1], sample.starts[2]))) << at;
    ASSERT_EQ(kept.missing, 1U) << at;
  }
}

TEST(JournalFormat, FlippedBitsAnywhereNeverInventAnything) {
  const Sample sample = MakeSample(5, 5);
  const Kept whole = Decode(sample.bytes);
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    std::string bytes = sample.bytes;
    for (int flips = 0; flips < 3; ++flips) {
      const std::size_t at = 16 + random() % (bytes.size() - 16);
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
    }
    const Kept kept = Decode(bytes);
    for (const auto& [series, points] : kept.points) {
      for (const Point& point : points) {
        const auto& known = whole.points.at(series);
        ASSERT_NE(std::find(known.begin(), known.end(), point), known.end());
      }
    }
    ASSERT_FALSE(kept.damages.empty() && kept.cuts.empty());
  }
}

TEST(JournalFormat, AnUnfinishedWriteThatWasMadeGoodIsNoDamage) {
  const Sample sample = MakeSample(3, 5);
  const std::size_t second = sample.starts[1];
  for (std::size_t torn = 1; torn < sample.starts[2] - second; ++torn) {
    // A process was killed while it wrote the second block; the next process wrote it again.
    const std::string bytes = sample.bytes.substr(0, second + torn) + sample.bytes.substr(second);
    const Kept kept = Decode(bytes);
    ASSERT_EQ(kept.size(), 45U) << torn;
    ASSERT_THAT(kept.damages, IsEmpty()) << torn;
    ASSERT_THAT(kept.cuts, IsEmpty()) << torn;
    ASSERT_TRUE(Decode(bytes, 1).points == kept.points) << torn;
  }
}

// The file as a writer of that version would have begun it.
std::string WithVersion(std::string bytes, char major, char minor) {
  bytes[8] = major;
  bytes[10] = minor;
  const std::uint32_t checksum = codec::Crc32c(std::string_view(bytes).substr(0, 12));
  std::memcpy(bytes.data() + 12, &checksum, sizeof(checksum));
  return bytes;
}

TEST(JournalFormat, AFlippedBitInTheFirstBytesCostsNothingElse) {
  const Sample sample = MakeSample(3, 5);
  std::string older = WithVersion(sample.bytes, 1, 0);
  std::fill_n(older.begin() + 12, 4, '\0');
  for (const std::string& whole : {sample.bytes, older}) {
    EXPECT_THAT(Decode(whole).damages, IsEmpty());
    for (std::size_t bit = 0; bit < 16 * 8; ++bit) {
      std::string bytes = whole;
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
      for (const std::size_t piece : {0U, 7U}) {
        const Kept kept = Decode(bytes, piece);
        ASSERT_EQ(kept.size(), 45U) << bit;
        ASSERT_EQ(kept.refused, "") << bit;
        // A minor version of 1.0 that is another is nothing to a reader.
        const bool is_minor = whole == older && bit / 8 >= 10 && bit / 8 < 12;
        ASSERT_EQ(kept.damages.size(), is_minor ? 0U : 1U) << bit;
        ASSERT_THAT(is_minor ? "0-16: " : kept.damages[0], HasSubstr("0-16: ")) << bit;
      }
    }
  }
  EXPECT_THAT(Decode(std::string(100'000, 'x')).refused, HasSubstr("does not begin like a journal"));
  EXPECT_THAT(Decode(std::string(100'000, 'x'), 1000).refused, HasSubstr("does not begin like a journal"));
}

TEST(JournalFormat, ARepeatedBlockIsReportedAndNotReadAgain) {
  const Sample sample = MakeSample(3, 5);
  const std::string twice = sample.bytes + sample.bytes.substr(sample.starts[1]);
  const Kept kept = Decode(twice);
  EXPECT_EQ(kept.size(), 45U);
  ASSERT_THAT(kept.damages, SizeIs(2));
  EXPECT_THAT(kept.damages[0], HasSubstr(fmt::format("{}-", sample.bytes.size())));
  EXPECT_THAT(kept.damages[0], HasSubstr("was there before"));
  EXPECT_EQ(kept.missing, 0U);
}

TEST(JournalFormat, NewerFilesAreRefusedByNameAndNewerPartsPassedOver) {
  const Sample sample = MakeSample(1, 2);
  EXPECT_THAT(Decode(WithVersion(sample.bytes, 2, 0)).refused, HasSubstr("format 2.0"));
  const Kept minor = Decode(WithVersion(sample.bytes, 1, 9));
  EXPECT_EQ(minor.size(), 6U);
  EXPECT_THAT(minor.damages, IsEmpty());

  // A section, a kind of block and a field that this version does not know.
  const auto block = [](std::uint8_t kind, std::uint32_t number, const std::string& payload) {
    std::string fields;
    fields += static_cast<char>(kind);
    fields += std::string(3, '\0');
    const auto put = [&](std::uint32_t value) { fields.append(reinterpret_cast<const char*>(&value), 4); };
    put(static_cast<std::uint32_t>(payload.size()));
    put(codec::Crc32c(payload));
    put(number);
    const std::uint32_t crc = codec::Crc32c(fields);
    return std::string("\xf6vj\n", 4) + std::string(reinterpret_cast<const char*>(&crc), 4) + fields + payload;
  };
  const std::string hyperparameter = EncodeEntry(Hyperparameter{1, "k", "v"}) + "field of a newer writer";
  const std::string entries = std::string(1, '\1') + static_cast<char>(hyperparameter.size()) + hyperparameter;
  const std::string payload = std::string("\x63\x03xyz", 5) + '\5' + static_cast<char>(entries.size()) + entries;
  const Kept kept = Decode(FileHeader() + block(200, 0, "what may that be") + block(1, 1, payload));
  EXPECT_THAT(kept.damages, IsEmpty());
  ASSERT_THAT(kept.settings, SizeIs(1));
  EXPECT_EQ(kept.settings[0].value, "v");
}

std::string FramedBlock(std::uint8_t storage, const std::string& stored, std::uint32_t number) {
  std::string fields;
  fields += '\1';
  fields += static_cast<char>(storage);
  fields += std::string(2, '\0');
  const auto put = [&](std::uint32_t value) { fields.append(reinterpret_cast<const char*>(&value), 4); };
  put(static_cast<std::uint32_t>(stored.size()));
  put(codec::Crc32c(stored));
  put(number);
  const std::uint32_t crc = codec::Crc32c(fields);
  return std::string("\xf6vj\n", 4) + std::string(reinterpret_cast<const char*>(&crc), 4) + fields + stored;
}

std::string Varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7U) out += static_cast<char>((value & 0x7fU) | 0x80U);
  return out + static_cast<char>(value);
}

TEST(JournalFormat, HugeCountsAreRefusedBeforeAnythingIsMade) {
  for (const std::uint64_t count : {std::uint64_t{1} << 20U, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
    // A constant column of regular steps takes no bytes a sample: only the limit holds it.
    const std::string column =
        Varint(0) + Varint(count) + '\x05' + Varint(0) + Varint(2) + Varint(0) + Varint(2) + std::string(8, 'v');
    const std::string samples = Varint(1) + column;
    const std::string bomb = '\x03' + Varint(samples.size()) + samples;
    const Kept kept = Decode(FileHeader() + FramedBlock(0, bomb, 0));
    EXPECT_EQ(kept.size(), 0U);
    EXPECT_THAT(kept.damages, SizeIs(1));
    const std::string entries = Varint(count);
    for (char tag = 1; tag < 12; ++tag)
      Decode(FileHeader() + FramedBlock(0, tag + Varint(entries.size()) + entries, 0));
  }
}

TEST(JournalFormat, BombsAreNotUnpacked) {
  const std::string zeros(std::size_t{16} << 20U, '\0');
  std::string packed(ZSTD_compressBound(zeros.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), zeros.data(), zeros.size(), 19));
  ASSERT_LT(packed.size(), 10'000U);
  const Kept kept = Decode(FileHeader() + FramedBlock(1, packed, 0));
  ASSERT_THAT(kept.damages, SizeIs(1));
  EXPECT_THAT(kept.damages[0], HasSubstr("cannot be unpacked"));
}

std::string Packed(const std::string& raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 19));
  return packed;
}

std::string Section4MiB(char tag, const std::string& entry) {
  const std::string framed = Varint(entry.size()) + entry;
  const std::size_t count = ((std::size_t{4} << 20U) - 64) / framed.size();
  std::string content = Varint(count);
  for (std::size_t i = 0; i < count; ++i) content += framed;
  return tag + Varint(content.size()) + content;
}

// A few hundred bytes a block, four MiB unpacked: what it holds is counted over the file.
TEST(JournalFormat, ManySmallBombsDoNotUnfoldEither) {
  std::string labels = Varint(0) + Varint(1) + "x" + Varint(0) + std::string(3, '\0') + Varint(2'000'000);
  labels.append(4'000'000, '\0');
  const std::string bombs[] = {Section4MiB(4, EncodeEntry(Event())),
                               Section4MiB(5, EncodeEntry(Hyperparameter{1, "", ""})),
                               Section4MiB(7, EncodeEntry(Artifact())),
                               '\2' + Varint(labels.size() + 5) + Varint(1) + Varint(labels.size()) + labels,
                               '\1' + Varint(4'000'003) + Varint(2'000'000) + std::string(4'000'000, '\0'),
                               '\4' + Varint(4'000'000) + Varint(1) + std::string(3'999'999, '\0')};
  for (const std::string& bomb : bombs) {
    const std::string packed = Packed(bomb);
    std::string bytes = FileHeader();
    for (std::uint32_t number = 0; number < 40; ++number) bytes += FramedBlock(1, packed, number);
    ASSERT_LT(bytes.size(), 40'000U);
    const Kept kept = Decode(bytes);
    std::size_t things = kept.events.size() + kept.settings.size() + kept.artifacts.size();
    for (const Begin& begin : kept.begins) things += begin.others.size();
    for (const auto& [id, definition] : kept.definitions) things += definition.labels.size();
    EXPECT_LE(things, 150'000U);
    EXPECT_FALSE(kept.damages.empty());
  }
}

// A writer keeps to the limits by itself, whatever it is given.
TEST(JournalFormat, WhatPacksTooWellIsPaddedAndRead) {
  BlockBuilder builder;
  std::string bytes = FileHeader();
  const std::string text(60'000, 'x');
  std::size_t blocks = 0;
  for (int i = 0; i < 300'000; ++i) {
    builder.AddEntry(Section::kHyperparameters, EncodeEntry(Hyperparameter{1, "k", i % 1000 == 0 ? text : "v"}));
    if (!builder.IsFull()) continue;
    const std::size_t before = bytes.size();
    builder.Finish(static_cast<std::uint32_t>(blocks++), bytes);
    EXPECT_LT(bytes.size() - before, 120'000U) << "stored as it is";
  }
  builder.Finish(static_cast<std::uint32_t>(blocks++), bytes);
  const Kept kept = Decode(bytes);
  EXPECT_THAT(kept.damages, IsEmpty());
  EXPECT_THAT(kept.settings, SizeIs(300'000));
  EXPECT_EQ(kept.settings[1000].value, text);
}

// Each of 300,000 headers is sound and claims a MiB behind it.
TEST(JournalFormat, OverlappingHeadersCostNoMoreThanTheirBytes) {
  std::string bytes = FileHeader();
  std::string header = FramedBlock(0, std::string(1U << 20U, 'x'), 0).substr(0, 24);
  while (bytes.size() < 8'000'000) bytes += header;
  const Sample sample = MakeSample(2, 5);
  const std::uint64_t begin = platform::MonotonicNs();
  const Kept kept = Decode(bytes + sample.bytes.substr(sample.starts[1]), 1U << 20U);
  EXPECT_LT(platform::MonotonicNs() - begin, 5'000'000'000U);
  ASSERT_THAT(kept.damages, SizeIs(1));
  EXPECT_THAT(kept.damages[0], testing::StartsWith("16-"));
}

TEST(JournalFormat, BlocksWithinBlocksAreReadOnce) {
  const Sample inner = MakeSample(2, 3);
  Event event;
  event.text = inner.bytes.substr(16);
  BlockBuilder builder;
  builder.AddEntry(Section::kEvents, EncodeEntry(event));
  std::string bytes = FileHeader();
  builder.Finish(0, bytes);
  for (const std::size_t piece : {0U, 1U, 64U}) {
    const Kept kept = Decode(bytes, piece);
    EXPECT_EQ(kept.size(), 0U);
    ASSERT_THAT(kept.events, SizeIs(1));
    EXPECT_EQ(kept.events[0].text, event.text);
  }
}

// Files of every released format are read for good.
TEST(JournalFormat, ReadsTheKeptJournalOfFormat1_0) {
  const Kept kept = Decode(ReadAll(std::string(testing_support::kSourceDir) + "/tests/unit/journal/samples/1.0.vigil"));
  EXPECT_THAT(kept.damages, IsEmpty());
  EXPECT_EQ(kept.size(), 480U);
  EXPECT_EQ(kept.begins.at(0).rank, 3);
  EXPECT_EQ(kept.definitions.at(2).name, "series-2");
  EXPECT_EQ(std::bit_cast<double>(kept.points.at(1)[9].bits), 1.0 / 11);
  EXPECT_EQ(std::bit_cast<double>(kept.points.at(1)[153].bits), 0.5F * 3 + 0.1F);
  EXPECT_EQ(std::bit_cast<double>(kept.points.at(2)[155].bits), 7.25);
  EXPECT_EQ(kept.points.at(0)[159].time_ms, 2009U);
  EXPECT_THAT(kept.events, SizeIs(3));
  EXPECT_EQ(kept.settings.at(0).value, "3e-4");
  EXPECT_EQ(kept.artifacts.at(0).path, "step-20");
  EXPECT_EQ(kept.batches.at(0).fingerprint, 0xfeedfacecafef00d);
  EXPECT_EQ(kept.dropped.at(0).records, 12U);
  EXPECT_EQ(kept.ends.at(0).time_ms, 3000U);
}

// Written by libvigil: a burst that was refused in part, and a column that packs so well that its block is padded.
TEST(JournalFormat, ReadsTheKeptJournalOfFormat1_1) {
  const Kept kept = Decode(ReadAll(std::string(testing_support::kSourceDir) + "/tests/unit/journal/samples/1.1.vigil"));
  EXPECT_THAT(kept.damages, IsEmpty());
  EXPECT_EQ(kept.size(), 1423U);
  EXPECT_EQ(kept.begins.at(0).rank, 3);
  EXPECT_EQ(kept.begins.at(0).name, "sample of format 1.1");
  EXPECT_EQ(kept.definitions.at(5).name, "loss");
  EXPECT_EQ(kept.definitions.at(5).labels.at(0).second, "7");
  EXPECT_EQ(std::bit_cast<double>(kept.points.at(5)[99].bits), 3.0 / 100);
  EXPECT_EQ(kept.points.at(5).size(), 1215U);
  EXPECT_EQ(std::bit_cast<double>(kept.points.at(7)[0].bits), 2.5);
  EXPECT_EQ(kept.events.at(0).name, "OutOfMemoryError");
  EXPECT_EQ(kept.settings.at(0).value, "3e-4");
  EXPECT_EQ(kept.artifacts.at(0).path, "step-100");
  EXPECT_EQ(kept.batches.at(199).fingerprint, 0xfeedfacecafef00d);
  EXPECT_EQ(kept.dropped.at(0).lane, kNoLane);
  EXPECT_EQ(kept.dropped.at(0).records, 3985U);
  EXPECT_EQ(kept.ends.at(0).status, 3);
}

// What trainers log: two noisy curves and a gradient norm as floats, a schedule as doubles, counters.
void AddRow(BlockBuilder& builder, std::int64_t step, std::mt19937& random) {
  std::normal_distribution<double> noise(0, 0.05);
  const auto time = static_cast<std::uint64_t>(step) * 437 + random() % 8;
  const double loss = 2 + 3 / std::sqrt(1 + 0.01 * static_cast<double>(step));
  const double x = static_cast<double>(step) / 100'000;
  const double values[] = {static_cast<float>(loss * std::exp(noise(random))),
                           static_cast<float>(std::exp(10 * noise(random))),
                           3e-4 * 0.5 * (1 + std::cos(3.14159265358979 * x)),
                           static_cast<float>(0.4 + noise(random)),
                           static_cast<double>(step) * 524288,
                           x,
                           1.5,
                           static_cast<float>(40 + noise(random))};
  for (std::uint32_t id = 0; id < std::size(values); ++id) builder.Add(id, step, values[id], time);
}

double BytesPerSample(std::int64_t steps_per_block) {
  constexpr std::int64_t kSteps = 20'000;
  std::mt19937 random(3);
  BlockBuilder builder;
  std::string bytes;
  std::uint32_t number = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    AddRow(builder, step, random);
    if ((step + 1) % steps_per_block == 0) builder.Finish(number++, bytes);
  }
  return static_cast<double>(bytes.size()) / (8 * kSteps);
}

// Measured when written: 2.4 in full blocks, 6.7 at four steps a block, 12.3 at one. Raw (step, time, value) it is 24.
TEST(JournalFormat, TakesFewBytesForASample) {
  EXPECT_LE(BytesPerSample(2000), 2.6);
  EXPECT_LE(BytesPerSample(4), 7.2);
  EXPECT_LE(BytesPerSample(1), 13.0);
}

}  // namespace
}  // namespace vigil::journal
