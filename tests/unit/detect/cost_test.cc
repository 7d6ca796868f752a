// What a run costs and who holds it up: step times, waits for data, memory, ranks, and what the guard did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect {
namespace {

using testing::CountAtLeast;
using testing::Describe;
using ::testing::ElementsAre;
using testing::Get;
using ::testing::HasSubstr;
using testing::RunMaker;
using testing::Words;

TEST(ThroughputRegression, FindsALastingChangeOfTheStepTimeAndItsStep) {
  RunMaker maker;
  maker.Series("step_time_s", 400, [&](int step) { return (step < 250 ? 0.5 : 1.0) * std::exp(maker.Gauss(0.05)); });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "throughput/regression");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->severity, model::Severity::kError);
  EXPECT_NEAR(static_cast<double>(found->first.value()), 250, 2);  // to the resolution of the history
  EXPECT_NEAR(found->MeasureOr("ratio", 0), 2, 0.1);
}

TEST(ThroughputRegression, JudgesTokensPerSecondWhereStepsHaveNoTimes) {
  RunMaker maker;
  maker.Series("tokens_per_s", 200, [&](int step) { return (step < 100 ? 9e4 : 5.4e4) * std::exp(maker.Gauss(0.05)); });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "throughput/regression");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->severity, model::Severity::kWarning);
  EXPECT_THAT(Words(*found), HasSubstr("a second from step 100 on"));
}

TEST(ThroughputRegression, LeavesAloneWhatIsNoLossOfSpeed) {
  const auto silent = [](RunMaker& maker, const std::string& why) {
    EXPECT_EQ(Get(maker.Find(), "throughput/regression"), nullptr) << why;
  };
  RunMaker noise;
  noise.Series("step_time_s", 3000, [&](int) { return 0.4 * std::exp(noise.Heavy(0.2, 2.5)); });
  silent(noise, "heavy noise");
  RunMaker ramp;
  ramp.Series("step_time_s", 1000, [&](int step) { return 0.4 * (1 + 0.001 * step) * std::exp(ramp.Gauss(0.05)); });
  silent(ramp, "sequences that become longer bit by bit");
  RunMaker compiles;
  compiles.Series("step_time_s", 200, [](int step) { return step < 8 ? 30.0 : 0.5; });
  silent(compiles, "slow first steps");
  RunMaker stretch;
  stretch.Series("step_time_s", 400, [](int step) { return step > 200 && step < 260 ? 1.0 : 0.5; });
  silent(stretch, "a slow stretch that ended");
  RunMaker larger;
  larger.Series("step_time_s", 200, [](int step) { return step < 100 ? 0.5 : 1.0; });
  larger.Series("tokens_per_s", 200, [](int) { return 1e5; });
  silent(larger, "steps of twice the batch");
  RunMaker few;
  few.Series("step_time_s", 16, [](int step) { return step < 9 ? 0.5 : 0.8; });
  silent(few, "too few points for a change of that size");
  RunMaker interval;
  interval.Series("step_time_s", 400, [](int step) { return step > 390 ? 5.0 : 0.5; }, 10, 10);
  silent(interval, "one logging interval");
}

TEST(APointCountsForItsSteps, AsManyPointsAreNeededAsTheChangeIsSmall) {
  RunMaker sixty;
  sixty.Series(
      "step_time_s", 600, [&](int step) { return (step < 300 ? 0.5 : 1.4) * std::exp(sixty.Gauss(0.08)); }, 10, 10);
  EXPECT_NE(Get(sixty.Find(), "throughput/regression"), nullptr) << "2.8 times over sixty points";
  RunMaker twelve;
  twelve.Series(
      "step_time_s", 120, [&](int step) { return (step < 60 ? 0.5 : 1.4) * std::exp(twelve.Gauss(0.05)); }, 10, 10);
  EXPECT_NE(Get(twelve.Find(), "throughput/regression"), nullptr) << "2.8 times over twelve";
  RunMaker small;
  small.Series(
      "step_time_s", 120, [&](int step) { return (step < 60 ? 0.5 : 0.77) * std::exp(small.Gauss(0.05)); }, 10, 10);
  EXPECT_EQ(Get(small.Find(), "throughput/regression"), nullptr) << "1.5 times over twelve";
}

