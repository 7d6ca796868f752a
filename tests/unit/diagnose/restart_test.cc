// Where to go on from, with what left out, by which command; and what to run next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/advice.h"
#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A loss that is NaN from a step on, with nothing before it.
RunMaker NanAt(int bad, std::string framework = "hf-trainer") {
  RunMaker run(std::move(framework));
  run.Planned(1000);
  run.Series("grad_norm", 500, [&, bad](int s) { return s < bad ? run.HealthyNorm() : kNan; });
  run.Series("loss", 500, [&, bad](int s) { return s < bad ? run.HealthyLoss(s) : kNan; });
  run.Found("loss/non-finite", bad, 500);
  return run;
}

RunMaker& With(RunMaker& run, std::int64_t step, std::vector<std::string> missing = {}) {
  run.run.checkpoints.push_back({"out/checkpoint-" + std::to_string(step), model::StepAt(step), std::move(missing)});
  return run;
}

std::string RestartOf(const RunMaker& run) { return Words(run.First().restart); }

TEST(Restart, NamesTheLastCheckpointThatIsThereAndWhole) {
  RunMaker run = NanAt(412);
  With(With(With(run, 300), 400), 420);
  EXPECT_THAT(RestartOf(run), AllOf(HasSubstr("checkpoint-400"), HasSubstr("before step 412")));
}

TEST(Restart, SaysThatNoneIsEarlyEnough) {
  RunMaker run = NanAt(340);
  With(With(With(run, 350), 400), 420);
  EXPECT_THAT(RestartOf(run), AllOf(HasSubstr("the beginning"), HasSubstr("none of"), HasSubstr("checkpoint-350"),
                                    HasSubstr("checkpoint-420"), HasSubstr("early enough")));
}

TEST(Restart, PassesOverOneThatIsNotWhole) {
  RunMaker run = NanAt(412);
  With(With(run, 300), 400, {"optimizer.pt"});
  EXPECT_THAT(RestartOf(run),
              AllOf(HasSubstr("checkpoint-300, the last whole one"), HasSubstr("checkpoint-400 lacks optimizer.pt")));
}

TEST(Restart, SaysThatTheOnlyOneIsNotWhole) {
  RunMaker run = NanAt(412);
  With(run, 400, {"the end of model.safetensors"});
  EXPECT_THAT(RestartOf(run),
              AllOf(HasSubstr("the beginning"), HasSubstr("checkpoint-400 lacks the end of model.safetensors")));
}

TEST(Restart, OfACopyWithoutWeightsTheNamesAreAllThereIs) {
  RunMaker run = NanAt(412);
  With(run, 400, {std::string(model::kNoWeights), "optimizer.pt"});
  EXPECT_THAT(RestartOf(run), HasSubstr("checkpoint-400, the last before"));
}

TEST(Restart, ACheckpointOfTheLogThatIsNotOnDiskIsMissing) {
  RunMaker run = NanAt(412);
  run.Event(model::EventKind::kCheckpoint, 410);
  EXPECT_THAT(RestartOf(run), HasSubstr("step 410")) << "nothing was found on disk: the log is believed";
  With(run, 300);
  EXPECT_THAT(RestartOf(run), AllOf(HasSubstr("checkpoint-300"), Not(HasSubstr("410"))));
}

TEST(Restart, AfterACrashTheLastWholeOneIsTaken) {
  RunMaker run;
  run.Series("loss", 500, [&](int s) { return run.HealthyLoss(s); });
  run.Found("log/cuda-oom", 500, 500, "CUDA out of memory").Found("memory/oom", 500, 500);
  With(With(run, 400), 500, {"optimizer.pt"});
  EXPECT_THAT(RestartOf(run), AllOf(HasSubstr("checkpoint-400"), HasSubstr("checkpoint-500 lacks")));
}

// ---- the command

TEST(RestartCommand, IsThatOfTheTrainerWithTheChange) {
  RunMaker run("hf-trainer");
  run.Planned(1000).Method("sft");
  run.Series("lr", 400, [](int s) { return CosineLr(2e-3, s, 100, 1000); });
  run.Series("grad_norm", 400,
             [&](int s) { return run.HealthyNorm() * (s < 180 ? 1 : std::exp(0.25 * std::min(s - 180, 40))); });
  run.Series("loss", 400, [&](int s) { return run.HealthyLoss(s) * (s < 190 ? 1 : 1 + 0.2 * (s - 190)); });
  run.Found("grad/explosion", 182, 400).Found("loss/divergence", 191, 400);
  With(run, 150);
  EXPECT_EQ(run.First().restart_command,
            "python train.py --learning_rate 0.0002 --resume_from_checkpoint out/checkpoint-150");
  run.Fact("command_line", "torchrun --nproc_per_node 8 mine.py --learning_rate 2e-3");
  EXPECT_EQ(run.First().restart_command,
            "torchrun --nproc_per_node 8 mine.py --learning_rate 2e-3 --learning_rate 0.0002 --resume_from_checkpoint "
            "out/checkpoint-150")
      << "the last of two counts";
}

TEST(RestartCommand, IsALineOfCodeWhereNoOptionIs) {
  RunMaker run = NanAt(412, "lightning");
  With(run, 400);
  EXPECT_EQ(run.First().restart_command, "trainer.fit(model, ckpt_path='out/checkpoint-400')");
}

TEST(RestartCommand, QuotesWhatAShellWouldTakeApart) {
  RunMaker run = NanAt(412);
  run.run.checkpoints.push_back({"my runs/checkpoint-400", model::StepAt(400), {}});
  EXPECT_THAT(run.First().restart_command, HasSubstr("--resume_from_checkpoint 'my runs/checkpoint-400'"));
}

TEST(Skip, NamesTheSamplesOfTheBadStep) {
  RunMaker run = NanAt(412);
  run.Fact("batch_size", "8").Fact("accumulation", "2");
  const model::Diagnosis diagnosis = run.First();
  ASSERT_EQ(diagnosis.cause, "bad-sample") << Describe(diagnosis);
  EXPECT_THAT(Words(diagnosis.skip), AllOf(HasSubstr("412"), HasSubstr("6576"), HasSubstr("6591")));
}

// ---- the next command

TEST(NextCommand, EveryDiagnosisHasOneWithItsOutcomes) {
  for (const catalogue::CauseRow& cause : catalogue::Causes()) {
    if (cause.remedies.empty() && cause.evidence.empty()) continue;
    EXPECT_NE(catalogue::FindNextCommand(cause.id), nullptr) << cause.id;
  }
  for (const catalogue::NextRow& row : catalogue::NextCommands()) EXPECT_GE(row.outcomes.size(), 2U) << row.id;
}

TEST(NextCommand, IsGivenForWhatIsUndecidedToo) {
  RunMaker run("hf-trainer");
  run.Found("loss/oscillation", 100, 200);
  for (const model::Diagnosis& diagnosis : run.Diagnoses()) EXPECT_FALSE(diagnosis.next_command.command.empty());
}

TEST(NextCommand, ALoopOfOnesOwnIsJudgedBesideTheRunThatItRepeats) {
  RunMaker run = NanAt(412, "torch");
  const model::NextCommand next = run.First().next_command;
  EXPECT_EQ(next.command, "vigil diagnose run run-again");
  EXPECT_THAT(Words(next.first), HasSubstr("run-again"));
}

TEST(NextCommand, NamesTheMessage) {
  RunMaker run;
  run.Found("log/module-missing", 500, 500, "No module named 'flash_attn'");
  EXPECT_EQ(run.First().next_command.command, "vigil explain log/module-missing");
}

}  // namespace
}  // namespace vigil::diagnose
