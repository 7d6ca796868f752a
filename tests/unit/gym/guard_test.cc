// The guard inside a training: steps are left out, weights come back from a checkpoint, all ranks follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support.h"

namespace vigil::gym {
namespace {

using testing::HasSubstr;

Options WithGuard(const std::string& fault, const std::string& guard) {
  Options options = SmallOptions();
  options.steps = 40;
  options.onset = 20;
  options.lr = 1e-2;
  options.fault = fault;
  options.guard = guard;
  options.ranks = 0;
  return options;
}

Summary TrainInto(const std::string& out, Options options) {
  options.out = out;
  const auto summary = Train(options, {});
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().Text());
  return summary ? *summary : Summary();
}

TEST(GymGuard, ANanThatKillsTheRunIsLeftOut) {
  const Folder folder;
  EXPECT_TRUE(std::isnan(TrainInto(folder / "lost", WithGuard("non-finite-input", "")).last_loss));
  const Summary saved = TrainInto(folder / "saved", WithGuard("non-finite-input", "skip"));
  EXPECT_EQ(saved.ending, Ending::kDone);
  EXPECT_LT(saved.last_loss, 3.2);
  EXPECT_THAT(ReadText(folder / "saved/train.log"), HasSubstr("guard: step 20: the loss is nan; left out"));
}

// A step that was left out does not report the weight change of the step before it.
TEST(GymGuard, AStepThatIsLeftOutMovesNoWeight) {
  const Folder folder;
  Options options = WithGuard("non-finite-input", "skip");
  options.stats_every = 1;
  TrainInto(folder / "run", options);
  const std::string metrics = ReadText(folder / "run/metrics.jsonl");
  const auto lines = Split(metrics, '\n');
  const auto row = std::find_if(lines.begin(), lines.end(), [](auto line) {
    return line.starts_with("{\"step\": 20,") && line.find("update_ratio") != std::string_view::npos;
  });
  ASSERT_NE(row, lines.end());
  EXPECT_THAT(std::string(*row), HasSubstr("\"update_ratio/head\": 0,"));
  EXPECT_THAT(std::string(row[1]), HasSubstr("\"update_ratio/head\": 0.0"));
}

TEST(GymGuard, AFlippedBitIsRolledBack) {
  const Folder folder;
  Options options = WithGuard("bit-flip", "rollback");
  options.journal = true;
  const Summary saved = TrainInto(folder / "saved", options);
  EXPECT_EQ(saved.ending, Ending::kDone);
  EXPECT_LT(saved.last_loss, 3.2);
  const std::string log = ReadText(folder / "saved/train.log");
  EXPECT_THAT(log, HasSubstr("; back to step 16"));
  EXPECT_THAT(log, HasSubstr("at step 16\n"));
  std::filesystem::remove(folder / "saved/train.log");
  const auto imported = pipeline::ImportPaths({folder / "saved"});
  ASSERT_EQ(imported.runs.size(), 1U);
  const auto& events = imported.runs[0].events;
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const auto& e) { return e.name == "guard/rollback"; }));
}

// Without a guard, with one that finds nothing: the same bits.
TEST(GymGuard, LeavesASoundRunAlone) {
  const Folder folder;
  TrainInto(folder / "plain", WithGuard("", ""));
  TrainInto(folder / "guarded", WithGuard("", "skip"));
  EXPECT_EQ(ReadText(folder / "plain/checkpoint-40/optimizer.safetensors"),
            ReadText(folder / "guarded/checkpoint-40/optimizer.safetensors"));
}

TEST(GymGuard, AllRanksFollowTheFirst) {
  const Folder folder;
  for (const std::string policy : {"skip", "rollback"}) {
    Options options = WithGuard("non-finite-input", policy);
    options.ranks = 3;
    const Summary saved = TrainInto(folder / policy, options);
    EXPECT_EQ(saved.ending, Ending::kDone) << policy;
    EXPECT_LT(saved.last_loss, 3.2) << policy;
  }
}

TEST(GymGuard, StopsWhereThePolicyIsToRaise) {
  const Folder folder;
  const Summary stopped = TrainInto(folder / "run", WithGuard("non-finite-input", "raise"));
  EXPECT_EQ(stopped.ending, Ending::kDied);
  EXPECT_THAT(stopped.message, HasSubstr("stopped by the guard: step 20"));
}

TEST(GymGuard, GivesUpWhatComesAgainAfterEveryRollback) {
  const Folder folder;
  const Summary stopped = TrainInto(folder / "run", WithGuard("layer-log-zero", "rollback"));
  EXPECT_EQ(stopped.ending, Ending::kDied);
  EXPECT_THAT(stopped.message, HasSubstr("stopped after 3 rollbacks"));
}

TEST(GymGuard, FollowsItsControlFile) {
  const Folder folder;
  std::ofstream(folder / "guard.toml") << "non_finite = \"raise\"\n";
  Options options = WithGuard("non-finite-input", "skip");
  options.guard_control = folder / "guard.toml";
  EXPECT_EQ(TrainInto(folder / "stopped", options).ending, Ending::kDied);
  std::ofstream(folder / "guard.toml") << "non_finite = \"perhaps\"\n";
  EXPECT_EQ(TrainInto(folder / "as-before", options).ending, Ending::kDone);
  EXPECT_THAT(ReadText(folder / "as-before/train.log"), HasSubstr("guard.toml:1: non_finite: expected observe"));
}

TEST(GymGuard, IsRefusedWithAPolicyThatIsNone) {
  const Folder folder;
  Options options = WithGuard("", "pray");
  options.out = folder / "run";
  const auto refused = Train(options, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().Text(), HasSubstr("--guard is pray, expected observe, warn"));
}

}  // namespace
}  // namespace vigil::gym