TEST(APointCountsForItsSteps, ALongWaitShowsInFewPoints) {
  RunMaker maker;
  maker.Series("step_time_s", 120, [](int) { return 0.5; }, 10, 10);
  maker.Series("data_time_s", 120, [](int step) { return step < 60 ? 0.005 : 0.3; }, 10, 10);
  ASSERT_NE(Get(maker.Find(), "throughput/data-starved"), nullptr);
  RunMaker policy;
  policy.Method("ppo").Series("reward", 200, [](int step) { return step * 0.01; });
  policy.Series("step_time_s", 200, [](int) { return 0.5; }).Series("data_time_s", 200, [](int) { return 0.4; });
  EXPECT_EQ(Get(policy.Find(), "throughput/data-starved"), nullptr) << "a policy makes its own data";
}

TEST(APointCountsForItsSteps, ASteepClimbOfMemoryShowsInFewPoints) {
  RunMaker eight;
  eight.Series("host_memory", 40, [](int step) { return 0.7 + 0.024 * step; }, 5, 5);
  const auto steep = eight.Find();
  ASSERT_NE(Get(steep, "memory/leak"), nullptr) << Describe(steep);
  EXPECT_EQ(Get(steep, "memory/leak")->severity, model::Severity::kError);
  RunMaker middle;
  middle.Series("host_memory", 700, [](int step) { return step < 250 ? 0.73 : 0.73 + 0.002 * (step - 250); }, 5, 5);
  ASSERT_NE(Get(middle.Find(), "memory/leak"), nullptr) << "a leak that begins in mid run";
  RunMaker even;
  even.Series("host_memory", 400, [](int step) { return 1 + 0.0001 * step; });
  ASSERT_NE(Get(even.Find(), "memory/leak"), nullptr);
  EXPECT_EQ(Get(even.Find(), "memory/leak")->severity, model::Severity::kWarning) << "small, and by its evenness alone";
}

TEST(StepOutliers, AreANoteWithTheirDistance) {
  RunMaker maker;
  maker.Series("step_time_s", 400, [&](int step) { return step % 50 == 0 ? 6.0 : 0.5 * std::exp(maker.Gauss(0.05)); });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "throughput/step-outliers");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_EQ(found->severity, model::Severity::kInfo);
  EXPECT_THAT(Words(*found), HasSubstr("one every 50 steps"));
  RunMaker noise;
  noise.Series("step_time_s", 400, [&](int) { return 0.5 * std::exp(noise.Gauss(0.1)); });
  EXPECT_EQ(Get(noise.Find(), "throughput/step-outliers"), nullptr);
}

TEST(MemoryFragmentation, IsReservedThatGrowsWhileAllocatedDoesNot) {
  RunMaker maker;
  maker.Series("mem_allocated", 300, [](int) { return 20.0; });
  maker.Series("mem_reserved", 300, [](int step) { return 22 + 0.05 * step; });
  ASSERT_NE(Get(maker.Find(), "memory/fragmentation"), nullptr) << Describe(maker.Find());
  RunMaker both;
  both.Series("mem_allocated", 300, [](int step) { return 20 + 0.05 * step; });
  both.Series("mem_reserved", 300, [](int step) { return 22 + 0.05 * step; });
  EXPECT_EQ(Get(both.Find(), "memory/fragmentation"), nullptr) << "a slope of allocated memory is a leak";
}

