// From the messages of a log to findings: one incident once, at its root.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "detect/detect.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "runs.h"
#include "support/paths.h"

namespace vigil::detect {
namespace {

using model::Finding;
using model::Severity;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing::Words;

model::Run ReadLog(std::string_view text) {
  for (const ingest::Format& format : formats::Formats()) {
    if (format.id != "log-text") continue;
    auto run = ingest::ReadBytes("train.log", text, format);
    return run ? *run : model::Run{};
  }
  return {};
}

std::vector<Finding> FindingsOf(std::string_view text) { return FindingsFromEvents(ReadLog(text), {}); }

std::vector<std::string> IdsOf(const std::vector<Finding>& findings) {
  std::vector<std::string> ids;
  for (const Finding& finding : findings) ids.push_back(finding.id);
  return ids;
}

constexpr std::string_view kOomTraceback =
    "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    main()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 79.18 "
    "GiB\n";

TEST(OneFailureIsOneStory, AMemoryErrorIsOneFindingUnderTheNameOfTheCatalogue) {
  const auto findings = FindingsOf("step 8 loss 2\n" + std::string(kOomTraceback));
  ASSERT_THAT(IdsOf(findings), ElementsAre("memory/oom"));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.signature, "log/cuda-oom");
    EXPECT_EQ(finding.severity, Severity::kFatal);
    EXPECT_EQ(finding.family, model::Family::kMemory);
    EXPECT_EQ(finding.first.value(), 8);
    EXPECT_THAT(Words(finding), HasSubstr("Tried to allocate 512.00 MiB"));
    EXPECT_EQ(finding.MeasureOr("asked_gib", 0), 0.5);
    EXPECT_EQ(finding.MeasureOr("capacity_gib", 0), 79.18);
    ASSERT_THAT(finding.evidence, SizeIs(1));
    EXPECT_EQ(finding.evidence[0].path, "train.log");
    EXPECT_EQ(finding.evidence[0].line, 5U);
    EXPECT_THAT(Words(finding.evidence[0]), HasSubstr("train.py:9 in <module>"));
  }
}

TEST(LogFindings, AreOnlyWarningsWhenTheRunWentOn) {
  const auto findings = FindingsOf("step 1 loss 3\nCUDA out of memory while autotuning\nstep 2 loss 2\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("memory/oom"));
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_THAT(Words(findings[0]), HasSubstr("the run went on"));
}

TEST(LogFindings, AreNoMoreThanInfoForAnExceptionThatTheRunSurvived) {
  const auto findings = FindingsOf(
      "step 1 loss 3\nTraceback (most recent call last):\n  File \"a.py\", line 3, in fetch\n    x()\nTimeoutError: "
      "slow\n"
      "step 2 loss 2\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/uncaught-exception"));
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
}

TEST(LogFindings, ReportTheErrorThatEndsARunBehindManyThatWereCaught) {
  std::string text;
  for (int step = 0; step < 503; ++step) {
    text += "step: " + std::to_string(step) + " loss: 2.5 grad_norm: 1.0\n";
    if (step % 5 == 4)
      text += "Traceback (most recent call last):\n  File \"data.py\", line 3, in load\n    x()\nMyError: bad sample\n";
  }
  text += "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    x()\nMyError: too many\n";
  const auto findings = FindingsOf(text);
  const auto worst = std::max_element(findings.begin(), findings.end(),
                                      [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  ASSERT_NE(worst, findings.end());
  EXPECT_GE(worst->severity, Severity::kError);
  EXPECT_THAT(Words(*worst), HasSubstr("too many"));
  EXPECT_LT(findings.size(), 20U) << "and those that were caught are not all listed";
}

TEST(LogFindings, FallBackToTheFirstExceptionThatNothingExplains) {
  const auto findings = FindingsOf(
      "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    x()\nZeroDivisionError: division "
      "by zero\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/uncaught-exception"));
  EXPECT_THAT(Words(findings[0]), HasSubstr("ZeroDivisionError: division by zero"));
  EXPECT_THAT(Words(findings[0].evidence[0]), HasSubstr("a.py:3 in <module>"));
}

TEST(LogFindings, ListWhatFollowedUnderTheRoot) {
  const auto findings = FindingsOf(
      "step 4 loss 2\n"
      "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 3, in f\n[rank1]:     x()\n"
      "[rank1]: FileNotFoundError: [Errno 2] No such file or directory: 'x.bin'\n"
      "[rank0]: RuntimeError: NCCL communicator was aborted on rank 0.\n"
      "W0419 api.py:897] Sending process 2424 closing signal SIGTERM\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "Root Cause (first observed failure):\n[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 2)\n===\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/file-not-found"));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  ASSERT_GE(findings[0].evidence.size(), 3U);
  EXPECT_THAT(Words(findings[0].evidence[1]), HasSubstr("then: RuntimeError: NCCL communicator was aborted"));
}

TEST(LogFindings, NameTheRanksOfOneFailureOnce) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank)
    text += "[rank" + std::to_string(rank) + "]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB\n";
  const auto findings = FindingsOf(text);
  ASSERT_THAT(IdsOf(findings), ElementsAre("memory/oom"));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Words(findings[0]), HasSubstr("on ranks 0-3"));
}

