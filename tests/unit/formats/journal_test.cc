// Journals as any other source: names, times, restarts, ranks; damage is passed and reported with its byte.
#include "journal/journal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "codec/codec.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/why.h"

namespace vigil::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

struct Shape {
  std::int32_t rank = 0;
  std::int32_t world = 1;
  std::int32_t part = 1;
  std::int64_t first = 0;
  std::int64_t last = 20;
  bool ended = true;
  double scale = 1;
};

std::string MakeJournal(const Shape& shape) {
  std::string bytes = journal::FileHeader();
  journal::BlockBuilder builder;
  journal::Begin begin;
  begin.name = "my run";
  begin.rank = shape.rank;
  begin.world = shape.world;
  begin.part = shape.part;
  builder.AddBegin(begin);
  builder.SetClock({1'000'000'000, 1'700'000'000'000'000'000});
  journal::Definition loss;
  loss.name = "train/loss";
  loss.aggregation = model::Aggregation::kMean;
  builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(loss));
  journal::Definition layer;
  layer.id = 1;
  layer.name = "grad/norm";
  layer.unit = "1";
  layer.labels = {{"layer", "h.0"}};
  builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(layer));
  builder.AddEntry(journal::Section::kHyperparameters,
                   EncodeEntry(journal::Hyperparameter{0, "learning_rate", "0.001"}));
  std::uint32_t number = 0;
  for (std::int64_t step = shape.first; step < shape.last; ++step) {
    const auto time_ms = static_cast<std::uint64_t>(1000 + 500 * step);
    builder.Add(0, step, shape.scale * 3.0 / static_cast<double>(step + 1), time_ms);
    builder.Add(1, step, 0.5, time_ms);
    builder.AddBatch({time_ms, step, static_cast<std::uint64_t>(step) * 3});
    if (step % 5 == 4) builder.Finish(number++, bytes);
  }
  if (shape.ended) builder.AddEntry(journal::Section::kEnd, EncodeEntry(journal::End{0, 9000}));
  if (!builder.empty()) builder.Finish(number++, bytes);
  return bytes;
}

const ingest::Format& JournalFormat() {
  for (const ingest::Format& format : Formats()) {
    if (format.id == "journal") return format;
  }
  std::abort();
}

model::Run Read(std::string_view bytes) { return ingest::ReadBytes("rank-0.vigil", bytes, JournalFormat()).value(); }

TEST(JournalReader, GivesSeriesWithNamesTimesAndLabels) {
  const std::string bytes = MakeJournal({});
  ASSERT_EQ(Recognise({"x", bytes, bytes.size()})->id, "journal");
  const model::Run run = Read(bytes);
  ASSERT_THAT(run.series, SizeIs(2));
  const model::Series& loss = *run.Find("loss");
  EXPECT_EQ(loss.raw, "train/loss");
  EXPECT_EQ(loss.aggregation, model::Aggregation::kMean);
  ASSERT_EQ(loss.size(), 20U);
  EXPECT_EQ(loss.steps[7], 7);
  EXPECT_DOUBLE_EQ(loss.values[2], 1.0);
  EXPECT_DOUBLE_EQ(loss.times[2], 1'700'000'001.0);
  EXPECT_EQ(model::FindLabel(run.series[1].labels, "layer"), "h.0");
  EXPECT_THAT(run.batches.hashes, SizeIs(20));
  ASSERT_NE(run.FindFact("lr"), nullptr);
  EXPECT_EQ(run.FindFact("lr")->value, "0.001");
  ASSERT_THAT(run.events, SizeIs(1));
  EXPECT_EQ(run.events[0].name, "finished");
  EXPECT_EQ(run.sources[0].state, model::SourceState::kRead);
  EXPECT_THAT(report::NoteText(run.sources[0]), IsEmpty());
}

TEST(JournalReader, SaysWhenTheRunDidNotEnd) {
  Shape shape;
  shape.ended = false;
  EXPECT_THAT(report::NoteText(Read(MakeJournal(shape)).sources[0]), HasSubstr("was killed, or still runs"));
}

TEST(JournalReader, ReadsWhatIsBehindDamageAndNamesTheByte) {
  std::string bytes = MakeJournal({});
  const std::size_t second = bytes.find("\xf6vj\n", 20);
  bytes[second + 30] = static_cast<char>(bytes[second + 30] ^ 1);
  const model::Run run = Read(bytes);
  EXPECT_EQ(run.Find("loss")->size(), 15U);
  EXPECT_EQ(run.sources[0].state, model::SourceState::kPartial);
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr(fmt::format("byte {}: wrong checksum", second)));
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("1 blocks missing"));
}

