// Whole runs: they learn, they are the same run whatever the threads, and they go on from a checkpoint bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "gym/checkpoint.h"
#include "gym/ranks.h"
#include "gym/safetensors.h"
#include "ingest/ingest.h"
#include "model/run.h"
#include "pipeline/pipeline.h"
#include "platform/process.h"
#include "support.h"

namespace vigil::gym {
namespace {

using testing::HasSubstr;

Summary TrainInto(const std::string& out, Options options) {
  options.out = out;
  const auto summary = Train(options, {});
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().Text());
  return summary ? *summary : Summary();
}

std::size_t CountLines(const std::string& text, const std::string& beginning) {
  std::size_t count = 0;
  for (const std::string_view line : Split(text, '\n')) count += line.starts_with(beginning) ? 1 : 0;
  return count;
}

TEST(Train, Learns) {
  const Folder folder;
  Options options = SmallOptions();
  options.steps = 60;
  options.lr = 1e-2;
  const Summary summary = TrainInto(folder / "run", options);
  EXPECT_EQ(summary.ending, Ending::kDone);
  EXPECT_EQ(summary.last_step, 60);
  EXPECT_GT(summary.first_loss, 4.0);
  EXPECT_LT(summary.last_loss, 3.0);
}

TEST(Train, WritesALineAStepAndWhatARecorderTakes) {
  const Folder folder;
  TrainInto(folder / "run", SmallOptions());
  const std::string log = ReadText(folder / "run/train.log");
  EXPECT_EQ(CountLines(log, "step "), 12U);
  EXPECT_THAT(log, HasSubstr("val_loss"));
  EXPECT_THAT(log, HasSubstr("done after 12 steps"));
  const std::string metrics = ReadText(folder / "run/metrics.jsonl");
  for (const char* name : {"grad_norm/blocks.1.attn.qkv", "param_norm/head", "update_ratio/embed.tokens",
                           "activation_rms/blocks.0", "clipped_steps", "host_memory_mb", "data_wait_s", "batch"}) {
    EXPECT_THAT(metrics, HasSubstr("\"" + std::string(name) + "\"")) << name;
  }
  EXPECT_THAT(ReadText(folder / "run/config.json"), HasSubstr("\"max_grad_norm\": 1"));
}

TEST(Train, WithoutMetricsThereIsTheLogAloneAndTheSameBits) {
  const Folder folder;
  TrainInto(folder / "logged", SmallOptions());
  Options options = SmallOptions();
  options.metrics = false;
  options.journal = true;
  TrainInto(folder / "silent", options);
  EXPECT_EQ(CountLines(ReadText(folder / "silent/train.log"), "step "), 12U);
  EXPECT_FALSE(std::filesystem::exists(folder / "silent/metrics.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(folder / "silent/rank-0.vigil"));
  EXPECT_EQ(StateOf(folder / "silent", 12), StateOf(folder / "logged", 12));
}

// A recorder changes no bit of what it records; what it kept is read by another module's reader.
TEST(Train, RecordsIntoAJournalOfEachRank) {
  const Folder folder;
  Options options = SmallOptions();
  options.ranks = 2;
  TrainInto(folder / "lines", options);
  options.journal = true;
  TrainInto(folder / "journal", options);
  EXPECT_EQ(StateOf(folder / "lines", 12), StateOf(folder / "journal", 12));
  std::filesystem::remove(folder / "journal/train.log");
  const pipeline::Imported imported = pipeline::ImportPaths({folder / "journal"});
  ASSERT_EQ(imported.runs.size(), 1U);
  const model::Run& run = imported.runs.front();
  EXPECT_EQ(run.ranks, 2);
  const auto points = [&](std::string_view raw) {
    std::size_t most = 0;
    for (const model::Series& series : run.series) most = std::max(most, series.raw == raw ? series.size() : 0);
    return most;
  };
  EXPECT_EQ(points("loss"), 12U);
  EXPECT_EQ(points("grad_norm"), 12U);
  EXPECT_EQ(points("grad_norm/blocks.0.attn.qkv"), 3U);
}

TEST(Train, IsTheSameRunWhateverTheThreads) {
  const Folder folder;
  Options options = SmallOptions();
  TrainInto(folder / "one", options);
  options.threads = 3;
  TrainInto(folder / "three", options);
  EXPECT_EQ(StateOf(folder / "one", 12), StateOf(folder / "three", 12));
}

TEST(Train, AnotherSeedIsAnotherRun) {
  const Folder folder;
  Options options = SmallOptions();
  TrainInto(folder / "one", options);
  options.seed = 2;
  TrainInto(folder / "two", options);
  EXPECT_NE(StateOf(folder / "one", 12), StateOf(folder / "two", 12));
}

TEST(Train, GoesOnFromACheckpointBitForBit) {
  const Folder folder;
  Options options = SmallOptions();
  options.accumulate = 2;
  options.save_every = 5;
  TrainInto(folder / "whole", options);
  auto resumed = OptionsOfCheckpoint(folder / "whole/checkpoint-5");
  ASSERT_TRUE(resumed);
  resumed->threads = 2;
  TrainInto(folder / "resumed", *resumed);
  EXPECT_EQ(StateOf(folder / "whole", 12), StateOf(folder / "resumed", 12));
  EXPECT_THAT(ReadText(folder / "resumed/train.log"), HasSubstr("at step 5\n"));
}

TEST(Train, RanksShareTheWorkAndStayEqual) {
  const Folder folder;
  Options options = SmallOptions();
  options.ranks = 3;
  EXPECT_EQ(TrainInto(folder / "one", options).ending, Ending::kDone);
  EXPECT_EQ(TrainInto(folder / "two", options).ending, Ending::kDone);
  EXPECT_EQ(StateOf(folder / "one", 12), StateOf(folder / "two", 12));
  EXPECT_FALSE(ReadText(folder / "one/metrics_rank2.jsonl").empty());
}

// Three ranks with a third of the batch each see what one rank with all of it sees: the same mean of gradients, but for
// the order of sums.
TEST(Train, RanksAddUpToOneLargeBatch) {
  const Folder folder;
  Options options = SmallOptions();
  options.steps = 3;
  options.batch = 2;
  options.ranks = 2;
  const Summary apart = TrainInto(folder / "apart", options);
  options.batch = 4;
  options.ranks = 1;
  const Summary together = TrainInto(folder / "together", options);
  EXPECT_NEAR(apart.last_loss, together.last_loss, 1e-4);
}

TEST(Train, AnInterruptLeavesACheckpointToGoOnFrom) {
  const Folder folder;
  Options options = SmallOptions();
  options.out = folder / "run";
  const auto summary = Train(options, [](const Progress& progress) {
    if (progress.step == 4) std::raise(SIGINT);
  });
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->ending, Ending::kInterrupted);
  EXPECT_EQ(summary->last_step, 5);
  EXPECT_THAT(ReadText(folder / "run/train.log"), HasSubstr("interrupted in step 5"));
  auto resumed = OptionsOfCheckpoint(folder / "run");
  ASSERT_TRUE(resumed);
  EXPECT_EQ(TrainInto(folder / "run", *resumed).ending, Ending::kDone);
  TrainInto(folder / "whole", SmallOptions());
  EXPECT_EQ(StateOf(folder / "run", 12), StateOf(folder / "whole", 12));
}

TEST(Train, RefusesAFolderThatHasARun) {
  const Folder folder;
  TrainInto(folder / "run", SmallOptions());
  Options options = SmallOptions();
  options.out = folder / "run";
  const auto again = Train(options, {});
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().Text(), HasSubstr("there is a run in it already"));
}

TEST(Train, RefusesImpossibleOptions) {
  const Folder folder;
  const auto refuse = [&](const std::function<void(Options&)>& change, const std::string& reason) {
    Options options = SmallOptions();
    options.out = folder / "run";
    change(options);
    const auto summary = Train(options, {});
    ASSERT_FALSE(summary) << reason;
    EXPECT_THAT(summary.error().Text(), HasSubstr(reason));
  };
  refuse([](Options& o) { o.steps = 0; }, "--steps is 0");
  refuse([](Options& o) { o.shape.width = 40; }, "--width is 40 with 2 heads");
  refuse([](Options& o) { o.shape.context = 20; }, "--context is 20");
  refuse([](Options& o) { o.lr = std::numeric_limits<double>::quiet_NaN(); }, "--lr is nan");
  refuse([](Options& o) { o.ranks = 99; }, "--ranks is 99");
  refuse([](Options& o) { o.fault = "gremlins"; }, "no fault 'gremlins'");
  refuse([](Options& o) { o.fault = "dead-rank"; }, "needs --ranks 2");
  refuse([](Options& o) { o.data = "/nonexistent/text"; }, "/nonexistent/text");
  refuse([](Options& o) { o.out = ""; }, "no folder");
  refuse([](Options& o) { o.out = "/proc/none/run"; }, "/proc/none/run");
}

TEST(Train, TakesATextOfItsOwn) {
  const Folder folder;
  std::ofstream(folder / "short.txt") << "too short";
  Options options = SmallOptions();
  options.data = folder / "short.txt";
  options.out = folder / "run";
  const auto refused = Train(options, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().Text(), HasSubstr("short.txt: 9 bytes of text"));
  std::ofstream text(folder / "long.txt");
  for (int i = 0; i < 500; ++i) text << "abcdefg";
  text.close();
  options.data = folder / "long.txt";
  options.steps = 40;
  options.lr = 1e-2;
  EXPECT_LT(TrainInto(folder / "run", options).last_loss, 1.5);
}

TEST(Loader, GivesTheSameToTheSameSeedAndTheNextTokenAsTarget) {
  const auto corpus = LoadCorpus("", 16);
  ASSERT_TRUE(corpus);
  Options options = SmallOptions();
  Loader loader(*corpus, options);
  Loader same(*corpus, options);
  const Batch a = loader.Next(0, 1);
  EXPECT_EQ(a.inputs, same.Next(0, 1).inputs);
  EXPECT_EQ(std::vector(a.inputs.begin() + 1, a.inputs.begin() + 16),
            std::vector(a.targets.begin(), a.targets.begin() + 15));
  EXPECT_NE(loader.Next(0, 1).fingerprint, a.fingerprint);
}

TEST(Checkpoint, ReadsWhatItWroteAndRefusesDamage) {
  const Folder folder;
  TrainInto(folder / "run", SmallOptions());
  const std::string path = folder / "run/checkpoint-12/model.safetensors";
  const std::string whole = ReadText(path);
  ASSERT_TRUE(ReadSafetensors(whole, "whole"));
  platform::ThreadPool pool(1);
  Options options = SmallOptions();
  options.shape.vocabulary = LoadCorpus("", 16)->vocabulary;
  for (std::size_t size = 0; size < whole.size(); size += size < 4000 ? 97 : 20011) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    Model model(options.shape, 1, 1, pool);
    AdamW adam(model, 0);
    bool found = false;
    const auto place = LoadCheckpoint(folder / "run/checkpoint-12", model, adam, found);
    ASSERT_FALSE(place) << "cut at " << size;
    EXPECT_THAT(place.error().Text(), HasSubstr("model.safetensors: "));
  }
  for (std::size_t at = 0; at < 2000; at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    static_cast<void>(ReadSafetensors(damaged, "damaged"));
  }
}

TEST(Group, NamesTheRankThatDoesNotCome) {
  auto group = Group::Create(2, 8, 0.1);
  ASSERT_TRUE(group);
  group->Join(0);
  float values[8] = {};
  const Status met = group->Mean(values);
  ASSERT_FALSE(met);
  EXPECT_THAT(met.error().Text(), HasSubstr("timed out after 0.1 s in step 0: rank 1 did not arrive"));
}

}  // namespace
}  // namespace vigil::gym
