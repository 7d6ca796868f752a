// Restarts, and where to restart from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Killed at step 120, resumed from the checkpoint of step 100: steps go back, a new segment begins.
void AppendResumed(RunMaker& run, std::string_view signal, const std::function<double(int)>& value) {
  model::Series series;
  series.signal = signal;
  for (int step = 1; step <= 120; ++step) series.Append(step, value(step));
  for (int step = 101; step <= 200; ++step) series.Append(step, value(1000 + step));
  run.run.series.push_back(std::move(series));
}

TEST(Resume, ALossJumpWithASmoothRateIsALostOptimizer) {
  RunMaker run;
  run.Planned(200);
  AppendResumed(run, "loss", [&](int s) {
    return s < 1000 ? run.HealthyLoss(s) : run.HealthyLoss(s - 1000) + 0.8 * std::exp(-(s - 1100) / 30.0);
  });
  AppendResumed(run, "lr", [](int s) { return CosineLr(3e-4, s % 1000, 10, 200); });
  run.Found("loss/resume-jump", 101, 108, "loss level went from 2.4 to 3.1 at the restart at step 101");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "optimizer-not-saved") << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("restart"));
}

TEST(Resume, AnotherRunInTheSameLogIsNoLostOptimizer) {
  RunMaker run("");
  AppendResumed(run, "loss", [&](int s) { return run.HealthyLoss(s < 1000 ? s : s - 1100); });
  run.Found("loss/resume-jump", 101, 108, "loss level went from 2.4 to 4.1 at the restart at step 101");
  EXPECT_NE(run.First().cause, "optimizer-not-saved") << Describe(run.First());
}

TEST(Resume, ARateThatBeginsAgainIsALostSchedule) {
  RunMaker run;
  run.Planned(200);
  AppendResumed(run, "loss", [&](int s) { return run.HealthyLoss(s % 1000); });
  AppendResumed(run, "lr",
                [](int s) { return s < 1000 ? CosineLr(3e-4, s, 10, 200) : CosineLr(3e-4, s - 1100, 10, 200); });
  run.Found("lr/schedule-break", 101, 101, "learning rate jumped from 0.00016 to 3e-05 at step 101, at a restart");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "scheduler-not-saved") << Describe(diagnosis);
}

// Metrics of a run that was resumed without losing a step: nothing says so, but the first step of a process is slow.
TEST(Resume, AScheduleThatBeginsAgainInANewProcessWasNotRestored) {
  RunMaker run("torch");
  run.run.sources = {{"run/metrics.jsonl", "jsonl", model::SourceState::kRead, {}}};
  run.Series("loss", 160, [&](int s) { return run.HealthyLoss(s); });
  run.Series("lr", 160, [](int s) { return CosineLr(3e-3, s > 100 ? s - 100 : s, 10, 160); });
  run.Series("ms", 160, [&](int s) { return (s == 1 || s == 101 ? 26 : 7) * run.Factor(0.05); });
  run.Found("lr/schedule-break", 101, 101, "learning rate jumped from 0.0011 to 0.0003 at step 101");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "scheduler-not-saved") << Describe(diagnosis);
}

TEST(Resume, ACheckpointRightBeforeTheBreakSpeaksForARestart) {
  RunMaker run;
  run.run.sources = {{"out/checkpoint-120/trainer_state.json", "trainer-state", model::SourceState::kRead, {}}};
  run.Series("loss", 200, [&](int s) { return run.HealthyLoss(s); }, 5);
  run.Series("lr", 200, [](int s) { return CosineLr(3e-3, s > 120 ? s - 120 : s, 30, 200); }, 5);
  run.Found("lr/schedule-break", 125, 125, "learning rate jumped from 0.0014 to 0.0004 at step 125");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "scheduler-not-saved") << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.restart), HasSubstr("checkpoint-120"));
}

TEST(Resume, AScheduleCreatedAgainInTheSameProcessIsABrokenSchedule) {
  RunMaker run("torch");
  run.run.sources = {{"run/metrics.jsonl", "jsonl", model::SourceState::kRead, {}}};
  run.Series("loss", 160, [&](int s) { return run.HealthyLoss(s); });
  run.Series("lr", 160, [](int s) { return CosineLr(3e-3, s > 100 ? s - 100 : s, 10, 160); });
  run.Series("ms", 160, [&](int s) { return (s == 1 ? 26 : 7) * run.Factor(0.05); });
  run.Found("lr/schedule-break", 101, 101, "learning rate jumped from 0.0011 to 0.0003 at step 101");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "bad-schedule") << Describe(diagnosis);
}

TEST(Resume, AScheduleBreakWithoutARestartIsNoMatterOfCheckpoints) {
  RunMaker run;
  run.Planned(200);
  run.Series("loss", 200, [&](int s) { return run.HealthyLoss(s); });
  run.Series("lr", 200, [](int s) { return s < 120 ? CosineLr(3e-4, s, 10, 200) : 3e-4; });
  run.Found("lr/schedule-break", 120, 120, "learning rate jumped from 0.00012 to 0.0003 at step 120");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, "bad-schedule") << Describe(diagnosis);
  EXPECT_GT(diagnosis.confidence, 0.7);
}

RunMaker NanAt(std::int64_t step) {
  RunMaker run;
  run.Planned(1000);
  run.Series("loss", 600, [&, step](int s) { return s >= step ? kNan : run.HealthyLoss(s); });
  run.Series("grad_norm", 600, [&, step](int s) { return s >= step ? kNan : run.HealthyNorm(); });
  run.Found("loss/non-finite", step, 600);
  return run;
}

TEST(Restart, TheLastCheckpointFolderBeforeTheTrouble) {
  RunMaker run = NanAt(412);
  for (const int step : {200, 400, 600})
    run.run.sources.push_back({"out/checkpoint-" + std::to_string(step) + "/trainer_state.json",
                               "trainer_state",
                               model::SourceState::kRead,
                               {}});
  EXPECT_THAT(Words(run.First().restart), HasSubstr("checkpoint-400"));
}

TEST(Restart, TheLastCheckpointThatTheLogSpeaksOf) {
  RunMaker run = NanAt(412);
  run.Event(model::EventKind::kCheckpoint, 250).Event(model::EventKind::kCheckpoint, 500);
  EXPECT_THAT(Words(run.First().restart), HasSubstr("step 250"));
}

TEST(Restart, ACheckpointThatTheSaveIntervalPromises) {
  RunMaker run = NanAt(412);
  run.Fact("save_steps", "100");
  EXPECT_THAT(Words(run.First().restart), AllOf(HasSubstr("checkpoint-400"), HasSubstr("if it was kept")));
}

TEST(Restart, OtherwiseBeforeTheFirstBadStep) {
  EXPECT_THAT(Words(NanAt(412).First().restart), HasSubstr("before step 412"));
}

TEST(Restart, FromTheBeginningWhenTheTroubleIsThere) {
  EXPECT_THAT(Words(NanAt(3).First().restart), HasSubstr("beginning"));
}

TEST(Restart, ACheckpointOfTheFirstBadStepItselfIsSpoiled) {
  RunMaker run = NanAt(400);
  run.Event(model::EventKind::kCheckpoint, 400);
  EXPECT_THAT(Words(run.First().restart), HasSubstr("before step 400"));
  EXPECT_THAT(Words(run.First().restart), Not(HasSubstr("checkpoint of step 400")));
}

}  // namespace
}  // namespace vigil::diagnose
