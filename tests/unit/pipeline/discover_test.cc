#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kLines = "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n";
constexpr std::string_view kOtherLines = "{\"step\": 1, \"loss\": 7.5}\n{\"step\": 2, \"loss\": 6.25}\n";

class ImportPathsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "vigil_discover_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, std::string_view content) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  std::string Folder() const { return folder_; }
  std::vector<std::string> NamesOf(const std::vector<model::Unread>& list) const {
    std::vector<std::string> names;
    names.reserve(list.size());
    for (const model::Unread& entry : list) names.push_back(std::filesystem::relative(entry.path, folder_));
    return names;
  }

  std::filesystem::path folder_;
};

TEST_F(ImportPathsTest, WalksAFolderAndJoinsWhatItFinds) {
  Write("a/metrics.jsonl", kLines);
  Write("b/deep/er/metrics.jsonl", kOtherLines);
  const Imported imported = ImportPaths({Folder()});
  ASSERT_THAT(imported.runs, SizeIs(2));
  EXPECT_EQ(imported.runs[0].name, "a");
  EXPECT_EQ(imported.runs[1].name, "er");
  EXPECT_THAT(imported.unread, IsEmpty());
}

TEST_F(ImportPathsTest, IgnoresUnrecognisedFiles) {
  Write("run/metrics.jsonl", kLines);
  Write("run/model.safetensors", "....");
  Write("run/train.py", "print('step 1 loss 2')");
  Write("run/loss.png", "\x89PNG");
  Write("run/notes", "shopping list");
  Write("run/empty.log", "");
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(imported.unread, IsEmpty());
  EXPECT_THAT(NamesOf(imported.ignored),
              ElementsAre("run/empty.log", "run/loss.png", "run/model.safetensors", "run/train.py", "run/notes"));
  EXPECT_THAT(imported.ignored[2].reason, HasSubstr("weights"));
}

TEST_F(ImportPathsTest, SaysWhyAFileThatWasNamedIsNotRead) {
  Write("weights.bin", "\x01\x02\x03");
  Write("empty.log", "");
  const Imported imported = ImportPaths({Folder() + "/absent", Folder() + "/weights.bin", Folder() + "/empty.log"});
  EXPECT_THAT(imported.runs, IsEmpty());
  ASSERT_THAT(imported.unread, SizeIs(3));
  EXPECT_THAT(imported.unread[0].reason, HasSubstr("No such file"));
  EXPECT_THAT(imported.unread[1].reason, HasSubstr("no kind that vigil reads"));
  EXPECT_THAT(imported.unread[2].reason, HasSubstr("empty file"));
  EXPECT_THAT(imported.ignored, IsEmpty());
}

TEST_F(ImportPathsTest, SaysOfTracesAndDumpsThatTheyAreNotSupportedYet) {
  Write("run/metrics.jsonl", kLines);
  Write("run/host.pt.trace.json", R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": "step", "dur": 5}]})");
  Write("run/host.pt.trace.json.gz", "\x1f\x8b packed");
  Write("run/nccl_dump_3", std::string("\x80\x02}(X\x07\0\0\0version pg_config", 26));
  Write("run/oom_snapshot.pickle", "\x80\x04 device_traces segments");
  Write("run/optimizer.pickle", "\x80\x04 weights");
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(NamesOf(imported.unread),
              testing::UnorderedElementsAre("run/host.pt.trace.json", "run/host.pt.trace.json.gz", "run/nccl_dump_3",
                                            "run/oom_snapshot.pickle"));
  EXPECT_THAT(imported.unread, Each(Field(&model::Unread::reason, HasSubstr("not supported yet"))));
  EXPECT_THAT(ImportPaths({Folder() + "/run/nccl_dump_3"}).unread,
              ElementsAre(Field(&model::Unread::reason, HasSubstr("flight-recorder"))));
}

TEST_F(ImportPathsTest, ReadsAFileThatWasNamedWhateverItIsCalled) {
  EXPECT_THAT(ImportPaths({Write("metrics.bin", kLines)}).runs, SizeIs(1));
}