model::Run OfTwoRanks(const std::string& signal, const testing::Value& first, const testing::Value& second) {
  RunMaker maker;
  maker.Series(signal, 100, first).Series(signal, 100, second);
  model::Run run = maker.run();
  run.series[1].labels = {{"rank", "1"}};
  run.ranks = 2;
  return run;
}

TEST(RankDesync, IsANormThatWasEqualAndNoLongerIs) {
  const auto norm = [](int step) { return 1 + 0.1 * std::sin(step); };
  const auto apart = [&](int step) { return norm(step) * (step < 60 ? 1 : 1.2); };
  const auto found = Detect(OfTwoRanks("grad_norm", norm, apart), catalogue::Thresholds());
  ASSERT_NE(Get(found, "numerics/rank-desync"), nullptr);
  EXPECT_EQ(Get(found, "numerics/rank-desync")->first.value(), 60);
  const auto own = [](int step) { return 1 + 0.1 * std::cos(step); };
  EXPECT_EQ(Get(Detect(OfTwoRanks("grad_norm", norm, own), catalogue::Thresholds()), "numerics/rank-desync"), nullptr)
      << "norms before the reduction never were equal";
}

TEST(MemoryImbalance, NamesTheFullestRank) {
  const auto found =
      Detect(OfTwoRanks("mem_allocated", [](int) { return 20.0; }, [](int) { return 31.0; }), catalogue::Thresholds());
  ASSERT_NE(Get(found, "memory/imbalance"), nullptr);
  EXPECT_THAT(Get(found, "memory/imbalance")->ranks, ElementsAre(1));
}

TEST(ThroughputRegression, SaysWhichPartOfTheStepGrew) {
  RunMaker maker;
  maker.Series("step_time_s", 200, [](int step) { return step < 100 ? 0.5 : 1.5; });
  maker.Series("data_time_s", 200, [](int step) { return step < 100 ? 0.01 : 1.01; });
  const auto findings = maker.Find();
  ASSERT_NE(Get(findings, "throughput/regression"), nullptr);
  EXPECT_NEAR(Get(findings, "throughput/regression")->MeasureOr("data_share_of_growth", 0), 1, 0.05);
}

TEST(DataStarved, FindsTheShareAndWhereItBegan) {
  RunMaker maker;
  maker.Series("step_time_s", 200, [](int step) { return step < 120 ? 0.5 : 0.75; });
  maker.Series("data_time_s", 200, [](int step) { return step < 120 ? 0.005 : 0.25; });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "throughput/data-starved");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_NEAR(static_cast<double>(found->first.value()), 120, 3);
  EXPECT_NEAR(found->MeasureOr("share", 0), 0.33, 0.01);
  EXPECT_EQ(found->severity, model::Severity::kWarning);
}

TEST(DataStarved, AWaitBesideTheStepCountsToo) {
  RunMaker maker;
  maker.Series("step_time_s", 100, [](int) { return 0.1; }).Series("data_time_s", 100, [](int) { return 0.3; });
  ASSERT_NE(Get(maker.Find(), "throughput/data-starved"), nullptr);
  EXPECT_NEAR(Get(maker.Find(), "throughput/data-starved")->MeasureOr("share", 0), 0.75, 0.01);
}

TEST(DataStarved, TheHandOverOfABatchIsOnlyANoteWhereStepsAreAsShort) {
  RunMaker tiny;
  tiny.Series("step_time_s", 100, [](int) { return 0.004; }).Series("data_time_s", 100, [](int) { return 0.001; });
  ASSERT_NE(Get(tiny.Find(), "throughput/data-starved"), nullptr);
  EXPECT_EQ(Get(tiny.Find(), "throughput/data-starved")->severity, model::Severity::kInfo);
  RunMaker slow;
  slow.Series("step_time_s", 100, [](int) { return 0.024; }).Series("data_time_s", 100, [](int) { return 0.02; });
  ASSERT_NE(Get(slow.Find(), "throughput/data-starved"), nullptr);
  EXPECT_EQ(Get(slow.Find(), "throughput/data-starved")->severity, model::Severity::kError);
}

