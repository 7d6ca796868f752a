// The ring: what was recorded is collected once, a full lane keeps the newest, and the loss is counted.
#include "journal/ring.h"

#include <gmock/gmock.h>

#include <random>
#include <thread>

#include "journal/mover.h"
#include "support.h"

namespace vigil::journal {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

RingOptions Small() {
  RingOptions options;
  options.lane_bytes = 32U << 10U;  // 4096 words
  return options;
}

struct Bench {
  explicit Bench(const RingOptions& options = Small()) : ring(Ring::Create(options).value()) {
    MoverOptions to;
    to.folder = folder.path();
    to.begin = SampleBegin();
    to.flush_interval_ms = 1;
    mover = std::move(Mover::Create(ring, std::move(to)).value());
    ring.ReserveLane(1);
  }
  Kept Read() const { return Decode(ReadAll(mover->path())); }

  TemporaryFolder folder;
  Ring ring;
  std::unique_ptr<Mover> mover;
};

void Define(Ring& ring, std::uint32_t id) { ASSERT_TRUE(ring.AddDefinition(EncodeEntry(SampleDefinition(id)))); }

TEST(Ring, WhatIsRecordedIsMovedOnce) {
  Bench bench;
  Define(bench.ring, 0);
  LaneWriter writer = bench.ring.Writer(1);
  std::int64_t step = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 37; ++i) EXPECT_TRUE(writer.AddScalar(0, step++, 0.5 * static_cast<double>(i), 1'000'000));
    EXPECT_TRUE(bench.mover->Move(true));
  }
  const Kept kept = bench.Read();
  ASSERT_THAT(kept.points.at(0), SizeIs(50 * 37));
  for (std::size_t i = 0; i < kept.points.at(0).size(); ++i)
    ASSERT_EQ(kept.points.at(0)[i].step, static_cast<std::int64_t>(i));
  EXPECT_THAT(kept.dropped, IsEmpty());
  EXPECT_THAT(kept.damages, IsEmpty());
  EXPECT_EQ(kept.definitions.at(0).name, "series-0");
}

TEST(Ring, RowsBatchesAndTextsOfAnyLengthArriveWhole) {
  Bench bench;
  LaneWriter samples = bench.ring.Writer(1);
  LaneWriter texts = bench.ring.Writer(kTextLane);
  const std::vector<double> row = {1.5, 2.5, 3.5};
  for (int round = 0; round < 40; ++round) {
    EXPECT_TRUE(samples.AddRow(7, round, row, 2'000'000));
    EXPECT_TRUE(samples.AddBatch(round, 99, 3'000'000));
    Hyperparameter hyperparameter = {4, "text", std::string(static_cast<std::size_t>(round * 777), 'x')};
    EXPECT_TRUE(texts.AddText(Section::kHyperparameters, EncodeEntry(hyperparameter)));
    EXPECT_TRUE(bench.mover->Move(true));
  }
  const Kept kept = bench.Read();
  EXPECT_THAT(kept.points.at(7), SizeIs(40));
  EXPECT_THAT(kept.points.at(9), SizeIs(40));
  EXPECT_THAT(kept.batches, SizeIs(40));
  ASSERT_THAT(kept.settings, SizeIs(40));
  for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(kept.settings[i].value.size(), i * 777);
}

TEST(Ring, AFullLaneRefusesAndKeepsWhatItTook) {
  Bench bench;
  LaneWriter writer = bench.ring.Writer(1);
  std::size_t taken = 0;
  for (std::int64_t step = 0; step < 5000; ++step) taken += writer.AddScalar(0, step, 1, 0) ? 1 : 0;
  EXPECT_GT(taken, 800U);
  EXPECT_LT(taken, 1100U) << "the lane holds about 1000";
  EXPECT_TRUE(bench.mover->Move(true));
  EXPECT_TRUE(writer.AddScalar(0, 5000, 1, 0)) << "there is room again";
  EXPECT_TRUE(bench.mover->Move(true));
  const Kept kept = bench.Read();
  EXPECT_THAT(kept.dropped, IsEmpty());
  const auto& points = kept.points.at(0);
  ASSERT_THAT(points, SizeIs(taken + 1));
  for (std::size_t i = 0; i < taken; ++i) ASSERT_EQ(points[i].step, static_cast<std::int64_t>(i));
}

