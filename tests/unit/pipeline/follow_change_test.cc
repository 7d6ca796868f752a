// What happens to files while they are followed: rotation, truncation, rewriting, a write-ahead log. The runs that come
// out are those of the files afterwards, with what they no longer hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "ingest/follow/followed_file.h"
#include "ingest/ingest.h"
#include "ingest/read.h"
#include "pipeline/pipeline.h"
#include "platform/files.h"
#include "report/report.h"
#include "support/scratch.h"
#include "support/tfevents_writer.h"

namespace vigil::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::size_t kBig = std::size_t{64} << 10U;  // files above this are no longer recognised again

class FollowChangeTest : public ScratchTest {
 protected:
  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  void Append(const std::string& name, std::string_view text) const {
    std::ofstream(At(name), std::ios::binary | std::ios::app) << text;
  }
};

double LossAt(int step) { return 2 + 8 * std::exp(-0.001 * step) + 0.01 * ((step * 37) % 11); }

// Lines of a trainer's log.
std::string LogLines(int first, int last, double offset = 0) {
  std::string text;
  for (int step = first; step <= last; ++step)
    text += "step: " + std::to_string(step) + " loss: " + std::to_string(LossAt(step) + offset) +
            " grad_norm: " + std::to_string(1 + 0.001 * (step % 90)) + " lr: 0.0003\n";
  return text;
}

std::string JsonLines(int first, int last, double offset = 0) {
  std::string text;
  for (int step = first; step <= last; ++step)
    text += "{\"step\": " + std::to_string(step) + ", \"loss\": " + std::to_string(LossAt(step) + offset) + "}\n";
  return text;
}

std::string TableRows(int first, int last, bool with_norm) {
  std::string text = with_norm ? "epoch,grad_norm,step,train_loss\n" : "epoch,step,train_loss\n";
  for (int step = first; step <= last; ++step)
    text +=
        "0," + std::string(with_norm ? "1.5," : "") + std::to_string(step) + "," + std::to_string(LossAt(step)) + "\n";
  return text;
}

std::string EventRecords(int first, int last) {
  std::string bytes;
  for (int step = first; step <= last; ++step)
    bytes += tfevents_writer::Scalar("train/loss", step, static_cast<float>(LossAt(step)));
  return bytes;
}

std::set<std::int64_t> LossSteps(const std::vector<model::Run>& runs) {
  std::set<std::int64_t> steps;
  for (const model::Run& run : runs) {
    if (const model::Series* loss = run.Find("loss"); loss != nullptr)
      steps.insert(loss->steps.begin(), loss->steps.end());
  }
  return steps;
}

