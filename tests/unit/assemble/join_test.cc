#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "assemble/assemble.h"
#include "assemble/compare.h"
#include "assemble/place.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "join_support.h"

namespace vigil::assemble {
namespace {

using model::SourceState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

Part State(const std::string& path) { return Part(path, "trainer-state"); }
Part Log(const std::string& path) { return Part(path, "hf-log"); }
Part Events(const std::string& path) { return Part(path, "tfevents"); }

std::vector<std::string> Names(const std::vector<model::Run>& runs) {
  std::vector<std::string> names;
  names.reserve(runs.size());
  for (const model::Run& run : runs) names.push_back(run.name);
  return names;
}

std::vector<SourceState> States(const model::Run& run) {
  std::vector<SourceState> states;
  states.reserve(run.sources.size());
  for (const model::Source& source : run.sources) states.push_back(source.state);
  return states;
}

// ---- checkpoints

TEST(JoinStates, TheLongestHoldsTheOthers) {
  const auto runs = Joined(State("out/checkpoint-100/trainer_state.json").Loss(10, 100).Fact("global_step", "100"),
                           State("out/checkpoint-300/trainer_state.json").Loss(10, 300).Fact("global_step", "300"),
                           State("out/checkpoint-200/trainer_state.json").Loss(10, 200));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].name, "out");
  EXPECT_EQ(runs[0].Find("loss")->size(), 30U);
  EXPECT_THAT(runs[0].Find("loss")->segment_starts, ElementsAre(0));
  EXPECT_THAT(runs[0].sources, SizeIs(3));
  EXPECT_THAT(States(runs[0]), ElementsAre(SourceState::kRead, SourceState::kDuplicate, SourceState::kDuplicate));
  EXPECT_THAT(runs[0].sources[1].duplicate_of, HasSubstr("out/checkpoint-300/trainer_state.json"));
  ASSERT_THAT(runs[0].facts, SizeIs(1));
  EXPECT_EQ(runs[0].facts[0].value, "300");
}

TEST(JoinStates, AResumeFromAnEarlierCheckpointIsASecondSegment) {
  Part resumed = State("out/checkpoint-300/trainer_state.json");
  resumed.Loss(10, 100).Loss(110, 300, 2);
  const auto runs = Joined(State("out/checkpoint-200/trainer_state.json").Loss(10, 200), resumed);
  ASSERT_THAT(runs, SizeIs(1));
  const model::Series& loss = *runs[0].Find("loss");
  EXPECT_THAT(loss.segment_starts, ElementsAre(0, 20));
  EXPECT_EQ(loss.steps[20], 110) << "the first step that the resume took again";
  EXPECT_EQ(loss.steps.back(), 300);
  EXPECT_EQ(loss.values[19], LossAt(200, 1));
  EXPECT_EQ(loss.values[20], LossAt(110, 2));
}

TEST(JoinStates, AnotherTrainingIntoTheSameFolderIsAnotherRun) {
  const auto runs = Joined(State("out/checkpoint-100/trainer_state.json").Loss(10, 100, 1),
                           State("out/checkpoint-200/trainer_state.json").Loss(10, 200, 2));
  EXPECT_THAT(runs, SizeIs(2));
}

TEST(JoinStates, ABagOfStatesStaysSeparate) {
  const auto runs = Joined(State("bag/a.json").Loss(10, 100, 1), State("bag/b.json").Loss(10, 100, 2),
                           State("bag/c.json").Loss(10, 200, 3));
  EXPECT_THAT(Names(runs), ElementsAre("a", "b", "c"));
}

// ---- event files

TEST(JoinEvents, OfOneFolderAreOneRunInTheOrderOfTheirNames) {
  const auto runs = Joined(Events("run/events.out.tfevents.200.host").Loss(110, 300, 2),
                           Events("run/events.out.tfevents.100.host").Loss(10, 200, 1));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].name, "run");
  const model::Series& loss = *runs[0].Find("loss");
  EXPECT_THAT(loss.segment_starts, ElementsAre(0, 20));
  EXPECT_EQ(loss.steps[20], 110);
  EXPECT_THAT(loss.lines, SizeIs(40));
  EXPECT_EQ(loss.lines[20], 0U) << "a line of the second file is none of the first";
}

