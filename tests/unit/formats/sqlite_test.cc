#include "formats/sqlite/sqlite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <memory>
#include <set>

#include "formats/formats.h"
#include "formats/sqlite/database.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/paths.h"
#include "support/scratch.h"

namespace vigil::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

const ingest::Format kSqlite = {"sqlite", "tracker database", RecogniseSqlite, OpenSqlite};

Result<std::vector<model::Run>> Read(std::string_view bytes) {
  return ingest::ReadRunsInBytes("runs.db", bytes, kSqlite);
}

const model::Run& Named(const std::vector<model::Run>& runs, std::string_view name) {
  static const model::Run kNone;
  for (const model::Run& run : runs) {
    if (run.name == name) return run;
  }
  ADD_FAILURE() << "no run " << name;
  return kNone;
}

std::set<std::string> NamesOf(const std::vector<model::Run>& runs) {
  std::set<std::string> names;
  for (const model::Run& run : runs) names.insert(run.name);
  return names;
}

// A database as SQLite itself writes it after these statements.
std::string Made(const std::vector<std::string>& statements) {
  sqlite3* opened = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &opened), SQLITE_OK);
  const std::unique_ptr<sqlite3, decltype(&sqlite3_close)> database(opened, sqlite3_close);
  for (const std::string& statement : statements) {
    char* problem = nullptr;
    EXPECT_EQ(sqlite3_exec(opened, statement.c_str(), nullptr, nullptr, &problem), SQLITE_OK) << problem;
    sqlite3_free(problem);
  }
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(opened, "main", &size, 0);
  std::string image(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  return image;
}

constexpr const char* kRuns = "CREATE TABLE runs (run_uuid TEXT, name TEXT)";
constexpr const char* kMetrics =
    "CREATE TABLE metrics (key TEXT, value REAL, timestamp INT, step INT, is_nan INT, run_uuid TEXT)";

TEST(Sqlite, KeepsTheRunsOfMlflowApart) {
  const auto runs = Read(Fixture("mlflow.db.gz"));
  ASSERT_TRUE(runs) << runs.error().Text();
  EXPECT_THAT(NamesOf(*runs), UnorderedElementsAre("steady", "broken", "stopped"));
  const model::Run& steady = Named(*runs, "steady");
  EXPECT_EQ(steady.sources.front().format, "mlflow-db");
  EXPECT_THAT(report::NoteText(steady.sources.front()), HasSubstr("1 deleted runs"));
  const model::Series* loss = steady.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->steps, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
  EXPECT_EQ(loss->values.front(), 2.4);
  EXPECT_EQ(loss->values.back(), 0.75);
  EXPECT_GT(loss->times.front(), 1.7e9);
  EXPECT_EQ(steady.FactNumber("lr"), 0.0003);
  EXPECT_EQ(steady.FactNumber("batch_size"), 4);
}

TEST(Sqlite, TurnsWhatMlflowWritesForNonFiniteValuesBack) {
  const auto runs = Read(Fixture("mlflow.db.gz"));
  ASSERT_TRUE(runs) << runs.error().Text();
  const model::Run& broken = Named(*runs, "broken");
  EXPECT_TRUE(std::isnan(broken.Find("loss")->values[8]));
  EXPECT_EQ(broken.Find("grad_norm")->values[8], INFINITY);
}

TEST(Sqlite, CountsPointsThatWereLoggedWithoutAStep) {
  const auto runs = Read(Fixture("mlflow.db.gz"));
  ASSERT_TRUE(runs) << runs.error().Text();
  const model::Series* loss = Named(*runs, "stopped").Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->axis, model::Axis::kRow);
  EXPECT_THAT(loss->steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(loss->values, ElementsAre(2.5, 2.25, 2.0));
}

TEST(Sqlite, ReadsTrackio) {
  const auto runs = Read(Fixture("trackio/gym.db.gz"));
  ASSERT_TRUE(runs) << runs.error().Text();
  EXPECT_THAT(NamesOf(*runs), UnorderedElementsAre("steady", "broken"));
  const model::Run& broken = Named(*runs, "broken");
  EXPECT_EQ(broken.sources.front().format, "trackio-db");
  EXPECT_TRUE(std::isnan(broken.Find("loss")->values[8]));
  EXPECT_EQ(broken.FactNumber("lr"), 0.0003);
  EXPECT_GT(broken.Find("loss")->times.front(), 1.7e9);
}

class SqliteFiles : public ScratchTest {};

TEST_F(SqliteFiles, ReadsWhatStandsOnlyInTheLogOfAKilledWriter) {
  const std::string path = Write("gym.db", Fixture("killed/gym.db.gz"));
  const auto without = ReadRuns(path);
  ASSERT_TRUE(without) << without.error().Text();
  EXPECT_EQ(Named(*without, "broken").Find("loss")->steps.back(), 12);
  Write("gym.db-wal", Fixture("killed/gym.db-wal.gz"));
  const auto with = ReadRuns(path);
  ASSERT_TRUE(with) << with.error().Text();
  EXPECT_EQ(Named(*with, "broken").Find("loss")->steps.back(), 14);
  EXPECT_THAT(report::NoteText(with->front().sources.front()), HasSubstr("write-ahead log"));
  EXPECT_FALSE(std::filesystem::exists(path + "-shm")) << "the folder is left as it was";
}