TEST(LogFindings, ReportACascadeItselfWhenItsRootIsNotInTheFiles) {
  EXPECT_THAT(IdsOf(FindingsOf("step 4 loss 2\nRuntimeError: NCCL communicator was aborted on rank 0.\n")),
              ElementsAre("hang/dead-rank"));
}

constexpr std::string_view kTable =
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nRoot Cause (first observed failure):\n[0]:\n"
    "  rank      : 5 (local_rank: 5)\n  exitcode  : ";

TEST(LogFindings, TakeTheExitCodeWhenNoRankSaidMore) {
  const auto killed = FindingsOf(std::string(kTable) + "-9 (pid: 2423)\n===\n");
  ASSERT_THAT(IdsOf(killed), ElementsAre("log/killed-signal")) << "nobody said that memory was the reason";
  EXPECT_THAT(Words(killed[0]), HasSubstr("killed by SIGKILL: the OOM killer, the scheduler or a person"));
  EXPECT_THAT(killed[0].ranks, ElementsAre(5));
  EXPECT_THAT(IdsOf(FindingsOf(std::string(kTable) + "-15 (pid: 2423)\n===\n")), ElementsAre("log/killed-signal"));
  EXPECT_THAT(IdsOf(FindingsOf(std::string(kTable) + "-11 (pid: 2423)\n===\n")), ElementsAre("log/segfault"));
  EXPECT_THAT(IdsOf(FindingsOf(std::string(kTable) + "1 (pid: 2423)\n===\n")), ElementsAre("log/child-failed"));
}

TEST(NoFalseErrors, AKeystrokeIsANoteAndAClosedTerminalAWarning) {
  const auto interrupted = FindingsOf(
      "step 4 loss 2\nTraceback (most recent call last):\n  File \"a.py\", line 3, in f\n    x\nKeyboardInterrupt\n");
  ASSERT_THAT(IdsOf(interrupted), ElementsAre("log/interrupted"));
  EXPECT_EQ(interrupted[0].severity, Severity::kInfo);
  const auto hangup = FindingsOf("step 4 loss 2\nSignalException: Process 12 got signal: 1\n");
  ASSERT_THAT(IdsOf(hangup), ElementsAre("log/killed-signal"));
  EXPECT_EQ(hangup[0].severity, Severity::kWarning);
}

TEST(LogFindings, AreMilderOnceTheTrainingWasComplete) {
  const auto killed = FindingsOf("step 10/10 loss 2\nSignalException: Process 12 got signal: 15\n");
  ASSERT_THAT(killed, SizeIs(1));
  EXPECT_EQ(killed[0].severity, Severity::kWarning);
  const auto crashed = FindingsOf("step 10/10 loss 2\n" + std::string(kOomTraceback));
  ASSERT_THAT(crashed, SizeIs(1));
  EXPECT_EQ(crashed[0].severity, Severity::kError);
}