TEST(Ring, WhileTheJournalCannotBeWrittenAFullLaneKeepsTheNewestAndTheLossIsCounted) {
  Bench bench;
  LaneWriter writer = bench.ring.Writer(1);
  bench.ring.SetFails(true);
  constexpr std::int64_t kRecorded = 5000;  // the lane holds about 1000
  for (std::int64_t step = 0; step < kRecorded; ++step) EXPECT_TRUE(writer.AddScalar(0, step, 1, 0));
  EXPECT_TRUE(bench.mover->Move(true));
  const Kept kept = bench.Read();
  const auto& points = kept.points.at(0);
  EXPECT_GT(points.size(), 800U);
  EXPECT_EQ(points.back().step, kRecorded - 1);
  ASSERT_THAT(kept.dropped, SizeIs(1));
  EXPECT_EQ(kept.dropped[0].records + points.size(), static_cast<std::size_t>(kRecorded));
  EXPECT_EQ(bench.mover->status().dropped_records, kept.dropped[0].records);
}

TEST(Ring, AnOwnerThatDoesNotLookAfterItForSecondsIsTrouble) {
  Bench bench;
  LaneWriter writer = bench.ring.Writer(1);
  constexpr std::uint64_t kNow = 10'000'000'000;
  bench.ring.SetAlive(platform::UnixNs(), kNow);
  while (writer.AddScalar(0, 1, 1, kNow)) continue;
  EXPECT_TRUE(writer.AddScalar(0, 2, 1, kNow + 3'000'000'000));
  bench.ring.SetAlive(platform::UnixNs(), kNow + 3'000'000'000);
  EXPECT_FALSE(writer.AddScalar(0, 3, 1, kNow + 3'000'000'000));
}

TEST(Ring, EventsAreNotPushedOutBySamples) {
  Bench bench;
  Event event;
  event.text = "the cause of it all";
  EXPECT_TRUE(bench.ring.Writer(kTextLane).AddText(Section::kEvents, EncodeEntry(event)));
  LaneWriter writer = bench.ring.Writer(1);
  for (std::int64_t step = 0; step < 50'000; ++step) static_cast<void>(writer.AddScalar(0, step, 1, 0));
  EXPECT_TRUE(bench.mover->Move(true));
  EXPECT_THAT(bench.Read().events, SizeIs(1));
}

// Of words the first say what went wrong: those that come later are refused.
TEST(Ring, AFullLaneOfTextsKeepsTheFirstAndHasRoomForWhatIsImportant) {
  Bench bench;
  bench.ring.SetFails(true);
  LaneWriter texts = bench.ring.Writer(kTextLane);
  std::size_t taken = 0;
  for (int i = 0; i < 300; ++i) {
    Hyperparameter hyperparameter = {0, std::to_string(i), std::string(10'000, 'y')};
    taken += texts.AddText(Section::kHyperparameters, EncodeEntry(hyperparameter)) ? 1 : 0;
  }
  EXPECT_GT(taken, 20U);
  EXPECT_LT(taken, 60U);
  Event event;
  event.text = std::string(60'000, 'z');
  EXPECT_TRUE(texts.AddText(Section::kEvents, EncodeEntry(event), LaneWriter::Importance::kImportant));
  EXPECT_TRUE(bench.mover->Move(true));
  const Kept kept = bench.Read();
  EXPECT_THAT(kept.damages, IsEmpty());
  EXPECT_THAT(kept.events, SizeIs(1));
  ASSERT_THAT(kept.settings, SizeIs(taken));
  for (std::size_t i = 0; i < taken; ++i) {
    EXPECT_EQ(kept.settings[i].key, std::to_string(i));
    EXPECT_EQ(kept.settings[i].value.size(), 10'000U);
  }
}

// The mover copies while the lane is overwritten, or refuses: whatever it keeps must be what was recorded.
class RingRace : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Ring, RingRace, testing::Bool());

TEST_P(RingRace, BetweenWriterAndMoverNeverTearsARecord) {
  Bench bench;
  std::atomic<bool> done = false;
  std::uint64_t taken = 0;
  std::thread recording([&] {
    LaneWriter writer = bench.ring.Writer(1);
    for (std::int64_t step = 0; step < 400'000; ++step) {
      if (GetParam()) bench.ring.SetFails(true);
      taken += writer.AddScalar(static_cast<std::uint32_t>(step % 3), step, static_cast<double>(step) * 0.25,
                                static_cast<std::uint64_t>(step) * 1'000'000)
                   ? 1
                   : 0;
    }
    done = true;
  });
  while (!done) bench.mover->Move(true);
  recording.join();
  EXPECT_TRUE(bench.mover->Move(true));
  const Kept kept = bench.Read();
  std::uint64_t lost = 0;
  for (const DroppedRecords& dropped : kept.dropped) lost += dropped.records;
  EXPECT_TRUE(lost == 0 || GetParam());
  EXPECT_EQ(kept.size() + lost, taken);
  for (const auto& [series, points] : kept.points) {
    for (const Point& point : points) {
      ASSERT_EQ(point.step % 3, series);
      ASSERT_EQ(std::bit_cast<double>(point.bits), static_cast<double>(point.step) * 0.25);
      ASSERT_EQ(point.time_ms, static_cast<std::uint64_t>(point.step));
    }
  }
}

TEST(Ring, ManySeriesAreDefinedBeforeTheyAreUsedAndAgainLater) {
  Bench bench;
  LaneWriter writer = bench.ring.Writer(1);
  for (std::uint32_t id = 0; id < 20'000; ++id) Define(bench.ring, id);
  std::int64_t step = 0;
  for (int round = 0; round < 400; ++round) {
    for (std::uint32_t i = 0; i < 900; ++i)
      EXPECT_TRUE(writer.AddScalar((i * 7919) % 20'000, step++, 1.0 / (1.0 + static_cast<double>(i) * round), 0));
    ASSERT_TRUE(bench.mover->Move(true));
  }
  const std::string bytes = ReadAll(bench.mover->path());
  ASSERT_GT(bytes.size(), 5'000'000U);
  EXPECT_EQ(Decode(bytes).definitions.size(), 20'000U);
  // The beginning is lost: names come again.
  std::string damaged = bytes;
  std::fill(damaged.begin() + 16, damaged.begin() + 1'000'000, 'z');
  const Kept kept = Decode(damaged);
  EXPECT_EQ(kept.definitions.size(), 20'000U);
  EXPECT_FALSE(kept.begins.empty());
}

// Names that take more than the interval at which they are repeated are not repeated with every block.
TEST(Ring, NamesAreNotMostOfTheFile) {
  RingOptions options = Small();
  options.shared = false;  // a small shared memory has no room for so many names
  Bench bench(options);
  std::mt19937 random(11);
  Definition definition;
  for (std::uint32_t id = 0; id < 90'000; ++id) {
    definition.id = id;
    definition.name.resize(90);
    for (char& letter : definition.name) letter = static_cast<char>('!' + random() % 90);
    ASSERT_TRUE(bench.ring.AddDefinition(EncodeEntry(definition)));
  }
  ASSERT_TRUE(bench.mover->Move(true));
  const std::uint64_t names = bench.mover->status().written_bytes;
  ASSERT_GT(names, std::uint64_t{4} << 20U);
  LaneWriter writer = bench.ring.Writer(1);
  for (std::int64_t step = 0; step < 20; ++step) {
    EXPECT_TRUE(writer.AddScalar(0, step, 1.5, 1'000'000));
    ASSERT_TRUE(bench.mover->Move(true));
  }
  EXPECT_LT(bench.mover->status().written_bytes - names, 10'000U);
}

}  // namespace
}  // namespace vigil::journal