TEST(JoinEvents, ThatSomebodyCollectedUnderOtherNamesAreRunsOfTheirOwn) {
  const auto runs = Joined(Events("bag/alice-events.out.tfevents.1").Loss(10, 100, 1),
                           Events("bag/bob-events.out.tfevents.2").Loss(10, 100, 2));
  EXPECT_THAT(runs, SizeIs(2));
}

TEST(JoinEvents, OfTwoFoldersAreTwoRuns) {
  const auto runs = Joined(Events("runs/a/events.out.tfevents.1").Loss(10, 100, 1),
                           Events("runs/b/events.out.tfevents.2").Loss(10, 100, 2));
  EXPECT_THAT(Names(runs), ElementsAre("a", "b"));
}

TEST(JoinEvents, BelowAFolderWithStatesBelongToThem) {
  const auto runs =
      Joined(State("out/checkpoint-100/trainer_state.json").Loss(10, 100),
             Events("out/runs/Sep05_host/events.out.tfevents.1").Loss(10, 120).Points("grad_norm", 10, 120));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].name, "out");
  EXPECT_EQ(runs[0].Find("loss")->size(), 12U) << "the points of both";
  EXPECT_EQ(runs[0].Find("grad_norm")->size(), 12U);
  EXPECT_EQ(runs[0].sources[runs[0].Find("grad_norm")->source].format, "tfevents");
}

TEST(JoinEvents, OfAnEarlierAttemptAreASegmentBeforeTheState) {
  const auto runs = Joined(State("out/checkpoint-300/trainer_state.json").Loss(10, 100).Loss(110, 300, 2),
                           Events("out/runs/first/events.out.tfevents.1").Loss(10, 200));
  ASSERT_THAT(runs, SizeIs(1));
  const model::Series& loss = *runs[0].Find("loss");
  EXPECT_THAT(loss.segment_starts, ElementsAre(0, 20));
  EXPECT_EQ(loss.values[19], LossAt(200, 1));
  EXPECT_EQ(loss.steps[20], 110);
}

// ---- log beside state

TEST(JoinLog, ThatPrintsTheSameNumbersIsTheSameRunAndTheExactOnesStay) {
  const auto runs =
      Joined(Log("out/train.log").Loss(10, 300, 1, true), State("out/checkpoint-300/trainer_state.json").Loss(10, 300));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->values[4], LossAt(50)) << "all digits";
  EXPECT_THAT(States(runs[0]), UnorderedElementsAre(SourceState::kRead, SourceState::kDuplicate));
}

TEST(JoinLog, ThatOutlivedTheLastCheckpointAddsItsPointsAndItsCrash) {
  const auto runs = Joined(State("out/checkpoint-200/trainer_state.json").Loss(10, 200),
                           Log("out/train.log").Loss(10, 260, 1, true).Crash("CUDA out of memory"));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->steps.back(), 260);
  EXPECT_EQ(runs[0].Find("loss")->values.back(), AsPrinted(LossAt(260)));
  ASSERT_THAT(runs[0].events, SizeIs(1));
  EXPECT_EQ(runs[0].sources[runs[0].events[0].place.source].path, "out/train.log");
  EXPECT_EQ(runs[0].events[0].place.line, 12U);
  EXPECT_THAT(States(runs[0]), ElementsAre(SourceState::kRead, SourceState::kRead));
}

TEST(JoinLog, ThatSawARestartGivesItsSegmentsAndTheStateItsDigits) {
  Part log = Log("out/train.log");
  log.Loss(10, 200, 1, true).Loss(110, 300, 2, true);
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 100).Loss(110, 300, 2), log);
  ASSERT_THAT(runs, SizeIs(1));
  const model::Series& loss = *runs[0].Find("loss");
  EXPECT_THAT(loss.segment_starts, ElementsAre(0, 20));
  EXPECT_EQ(loss.values[0], LossAt(10)) << "exact where the state has it";
  EXPECT_EQ(loss.values[15], AsPrinted(LossAt(160, 1))) << "overwritten: only the log has it";
  EXPECT_EQ(loss.values[20], LossAt(110, 2));
}

TEST(JoinLog, MayRoundEachValueInItsOwnWay) {
  Part log = Log("out/train.log");
  for (std::int64_t step = 10; step <= 100; step += 10) {
    log.Point("loss", step, std::round(LossAt(step) * 1e4) / 1e4);
    log.Point("grad_norm", step, std::round(LossAt(step, 9) * 100) / 100);
  }
  const auto runs = Joined(Part("out/metrics.jsonl", "jsonl").Loss(10, 100).Points("grad_norm", 10, 100, 9), log);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("grad_norm")->values[0], LossAt(10, 9));
}