TEST(LogFindings, OnlyMentionWhatALaterStartGotPast) {
  std::string text = "step 0 loss 3\nstep 5 loss 2.5\ntorch.OutOfMemoryError: CUDA out of memory.\n";
  for (int step = 0; step < 20; ++step) text += "step " + std::to_string(step) + " loss 2.5\n";
  const auto findings = FindingsOf(text);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  EXPECT_THAT(Words(findings[0]), HasSubstr("at step 5; a later start got past it"));
}

TEST(LogFindings, KeepFailuresOfDifferentStepsApart) {
  const auto findings = FindingsOf(
      "step 4 loss 2\nFileNotFoundError: a.bin\nstep 1 loss 3\nstep 2 loss 3\nModuleNotFoundError: No module named "
      "'x'\n");
  EXPECT_THAT(IdsOf(findings), ElementsAre("log/file-not-found", "log/module-missing"));
}

TEST(LogFindings, LeaveOutWhatTheUserTurnedOff) {
  const auto thresholds = catalogue::Thresholds::Parse("[\"log/cuda-oom\"]\nenabled = false\n", "x.toml");
  ASSERT_TRUE(thresholds);
  EXPECT_THAT(FindingsFromEvents(ReadLog("CUDA out of memory\n"), *thresholds), IsEmpty());
}

TEST(LogFindings, JoinTheLogsOfSeveralRanks) {
  model::Run run = ReadLog("step 4 loss 2\nRuntimeError: NCCL communicator was aborted on rank 0.\n");
  const model::Run other = ReadLog("FileNotFoundError: a.bin\n");
  run.sources.push_back(other.sources.front());
  for (model::Event event : other.events) {
    event.place.source = 1;
    run.events.push_back(event);
  }
  const auto findings = FindingsFromEvents(run, {});
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/file-not-found"));
  EXPECT_THAT(findings[0].evidence, SizeIs(2));
}

TEST(LogFindings, ReportTheTimeoutThatMadeTheWatchdogAbort) {
  const auto findings = FindingsOf(
      "step 100 loss 2.5\nstep 110 loss 2.4\n"
      "[rank3]:[E1128 21:02:49.101 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=660, OpType=ALLREDUCE) ran for 600021 milliseconds before timing out.\n"
      "[rank0]:[E1128 21:02:49.201 ProcessGroupNCCL.cpp:629] [Rank 0] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=660, OpType=ALLREDUCE) ran for 600021 milliseconds before timing out.\n"
      "[rank2]:[E1128 21:02:49.201 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog caught collective operation timeout: "
      "WorkNCCL(SeqNum=660, OpType=ALLREDUCE) ran for 600021 milliseconds before timing out.\n"
      "[rank3]:[E1128 21:02:50.001 ProcessGroupNCCL.cpp:695] [Rank 3] To avoid data inconsistency, we are taking the "
      "entire process down.\n"
      "terminate called after throwing an instance of 'c10::DistBackendError'\n"
      "  what():  [PG ID 0 Rank 3] Process group watchdog thread terminated with exception: [Rank 3] Watchdog caught "
      "collective operation timeout: WorkNCCL(SeqNum=660)\n"
      "E1128 21:12:50.390000 3139541 api.py:874] failed (exitcode: -6) local_rank: 3 (pid: 3139623) of binary: python\n"
      "Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n  exitcode  : -6 (pid: 3)\n"
      "  traceback : Signal 6 (SIGABRT) received by PID 3\n====\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/nccl-timeout"));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 2, 3));
  EXPECT_THAT(Words(findings[0]), HasSubstr("on 3 ranks (0, 2, 3) at step 110; rank 1 did not arrive"));
}