TEST(JournalReader, ADamagedBeginningCostsNamesOnly) {
  std::string bytes = MakeJournal({});
  bytes[60] = static_cast<char>(bytes[60] ^ 1);
  const model::Run run = Read(bytes);
  ASSERT_THAT(run.series, SizeIs(2));
  EXPECT_EQ(run.series[0].raw, "series-0");
  EXPECT_EQ(run.series[0].size(), 15U);
}

TEST(JournalReader, CutAtEveryByteItIsReadUpToTheCut) {
  const std::string bytes = MakeJournal({});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto run = ingest::ReadBytes("rank-0.vigil", std::string_view(bytes).substr(0, size), JournalFormat());
    if (!run) continue;
    EXPECT_NE(run->sources[0].state, model::SourceState::kPartial) << size;
    EXPECT_LE(run->Find("loss")->size(), 20U);
  }
}

TEST(JournalReader, RefusesNewerJournalsByName) {
  std::string bytes = MakeJournal({});
  bytes[8] = 7;
  bytes[10] = 0;
  const std::uint32_t checksum = codec::Crc32c(std::string_view(bytes).substr(0, 12));
  std::memcpy(bytes.data() + 12, &checksum, sizeof(checksum));
  const auto run = ingest::ReadBytes("rank-0.vigil", bytes, JournalFormat());
  ASSERT_FALSE(run);
  EXPECT_THAT(WhyNot(run.error()), HasSubstr("format 7.0"));
}

class JournalFolder : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "vigil_import_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
  }
  std::string path_;
};

TEST_F(JournalFolder, ARestartIsTheSameRunInTheNextSegment) {
  Write("rank-0.vigil", MakeJournal({0, 1, 1, 0, 20, false, 1}));
  Write("rank-0.2.vigil", MakeJournal({0, 1, 2, 10, 40, true, 1.5}));
  const pipeline::Imported imported = pipeline::ImportPaths({path_});
  ASSERT_THAT(imported.runs, SizeIs(1));
  const model::Series& loss = *imported.runs[0].Find("loss");
  EXPECT_EQ(loss.size(), 50U);
  EXPECT_THAT(loss.segment_starts, ElementsAre(0, 20));
}

TEST_F(JournalFolder, RanksAreOneRun) {
  for (int rank = 0; rank < 3; ++rank)
    Write(fmt::format("rank-{}.vigil", rank), MakeJournal({rank, 3, 1, 0, 20, true, 1.0 + rank}));
  const pipeline::Imported imported = pipeline::ImportPaths({path_});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].ranks, 3);
  EXPECT_THAT(imported.unread, IsEmpty());
}