TEST(JoinLog, ThatWritesAStepTwiceSawNoRestart) {
  Part log = Log("out/train.log");
  log.Loss(10, 100, 1, true).Point("loss", 100, AsPrinted(LossAt(100)));
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 100), log);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].Find("loss")->segment_starts, ElementsAre(0));
}

TEST(JoinLog, OfAnotherTrainingInTheSameFolderIsAnotherRun) {
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 300), Log("out/other.log").Loss(10, 300, 2, true));
  EXPECT_THAT(Names(runs), ElementsAre("trainer_state", "other"));
}

TEST(JoinLog, WithoutStepsIsPlacedByTheSequenceOfItsValues) {
  std::vector<double> printed;
  for (std::int64_t step = 10; step <= 340; step += 10) printed.push_back(AsPrinted(LossAt(step)));
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 300),
                           Log("out/train.log").Rows("loss", printed).Rows("my_metric", std::vector<double>(34, 7.0)));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->size(), 34U) << "rows beyond the state go on at its pace";
  EXPECT_EQ(runs[0].Find("loss")->steps.back(), 340);
  EXPECT_EQ(runs[0].Find("my_metric")->steps[1], 20);
  EXPECT_EQ(runs[0].Find("my_metric")->axis, model::Axis::kStep);
}

TEST(JoinLog, WithoutStepsThatBeganLaterIsPlacedAtTheEnd) {
  std::vector<double> printed;
  for (std::int64_t step = 210; step <= 300; step += 10) printed.push_back(AsPrinted(LossAt(step)));
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 300),
                           Log("out/train.log").Rows("loss", printed).Rows("tok", std::vector<double>(10, 7.0)));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("tok")->steps.front(), 210);
}

TEST(JoinLog, WithoutStepsThatDoesNotMatchIsAnotherRun) {
  const auto runs =
      Joined(State("out/trainer_state.json").Loss(10, 300), State("out/second_state.json").Loss(10, 300, 4),
             Log("out/train.log").Rows("loss", {5, 4, 3, 2, 1}));
  EXPECT_THAT(runs, SizeIs(3));
}

TEST(JoinLog, InAnotherFolderIsTheSameRunOnlyWhenAllAgreesAndBothEndTogether) {
  const auto same =
      Joined(State("out/trainer_state.json").Loss(10, 300), Log("slurm/job-17.out").Loss(10, 300, 1, true));
  EXPECT_THAT(same, SizeIs(1));
  // One seed, one attempt that died early: its crash is not the other's.
  const auto attempts =
      Joined(State("good/trainer_state.json").Loss(10, 300), Log("bad/train.log").Loss(10, 100, 1, true).Crash("boom"));
  EXPECT_THAT(attempts, SizeIs(2));
  const auto copies = Joined(State("a/trainer_state.json").Loss(10, 300), State("b/trainer_state.json").Loss(10, 300));
  EXPECT_THAT(copies, SizeIs(2));
}

TEST(JoinLog, ThatIsAllNanAgreesWithNothing) {
  Part dead = Log("x/train.log");
  Part other = State("y/trainer_state.json");
  for (std::int64_t step = 10; step <= 200; step += 10) {
    dead.Point("loss", step, NAN);
    other.Point("loss", step, NAN);
  }
  EXPECT_THAT(Joined(dead, other), SizeIs(2)) << "two dead runs are not one";
}

// ---- parts of a log

TEST(JoinContinuation, PartsOfOneLogFollowEachOther) {
  const auto runs = Joined(Log("out/train_part1.log").Loss(10, 100), Log("out/train_part2.log").Loss(110, 200),
                           Log("out/train_part3.log").Loss(210, 300));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->size(), 30U);
  EXPECT_THAT(runs[0].Find("loss")->segment_starts, ElementsAre(0));
  EXPECT_THAT(runs[0].sources, SizeIs(3));
}

TEST(JoinContinuation, ANumberedLogThatResumedEarlierIsASegment) {
  const auto runs = Joined(Log("out/train.1.log").Loss(10, 200, 1), Log("out/train.2.log").Loss(160, 300, 2));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].Find("loss")->segment_starts, ElementsAre(0, 20));
}