TEST(OneFailureIsOneStory, AnAbortAndItsReasonAreOne) {
  const auto findings = FindingsOf(
      "step 8 loss 2\nterminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
      "  what():  [enforce fail at pair.cc:464] Received data size doesn't match expected size.\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("hang/collective-mismatch"));
  const auto other = FindingsOf(
      "step 8 loss 2\nterminate called after throwing an instance of 'std::runtime_error'\n  what():  my own words\n");
  ASSERT_THAT(IdsOf(other), ElementsAre("log/abort"));
  EXPECT_THAT(Words(other[0]), HasSubstr("my own words"));
}

TEST(OneFailureIsOneStory, ALostConnectionIsNotTheRootAndAnExitBySignalIs) {
  const auto findings = FindingsOf(
      "[rank0]: step 4 loss 2\n[rank1]: step 4 loss 2\n"
      "[rank0]: RuntimeError: [gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:29602: Connection reset by peer\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \nRoot Cause (first observed "
      "failure):\n[0]:\n"
      "  rank      : 1 (local_rank: 1)\n  exitcode  : -9 (pid: 2423)\n===\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("hang/dead-rank"));
  EXPECT_EQ(findings[0].signature, "log/killed-signal");
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
}

TEST(OneFailureIsOneStory, ALabelOutsideItsClassesIsNoToken) {
  EXPECT_THAT(IdsOf(FindingsOf("step 8 loss 2\nIndexError: Target 12 is out of bounds.\n")),
              ElementsAre("log/index-out-of-range"));
  EXPECT_THAT(IdsOf(FindingsOf("step 8 loss 2\nIndexError: index out of range in self\n")),
              ElementsAre("data/token-out-of-range"));
}

TEST(OneFailureIsOneStory, AnIndexIntoAnyTableIsNoTokenUnlessTheRunHasThem) {
  const std::string text =
      "step 8 loss 2\nTraceback (most recent call last):\n  File \"run.py\", line 9, in batch\n    part[rows]\n"
      "IndexError: index 3841 is out of bounds for dimension 0 with size 2560\n";
  EXPECT_THAT(IdsOf(FindingsOf(text)), ElementsAre("log/uncaught-exception"));
  model::Run run = ReadLog(text);
  run.facts.push_back({"vocab_size", "2560", "vocab_size", {}});
  EXPECT_THAT(IdsOf(FindingsFromEvents(run, {})), ElementsAre("data/token-out-of-range"));
}

TEST(OneFailureIsOneStory, ALoaderOrAWatchdogThatGaveUpWaitingIsAHang) {
  EXPECT_THAT(IdsOf(FindingsOf("step 8 loss 2\nRuntimeError: DataLoader timed out after 6 seconds\n")),
              ElementsAre("hang/stalled"));
  EXPECT_THAT(IdsOf(FindingsOf("step 8 loss 2\nTimeout (0:00:06)!\nThread 0x00007f (most recent call first):\n")),
              ElementsAre("hang/stalled"));
}

TEST(NoFalseErrors, AnUploadThatFailsAfterTheTrainingIsAWarning) {
  const auto findings = FindingsOf(
      "step 10/10 loss 2\nTraining completed.\nTraceback (most recent call last):\n  File \"push.py\", line 3, in "
      "<module>\n    x()\nrequests.exceptions.HTTPError: 401 Client Error: Unauthorized for url\n");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_LE(findings[0].severity, Severity::kWarning);
}

TEST(NoFalseErrors, AnOptionalPackageThatIsMissingIsANoteWhereTheRunWentOn) {
  const auto findings = FindingsOf("ModuleNotFoundError: No module named 'apex'\nstep 1 loss 3\nstep 2 loss 2\n");
  for (const Finding& finding : findings) EXPECT_EQ(finding.severity, Severity::kInfo) << finding.id;
}

std::string TimeoutOf(int rank, int number, const std::string& what) {
  return "[rank" + std::to_string(rank) + "]:[E1114 03:14:22.201 ProcessGroupNCCL.cpp:629] [Rank " +
         std::to_string(rank) +
         "] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=" + std::to_string(number) +
         ", OpType=" + what +
         ", NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600061 milliseconds before timing out.\n";
}

TEST(LogFindings, ReportWhyARankFailedBeforeThatTheOthersWaitedForIt) {
  const auto findings = FindingsOf(
      "step 8 loss 2\n[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to "
      "allocate 2.90 GiB.\n" +
      TimeoutOf(0, 12, "ALLREDUCE") + TimeoutOf(2, 12, "ALLREDUCE"));
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].signature, "log/cuda-oom");
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
}

