// Every fault does to a run what its name says, and leaves alone what came before its onset.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catalogue/catalogue.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support.h"

namespace vigil::gym {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Ran {
  Summary summary;
  std::string log;
  std::vector<double> losses;  // by line of the log
};

// The number behind a name in a line of the log.
double Field(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  std::size_t used = 0;
  return at == std::string_view::npos ? -1 : ParseNumberPrefix(line.substr(at + name.size()), used).value_or(-2);
}

Ran TrainWith(Options options) {
  const Folder folder;
  options.out = folder / "run";
  const auto summary = Train(options, {});
  EXPECT_TRUE(summary) << (summary ? "" : summary.error().Text());
  Ran ran;
  if (summary) ran.summary = *summary;
  ran.log = ReadText(folder / "run/train.log");
  for (const std::string_view line : Split(ran.log, '\n')) {
    if (line.starts_with("step ")) ran.losses.push_back(Field(line, "loss "));
  }
  return ran;
}

Options WithFault(const std::string& fault, double strength = 0) {
  Options options = SmallOptions();
  options.steps = 40;
  options.onset = 20;
  options.lr = 1e-2;
  options.fault = fault;
  options.strength = strength;
  options.ranks = 0;
  return options;
}

// Names of what a run's files are to show must be names that vigil has.
bool IsFinding(std::string_view id) {
  return catalogue::FindFinding(id) != nullptr || catalogue::FindSignature(id) != nullptr;
}

bool IsCause(std::string_view id) { return catalogue::FindCause(id) != nullptr; }

TEST(Faults, HaveNamesOfTheirOwnAndFindingsAndCausesOfTheCatalogue) {
  for (const Fault& fault : Faults()) {
    EXPECT_EQ(FindFault(fault.name), &fault);
    for (const std::string_view id : Split(fault.findings, ',')) EXPECT_TRUE(IsFinding(id)) << fault.name << ": " << id;
    EXPECT_TRUE(fault.cause.empty() || IsCause(fault.cause)) << fault.name << ": " << fault.cause;
    for (const std::string_view id : Split(fault.alike, ','))
      EXPECT_TRUE(fault.alike.empty() || IsCause(id)) << fault.name << ": " << id;
  }
  EXPECT_EQ(FindFault("none"), nullptr);
}

TEST(Faults, ASoundRunIsSound) {
  const Ran ran = TrainWith(WithFault(""));
  EXPECT_EQ(ran.summary.ending, Ending::kDone);
  EXPECT_LT(ran.losses.back(), 3.2);
}

TEST(Faults, LrTooHighBlowsUp) {
  const Ran ran = TrainWith(WithFault("lr-too-high", 1000));
  EXPECT_GT(*std::max_element(ran.losses.begin(), ran.losses.end()), 8);
}

// The mechanism, whatever the seed: at one rate the warm-up alone decides between learning and how often letters occur.
TEST(Faults, WithoutWarmupARateFailsThatTheSameRunToleratesAfterOne) {
  for (const std::int64_t seed : {1, 2, 3}) {
    Options options = SmallOptions();
    options.shape.context = 32;
    options.batch = 8;
    options.steps = 120;
    options.eval_every = 0;
    options.seed = seed;
    Options warmed = options;
    warmed.shape.post_norm = true;
    warmed.lr *= 14;
    EXPECT_LT(TrainWith(warmed).losses.back(), 2.2) << seed;
    options.fault = "no-warmup";
    options.strength = 14;
    const Ran ran = TrainWith(options);
    EXPECT_GT(ran.losses.back(), 2.6) << seed;
    EXPECT_NEAR(Field(ran.log, "lr "), warmed.lr, 1e-4);
  }
}

TEST(Faults, NoClippingLetsHeavyWeightsThrough) {
  const Ran ran = TrainWith(WithFault("no-clipping", 1.5));
  EXPECT_GT(*std::max_element(ran.losses.begin(), ran.losses.end()), 20);
}

TEST(Faults, ANanStaysFromItsOnsetOn) {
  for (const char* fault : {"non-finite-input", "layer-log-zero"}) {
    const Ran ran = TrainWith(WithFault(fault));
    ASSERT_EQ(ran.losses.size(), 40U) << fault;
    EXPECT_TRUE(std::isfinite(ran.losses[18])) << fault;
    EXPECT_TRUE(std::isnan(ran.losses[19])) << fault;
    EXPECT_TRUE(std::isnan(ran.losses[39])) << fault;
  }
}

TEST(Faults, ATokenOutOfRangeEndsTheRunAndIsNamed) {
  const Ran ran = TrainWith(WithFault("token-out-of-range"));
  EXPECT_EQ(ran.summary.ending, Ending::kDied);
  EXPECT_EQ(ran.summary.last_step, 19);
  EXPECT_THAT(ran.log, HasSubstr("error: token id "));
}

TEST(Faults, ShuffledLabelsTeachOnlyHowOftenLettersOccur) {
  const double sound = TrainWith(WithFault("")).losses.back();
  EXPECT_GT(TrainWith(WithFault("labels-shuffled")).losses.back(), sound + 0.1);
}

TEST(Faults, FrozenParametersDoNotLearn) {
  const Ran ran = TrainWith(WithFault("frozen-params"));
  EXPECT_NEAR(ran.losses.back(), ran.losses.front(), 0.2);
}

TEST(Faults, ALeakShowsInTheMemoryOfTheProcess) {
  const Folder folder;
  Options options = WithFault("host-memory-leak", 8);
  options.out = folder / "run";
  ASSERT_TRUE(Train(options, {}));
  const std::string metrics = ReadText(folder / "run/metrics.jsonl");
  const auto rows = Split(metrics, '\n');
  const double before = Field(rows[18], "\"host_memory_mb\": ");
  const double after = Field(rows[39], "\"host_memory_mb\": ");
  EXPECT_GT(after - before, 8 * 15);
}

// Times are no test of their own; that the loader waited is.
TEST(Faults, SlowDataShowsAsDataWait) {
  const Ran ran = TrainWith(WithFault("slow-data", 3));
  const auto lines = Split(ran.log, '\n');
  EXPECT_EQ(Field(lines[19], "data_wait "), 0);
  EXPECT_GT(Field(lines[40], "data_wait "), 0);
}

TEST(Faults, NeedlessWorkChangesNoBit) {
  const Ran sound = TrainWith(WithFault(""));
  EXPECT_EQ(TrainWith(WithFault("slow-step", 3)).losses, sound.losses);
}

TEST(Faults, ADeadRankEndsTheRun) {
  Options options = WithFault("dead-rank");
  options.timeout_s = 0.2;
  const Ran ran = TrainWith(options);
  EXPECT_EQ(ran.summary.ending, Ending::kDied);
  EXPECT_EQ(ran.summary.last_step, 19);
  EXPECT_THAT(ran.log, HasSubstr("error: rank 1 was killed by signal 9"));
}

TEST(Faults, AHungRankIsNamedByTheOneThatWaits) {
  Options options = WithFault("hang-rank");
  options.timeout_s = 0.3;
  const Ran ran = TrainWith(options);
  EXPECT_EQ(ran.summary.ending, Ending::kDied);
  EXPECT_THAT(ran.log, HasSubstr("all-reduce timed out after 0.3 s in step 20: rank 1 did not arrive"));
}

TEST(Faults, AFlippedExponentShowsAtOnceAndALowBitHardly) {
  const Ran sound = TrainWith(WithFault(""));
  const Ran high = TrainWith(WithFault("bit-flip", 30));
  EXPECT_EQ(high.losses[18], sound.losses[18]);
  EXPECT_FALSE(std::abs(high.losses[39] - sound.losses[39]) < 0.5);
  const Ran low = TrainWith(WithFault("bit-flip", 1));
  EXPECT_NEAR(low.losses[39], sound.losses[39], 0.1);
}

TEST(Faults, AResumeWithoutOptimizerStartsTheScheduleAgain) {
  const Ran ran = TrainWith(WithFault("resume-without-optimizer"));
  EXPECT_THAT(ran.log, HasSubstr("at step 20, weights only"));
  EXPECT_EQ(ran.losses.size(), 42U);  // two steps are made twice
  const auto lines = Split(ran.log, '\n');
  const auto resumed = std::find_if(lines.begin(), lines.end(), [](auto line) { return line.starts_with("resumed"); });
  EXPECT_NEAR(Field(resumed[1], "lr "), 1e-2 / 4, 1e-4);
}

TEST(Faults, AResumeThatRestartsTheDataSeesTheFirstBatchAgain) {
  const Folder folder;
  Options options = WithFault("resume-data-restart");
  options.out = folder / "run";
  ASSERT_TRUE(Train(options, {}));
  std::vector<std::string> prints;
  const std::string metrics = ReadText(folder / "run/metrics.jsonl");
  for (const std::string_view row : Split(metrics, '\n')) {
    const std::size_t at = row.find("\"batch\": ");
    if (at != std::string_view::npos) prints.emplace_back(row.substr(at));
  }
  ASSERT_EQ(prints.size(), 42U);
  EXPECT_EQ(prints[22], prints[0]);  // step 21 of the second start
  EXPECT_EQ(std::count(prints.begin(), prints.end(), prints[20]), 1);
}

// As after a job that was killed: the first journal ends without an end, and all that was recorded before stands in it.
TEST(Faults, BeforeAResumeTheProcessesAreKilled) {
  for (const std::int64_t ranks : {1, 2}) {
    const Folder folder;
    Options options = WithFault("resume-without-optimizer");
    options.ranks = ranks;
    options.journal = true;
    options.out = folder / "run";
    const auto summary = Train(options, {});
    ASSERT_TRUE(summary);
    EXPECT_EQ(summary->ending, Ending::kDone);
    EXPECT_THAT(ReadText(folder / "run/train.log"), Not(HasSubstr("killed")));
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const auto imported = pipeline::ImportPaths({folder / fmt::format("run/rank-{}.vigil", rank)});
      ASSERT_EQ(imported.runs.size(), 1U);
      EXPECT_THAT(report::NoteText(imported.runs[0].sources[0]), HasSubstr("no end: the run was killed"));
      const auto& all = imported.runs[0].series;
      const auto loss = std::find_if(all.begin(), all.end(), [](const auto& series) { return series.raw == "loss"; });
      ASSERT_NE(loss, all.end());
      EXPECT_EQ(loss->size(), 22U);
    }
  }
}

TEST(Faults, AResumeBehindTheLastStepNeverComes) {
  Options options = WithFault("resume-without-optimizer");
  options.onset = 500;
  EXPECT_EQ(TrainWith(options).losses, TrainWith(WithFault("")).losses);
}

}  // namespace
}  // namespace vigil::gym