TEST(JoinContinuation, SeedsAreRunsOfTheirOwn) {
  const auto runs = Joined(Log("out/seed1.log").Loss(10, 100, 1), Log("out/seed2.log").Loss(10, 200, 2));
  EXPECT_THAT(Names(runs), ElementsAre("seed1", "seed2"));
}

TEST(JoinContinuation, AFarAwayRangeUnderAnotherNameIsAnotherRun) {
  const auto runs = Joined(Log("out/small.log").Loss(10, 100, 1), Log("out/large.log").Loss(5000, 6000, 2));
  EXPECT_THAT(runs, SizeIs(2));
}

TEST(JoinContinuation, TwoAttemptsWithOneSeedAreTwoRunsAndACopyIsOne) {
  EXPECT_THAT(Joined(Log("out/first.log").Loss(10, 100), Log("out/second.log").Loss(10, 300)), SizeIs(2));
  const auto copy = Joined(Log("out/train.log").Loss(10, 300), Log("out/train_copy.log").Loss(10, 300));
  ASSERT_THAT(copy, SizeIs(1));
  EXPECT_THAT(States(copy[0]), ElementsAre(SourceState::kRead, SourceState::kDuplicate));
}

TEST(JoinContinuation, AConstantThatTwoLogsShareSaysNothing) {
  const auto runs =
      Joined(Log("bag/a.log").Point("mom", 1, 0.9).Point("lr", 1, 0.1), Log("bag/b.log").Point("mom", 1, 0.9));
  EXPECT_THAT(runs, SizeIs(2));
}

// ---- what has no numbers, or other ones

TEST(JoinRest, AFilePerMetricIsOneRun) {
  const auto runs = Joined(Part("ds/Train_loss.csv", "csv").Loss(10, 100),
                           Part("ds/Train_lr.csv", "csv").Point("lr", 10, 0.1).Point("lr", 20, 0.2));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_NE(runs[0].Find("lr"), nullptr);
}

TEST(JoinRest, AFileWithOtherNumbersCompletesTheOnlyRunOfItsFolder) {
  const auto runs =
      Joined(Log("out/train.log").Loss(10, 100), Part("out/gpu.csv", "csv").Points("temperature_c", 1, 300));
  EXPECT_THAT(runs, SizeIs(1));
}

TEST(JoinRest, AFolderOfSeveralRunsIsNotCompleted) {
  const auto runs = Joined(Log("bag/a.log").Points("throughput_x", 1, 300), Log("bag/b.log").Loss(10, 100, 1),
                           Log("bag/c.log").Loss(10, 100, 2));
  EXPECT_THAT(Names(runs), ElementsAre("a", "b", "c"));
}

TEST(JoinRest, SettingsAndTracebacksBelongToTheRunOfTheirFolder) {
  const auto runs = Joined(State("out/checkpoint-100/trainer_state.json").Loss(10, 100),
                           Part("out/checkpoint-100/adapter_config.json", "config-json").Fact("peft_type", "LORA"),
                           Log("out/stderr.txt").Crash("boom"));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].FindFact("adapter")->value, "LORA");
  EXPECT_EQ(runs[0].sources[runs[0].FindFact("adapter")->place.source].format, "config-json");
  EXPECT_EQ(runs[0].sources[runs[0].events[0].place.source].path, "out/stderr.txt");
  EXPECT_THAT(runs[0].sources, SizeIs(3));
}

TEST(JoinRest, SettingsAboveSeveralRunsBelongToNone) {
  const auto runs = Joined(Log("a/train.log").Loss(10, 100, 1), Log("b/train.log").Loss(10, 100, 2),
                           Part("config.json", "config-json").Fact("vocab_size", "100"));
  EXPECT_THAT(Names(runs), ElementsAre("a", "b"));
  for (const model::Run& run : runs) EXPECT_EQ(run.FindFact("vocab_size"), nullptr);
}

TEST(JoinRest, ALoneTracebackIsARun) {
  const auto runs = Joined(Log("out/train.log").Crash("boom"));
  EXPECT_THAT(Names(runs), ElementsAre("out"));
}