// Every series with its points, and every event, of every run.
std::vector<std::string> Contents(const std::vector<model::Run>& runs) {
  std::vector<std::string> lines;
  for (const model::Run& run : runs) {
    for (const model::Series& series : run.series) {
      std::string line = run.name + " " + series.signal + " " + std::to_string(series.segment_starts.size()) + ":";
      for (std::size_t i = 0; i < series.size(); ++i)
        line += " " + std::to_string(series.steps[i]) + "=" + std::to_string(series.values[i]);
      lines.push_back(std::move(line));
    }
    for (const model::Event& event : run.events) lines.push_back(run.name + " " + event.name + ": " + event.text);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

bool AnyNan(const std::vector<model::Run>& runs) {
  for (const model::Run& run : runs) {
    const model::Series* loss = run.Find("loss");
    if (loss != nullptr &&
        std::any_of(loss->values.begin(), loss->values.end(), [](double v) { return std::isnan(v); }))
      return true;
  }
  return false;
}

TEST_F(FollowChangeTest, ABigLogThatIsCutKeepsWhatItHeld) {
  Write("train.log", LogLines(0, 2999));
  ASSERT_GT(fs::file_size(At("train.log")), kBig);
  Follower follower({Folder()});
  follower.Poll();
  Write("train.log", LogLines(3000, 3099));
  follower.Poll();
  const std::vector<model::Run> runs = follower.Runs();
  EXPECT_EQ(runs.size(), 1U) << "it goes on where it was cut";
  EXPECT_EQ(LossSteps(runs).size(), 3100U);
}

TEST_F(FollowChangeTest, TheLastOfManyLogsKeepsWhatItHeld) {
  constexpr int kFiles = 300;  // more than are kept open
  for (int i = 0; i < kFiles; ++i) Write("r" + std::to_string(i) + "/train.log", LogLines(0, 20, i));
  Follower follower({Folder()});
  follower.Poll();
  ASSERT_EQ(follower.file_count(), std::size_t{kFiles});
  for (const int i : {0, 99, kFiles - 1}) Write("r" + std::to_string(i) + "/train.log", LogLines(21, 25, i));
  follower.Poll();
  const std::vector<model::Run> runs = follower.Runs();
  ASSERT_EQ(runs.size(), std::size_t{kFiles});
  for (const model::Run& run : runs) {
    const bool cut = run.name == "r0" || run.name == "r99" || run.name == "r299";
    EXPECT_EQ(LossSteps({run}).size(), cut ? 26U : 21U) << run.name;
  }
}

// Files of each kind that are renamed while they are written, as logrotate does.
TEST_F(FollowChangeTest, ARenamedFileIsTheSameFile) {
  for (const bool lines : {false, true}) {
    const auto text = [&](int first, int last) { return lines ? JsonLines(first, last) : LogLines(first, last); };
    const std::string name = lines ? "metrics.jsonl" : "train.log";
    fs::remove_all(folder_);
    Write(name, text(0, 2999));
    Follower follower({Folder()});
    follower.Poll();
    Append(name, text(3000, 3010));  // between the last look and the rotation
    fs::rename(At(name), At(name + ".1"));
    Write(name, text(3011, 3499));
    follower.Poll();
    EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs)) << name;
    fs::rename(At(name + ".1"), At(name + ".2"));
    fs::rename(At(name), At(name + ".1"));
    Write(name, text(3500, 3600));
    follower.Poll();
    const std::vector<model::Run> live = follower.Runs();
    EXPECT_EQ(live.size(), 1U) << name;
    EXPECT_EQ(LossSteps(live).size(), 3601U) << name;
    EXPECT_EQ(Contents(live), Contents(ImportPaths({Folder()}).runs)) << name;
  }
}

TEST_F(FollowChangeTest, ACopiedAndCutFileIsCountedOnce) {
  Write("train.log", LogLines(0, 2999));
  Follower follower({Folder()});
  follower.Poll();
  fs::copy_file(At("train.log"), At("train.log.1"));
  Write("train.log", LogLines(3000, 3200));
  follower.Poll();
  EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs));
}

TEST_F(FollowChangeTest, AFileThatLeavesTheFolderKeepsWhatItHeld) {
  Write("in/train.log", LogLines(0, 1999));
  Follower follower({At("in")});
  follower.Poll();
  Append("in/train.log", LogLines(2000, 2010));
  fs::rename(At("in/train.log"), At("train.log"));
  follower.Poll();
  EXPECT_EQ(LossSteps(follower.Runs()).size(), 2011U);
}

TEST_F(FollowChangeTest, AFileRewrittenAndLargerIsReadAgain) {
  Write("m.jsonl", JsonLines(0, 3000));
  ASSERT_GT(fs::file_size(At("m.jsonl")), kBig);
  Follower follower({Folder()});
  follower.Poll();
  Write("m.jsonl", JsonLines(0, 2000, 0.5) + "{\"step\": 2001, \"loss\": NaN}\n" + JsonLines(2002, 4000, 0.5));
  follower.Poll();
  EXPECT_TRUE(AnyNan(follower.Runs()));
  EXPECT_TRUE(LossSteps(follower.Runs()).contains(4000));
}