TEST(LogFindings, ReportTheWaitingBeforeItsConsequences) {
  const auto findings =
      FindingsOf("step 8 loss 2\n" + TimeoutOf(0, 12, "ALLREDUCE") + TimeoutOf(1, 12, "ALLREDUCE") +
                 "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.90 GiB.\n");
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].id, "log/nccl-timeout");
}

TEST(LogFindings, NameTheRankThatWaitsInAnotherCollective) {
  const auto findings = FindingsOf("step 8 loss 2\n" + TimeoutOf(0, 8841, "ALLREDUCE") +
                                   TimeoutOf(1, 8841, "ALLREDUCE") + TimeoutOf(2, 8840, "_ALLGATHER_BASE"));
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(Words(findings[0]),
              HasSubstr("rank 2 was in collective 8840 _ALLGATHER_BASE, the others in 8841 ALLREDUCE"));
}

TEST(LogFindings, NameWhoSentASigkillWhereTheLogKnows) {
  const auto findings = FindingsOf(
      "step 8 loss 2\n/var/spool/job: line 23: 18234 Killed                  python train.py\n"
      "slurmstepd: error: Detected 1 oom_kill event in StepId=12345.batch. Some of the step tasks have been OOM "
      "Killed.\n");
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].signature, "log/host-oom-kill");
  EXPECT_EQ(findings[0].id, "memory/host-oom");
}

TEST(LogFindings, GiveTheRootOfAChainWhileOtherRanksPrint) {
  const auto findings = FindingsOf(
      "step 7 loss 2.5\n"
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"data.py\", line 3, in load\n[rank2]:     f(x)\n"
      "[rank2]: json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n[rank2]: \n"
      "[rank2]: The above exception was the direct cause of the following exception:\n[rank2]: \n"
      "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"t.py\", line 9, in <module>\n[rank0]:     g()\n"
      "[rank0]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank 0.\n"
      "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"t.py\", line 8, in <module>\n[rank2]:     h()\n"
      "[rank2]: RuntimeError: cannot read shard 12\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/dataset-broken"));
  EXPECT_THAT(findings[0].ranks, ElementsAre(2));
}

TEST(LogFindings, ReadTracebacksWithinTheTableOfALauncher) {
  const auto findings = FindingsOf(
      "step 5 loss 2.5\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n====\nbug.py "
      "FAILED\n----\n"
      "Failures:\n[1]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 5)\n"
      "  traceback : Traceback (most recent call last):\n    File \"bug.py\", line 16, in main\n      dist.barrier()\n"
      "  torch.distributed.DistBackendError: NCCL communicator was aborted on rank 1.\n  \n----\n"
      "Root Cause (first observed failure):\n[0]:\n  rank      : 0 (local_rank: 0)\n  exitcode  : 1 (pid: 4)\n"
      "  traceback : Traceback (most recent call last):\n    File \"bug.py\", line 40, in main\n      open(x)\n"
      "  FileNotFoundError: [Errno 2] No such file or directory: 'data.bin'\n  \n====\n");
  ASSERT_THAT(IdsOf(findings), ElementsAre("log/file-not-found"));
  EXPECT_THAT(Words(findings[0].evidence[0]), HasSubstr("bug.py:40 in main"));
}

TEST(LogFindings, FindNothingWrongWithWhatNcclSaysOfAHealthyRun) {
  EXPECT_THAT(
      FindingsOf("h:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n"
                 "h:1:1 [0] NCCL INFO NET/Plugin : No plugin found (libnccl-net.so), using internal implementation\n"
                 "h:1:2 [5] NCCL INFO Channel 20 : 5[5] -> 4[4] via SHM/direct/direct\n"
                 "h:1:2 [0] NCCL INFO comm 0x7f rank 0 nranks 8 cudaDev 0 busId 1000 commId 0x1 - Init COMPLETE\n"
                 "step 1 loss 2.5\nstep 2 loss 2.5\n"
                 "h:1:3 [0] NCCL INFO [Service thread] Connection closed by localRank 0\n"
                 "h:1:3 [0] NCCL INFO comm 0x7f rank 0 nranks 8 cudaDev 0 busId 1000 - Destroy COMPLETE\n"),
      IsEmpty());
}