// Two ranks of one training: the same loss, compute times of their own.
std::string MakeRank(std::int32_t rank) {
  std::string bytes = journal::FileHeader();
  journal::BlockBuilder builder;
  journal::Begin begin;
  begin.rank = rank;
  begin.world = 2;
  builder.AddBegin(begin);
  for (std::uint32_t id = 0; id < 2; ++id) {
    journal::Definition definition;
    definition.id = id;
    definition.name = id == 0 ? "loss" : "compute_s";
    builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
  }
  for (std::int64_t step = 1; step <= 30; ++step) {
    const auto time_ms = static_cast<std::uint64_t>(1000 * step);
    builder.Add(0, step, 3.0 / static_cast<double>(step), time_ms);
    builder.Add(1, step, 0.5 + rank + 0.01 * static_cast<double>(step % 7), time_ms);
  }
  if (rank == 0) {
    journal::Event event;
    event.time_ms = 40'000;
    event.step = 31;
    event.severity = model::Severity::kError;
    event.text = "all-reduce timed out after 10 s in step 31: rank 1 did not arrive";
    builder.AddEntry(journal::Section::kEvents, EncodeEntry(event));
    builder.AddEntry(journal::Section::kEnd, EncodeEntry(journal::End{1, 40'001}));
  }
  builder.Finish(0, bytes);
  return bytes;
}

TEST(JournalReader, KnowsAFailureByItsMessageAndPutsTheEndBehindIt) {
  const model::Run run = Read(MakeRank(0));
  ASSERT_THAT(run.events, SizeIs(3));
  EXPECT_EQ(run.events[0].kind, model::EventKind::kMessage);
  EXPECT_EQ(run.events[1].kind, model::EventKind::kSignature);
  EXPECT_EQ(run.events[1].name, "log/collective-timeout");
  EXPECT_FALSE(run.events[1].run_went_on);
  EXPECT_EQ(run.events[2].kind, model::EventKind::kExit);
}

TEST(JournalReader, ReportsAJournalWithoutAnEnd) {
  const model::Run run = Read(MakeRank(1));
  ASSERT_THAT(run.events, SizeIs(1));
  EXPECT_EQ(run.events[0].name, model::kNoEndEvent);
  EXPECT_EQ(run.events[0].rank, 1);
}

TEST(JournalReader, PlacesAMissingEndOnTheAxisThatTheRunIsCountedOn) {
  std::string bytes = journal::FileHeader();
  journal::BlockBuilder builder;
  builder.AddBegin({});
  for (std::uint32_t id = 0; id < 2; ++id) {
    journal::Definition definition;
    definition.id = id;
    definition.name = id == 0 ? "loss" : "eval_loss";
    definition.axis = id == 0 ? model::Axis::kStep : model::Axis::kTokens;
    builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
  }
  for (std::int64_t step = 1; step <= 30; ++step) builder.Add(0, step, 2.5, static_cast<std::uint64_t>(1000 * step));
  builder.Add(1, 4096, 2.5, 30'000);
  builder.Finish(0, bytes);
  const model::Run run = Read(bytes);
  ASSERT_THAT(run.events, SizeIs(1));
  EXPECT_TRUE(model::SamePosition(run.events[0].at, model::StepAt(30))) << "token 4096 is no step";
}

TEST(JournalReader, RanksShareTheLossAndKeepTheirTimes) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("vigil_ranks_{}", ::getpid());
  std::filesystem::create_directories(folder);
  for (const std::int32_t rank : {0, 1})
    std::ofstream(folder / fmt::format("rank-{}.vigil", rank), std::ios::binary) << MakeRank(rank);
  const pipeline::Imported imported = pipeline::ImportPaths({folder.string()});
  std::filesystem::remove_all(folder);
  ASSERT_THAT(imported.runs, SizeIs(1));
  const model::Run& run = imported.runs.front();
  EXPECT_EQ(run.name, folder.filename().string());
  std::size_t losses = 0;
  std::size_t times_of_one = 0;
  for (const model::Series& series : run.series) {
    losses += series.signal == "loss" ? 1 : 0;
    times_of_one += series.signal == "compute_time_s" && model::FindLabel(series.labels, "rank") == "1" ? 1 : 0;
  }
  EXPECT_EQ(losses, 1U);
  EXPECT_EQ(times_of_one, 1U);
}

}  // namespace
}  // namespace vigil::formats
