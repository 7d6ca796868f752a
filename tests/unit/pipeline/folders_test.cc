// Folders as people have them, from real logs: what is one run is found to be one, duplicates count once, and
// what are several runs stays apart.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support/paths.h"
#include "support/scratch.h"

namespace vigil::pipeline {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

std::string Real(const std::string& name) {
  return BytesOf(std::filesystem::path(testing_support::kSourceDir) / "tests/fixtures/runs" / name);
}

// Every line with something before it.
std::string Prefixed(const std::string& text, const std::string& prefix) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out += prefix + line + "\n";
  return out;
}

// Two texts line by line, as two processes write to one terminal.
std::string Interleaved(const std::string& a, const std::string& b) {
  std::string out;
  std::istringstream first(a);
  std::istringstream second(b);
  std::string line;
  bool more = true;
  while (more) {
    more = false;
    for (std::istringstream* text : {&first, &second}) {
      if (!std::getline(*text, line)) continue;
      out += line + "\n";
      more = true;
    }
  }
  return out;
}

std::string LinesOf(const std::string& text, std::size_t first, std::size_t last) {
  std::string out;
  std::istringstream lines(text);
  std::size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (number >= first && number <= last) out += line + "\n";
  }
  return out;
}

std::vector<std::string> NamesOf(const Imported& imported) {
  std::vector<std::string> names;
  names.reserve(imported.runs.size());
  for (const model::Run& run : imported.runs) names.push_back(run.name);
  return names;
}

std::size_t CountOf(const model::Run& run, std::string_view signal) {
  std::size_t count = 0;
  for (const model::Series& series : run.series) count += series.signal == signal ? 1 : 0;
  return count;
}

class Folders : public ScratchTest {
 protected:
  const std::string log_ = Real("torch/lr-too-high-s12/train.log");  // a line a step, 300 of them
};

TEST_F(Folders, TeedRankLogsBelowTheLogOfAllAreOneRun) {
  for (const int rank : {0, 1}) Write(fmt::format("run/logs/none_x7/attempt_0/{}/stdout.log", rank), log_);
  Write("run/train.log", Interleaved(Prefixed(log_, "[default0]:"), Prefixed(log_, "[default1]:")));
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(NamesOf(imported), ElementsAre("run"));
  const model::Run& run = imported.runs.at(0);
  EXPECT_EQ(run.ranks, 2);
  EXPECT_THAT(run.sources, SizeIs(3));
  EXPECT_EQ(CountOf(run, "loss"), 1U) << "what all ranks print alike is one series";
  EXPECT_THAT(run.Find("loss")->values, SizeIs(300));
  EXPECT_THAT(run.sources, Contains(Field(&model::Source::state, model::SourceState::kDuplicate)).Times(2));
}

TEST_F(Folders, RanksThatLogDifferentThingsKeepTheirNumbers) {
  Write("run/rank_0.log", log_);
  Write("run/rank_1.log", Real("torch/healthy-kv-s2/train.log"));
  Write("run/rank_2.log", log_ + "RuntimeError: NCCL communicator was aborted on rank 2.\n");
  const Imported imported = ImportPaths({Folder()});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].ranks, 3);
  EXPECT_THAT(imported.runs[0].events, Contains(Field(&model::Event::rank, 2)));
}

TEST_F(Folders, ADebugLogThatRepeatsTheTerminalCountsOnce) {
  Write("run/stdout.log", log_);
  std::string debug = Prefixed(log_, "2026-11-15 12:00:01,123 DEBUG trainer.py:33 ");
  debug = Interleaved(debug, Prefixed(log_, "2026-11-15 12:00:01,124 DEBUG alloc.py:7 cache hit for "));
  Write("run/debug.log", debug);
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(NamesOf(imported), ElementsAre("run"));
  EXPECT_EQ(CountOf(imported.runs.at(0), "loss"), 1U);
  EXPECT_THAT(imported.runs[0].Find("loss")->values, SizeIs(300));
  EXPECT_EQ(imported.runs[0].Find("loss")->segment_starts.size(), 1U);
}