double MentionsNonFinite(const std::string& error) {
  const auto findings = FindingsOf(
      "step 8 loss 2\nTraceback (most recent call last):\n  File \"train.py\", line 9, in "
      "<module>\n    main()\n" +
      error + "\n");
  return findings.empty() ? -1 : findings[0].MeasureOr("mentions_non_finite", -1);
}

TEST(LogFindings, SayWhetherTheErrorIsAboutNumbersThatAreNotFinite) {
  EXPECT_EQ(MentionsNonFinite("ValueError: loss is NaN, stopping"), 1);
  EXPECT_EQ(MentionsNonFinite("RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"), 1);
  EXPECT_EQ(MentionsNonFinite("AssertionError: gradient is not finite"), 1);
  EXPECT_EQ(MentionsNonFinite("KeyError: 'nanoGPT'"), 0);
  EXPECT_EQ(MentionsNonFinite("ValueError: no information about the finance split"), 0);
}

TEST(LogFindings, QuoteTheLogWithItsPlace) {
  const auto findings = FindingsOf("step 8 loss 2\n" + std::string(kOomTraceback));
  ASSERT_FALSE(findings.empty());
  const model::Argument* quoted = findings[0].says.Find("text");
  ASSERT_NE(quoted, nullptr);
  const auto* quote = std::get_if<model::Quote>(&quoted->value);
  ASSERT_NE(quote, nullptr);
  EXPECT_EQ(quote->path, "train.log");
  EXPECT_EQ(quote->line, findings[0].evidence.at(0).line);
  EXPECT_GT(quote->line, 0U);
}

// Logs of real runs, with what their labels expect of log messages.
TEST(LogFindings, AgreeWithTheLabelsOfOtherPeoplesLogs) {
  const char* given = std::getenv("VIGIL_CORPUS");
  const std::filesystem::path corpus =
      given != nullptr ? given : std::string(testing_support::kSourceDir) + "/../shared/corpus";
  std::ifstream manifest(corpus / "MANIFEST.tsv");
  if (!manifest) GTEST_SKIP() << "not run: corpus absent at " << corpus;
  std::size_t judged = 0;
  std::size_t missed = 0;
  std::size_t false_alarms = 0;
  std::string row;
  while (std::getline(manifest, row)) {
    const auto columns = Split(row, '\t');
    if (columns.size() < 10 || columns[0] != "stdout_log") continue;
    const std::string expect(columns[9]);
    const bool wants_message = expect.find("log/") != std::string::npos || expect.find("memory/") != std::string::npos;
    if (!wants_message && expect != "none") continue;
    const auto run = formats::ReadFile((corpus / columns[1]).string());
    if (!run) continue;
    ++judged;
    bool hit = false;
    bool alarm = false;
    for (const Finding& finding : FindingsFromEvents(*run, {})) {
      // The labels are older than the row of processes that abort themselves.
      const std::string id = finding.id == "log/abort" ? "log/killed-signal" : finding.id;
      const bool named = expect.find(id) != std::string::npos || expect.find("log/*") != std::string::npos ||
                         (!finding.signature.empty() && expect.find(finding.signature) != std::string::npos);
      // Who presses Ctrl-C knows it: that is a note.
      hit = hit || (named && (finding.severity >= Severity::kWarning || id == "log/interrupted"));
      alarm = alarm || finding.severity >= Severity::kError;
    }
    if (wants_message && !hit) {
      ++missed;
      ADD_FAILURE() << "missed " << expect << " in " << columns[1];
    }
    if (!wants_message && alarm) {
      ++false_alarms;
      ADD_FAILURE() << "false alarm in " << columns[1];
    }
  }
  std::cout << judged << " logs judged, " << missed << " missed, " << false_alarms << " false alarms\n";
}

}  // namespace
}  // namespace vigil::detect