// Lightning's CSV logger writes the whole table again when a metric is new.
TEST_F(FollowChangeTest, ATableWithANewHeaderReplacesTheOneBefore) {
  Write("metrics.csv", TableRows(0, 8999, false));
  ASSERT_GT(fs::file_size(At("metrics.csv")), kBig);
  Follower follower({Folder()});
  follower.Poll();
  Write("metrics.csv", TableRows(0, 9100, true));
  follower.Poll();
  EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs));
  EXPECT_TRUE(LossSteps(follower.Runs()).contains(9100));
  Append("metrics.csv", "0,1.5,9101,2.5\n");
  follower.Poll();
  EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs));
}

class Database {
 public:
  explicit Database(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
    Run("pragma journal_mode=wal");
    Run("pragma wal_autocheckpoint=0");
    Run("create table metrics(id integer primary key, run_id text, timestamp text, run_name text, step integer, "
        "metrics text, log_id text, space_id text)");
    Run("create table configs(id integer primary key, run_id text, run_name text, config text, created_at text)");
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  Database(Database&&) = delete;
  Database& operator=(Database&&) = delete;

  void Log(int step, const std::string& loss) {
    Run("insert into metrics(run_id, timestamp, run_name, step, metrics) values('r1', '2026-01-01T00:00:00+00:00', "
        "'run', " +
        std::to_string(step) + ", '{\"loss\": " + loss + "}')");
  }

 private:
  void Run(const std::string& statement) {
    EXPECT_EQ(sqlite3_exec(handle_, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << statement;
  }
  sqlite3* handle_ = nullptr;
};

TEST_F(FollowChangeTest, WhatADatabaseKeepsInItsLogIsSeen) {
  Write("readme", "");  // makes the folder
  Database database(At("project.db"));
  for (int step = 0; step < 20; ++step) database.Log(step, std::to_string(LossAt(step)));
  Follower follower({Folder()});
  follower.Poll();
  ASSERT_EQ(LossSteps(follower.Runs()).size(), 20U);
  follower.Poll();
  EXPECT_FALSE(follower.Poll()) << "nothing new";
  const auto size = fs::file_size(At("project.db"));
  for (int step = 20; step < 30; ++step) database.Log(step, "\"NaN\"");
  ASSERT_EQ(fs::file_size(At("project.db")), size) << "the log alone has grown";
  EXPECT_TRUE(follower.Poll());
  EXPECT_TRUE(AnyNan(follower.Runs()));
  EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs));
}

TEST_F(FollowChangeTest, AnUnrecognisedFileIsNoChange) {
  Write("metrics.jsonl", JsonLines(0, 10));
  Write("project.db-shm", std::string(100, '\0'));
  Follower follower({Folder()});
  EXPECT_TRUE(follower.Poll());
  Append("project.db-shm", std::string(100, '\0'));
  EXPECT_FALSE(follower.Poll());
}

// Each kind of file that grows, far beyond the size where its reader is kept, in pieces that end anywhere.
TEST_F(FollowChangeTest, BigFilesGiveWhatTheFinishedOnesGive) {
  const std::pair<std::string, std::string> files[] = {
      {"train.log", LogLines(0, 3000)},
      {"metrics.jsonl", JsonLines(0, 6000)},
      {"metrics.csv", TableRows(0, 12000, true)},
      {"events.out.tfevents.1760000000.host.1.0", EventRecords(0, 4000)},
  };
  std::mt19937 random(11);
  for (const auto& [name, content] : files) {
    ASSERT_GT(content.size(), 2 * kBig) << name;
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Follower follower({Folder()});
    for (std::size_t done = 0; done < content.size();) {
      const std::size_t piece = std::min<std::size_t>(content.size() - done, 1 + random() % 40'000);
      Append(name, std::string_view(content).substr(done, piece));
      done += piece;
      follower.Poll();
    }
    EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs)) << name;
  }
}