TEST_F(ImportPathsTest, ReportsABrokenFileThatItMetAndAFolderWithoutFiles) {
  Write("run/checkpoint-5/trainer_state.json", "{\"log_history\": [");
  std::filesystem::create_directories(folder_ / "void");
  const Imported imported = ImportPaths({Folder() + "/run", Folder() + "/void"});
  ASSERT_THAT(imported.unread, SizeIs(1)) << "a checkpoint is reported even where its history is lost";
  EXPECT_EQ(imported.unread[0].reason, "holds no files");
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(report::NoteText(imported.runs[0].sources[0]), HasSubstr("line 1 (byte 17)"));
}

TEST_F(ImportPathsTest, ReadsEachFileOnce) {
  const std::string file = Write("run/metrics.jsonl", kLines);
  const Imported imported = ImportPaths({Folder() + "/run", file, Folder() + "/./run/../run"});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(imported.runs[0].sources, SizeIs(1));
}

TEST_F(ImportPathsTest, PassesOverPipesAndSockets) {
  Write("run/metrics.jsonl", kLines);
  ASSERT_EQ(::mkfifo((folder_ / "run/pipe").c_str(), 0600), 0);
  const Imported imported = ImportPaths({Folder()});
  EXPECT_THAT(imported.runs, SizeIs(1));
  EXPECT_THAT(NamesOf(imported.ignored), ElementsAre("run/pipe"));
  EXPECT_THAT(ImportPaths({Folder() + "/run/pipe"}).unread, SizeIs(1));
}

TEST_F(ImportPathsTest, ReportsItsProgress) {
  Write("a/metrics.jsonl", kLines);
  Write("b/metrics.jsonl", kOtherLines);
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  ImportPaths({Folder()}, [&](std::size_t done, std::size_t total) { seen.emplace_back(done, total); });
  EXPECT_THAT(seen, ElementsAre(std::pair(1, 2), std::pair(2, 2)));
}

TEST_F(ImportPathsTest, GivesTheSameRunsInTheSameOrderEveryTime) {
  for (int i = 0; i < 20; ++i) Write("run" + std::to_string(i) + "/metrics.jsonl", i % 2 == 0 ? kLines : kOtherLines);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const model::Run& run : ImportPaths({Folder()}).runs) all.push_back(run.name);
    return all;
  };
  const auto first = names();
  EXPECT_THAT(first, SizeIs(20));
  EXPECT_EQ(names(), first);
}

TEST_F(ImportPathsTest, ClassifiesTheRuns) {
  Write("run/trainer_state.json",
        R"({"log_history": [{"loss": 0.1, "frac_reward_zero_std": 0.5, "reward": 1, "step": 1}], "max_steps": 9})");
  const Imported imported = ImportPaths({Folder()});
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].framework, "trl");
  EXPECT_EQ(imported.runs[0].method.name, "grpo");
  EXPECT_EQ(imported.runs[0].planned_steps, model::StepAt(9));
}

TEST(ImportFixtures, JoinsCheckpointsOfARunThatWasResumed) {
  const std::string folder =
      std::string(testing_support::kSourceDir) + "/tests/fixtures/runs/hf/resume-no-optimizer-s2";
  const Imported imported = ImportPaths({folder});
  EXPECT_THAT(imported.unread, IsEmpty());
  ASSERT_THAT(imported.runs, SizeIs(1));
  EXPECT_EQ(imported.runs[0].name, "resume-no-optimizer-s2");
  EXPECT_GE(imported.runs[0].sources.size(), 2U);
  EXPECT_THAT(imported.runs[0].series,
              Each(Field(&model::Series::source, ::testing::Lt(imported.runs[0].sources.size()))));
}

TEST(ImportFixtures, AreAllRead) {
  const Imported imported = ImportPaths({std::string(testing_support::kSourceDir) + "/tests/fixtures/runs"});
  EXPECT_THAT(imported.unread, IsEmpty());
  EXPECT_GE(imported.runs.size(), 20U);
}

}  // namespace
}  // namespace vigil::pipeline