TEST(JoinRest, LogsOfRanksAreOneRun) {
  const auto runs = Joined(Log("out/rank_0.log").Loss(10, 100), Log("out/rank_1.log").Loss(10, 100),
                           Log("out/rank_2.log").Loss(10, 100, 5).Crash("boom"));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].ranks, 3);
  EXPECT_EQ(runs[0].events.at(0).rank, 2);
  ASSERT_THAT(runs[0].series, SizeIs(2)) << "rank 1 logs what rank 0 does";
  EXPECT_EQ(model::FindLabel(runs[0].series[1].labels, "rank"), "2");
}

// ---- bookkeeping

TEST(JoinParts, RemapsEverySource) {
  const auto runs =
      Joined(State("out/trainer_state.json").Loss(10, 100).Fact("max_steps", "100"),
             Log("out/train.log").Loss(10, 100, 1, true).Points("grad_norm", 10, 100, 3).Fact("lr", "0.1"),
             Events("out/runs/x/events.out.tfevents.1").Loss(10, 100).Points("entropy", 10, 100, 5));
  ASSERT_THAT(runs, SizeIs(1));
  const model::Run& run = runs[0];
  const auto path = [&](std::uint32_t source) { return run.sources.at(source).path; };
  EXPECT_EQ(path(run.Find("loss")->source), "out/trainer_state.json");
  EXPECT_EQ(path(run.Find("grad_norm")->source), "out/train.log");
  EXPECT_EQ(path(run.Find("entropy")->source), "out/runs/x/events.out.tfevents.1");
  EXPECT_EQ(path(run.FindFact("lr")->place.source), "out/train.log");
  EXPECT_EQ(path(run.FindFact("max_steps")->place.source), "out/trainer_state.json");
}

TEST(JoinParts, KeepsAMeanBesideTheValueItIsTheMeanOf) {
  Part log = Log("out/train.log");
  log.Loss(10, 100, 1, true);
  for (std::int64_t step = 10; step <= 100; step += 10) log.Point("avg_train_loss", step, 9.0);
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 100), log);
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->values[0], LossAt(10));
}

TEST(JoinParts, TakesTimesFromTheSourceThatHasThem) {
  ingest::PartBuilder events("out/runs/x/events.out.tfevents.1", "tfevents");
  for (std::int64_t step = 10; step <= 100; step += 10)
    events.Add(events.OpenSeries("train/loss"), step, LossAt(step), 1.7e9 + static_cast<double>(step));
  const auto runs = Joined(State("out/trainer_state.json").Loss(10, 100), std::move(events.part()));
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].Find("loss")->times, SizeIs(10));
  EXPECT_EQ(runs[0].Find("loss")->times[3], 1.7e9 + 40);
}

TEST(JoinParts, GivesEveryRunAName) {
  EXPECT_THAT(Names(Joined(Log("train.log").Loss(10, 100))), ElementsAre("train"));
  EXPECT_THAT(Names(Joined(Log("./train.log").Loss(10, 100))), ElementsAre("train"));
  EXPECT_THAT(Names(Joined(Log("/data/exp7/train.log").Loss(10, 100))), ElementsAre("exp7"));
  EXPECT_THAT(Names(Joined(Log("/data/exp7/llama-8b.log").Loss(10, 100))), ElementsAre("llama-8b"));
  EXPECT_THAT(Names(Joined(Events("exp9/runs/events.out.tfevents.1").Loss(10, 100))), ElementsAre("exp9"));
  const auto twins = Joined(Log("x/out/train.log").Loss(10, 100, 1), Log("y/out/train.log").Loss(10, 100, 2));
  EXPECT_THAT(Names(twins), ElementsAre("x/out", "y/out"));
  const auto same = Joined(Log("a.log").Loss(10, 100, 1), Part("a.csv", "csv").Loss(10, 100, 2));
  EXPECT_THAT(Names(same), ElementsAre("a", "a-2"));
}

TEST(JoinParts, OfNothingIsNothing) { EXPECT_THAT(JoinParts({}, formats::Formats()), SizeIs(0)); }

// Compares pairs of parts, but a number of points of each that does not grow with their length: this takes a second,
// not hours. No limit is set on the clock.
TEST(JoinParts, HandlesAThousandParts) {
  constexpr std::int64_t kParts = 1000;
  std::vector<model::Run> parts(kParts);
  std::vector<model::Run> checkpoints(kParts);
  for (std::int64_t i = 1; i <= kParts; ++i) {
    const auto at = static_cast<std::size_t>(i - 1);
    parts[at] = Log(fmt::format("bag/run{}.log", i)).Loss(10, 5000, static_cast<int>(i));
    checkpoints[at] = State(fmt::format("out/checkpoint-{}/trainer_state.json", i * 10)).Loss(10, i * 10);
  }
  EXPECT_THAT(JoinParts(std::move(parts), formats::Formats()), SizeIs(1000));
  const auto runs = JoinParts(std::move(checkpoints), formats::Formats());
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->size(), 1000U);
}

