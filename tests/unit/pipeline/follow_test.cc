// Files that grow while they are read: the same runs come out as of the finished files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

std::string Content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

class FollowTest : public testing::Test {
 protected:
  FollowTest() : folder_(fs::temp_directory_path() / ("vigil_follow_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FollowTest() override { fs::remove_all(folder_); }

  std::string At(const std::string& name) const { return (folder_ / name).string(); }
  void Append(const std::string& name, std::string_view text) const {
    std::ofstream(At(name), std::ios::binary | std::ios::app) << text;
  }
  void Write(const std::string& name, std::string_view text) const {
    std::ofstream(At(name), std::ios::binary | std::ios::trunc) << text;
  }

  fs::path folder_;
};

std::vector<double> LossOf(const Follower& follower) {
  const std::vector<model::Run> runs = follower.Runs();
  const model::Series* loss = runs.empty() ? nullptr : runs.front().Find("loss");
  if (loss == nullptr) return {};
  return {loss->values.begin(), loss->values.end()};
}

std::string Lines(int first, int last) {
  std::string text;
  for (int step = first; step <= last; ++step)
    text += "{\"step\": " + std::to_string(step) + ", \"loss\": " + std::to_string(step) + ".5}\n";
  return text;
}

// "signal: points, last step" of every series, in order of their names.
std::vector<std::string> Outline(const model::Run& run) {
  std::vector<std::string> lines;
  for (const model::Series& series : run.series)
    lines.push_back(series.raw + ": " + std::to_string(series.size()) + ", " + std::to_string(series.steps.back()) +
                    ", " + std::to_string(series.segment_starts.size()));
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_F(FollowTest, TakesLinesAsTheyCome) {
  Follower follower({folder_.string()});
  follower.Poll();
  EXPECT_TRUE(follower.Runs().empty());
  Append("metrics.jsonl", Lines(1, 3) + "{\"step\": 4, ");
  EXPECT_TRUE(follower.Poll());
  EXPECT_THAT(LossOf(follower), ElementsAre(1.5, 2.5, 3.5)) << "a cut line waits for its end";
  Append("metrics.jsonl", "\"loss\": 4.5}\n");
  EXPECT_TRUE(follower.Poll());
  EXPECT_THAT(LossOf(follower), ElementsAre(1.5, 2.5, 3.5, 4.5));
  EXPECT_FALSE(follower.Poll()) << "nothing new";
}

TEST_F(FollowTest, TakesFilesAsTheyAppear) {
  Follower follower({folder_.string()});
  Append("metrics.jsonl", Lines(1, 3));
  follower.Poll();
  EXPECT_EQ(follower.file_count(), 1U);
  fs::create_directories(folder_ / "logs/deep");
  Append("logs/deep/train.log", "Traceback (most recent call last):\n  File \"x.py\", line 1, in f\nValueError: no\n");
  EXPECT_TRUE(follower.Poll());
  EXPECT_EQ(follower.file_count(), 2U);
  const std::vector<model::Run> runs = follower.Runs();
  ASSERT_EQ(runs.size(), 1U) << "the log belongs to the run above it";
  EXPECT_FALSE(runs[0].events.empty());
}

TEST_F(FollowTest, KeepsWhatARotatedFileHeld) {
  Append("metrics.jsonl", Lines(1, 3));
  Follower follower({At("metrics.jsonl")});
  follower.Poll();
  Append("metrics.jsonl", Lines(4, 4));  // between the last look and the rotation
  fs::rename(At("metrics.jsonl"), At("metrics.jsonl.1"));
  Write("metrics.jsonl", Lines(5, 6));
  follower.Poll();
  EXPECT_THAT(LossOf(follower), ElementsAre(1.5, 2.5, 3.5, 4.5, 5.5, 6.5));
}

TEST_F(FollowTest, KeepsWhatATruncatedFileHeld) {
  Append("metrics.jsonl", Lines(1, 6));
  Follower follower({At("metrics.jsonl")});
  follower.Poll();
  Write("metrics.jsonl", Lines(7, 8));
  follower.Poll();
  EXPECT_THAT(LossOf(follower), ElementsAre(1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5));
}

TEST_F(FollowTest, KeepsWhatARemovedFileHeld) {
  Append("metrics.jsonl", Lines(1, 2));
  Follower follower({folder_.string()});
  follower.Poll();
  fs::remove(At("metrics.jsonl"));
  follower.Poll();
  EXPECT_THAT(LossOf(follower), ElementsAre(1.5, 2.5));
}

TEST_F(FollowTest, ReadsADocumentEachTimeItIsWritten) {
  Follower follower({At("trainer_state.json")});
  Write("trainer_state.json", R"({"global_step": 1, "log_history": [{"loss": 2.5, "step": 1}]})");
  follower.Poll();
  EXPECT_THAT(LossOf(follower), ElementsAre(2.5));
  Write("trainer_state.json",
        R"({"global_step": 2, "log_history": [{"loss": 2.5, "step": 1}, {"loss": 1.5, "step": 2}]})");
  follower.Poll();
  EXPECT_THAT(LossOf(follower), ElementsAre(2.5, 1.5));
}

// Each kind of file, in pieces of random size, with a look after each.
TEST_F(FollowTest, GivesWhatTheFinishedFileGives) {
  std::mt19937 random(7);
  std::size_t compared = 0;
  for (const char* run :
       {"hf/nan-hidden-s12/train.log", "torch/healthy-csv-s1/metrics.csv", "torch/log-zero-layer-s3/metrics.jsonl",
        "hf/healthy-accum-s7/runs", "torch/healthy-nanogpt-s3/train.log", "torch/healthy-kv-s2/train.log",
        "lightning/healthy-s2/lightning_logs/version_0/metrics.csv", "../clients/wandb/finished/run-finished.wandb",
        "../clients/wandb/killed/run-killed.wandb", "../clients/torch/run/events.out.tfevents.1760000000.gym.0"}) {
    fs::path source = fs::path(testing_support::kSourceDir) / "tests/fixtures/runs" / run;
    if (fs::is_directory(source)) source = fs::directory_iterator(source)->path();
    ASSERT_TRUE(fs::exists(source)) << source;
    const std::string content = Content(source);
    const std::string name = source.filename().string();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    Follower follower({folder_.string()});
    for (std::size_t done = 0; done < content.size();) {
      const std::size_t piece = std::min<std::size_t>(content.size() - done, 1 + random() % 9000);
      Append(name, std::string_view(content).substr(done, piece));
      done += piece;
      follower.Poll();
      static_cast<void>(follower.Runs());
    }
    const std::vector<model::Run> live = follower.Runs();
    const Imported after = ImportPaths({folder_.string()});
    ASSERT_EQ(live.size(), 1U) << run;
    ASSERT_EQ(after.runs.size(), 1U) << run;
    EXPECT_EQ(Outline(live.front()), Outline(after.runs.front())) << run;
    EXPECT_EQ(live.front().events.size(), after.runs.front().events.size()) << run;
    ++compared;
  }
  EXPECT_EQ(compared, 10U);
}

}  // namespace
}  // namespace vigil::pipeline