TEST(DataStarved, SilentForALoaderThatKeepsAhead) {
  RunMaker maker;
  maker.Series("step_time_s", 300, [](int) { return 0.5; });
  maker.Series("data_time_s", 300, [&](int step) { return step % 50 == 1 ? 0.4 : 0.01 * std::exp(maker.Gauss(0.5)); });
  EXPECT_EQ(Get(maker.Find(), "throughput/data-starved"), nullptr) << "the first batch of an epoch";
}

TEST(MemoryGrowth, FindsALeakAndHowMuchAStep) {
  RunMaker maker;
  maker.Series("host_memory", 300,
               [&](int step) { return 2 + 0.05 * std::abs(maker.Gauss(1)) + (step < 150 ? 0 : 0.004 * (step - 150)); });
  const auto findings = maker.Find();
  const auto* found = Get(findings, "memory/leak");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_NEAR(static_cast<double>(found->first.value()), 150, 30);
  EXPECT_NEAR(found->MeasureOr("gib_per_step", 0), 0.004, 0.001);
}

TEST(MemoryGrowth, SilentForPoolsThatFillUpAndForSawTeeth) {
  const auto silent = [](RunMaker& maker, const std::string& why) {
    EXPECT_EQ(CountAtLeast(maker.Find(), model::Severity::kWarning), 0) << why << Describe(maker.Find());
  };
  RunMaker fills;
  fills.Series("host_memory", 400, [](int step) { return 4 - 3 * std::exp(-step / 60.0); });
  silent(fills, "a pool that fills up");
  RunMaker teeth;
  teeth.Series("host_memory", 400, [](int step) { return 2 + 0.01 * (step % 100); });
  silent(teeth, "a collector that comes by");
  RunMaker peak;
  peak.Series("mem_allocated", 400, [&](int) { return 30 + std::abs(peak.Gauss(3)); });
  silent(peak, "samples of any length");
  RunMaker again;
  again.Series("host_memory", 100, [](int step) { return 2 + 0.002 * step; });
  again.Again(50, 100, [](int) { return 2.0; });
  silent(again, "a new process");
}

// Two ranks that train in step, one of them slower from step 100 on.
model::Run TwoRanks(double ratio, std::uint32_t seed) {
  RunMaker maker(seed);
  maker.Series("compute_time_s", 200, maker.Level(0.3, 0.05));
  maker.Series("compute_time_s", 200,
               [&](int step) { return 0.3 * (step < 100 ? 1 : ratio) * std::exp(maker.Gauss(0.05)); });
  model::Run run = maker.run();
  run.series[1].labels = {{"rank", "1"}};
  run.ranks = 2;
  return run;
}

TEST(Straggler, NamesTheRankAndTheStep) {
  const auto findings = Detect(TwoRanks(1.6, 1), catalogue::Thresholds());
  const auto* found = Get(findings, "throughput/straggler");
  ASSERT_NE(found, nullptr) << Describe(findings);
  EXPECT_THAT(found->ranks, ElementsAre(1));
  EXPECT_NEAR(static_cast<double>(found->first.value()), 100, 4);
}

TEST(Straggler, SilentWhileRanksAreAlike) {
  for (std::uint32_t seed = 1; seed < 30; ++seed)
    EXPECT_EQ(Get(Detect(TwoRanks(1.05, seed), catalogue::Thresholds()), "throughput/straggler"), nullptr) << seed;
}

model::Event EventOf(std::int32_t rank, model::EventKind kind, const std::string& name, const std::string& text) {
  model::Event event;
  event.rank = rank;
  event.kind = kind;
  event.name = name;
  event.text = text;
  event.at = model::StepAt(70);
  return event;
}