// ---- the pieces

TEST(Rounding, IsSeenInTheValues) {
  EXPECT_EQ(RoundingOf(std::vector<double>{1.25, 10.5, 0.75}).decimal_step, 0.01);
  EXPECT_EQ(RoundingOf(std::vector<double>{2.346, 0.7091, 0.0009519}).significant_digits, 4);
  EXPECT_EQ(RoundingOf(std::vector<double>{10580, 18267}).decimal_step, 1);
  EXPECT_EQ(RoundingOf(std::vector<double>{4.67864716053009, 4.674909710884094}), Rounding{});
  EXPECT_EQ(RoundingOf(std::vector<double>{NAN, INFINITY, 0}), Rounding{});
}

TEST(SameButForRounding, AllowsForTheDigitsThatAreMissing) {
  const Rounding exact = {};
  const Rounding two_decimals = {0.01, 0};
  const Rounding four_digits = {0, 4};
  EXPECT_TRUE(SameButForRounding(1.0915254354476929, 1.09, exact, two_decimals));
  EXPECT_FALSE(SameButForRounding(1.0915254354476929, 1.08, exact, two_decimals));
  EXPECT_TRUE(SameButForRounding(2.34567, 2.346, exact, four_digits));
  EXPECT_FALSE(SameButForRounding(2.34567, 2.347, exact, four_digits));
  EXPECT_FALSE(SameButForRounding(1.08, 1.09, two_decimals, two_decimals)) << "rounded alike, they would be equal";
  EXPECT_TRUE(SameButForRounding(NAN, NAN, exact, exact));
  EXPECT_FALSE(SameButForRounding(NAN, 1, exact, exact));
  EXPECT_FALSE(SameButForRounding(INFINITY, -INFINITY, exact, exact));
}

TEST(Places, GiveRunDirectoriesCheckpointsAndRanks) {
  EXPECT_EQ(RunDirectoryOf("a/b/checkpoint-500"), "a/b");
  EXPECT_EQ(RunDirectoryOf("a/wandb/run-20260101_1-x/files"), "a/wandb/run-20260101_1-x");
  EXPECT_EQ(RunDirectoryOf("a/b"), "a/b");
  EXPECT_EQ(ingest::CheckpointStep("checkpoint-500"), 500);
  EXPECT_EQ(ingest::CheckpointStep("global_step_40"), 40);
  EXPECT_EQ(ingest::CheckpointStep("checkpoint-best"), std::nullopt);
  EXPECT_EQ(TrackedFolder("out/runs/Sep05"), "out");
  EXPECT_EQ(TrackedFolder("out/logs"), "out");
  EXPECT_EQ(TrackedFolder("out/models"), "");
  EXPECT_EQ(ingest::PlainPath("./a//b/../c/"), "a/c");
  EXPECT_EQ(ingest::PlainPath("/a/./b"), "/a/b");
  EXPECT_EQ(RankIn("stderr-rank12.txt").rank, 12);
  EXPECT_EQ(RankIn("ranking.txt").rank, -1);
}

// ---- duplicates, and what only looks like one

TEST(JoinCopies, ALogThatRepeatsAnotherIsCountedOnce) {
  const std::vector<double> values = {8.5, 8.25, 8.125, 7.5, 7.25, 7.125, 6.5, 6.25, 6.125, 6};
  const auto runs = Joined(Log("join/ax/out/debug.log").Rows("loss", values).Crash("boom"),
                           Log("join/ax/stdout.log").Rows("loss", values).Crash("boom"));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].name, "ax");
  EXPECT_EQ(runs[0].Find("loss")->size(), values.size());
  EXPECT_THAT(runs[0].events, SizeIs(1));
  EXPECT_THAT(States(runs[0]), ElementsAre(SourceState::kRead, SourceState::kDuplicate));
}