TEST_F(Folders, TheSameNumbersInLogStateAndTrackerCountOnce) {
  const std::filesystem::path fixture = std::filesystem::path(testing_support::kSourceDir) / "tests/fixtures/runs";
  std::filesystem::copy(fixture / "hf/healthy-cosine-s12", folder_ / "run", std::filesystem::copy_options::recursive);
  const auto alone = ImportPaths({Folder()});
  ASSERT_THAT(alone.runs, SizeIs(1)) << "log and state";
  const model::Series* const before = alone.runs[0].Find("loss");
  ASSERT_NE(before, nullptr);
  std::string rows;
  for (std::size_t i = 0; i < before->size(); ++i)
    rows += fmt::format("{{\"step\": {}, \"train/loss\": {}}}\n", before->steps[i], before->values[i]);
  Write("run/tracker/history.jsonl", rows);
  const auto all = ImportPaths({Folder()});
  ASSERT_THAT(all.runs, SizeIs(1));
  EXPECT_EQ(CountOf(all.runs[0], "loss"), 1U);
  EXPECT_EQ(all.runs[0].Find("loss")->values, before->values);
}

TEST_F(Folders, StartsOfALauncherFollowOneAnother) {
  Write("run/none_x7/attempt_0/0/stderr.log", LinesOf(log_, 1, 120));
  Write("run/none_x7/attempt_1/0/stderr.log", LinesOf(log_, 1, 1) + LinesOf(log_, 101, 400));
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(NamesOf(imported), ElementsAre("run"));
  const model::Series* const loss = imported.runs.at(0).Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->steps.back(), 300);
  EXPECT_EQ(loss->segment_starts.size(), 2U) << "the second start overwrote the end of the first";
}

TEST_F(Folders, SeveralRunsStayApartAndAreNamedByWhatDistinguishesThem) {
  for (const char* name : {"small", "large"}) {
    Write(fmt::format("{}/lightning_logs/version_0/metrics.csv", name),
          Real(fmt::format("lightning/{}/lightning_logs/version_0/metrics.csv",
                           std::string(name) == "small" ? "healthy-s2" : "lr-too-high-s3")));
  }
  Write("other/train.log", log_);
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(NamesOf(imported), UnorderedElementsAre("small/version_0", "large/version_0", "other"));
}

TEST_F(Folders, CopiesOfALogWithOneSeedInSiblingFoldersStayTwoRuns) {
  Write("a/train.log", log_);
  Write("b/train.log", log_);
  EXPECT_THAT(ImportPaths({Folder()}).runs, SizeIs(2)) << "two runs of one seed may print the same";
}

TEST_F(Folders, TrialsOfASearchBelowOneWriterStayApart) {
  const std::filesystem::path writer =
      std::filesystem::path(testing_support::kSourceDir) / "tests/fixtures/clients/torch/run";
  const std::string trial = BytesOf(writer / "hparams/events.out.tfevents.1760000000.gym.3");
  ASSERT_FALSE(trial.empty());
  Write("search/events.out.tfevents.1760000000.gym.0", BytesOf(writer / "events.out.tfevents.1760000000.gym.0"));
  Write("search/one/events.out.tfevents.1760000000.gym.3", trial);
  Write("search/two/events.out.tfevents.1760000000.gym.4", trial);
  const Imported imported = ImportPaths({Folder()});
  ASSERT_THAT(imported.runs, SizeIs(3));
  for (const model::Run& run : imported.runs) {
    const bool is_training = run.Find("loss") != nullptr && run.Find("loss")->size() > 1;
    EXPECT_EQ(run.FindFact("weight_decay") == nullptr, is_training) << "whose setting it is cannot be known";
  }
}

TEST_F(Folders, CurvesOfOneChartAreNoRestart) {
  const std::string folder = std::string(testing_support::kSourceDir) + "/tests/fixtures/clients/torch/run";
  const Imported imported = ImportPaths({folder});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(imported.runs[0].events, testing::Not(Contains(Field(&model::Event::kind, model::EventKind::kResume))));
}

}  // namespace
}  // namespace vigil::pipeline
