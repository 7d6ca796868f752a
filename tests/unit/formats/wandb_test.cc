#include "formats/wandb/wandb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ingest/ingest.h"
#include "report/report.h"
#include "wandb_writer.h"

namespace vigil::formats {
namespace {

using namespace wandb_writer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ingest::Format kWandb = {"wandb", "W&B transaction log", RecogniseWandb, OpenWandb};

Result<model::Run> Read(const std::string& bytes, std::size_t piece = 0) {
  return ingest::ReadBytes("run-1.wandb", bytes, kWandb, piece);
}

LogFile SmallRun() {
  LogFile file;
  file.Add(Config({{"learning_rate", "0.001"}, {"output_dir", "\"out\""}, {"_wandb", "{}"}}));
  for (int i = 1; i <= 5; ++i) {
    file.Add(History({{"train/loss", i == 4 ? "NaN" : std::to_string(3.0 / i)},
                      {"train/global_step", std::to_string(10 * i)},
                      {"_step", std::to_string(i)},
                      {"_timestamp", std::to_string(1700000000 + i)}}));
  }
  return file;
}

TEST(Wandb, ReadsHistoryAtTheTrainersOwnStep) {
  const auto run = Read(SmallRun().Add(Exit(0)).bytes());
  ASSERT_TRUE(run) << run.error().Text();
  const model::Series* loss = run->Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->steps, ElementsAre(10, 20, 30, 40, 50));
  EXPECT_TRUE(std::isnan(loss->values[3]));
  EXPECT_EQ(loss->times.front(), 1700000001);
  EXPECT_EQ(run->FactNumber("lr"), 0.001);
  ASSERT_EQ(run->events.size(), 1U);
  EXPECT_EQ(run->events[0].kind, model::EventKind::kExit);
}

TEST(Wandb, ReadsNestedKeysAndQuotedNonFiniteValues) {
  LogFile file;
  const std::string nested = Bytes(1, Bytes(2, "eval") + Bytes(2, "loss") + Bytes(16, "\"Infinity\""));
  file.Add(Bytes(2, nested + Bytes(2, Varint(1, 7))));
  const auto run = Read(file.bytes());
  ASSERT_TRUE(run) << run.error().Text();
  const model::Series* loss = run->Find("eval_loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->steps.front(), 7);
  EXPECT_EQ(loss->values.front(), INFINITY);
}

TEST(Wandb, ANumberThatIsNoStepIsNotTakenForOne) {
  LogFile file;
  int row = 0;
  for (const char* step : {"0", "NaN", "1e300", "-5", "4"})
    file.Add(History({{"loss", std::to_string(row++) + ".5"}, {"_step", step}}));
  const auto run = Read(file.bytes());
  ASSERT_TRUE(run) << run.error().Text();
  const model::Series* loss = run->Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->steps, ElementsAre(0, 1, 2, 3, 4)) << "the number of the row stands for it";
}

TEST(Wandb, KeysOfSettingsMayHoldAnything) {
  LogFile file = SmallRun();
  file.Add(Config({{R"(a"b\)", R"({"learning_rate_x": 0.5})"}, {"optimizer", R"({"lr": 0.25})"}}));
  const auto run = Read(file.bytes());
  ASSERT_TRUE(run) << run.error().Text();
  std::vector<std::string> keys;
  for (const model::Fact& fact : run->facts) keys.push_back(fact.raw_key);
  EXPECT_THAT(keys, testing::IsSupersetOf({R"(a"b\.learning_rate_x)", "optimizer.lr"}));
}

TEST(Wandb, RecordsLongerThanABlockAreJoined) {
  LogFile file;
  Items many = {{"_step", "3"}};
  for (int i = 0; i < 5000; ++i) many.emplace_back("metric_" + std::to_string(i), "1.5");
  file.Add(History(many)).Add(History({{"loss", "2"}, {"_step", "4"}}));
  const auto run = Read(file.bytes());
  ASSERT_TRUE(run);
  EXPECT_EQ(run->series.size(), 5001U);
}

TEST(Wandb, GivesTheSamePartForPiecesOfAnySize) {
  LogFile file = SmallRun();
  for (int i = 0; i < 400; ++i) file.Add(Console("step output " + std::string(200, 'x') + "\n"));
  file.Add(History({{"loss", "0.5"}, {"_step", "99"}}));
  const auto whole = Read(file.bytes());
  ASSERT_TRUE(whole);
  for (const std::size_t piece : {1U, 7U, 4096U, 40000U}) {
    const auto parts = Read(file.bytes(), piece);
    ASSERT_TRUE(parts) << piece;
    ASSERT_EQ(parts->series.size(), whole->series.size());
    for (std::size_t i = 0; i < whole->series.size(); ++i) {
      EXPECT_EQ(parts->series[i].steps, whole->series[i].steps) << piece;
    }
  }
}

TEST(Wandb, CutAnywhereGivesThePrefixAndNeverMore) {
  const std::string bytes = SmallRun().Add(Exit(1)).bytes();
  std::size_t points = 0;
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto run = Read(bytes.substr(0, size));
    const model::Series* loss = run ? run->Find("loss") : nullptr;
    const std::size_t now = loss == nullptr ? 0 : loss->size();
    EXPECT_GE(now, points) << "cut at byte " << size;
    points = now;
  }
  EXPECT_EQ(points, 5U);
}

TEST(Wandb, ReadsOnBehindADamagedBlock) {
  LogFile file = SmallRun();
  while (file.bytes().size() < 40000) file.Add(Console(std::string(900, 'y') + "\n"));
  file.Add(History({{"train/loss", "0.25"}, {"train/global_step", "900"}}));
  std::string bytes = file.bytes();
  bytes[20000] = static_cast<char>(bytes[20000] ^ 0x40);
  const auto run = Read(bytes);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->Find("loss")->steps.back(), 900);
  EXPECT_EQ(run->sources[0].state, model::SourceState::kPartial);
  EXPECT_THAT(report::NoteText(run->sources[0]), HasSubstr("damaged block"));
}

TEST(Wandb, EveryFlippedBitIsSurvived) {
  const std::string good = SmallRun().bytes();
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    static_cast<void>(Read(bad).has_value());
  }
}

}  // namespace
}  // namespace vigil::formats