TEST(JoinCopies, OfOneSeedInFoldersSideBySideStayTwo) {
  EXPECT_THAT(Joined(Log("a/train.log").Loss(10, 300), Log("b/copy.txt").Loss(10, 300)), SizeIs(2));
}

TEST(JoinRanks, MachinesCountThroughTheirRanks) {
  const auto global = Joined(Log("m/node0_rank0.log").Loss(10, 300, 1), Log("m/node0_rank1.log").Loss(10, 300, 2),
                             Log("m/node1_rank2.log").Loss(10, 300, 3), Log("m/node1_rank3.log").Loss(10, 300, 4));
  ASSERT_THAT(global, SizeIs(1));
  EXPECT_EQ(global[0].ranks, 4);
  const auto local = Joined(Log("m/node0_rank0.log").Loss(10, 300, 1), Log("m/node0_rank1.log").Loss(10, 300, 2),
                            Log("m/node1_rank0.log").Loss(10, 300, 3), Log("m/node1_rank1.log").Loss(10, 300, 4));
  ASSERT_THAT(local, SizeIs(1));
  EXPECT_EQ(local[0].ranks, 4);
  EXPECT_THAT(local[0].series, SizeIs(4));
}

TEST(JoinRanks, WhatARanksFolderHoldsIsOfThatRankAndCountedOnce) {
  model::Run all = Log("tee/run.log").Loss(0, 200).Crash("IndexError");
  all.events[0].rank = 2;
  all.events[0].at = model::StepAt(200);
  const auto runs = Joined(all, Log("tee/logs/none_abcd/attempt_0/2/stderr.log").Crash("IndexError"));
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].events, SizeIs(1));
  EXPECT_EQ(runs[0].events[0].rank, 2);
  EXPECT_EQ(runs[0].events[0].at.value(), 200);
}

TEST(JoinSplits, FilesOfTrainingAndEvaluationAreOneRun) {
  const auto runs = Joined(Part("tv/train.csv", "csv").Loss(0, 90, 1), Part("tv/val.csv", "csv").Loss(0, 90, 2));
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_NE(runs[0].Find("eval_loss"), nullptr);
  EXPECT_EQ(runs[0].Find("eval_loss")->raw, "val/loss");
  EXPECT_EQ(runs[0].Find("loss")->size(), 10U);
  const auto alone = Joined(Part("tv/val.csv", "csv").Loss(0, 90, 2));
  EXPECT_NE(alone[0].Find("loss"), nullptr) << "nothing says what else there was";
}

TEST(JoinWandb, WhatARunPrintedIsOfThatRunWhateverItsSteps) {
  const std::string run = "wandb/offline-run-20261115_162345-xrcsmprt";
  const auto runs = Joined(Part(run + "/run-xrcsmprt.wandb", "wandb").Loss(0, 300),
                           Log(run + "/files/output.log").Loss(0, 3000, 7).Crash("boom"));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->steps.back(), 300);
  EXPECT_THAT(runs[0].events, SizeIs(1));
}

// ---- losses that are logged in parts

TEST(JoinLossParts, AreSummedWhereThereIsNoLoss) {
  Part part("results.csv", "csv");
  for (const char* name : {"train/box_loss", "train/cls_loss", "val/box_loss", "val/cls_loss"})
    part.Points(name, 0, 90);
  const auto runs = Joined(part);
  const model::Series* loss = runs.at(0).Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->raw, "train/box_loss+cls_loss");
  EXPECT_DOUBLE_EQ(loss->values[3], 2 * LossAt(30));
  ASSERT_NE(runs[0].Find("eval_loss"), nullptr);
}

TEST(JoinLossParts, AreLeftWhereTheirSumSaysNothing) {
  const auto sum_of = [](std::initializer_list<const char*> names) {
    Part part("results.csv", "csv");
    for (const char* name : names) part.Points(name, 0, 90);
    const auto runs = Joined(part);
    const model::Series* loss = runs.at(0).Find("loss");
    return loss == nullptr ? std::string() : loss->raw;
  };
  EXPECT_EQ(sum_of({"box_loss", "reward", "cls_loss"}), "") << "of a game";
  EXPECT_EQ(sum_of({"actor_loss", "critic_loss"}), "");
  EXPECT_EQ(sum_of({"box_loss"}), "");
  EXPECT_EQ(sum_of({"box_loss", "cls_loss", "loss"}), "loss");
}

}  // namespace
}  // namespace vigil::assemble