TEST(LostRanks, ARankWithoutAnEndIsDeadOrMissing) {
  model::Run run;
  run.ranks = 2;
  run.events = {EventOf(0, model::EventKind::kSignature, "log/collective-given-up",
                        "all-reduce was given up in step 70: rank 1 did not arrive"),
                EventOf(0, model::EventKind::kExit, "1", "the run ended with status 1"),
                EventOf(1, model::EventKind::kMessage, std::string(model::kNoEndEvent), "")};
  auto findings = Detect(run, catalogue::Thresholds());
  ASSERT_NE(Get(findings, "hang/dead-rank"), nullptr);
  EXPECT_THAT(Get(findings, "hang/dead-rank")->ranks, ElementsAre(1));
  run.events[0].name = "log/collective-timeout";
  run.events[0].text = "all-reduce timed out after 10 s in step 70: rank 1 did not arrive";
  findings = Detect(run, catalogue::Thresholds());
  ASSERT_NE(Get(findings, "hang/missing-rank"), nullptr);
  EXPECT_EQ(Get(findings, "hang/missing-rank")->first.value(), 70);
}

TEST(LostRanks, SilentWhileARunGoesOnOrWhenTheRankCameBack) {
  model::Run run;
  run.ranks = 2;
  run.events = {EventOf(0, model::EventKind::kMessage, std::string(model::kNoEndEvent), ""),
                EventOf(1, model::EventKind::kMessage, std::string(model::kNoEndEvent), "")};
  EXPECT_TRUE(Detect(run, catalogue::Thresholds()).empty()) << "all ranks still run";
  run.events.push_back(EventOf(0, model::EventKind::kExit, "finished", ""));
  run.events.push_back(EventOf(1, model::EventKind::kExit, "finished", ""));
  EXPECT_TRUE(Detect(run, catalogue::Thresholds()).empty()) << "killed, started again, finished";
}

TEST(GuardActions, AreOneFindingFromTheJournalOrTheLog) {
  model::Run run;
  run.events = {EventOf(0, model::EventKind::kMessage, "guard/skip", "step 70: the loss is nan; left out"),
                EventOf(0, model::EventKind::kMessage, "guard/rollback", "step 71: the loss is nan; back to step 60"),
                EventOf(0, model::EventKind::kMessage, "guard/control", "guard.toml was read")};
  run.events[1].at = model::StepAt(71);
  auto findings = Detect(run, catalogue::Thresholds());
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "guard/acted");
  EXPECT_THAT(Words(findings[0]), HasSubstr("1 step left out, set back once"));
  EXPECT_EQ(findings[0].last.value(), 71);
  for (model::Event& event : run.events) {
    event.kind = model::EventKind::kSignature;
    event.decision = event.name;
    event.name = "log/guard";
    event.text = "guard: " + event.text;
  }
  findings = Detect(run, catalogue::Thresholds());
  ASSERT_EQ(findings.size(), 1U) << Describe(findings);
  EXPECT_THAT(Words(findings[0]), HasSubstr("1 step left out, set back once"));
}

TEST(Stall, IsFarLongerThanAStep) {
  RunMaker maker;
  maker.Series("step_time_s", 100, maker.Level(4, 0.1));
  const catalogue::Thresholds thresholds;
  EXPECT_FALSE(FindStall(maker.run(), 100, thresholds)) << "a checkpoint";
  const auto stall = FindStall(maker.run(), 130, thresholds);
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->id, "hang/stalled");
  EXPECT_EQ(stall->first.value(), 100);
  model::Run ended = maker.run();
  ended.events.push_back(EventOf(0, model::EventKind::kExit, "finished", ""));
  EXPECT_FALSE(FindStall(ended, 1e6, thresholds));
  model::Run planned = maker.run();
  planned.planned_steps = model::StepAt(100);
  EXPECT_FALSE(FindStall(planned, 1e6, thresholds));
  EXPECT_FALSE(FindStall(model::Run(), 1e6, thresholds)) << "no times, no judgement";
}

}  // namespace
}  // namespace vigil::detect
