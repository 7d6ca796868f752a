// Failures as their logs tell them, from the files to the cause: one failure is one story.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "../../support/scratch.h"
#include "story.h"

namespace vigil::rules {
namespace {

using ::testing::AnyOf;
using ::testing::SizeIs;

class OneFailureIsOneStory : public ScratchTest {
 protected:
  model::Report Judge() const { return pipeline::DiagnosePaths({Folder()}, catalogue::Thresholds()).report; }
  static std::string Steps(int from, int to, const std::function<double(int)>& loss) {
    std::string text;
    for (int step = from; step <= to; ++step) text += fmt::format("step {} loss {:.4f}\n", step, loss(step));
    return text;
  }
  static std::string Sound(int from, int to) {
    return Steps(from, to, [](int s) { return 2 + 3 / std::sqrt(1 + s / 10.0); });
  }
  static std::size_t Alarms(const model::RunReport& report) {
    std::size_t count = 0;
    for (const model::Finding& finding : report.findings) count += finding.severity >= model::Severity::kError ? 1 : 0;
    return count;
  }
};

TEST_F(OneFailureIsOneStory, AnAbortAndItsReason) {
  Write("train.log", Sound(1, 40) +
                         "terminate called after throwing an instance of 'std::runtime_error'\n"
                         "  what():  checkpoint shard 3 is missing\n");
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  EXPECT_EQ(Alarms(report.runs[0]), 1U) << Describe(report.runs[0]);
  ASSERT_THAT(report.runs[0].diagnoses, SizeIs(1));
}

TEST_F(OneFailureIsOneStory, APeersResetAndTheExitThatCausedIt) {
  Write(
      "train.log",
      "[rank0]: step 4 loss 2\n[rank1]: step 4 loss 2\n[rank0]: step 5 loss 2\n"
      "[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:29602: Connection reset by peer\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nRoot Cause (first observed "
      "failure):\n[0]:\n"
      "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 2423)\n===\n");
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  EXPECT_EQ(Alarms(report.runs[0]), 1U) << Describe(report.runs[0]);
  ASSERT_FALSE(report.runs[0].findings.empty());
  EXPECT_EQ(report.runs[0].findings[0].id, "hang/dead-rank") << Describe(report.runs[0]);
  EXPECT_THAT(report.runs[0].findings[0].ranks, ::testing::ElementsAre(1));
}

TEST_F(OneFailureIsOneStory, ALostConnectionAloneIsNeverTheRoot) {
  Write("train.log",
        "[rank0]: step 4 loss 2\n[rank0]: step 5 loss 2\n"
        "[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:29602: Connection reset by "
        "peer\n");
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  ASSERT_NE(Find(report.runs[0], "hang/dead-rank"), nullptr) << Describe(report.runs[0]);
  EXPECT_THAT(NamedFor(report.runs[0], "hang/dead-rank"), ::testing::Contains("rank-died")) << Describe(report.runs[0]);
}

TEST_F(OneFailureIsOneStory, AnOutOfMemoryAndTheLeakThatLedToIt) {
  std::string text;
  for (int step = 1; step <= 200; ++step)
    text += fmt::format("step {} loss {:.4f} memory/max_alloc {:.2f}\n", step, 2 + 3 / std::sqrt(1 + step / 10.0),
                        20 + 0.25 * step);
  Write("train.log", text +
                         "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total "
                         "capacity of 79.15 GiB of which 512.00 MiB is free.\n");
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  ASSERT_THAT(report.runs[0].diagnoses, SizeIs(1)) << Describe(report.runs[0]);
  EXPECT_THAT(report.runs[0].diagnoses[0].cause, AnyOf("graph-retained", "memory-leak-host-ref"))
      << Describe(report.runs[0]);
}

TEST_F(OneFailureIsOneStory, OneCrashInTwoLogFiles) {
  const std::string crash =
      "Traceback (most recent call last):\n  File \"train.py\", line 88, in <module>\n    main()\n"
      "ValueError: expected 12 columns, found 11\n";
  Write("run/stdout.log", Sound(1, 60) + crash);
  Write("run/stderr.log", crash);
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  EXPECT_EQ(Alarms(report.runs[0]), 1U) << Describe(report.runs[0]);
}

TEST_F(OneFailureIsOneStory, AnExitBySignalIsTheRoot) {
  Write("train.log", Sound(1, 60) + "/var/spool/job: line 23: 18234 Killed                  python train.py\n");
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  ASSERT_FALSE(report.runs[0].findings.empty());
  EXPECT_THAT(report.runs[0].findings[0].id, AnyOf("memory/host-oom", "log/killed-signal")) << Describe(report.runs[0]);
  EXPECT_GE(report.runs[0].findings[0].severity, model::Severity::kError);
}

// ---- restarts, as their files show them

class RestartsOfFiles : public OneFailureIsOneStory {};

TEST_F(RestartsOfFiles, TheStepInTheNoticeIsWhereTheRunWentOn) {
  const auto falling = [](int s) { return 2 + 3 / std::sqrt(1 + (s - 1399) / 10.0); };
  Write("train.log", Steps(1400, 1500, falling) + "Resuming from step 1500\n" + Steps(1501, 1600, falling));
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  bool placed = false;
  for (const model::Event& event : report.runs[0].run.events)
    placed |= event.kind == model::EventKind::kResume && event.at.known() && event.at.value() == 1500;
  EXPECT_TRUE(placed);
  EXPECT_LE(WorstOf(report.runs[0]), model::Severity::kInfo) << Describe(report.runs[0]);
}

TEST_F(RestartsOfFiles, ThatContinueTheStepsAreOneRun) {
  std::string first = "step,loss,lr\n";
  std::string second = first;
  for (int s = 1; s <= 200; ++s) first += fmt::format("{},{:.5f},{:.3e}\n", s, 2 + 3 / std::sqrt(1 + s / 10.0), 3e-4);
  for (int s = 201; s <= 400; ++s)
    second += fmt::format("{},{:.5f},{:.3e}\n", s, 2 + 3 / std::sqrt(1 + s / 10.0), 3e-4);
  Write("run/metrics_1.csv", first);
  Write("run/metrics_2.csv", second);
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  ASSERT_NE(report.runs[0].run.Find("loss"), nullptr);
  EXPECT_EQ(report.runs[0].run.Find("loss")->size(), 400U);
}

TEST_F(RestartsOfFiles, TheFirstMomentsOfALevelBehindARestartAreComparedWithTheLastBefore) {
  Write("train.log", Sound(1, 200) + "Resuming from step 200\n" +
                         Steps(201, 400, [](int s) { return 1.45 * (2 + 3 / std::sqrt(1 + s / 10.0)); }));
  const model::Report report = Judge();
  ASSERT_THAT(report.runs, SizeIs(1));
  EXPECT_NE(Find(report.runs[0], "loss/resume-jump"), nullptr) << Describe(report.runs[0]);
}

}  // namespace
}  // namespace vigil::rules
