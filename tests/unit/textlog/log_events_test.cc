// Tracebacks, error messages and exit codes in logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "log_support.h"
#include "textlog/hints.h"
#include "textlog/signatures.h"

namespace vigil::textlog {
namespace {

using model::EventKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> NamesOf(const std::vector<model::Event>& events) {
  std::vector<std::string> names;
  for (const model::Event& event : events) names.push_back(event.name);
  return names;
}

TEST(Traceback, GivesTypeMessageFrameLineAndStep) {
  const model::Run run = ReadLog(
      "step 7 loss 2.5\n"
      "Traceback (most recent call last):\n"
      "  File \"/home/me/train.py\", line 12, in <module>\n"
      "    main()\n"
      "    ^^^^^^\n"
      "  File \"/home/me/model.py\", line 34, in forward\n"
      "    raise ValueError('bad')\n"
      "ValueError: bad: value\n"
      " 12%|#  | 7/60 [00:01<00:02, 3.00it/s]\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].name, "ValueError");
  EXPECT_EQ(events[0].text, "ValueError: bad: value");
  EXPECT_EQ(events[0].detail, "/home/me/model.py:34 in forward");
  EXPECT_EQ(events[0].place.line, 8U);
  EXPECT_EQ(events[0].at.value(), 7);
}

TEST(Traceback, GivesTheRootOfAChain) {
  for (const std::string_view sentence : {"During handling of the above exception, another exception occurred:",
                                          "The above exception was the direct cause of the following exception:"}) {
    const model::Run run =
        ReadLog(std::string("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    x\n"
                            "KeyError: 'foo'\n\n") +
                std::string(sentence) +
                "\n\nTraceback (most recent call last):\n  File \"b.py\", line 2, in g\n    y\n"
                "RuntimeError: no foo\n");
    const auto events = EventsOf(run, EventKind::kException);
    ASSERT_THAT(events, SizeIs(1)) << sentence;
    EXPECT_EQ(events[0].name, "KeyError");
    EXPECT_EQ(events[0].detail, "a.py:1 in f");
    EXPECT_THAT(events[0].text, HasSubstr("(then RuntimeError: no foo)"));
  }
}

TEST(Traceback, OfInterleavedRanksAreKeptApart) {
  const model::Run run = ReadLog(
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]:   File \"a.py\", line 1, in f\n"
      "[rank1]:   File \"b.py\", line 2, in g\n"
      "[rank1]:     y()\n"
      "wandb: syncing\n"
      "[rank0]:     x()\n"
      "[rank1]: TypeError: two\n"
      "[rank0]: ValueError: one\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].name, "TypeError");
  EXPECT_EQ(events[0].rank, 1);
  EXPECT_EQ(events[0].detail, "b.py:2 in g");
  EXPECT_EQ(events[1].name, "ValueError");
  EXPECT_EQ(events[1].detail, "a.py:1 in f");
}

TEST(Traceback, InABoxIsRead) {
  const model::Run run = ReadLog(
      "\u256d\u2500\u2500 Traceback (most recent call last) \u2500\u2500\u256e\n"
      "\u2502 /home/me/train.py:12 in <module>          \u2502\n"
      "\u2502   11 main()                               \u2502\n"
      "\u2502 /home/me/model.py:34 in forward           \u2502\n"
      "\u2570\u2500\u2500\u2500\u2500\u256f\n"
      "ValueError: bad\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].detail, "/home/me/model.py:34 in forward");
}

TEST(Traceback, InALaunchersTableIsRead) {
  const model::Run run = ReadLog(
      "  error_file: /tmp/error.json\n"
      "  traceback : Traceback (most recent call last):\n"
      "    File \"a.py\", line 1, in f\n"
      "      x()\n"
      "  torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB\n");
  EXPECT_THAT(NamesOf(EventsOf(run, EventKind::kSignature)), ElementsAre("log/cuda-oom"));
}

TEST(Traceback, WithoutAnEndIsForgotten) {
  std::string text = "Traceback (most recent call last):\n";
  for (int i = 0; i < 5000; ++i) text += "    recursion()\n";
  text += "step 1 loss 2.0\n";
  EXPECT_THAT(StepsOf(ReadLog(text), "loss"), ElementsAre(1));
}

TEST(ExceptionTypes, AreDistinguishedFromLevelsAndSentences) {
  EXPECT_EQ(ExceptionType("ValueError: bad"), "ValueError");
  EXPECT_EQ(ExceptionType("KeyboardInterrupt"), "KeyboardInterrupt");
  EXPECT_EQ(ExceptionType("torch._dynamo.exc.Unsupported: x"), "torch._dynamo.exc.Unsupported");
  EXPECT_EQ(ExceptionType("socket.timeout: timed out"), "socket.timeout");
  EXPECT_EQ(ExceptionType("INFO: fine"), "");
  EXPECT_EQ(ExceptionType("wandb: syncing"), "");
  EXPECT_EQ(ExceptionType("The run ended: badly"), "");
  EXPECT_EQ(ExceptionType(""), "");
}

TEST(RunWentOn, IsSetForErrorsBeforeLaterSteps) {
  const model::Run run = ReadLog("step 1 loss 3\nCUDA out of memory while autotuning\nstep 2 loss 2\n");
  const auto events = EventsOf(run, EventKind::kSignature);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_TRUE(events[0].run_went_on);
}

TEST(RunWentOn, IsNotSetWhenStepsBeginAgain) {
  const model::Run run =
      ReadLog("step 1 loss 3\nstep 2 loss 2\nCUDA out of memory\nstep 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\n");
  EXPECT_FALSE(EventsOf(run, EventKind::kSignature).at(0).run_went_on);
}

TEST(RunWentOn, IsSetWhenAnotherStartGotPastIt) {
  std::string text =
      "step 4 | loss 2.5\nTraceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x()\n"
      "torch.OutOfMemoryError: CUDA out of memory.\n";
  for (int step = 0; step < 6; ++step) text += "step " + std::to_string(step) + " | loss 2.5\n";
  const auto before = EventsOf(ReadLog(text), EventKind::kSignature);
  ASSERT_THAT(before, SizeIs(1));
  EXPECT_FALSE(before[0].run_went_on) << "the second start has not got far enough to say so";
  for (int step = 6; step < 9; ++step) text += "step " + std::to_string(step) + " | loss 2.5\n";
  const auto after = EventsOf(ReadLog(text), EventKind::kSignature);
  EXPECT_TRUE(after[0].run_went_on);
  EXPECT_EQ(after[0].at.value(), 4);
}

TEST(MemoryError, NamesWhatTheTrainingWasDoing) {
  const auto id_in = [](const std::string& function) {
    const auto run = ReadLog(
        "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x()\n  File "
        "\"trainer.py\", line 9, in " +
        function +
        "\n    y()\n  File \"nn.py\", line 1, in forward\n    z()\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.\n");
    const auto events = EventsOf(run, EventKind::kSignature);
    return events.empty() ? std::string() : events[0].name;
  };
  EXPECT_EQ(id_in("training_step"), "log/cuda-oom");
  EXPECT_EQ(id_in("evaluation_loop"), "log/cuda-oom-evaluation");
  EXPECT_EQ(id_in("_save_checkpoint"), "log/cuda-oom-saving");
  EXPECT_EQ(id_in("_init_group"), "log/cuda-oom-optimizer");
}

TEST(RunWentOn, IsNotSetForAnUncaughtExceptionBeforeBufferedLines) {
  // Standard output was buffered: its lines were written when the process ended, behind the traceback.
  const model::Run run = ReadLog(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    main()\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 1 GiB\nstep 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\n");
  for (const model::Event& event : run.events) {
    EXPECT_FALSE(event.run_went_on);
    EXPECT_EQ(event.at.value(), 3) << "the last step made before the process ended";
  }
}

TEST(RunWentOn, IsSetForAnUncaughtExceptionBeforeMuchMore) {
  std::string text =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    main()\nOSError: x\n";
  for (int step = 1; step < 1000; ++step) text += "step " + std::to_string(step) + " | loss 2.345 | lr 0.001\n";
  EXPECT_TRUE(EventsOf(ReadLog(text), EventKind::kException).at(0).run_went_on);
}

TEST(RunWentOn, IsNotSetByOneMoreBarBehindATraceback) {
  const model::Run run = ReadLog(
      "\r  0%| | 5/90 [00:01<00:02,  9.00it/s]\nTraceback (most recent call last):\n  File \"a.py\", line 1, in "
      "<module>\n"
      "    main()\nValueError: x\n\r  0%| | 9/90 [00:01<00:02,  9.00it/s]\n");
  EXPECT_FALSE(EventsOf(run, EventKind::kException).at(0).run_went_on);
}

TEST(FailureTable, GivesRankAndExitCodeOfTheRootCause) {
  const model::Run run = ReadLog(
      "Failures:\n[1]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : -15 (pid: 14)\n---\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : 2026-04-19_20:44:12\n  host      : a75f\n"
      "  rank      : 6 (local_rank: 6)\n  exitcode  : -9 (pid: 2423)\n  error_file: <N/A>\n====\n");
  const auto events = EventsOf(run, EventKind::kExit);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].name, "-9");
  EXPECT_EQ(events[0].rank, 6);
  EXPECT_EQ(report::EventText(events[0]), "rank 6 on a75f ended with exit code -9 (SIGKILL)");
}

TEST(Notices, GiveCheckpointsAndRestarts) {
  const model::Run run =
      ReadLog("step 5 loss 2\nSaving model checkpoint to out/checkpoint-5\nResuming training from out\n");
  ASSERT_THAT(EventsOf(run, EventKind::kCheckpoint), SizeIs(1));
  EXPECT_EQ(EventsOf(run, EventKind::kCheckpoint)[0].at.value(), 5);
  EXPECT_THAT(EventsOf(run, EventKind::kResume), SizeIs(1));
}

}  // namespace
}  // namespace vigil::textlog
