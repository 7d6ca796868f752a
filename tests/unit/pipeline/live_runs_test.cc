// Runs that grow with their files: points are in memory once, and joining again does not judge again.
#include "pipeline/live_runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "formats/formats.h"
#include "pipeline/pipeline.h"

namespace vigil::pipeline {
namespace {

namespace fs = std::filesystem;

class LiveRunsTest : public testing::Test {
 protected:
  LiveRunsTest()
      : folder_(fs::temp_directory_path() / fmt::format("vigil_live_runs_{}", ::getpid())),
        files_({folder_.string()}, formats::Formats()),
        live_(files_) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~LiveRunsTest() override { fs::remove_all(folder_); }

  void Append(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::app) << text;
  }
  static std::string Rows(int first, int last) {
    std::string text;
    for (int step = first; step <= last; ++step) {
      const double noise = 1 + 0.03 * std::sin(step * 12.9898);
      text += fmt::format("{{\"step\": {}, \"loss\": {:.5f}, \"step_time_ms\": {:.3f}, \"lr\": 0.0003}}\n", step,
                          (2 + 6 / std::sqrt(step)) * noise, 100 * noise);
    }
    return text;
  }

  // A busy machine looks for new files less often.
  template <class Files>
  static bool Poll(Files& files) {
    for (int i = 0; i < 500; ++i) {
      if (files.Poll()) return true;
      ::usleep(10'000);
    }
    return false;
  }

  // Takes all that was written since the last look.
  void Look() {
    ASSERT_TRUE(Poll(files_));
    while (files_.Poll()) {
    }
    live_.Update();
  }

  fs::path folder_;
  ingest::Follower files_;
  LiveRuns live_;
};

const model::Series& Named(const model::Run& run, std::string_view raw) {
  for (const model::Series& series : run.series) {
    if (series.raw == raw) return series;
  }
  ADD_FAILURE() << "no series " << raw;
  return run.series.front();
}

void ExpectSharedPoints(const ingest::Follower& files, const LiveRuns& live, std::size_t points) {
  ASSERT_EQ(files.Growing().size(), 1U);
  ASSERT_EQ(live.runs().size(), 1U);
  const model::Run& part = files.Growing().front()->part();
  const model::Run& run = *live.runs().front();
  for (const char* name : {"loss", "lr"}) {
    EXPECT_EQ(Named(run, name).steps.data(), Named(part, name).steps.data()) << name;
    EXPECT_EQ(Named(run, name).values.data(), Named(part, name).values.data()) << name;
    EXPECT_EQ(Named(run, name).lines.data(), Named(part, name).lines.data()) << name;
    EXPECT_EQ(Named(run, name).size(), points) << name;
  }
}

TEST_F(LiveRunsTest, ARunSharesThePointsOfItsFile) {
  Append("metrics.jsonl", Rows(1, 3000));
  Look();
  ExpectSharedPoints(files_, live_, 3000);
  for (int step = 3001; step < 9000; step += 500) {  // columns outgrow their memory meanwhile
    Append("metrics.jsonl", Rows(step, step + 499));
    Look();
    ExpectSharedPoints(files_, live_, static_cast<std::size_t>(step + 499));
  }
  EXPECT_EQ(live_.joins(), 1U);
}

TEST_F(LiveRunsTest, ValuesInAnotherUnitAreTheRunsOwnAndTheirStepsAreShared) {
  Append("metrics.jsonl", Rows(1, 3000));
  Look();
  Append("metrics.jsonl", Rows(3001, 3100));
  Look();
  EXPECT_EQ(live_.joins(), 1U);
  const model::Series& part = Named(files_.Growing().front()->part(), "step_time_ms");
  const model::Series& run = Named(*live_.runs().front(), "step_time_ms");
  EXPECT_EQ(run.steps.data(), part.steps.data());
  EXPECT_NE(run.values.data(), part.values.data());
  ASSERT_EQ(run.size(), 3100U);
  EXPECT_DOUBLE_EQ(run.values.back(), part.values.back() / 1000);
}

TEST_F(LiveRunsTest, PointsStaySharedWhenAFileOfSettingsComes) {
  Append("metrics.jsonl", Rows(1, 3000));
  Look();
  const model::Run* const before = live_.runs().front().get();
  Append("config.json", "{\"learning_rate\": 0.0003, \"weight_decay\": 0.1}\n");
  Look();
  EXPECT_EQ(live_.joins(), 2U);
  EXPECT_NE(live_.runs().front()->FindFact("weight_decay"), nullptr);
  ExpectSharedPoints(files_, live_, 3000);
  EXPECT_EQ(live_.runs().front().get(), before) << "it is the same run";
}

TEST_F(LiveRunsTest, ARunStaysTheSameWhenAFileComesThatIsNamedBefore) {
  Append("metrics.jsonl", Rows(1, 3000));
  Look();
  const model::Run* const before = live_.runs().front().get();
  Append("eval.jsonl", "{\"step\": 10, \"eval_loss\": 2.5}\n{\"step\": 20, \"eval_loss\": 2.4}\n");
  Look();
  ASSERT_EQ(live_.runs().size(), 1U);
  EXPECT_EQ(live_.runs().front()->sources.size(), 2U);
  EXPECT_EQ(live_.runs().front().get(), before);
  ExpectSharedPoints(files_, live_, 3000);
}

// As the join of the whole files has them: nothing is lost, and each batch has the rank of its file.
TEST_F(LiveRunsTest, BatchesOfTwoRanksAreAllKeptWithTheirRanks) {
  const auto rows = [](int first, int last, int rank) {
    std::string text;
    for (int step = first; step <= last; ++step)
      text += fmt::format("{{\"step\": {0}, \"loss\": {1:.5f}, \"batch_fingerprint\": \"{2:016x}\"}}\n", step,
                          2 + 0.01 * rank + 1.0 / step, step * 2 + rank + 1);
    return text;
  };
  for (const bool from_the_start : {false, true}) {
    for (const int rank : {0, 1}) {
      const std::string name = fmt::format("run{}/metrics_rank{}.jsonl", from_the_start ? 1 : 0, rank);
      fs::create_directories((folder_ / name).parent_path());
      Append(name, from_the_start && rank == 0 ? rows(1, 3000, rank) : Rows(1, 3000));
    }
  }
  Look();
  for (int step = 3001; step < 3031; step += 10) {
    for (const int run : {0, 1}) {
      for (const int rank : {0, 1})
        Append(fmt::format("run{}/metrics_rank{}.jsonl", run, rank), rows(step, step + 9, rank));
    }
    Look();
  }
  const Imported whole = ImportPaths({folder_.string()});
  ASSERT_EQ(live_.runs().size(), whole.runs.size());
  for (std::size_t i = 0; i < whole.runs.size(); ++i) {
    const model::BatchFingerprints& now = live_.runs()[i]->batches;
    const model::BatchFingerprints& after = whole.runs[i].batches;
    EXPECT_EQ(now.steps.size(), after.steps.size()) << whole.runs[i].name;
    EXPECT_EQ(std::count(now.ranks.begin(), now.ranks.end(), 1), std::count(after.ranks.begin(), after.ranks.end(), 1));
    EXPECT_EQ(std::count(now.ranks.begin(), now.ranks.end(), -1), 0);
  }
}

TEST_F(LiveRunsTest, AFileThatWasRewrittenGrowsWithoutJoining) {
  Append("metrics.jsonl", Rows(1, 3100));
  Look();
  fs::resize_file(folder_ / "metrics.jsonl", 0);
  std::string other;
  for (int step = 1; step <= 3000; ++step)
    other += fmt::format("{{\"step\": {}, \"loss\": {:.5f}, \"lr\": 0.001}}\n", step, 7 + std::sin(step));
  Append("metrics.jsonl", other);
  Look();
  const std::uint64_t joins = live_.joins();
  for (int step = 3001; step <= 3010; ++step) {
    Append("metrics.jsonl", fmt::format("{{\"step\": {}, \"loss\": 7.5, \"lr\": 0.001}}\n", step));
    Look();
  }
  EXPECT_EQ(live_.joins(), joins);
}

TEST_F(LiveRunsTest, ASettingThatNoDetectorReadsJudgesNothingAgain) {
  Append("metrics.jsonl", Rows(1, 3000));
  Monitor monitor({folder_.string()}, catalogue::Thresholds());
  ASSERT_TRUE(Poll(monitor));
  Append("config.json", "{\"learning_rate\": 0.0003, \"weight_decay\": 0.1}\n");
  ASSERT_TRUE(Poll(monitor));
  EXPECT_EQ(monitor.work().replays, 0U);
  fs::remove(folder_ / "config.json");
  Append("config.json", "{\"learning_rate\": 0.0003, \"weight_decay\": 0.1, \"warmup_steps\": 100}\n");
  ASSERT_TRUE(Poll(monitor));
  EXPECT_GT(monitor.work().replays, 0U) << "a warm-up is read by detectors";
}

}  // namespace
}  // namespace vigil::pipeline