TEST_F(SqliteFiles, KeepsToTheLastCommitOfADamagedLog) {
  const std::string path = Write("gym.db", Fixture("killed/gym.db.gz"));
  std::string log = Fixture("killed/gym.db-wal.gz");
  log[log.size() - 100] = static_cast<char>(~log[log.size() - 100]);
  Write("gym.db-wal", log);
  const auto runs = ReadRuns(path);
  ASSERT_TRUE(runs) << runs.error().Text();
  EXPECT_EQ(Named(*runs, "broken").Find("loss")->steps.back(), 13);
}

TEST_F(SqliteFiles, JoinsEachRunOfADatabaseWithItsOwnLogOnly) {
  Write("mlflow.db", Fixture("mlflow.db.gz"));
  std::string lines;
  for (int step = 1; step <= 12; ++step)
    lines += "{\"step\": " + std::to_string(step) + ", \"loss\": " + std::to_string(3.0 / (1 + 0.25 * step)) + "}\n";
  Write("steady/metrics.jsonl", lines);
  const pipeline::Imported imported = pipeline::ImportPaths({Folder()});
  EXPECT_THAT(imported.runs, SizeIs(3));
  for (const model::Run& run : imported.runs) EXPECT_EQ(run.sources.size(), run.name == "steady" ? 2U : 1U) << run.name;
}

TEST_F(SqliteFiles, ReadsTheFolderOfAnMlflowFileStore) {
  const pipeline::Imported imported =
      pipeline::ImportPaths({std::string(testing_support::kSourceDir) + "/tests/fixtures/sources/mlruns"});
  EXPECT_THAT(NamesOf(imported.runs), UnorderedElementsAre("steady", "broken", "stopped", "thrown-away"));
  const model::Run& broken = Named(imported.runs, "broken");
  ASSERT_NE(broken.Find("loss"), nullptr);
  EXPECT_THAT(broken.Find("loss")->values, SizeIs(12));
  EXPECT_TRUE(std::isnan(broken.Find("loss")->values[8]));
  EXPECT_EQ(broken.Find("grad_norm")->values[8], INFINITY);
  EXPECT_EQ(broken.FactNumber("lr"), 0.0003);
  EXPECT_EQ(broken.planned_steps, model::StepAt(12));
  EXPECT_THAT(imported.unread, IsEmpty());
}

TEST(Sqlite, ADatabaseOfAnotherProgramIsNoRun) {
  const auto runs = Read(Made({"CREATE TABLE users (name TEXT)", "INSERT INTO users VALUES ('a')"}));
  ASSERT_FALSE(runs);
  EXPECT_THAT(runs.error().Text(), HasSubstr("without any value"));
}

TEST(Sqlite, ReadsNoView) {
  const auto runs =
      Read(Made({kRuns, "INSERT INTO runs VALUES ('a', 'a')",
                 "CREATE VIEW metrics AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
                 "SELECT 'loss' AS key, x AS value, 0 AS timestamp, x AS step, 0 AS is_nan, 'a' AS run_uuid "
                 "FROM n"}));
  EXPECT_FALSE(runs);
}

TEST(Sqlite, CallsNoFunctionOfAHostileSchema) {
  const auto runs = Read(Made({kRuns, "INSERT INTO runs VALUES ('a', 'a')",
                               "CREATE TABLE metrics (key TEXT, value REAL AS (length(zeroblob(1000000))), "
                               "timestamp INT, step INT, run_uuid TEXT)",
                               "INSERT INTO metrics (key, timestamp, step, run_uuid) VALUES ('loss', 0, 1, 'a')"}));
  if (runs) {
    for (const model::Run& run : *runs) EXPECT_THAT(run.series, IsEmpty());
  }
}

TEST(Sqlite, TakesWhateverTypesTheColumnsHold) {
  const auto runs = Read(Made({kRuns, kMetrics, "INSERT INTO runs VALUES (x'00ff', NULL)",
                               "INSERT INTO metrics VALUES ('loss', 'text', x'ff', -5, NULL, x'00ff')",
                               "INSERT INTO metrics VALUES ('loss', 1.5, 'x', 9223372036854775807, 0, x'00ff')",
                               "INSERT INTO metrics VALUES ('loss', 1.5, 1, 3, 0, x'00ff')"}));
  ASSERT_TRUE(runs) << runs.error().Text();
  EXPECT_THAT(runs->front().Find("loss")->steps, ElementsAre(3));
}

TEST(Sqlite, ReadsUpToTheDamage) {
  const std::string sound = Fixture("mlflow.db.gz");
  for (const std::size_t kept :
       {sound.size() / 2, sound.size() / 4, std::size_t{4096}, std::size_t{100}, std::size_t{20}})
    static_cast<void>(Read(std::string_view(sound).substr(0, kept)));
  std::size_t damaged = 0;
  for (std::size_t at = 4096; at < sound.size(); at += 4096 * 3) {
    std::string broken = sound;
    for (std::size_t i = 0; i < 4096 && at + i < broken.size(); ++i) broken[at + i] = '\xA5';
    const auto runs = Read(broken);
    damaged += !runs || runs->front().sources.front().state == model::SourceState::kPartial ? 1 : 0;
  }
  EXPECT_GT(damaged, 0U);
}

TEST(Sqlite, AnEmptyLogChangesNothing) {
  std::string image = Made({kRuns});
  const std::string before = image;
  EXPECT_EQ(sqlite::ApplyLog(image, ""), 0U);
  EXPECT_EQ(sqlite::ApplyLog(image, std::string(32, '\0')), 0U);
  EXPECT_EQ(image, before);
}

}  // namespace
}  // namespace vigil::formats