TEST_F(FollowChangeTest, ALastLineWithoutAnEndCountsWhenNothingMoreComes) {
  std::string content = JsonLines(0, 3000) + "{\"step\": 3001, \"loss\": NaN}";
  Write("metrics.jsonl", content);
  Follower follower({Folder()});
  follower.Poll();
  EXPECT_FALSE(AnyNan(follower.Runs())) << "it may go on";
  follower.Conclude();
  EXPECT_EQ(Contents(follower.Runs()), Contents(ImportPaths({Folder()}).runs));
  EXPECT_TRUE(AnyNan(follower.Runs()));
}

// Bytes that this process has read so far; 0 where the system does not count them.
std::uint64_t BytesRead() {
  std::ifstream in("/proc/self/io");
  std::string word;
  std::uint64_t count = 0;
  while (in >> word >> count) {
    if (word == "rchar:") return count;
  }
  return 0;
}

TEST_F(FollowChangeTest, RecordsAreReadOnce) {
  if (BytesRead() == 0) GTEST_SKIP() << "the system does not count what is read";
  const std::string events = "events.out.tfevents.1760000000.host.1.0";
  for (const auto& [name, content, more] :
       {std::tuple(events, EventRecords(0, 20'000), EventRecords(20'001, 20'001)),
        std::tuple(std::string("metrics.jsonl"), JsonLines(0, 30'000), JsonLines(30'001, 30'001)),
        std::tuple(std::string("metrics.csv"), TableRows(0, 50'000, true), std::string("0,1.5,50001,2.5\n"))}) {
    ASSERT_GT(content.size(), std::size_t{900'000}) << name;
    fs::remove_all(folder_);
    Write(name, content);
    Follower follower({Folder()});
    follower.Poll();
    const std::size_t steps = LossSteps(follower.Runs()).size();
    Append(name, more);
    const std::uint64_t before = BytesRead();
    follower.Poll();
    EXPECT_LT(BytesRead() - before, 50'000U) << name;
    EXPECT_EQ(LossSteps(follower.Runs()).size(), steps + 1) << name;
  }
}

// A reader that waits for the end of a record that never comes.
class Waiting : public ingest::Reader {
 public:
  explicit Waiting(ingest::PartBuilder& builder) : builder_(builder) {}
  std::size_t Consume(std::string_view bytes, bool last) override {
    if (last) builder_.AddFact("waited_for", std::to_string(bytes.size()));
    return 0;
  }

 private:
  ingest::PartBuilder& builder_;
};

TEST_F(FollowChangeTest, ARecordThatNeverEndsIsReportedAsInAFinishedFile) {
  const ingest::Format format{"waiting", "a test's own", [](const ingest::Probe&) { return 100; },
                              [](ingest::PartBuilder& builder) -> std::unique_ptr<ingest::Reader> {
                                return std::make_unique<Waiting>(builder);
                              }};
  Write("endless", "x");
  fs::resize_file(At("endless"), ingest::kRecordLimitBytes + (std::size_t{1} << 20U));
  const auto open = [&] {
    auto file = platform::File::Open(At("endless"));
    EXPECT_TRUE(file);
    return ingest::OpenedFile{ingest::ByteSource(std::move(*file), At("endless")), At("endless"), {}, &format};
  };
  ingest::FollowedFile file(open());
  const std::vector<model::Run> live = file.Conclude();
  const auto after = ingest::ReadOpened(open(), {}).parts;
  ASSERT_EQ(after.size(), 1U);
  ASSERT_EQ(live.size(), 1U);
  EXPECT_EQ(report::NoteText(live[0].sources[0]), report::NoteText(after[0].sources[0]));
  EXPECT_THAT(report::NoteText(live[0].sources[0]), HasSubstr("record larger than 64"));
  EXPECT_EQ(live[0].sources[0].state, model::SourceState::kPartial);
}

}  // namespace
}  // namespace vigil::pipeline
