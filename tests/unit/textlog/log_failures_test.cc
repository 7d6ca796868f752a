// Groups of exceptions, and what Slurm reports of tasks that ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log_support.h"
#include "textlog/failure_table.h"

namespace vigil::textlog {
namespace {

using model::EventKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kGroup =
    "step 1 loss 2.0\n"
    "step 2 loss 1.9\n"
    "  + Exception Group Traceback (most recent call last):\n"
    "  |   File \"train.py\", line 3, in <module>\n"
    "  |     main()\n"
    "  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)\n"
    "  +-+---------------- 1 ----------------\n"
    "    | Traceback (most recent call last):\n"
    "    |   File \"x.py\", line 5, in f\n"
    "    |     raise ValueError('boom')\n"
    "    | ValueError: boom\n"
    "    +---------------- 2 ----------------\n"
    "    | Traceback (most recent call last):\n"
    "    |   File \"y.py\", line 7, in g\n"
    "    |     z()\n"
    "    | KeyError: 'k'\n"
    "    +------------------------------------\n";

TEST(ExceptionGroup, NamesTheExceptionsInItAndSaysThatTheProcessEnded) {
  for (const bool use_hints : {true, false}) {
    const auto events = EventsOf(ReadLog(kGroup, 0, use_hints), EventKind::kException);
    ASSERT_THAT(events, SizeIs(1));
    EXPECT_EQ(events[0].name, "ValueError");
    EXPECT_EQ(events[0].detail, "x.py:5 in f");
    EXPECT_THAT(events[0].text, HasSubstr("boom (then KeyError: 'k')"));
    EXPECT_EQ(events[0].at.value(), 2);
    EXPECT_FALSE(events[0].run_went_on);
  }
}

TEST(ExceptionGroup, CarriesTheSignaturesOfItsExceptions) {
  const model::Run run = ReadLog(
      "  + Exception Group Traceback (most recent call last):\n"
      "  |   File \"train.py\", line 3, in <module>\n"
      "  |     main()\n"
      "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n"
      "  +-+---------------- 1 ----------------\n"
      "    | Exception Group Traceback (most recent call last):\n"
      "    |   File \"x.py\", line 5, in f\n"
      "    |     inner()\n"
      "    | ExceptionGroup: inner (1 sub-exception)\n"
      "    +-+---------------- 1 ----------------\n"
      "      | NameError: name 'x' is not defined\n"
      "      +------------------------------------\n"
      "bye\n"
      "Traceback (most recent call last):\n"
      "  File \"z.py\", line 1, in <module>\n"
      "    q()\n"
      "RuntimeError: after the tree\n");
  const auto exceptions = EventsOf(run, EventKind::kException);
  ASSERT_THAT(exceptions, SizeIs(2));
  EXPECT_EQ(exceptions[0].name, "NameError");
  EXPECT_EQ(exceptions[1].name, "RuntimeError");
  const auto signatures = EventsOf(run, EventKind::kSignature);
  ASSERT_THAT(signatures, SizeIs(1));
  EXPECT_EQ(signatures[0].name, "log/code-error");
}

TEST(ExceptionGroup, CutOffIsFollowedByWhatComes) {
  const model::Run run = ReadLog(
      "  + Exception Group Traceback (most recent call last):\n"
      "  |   File \"train.py\", line 3, in <module>\n"
      "Traceback (most recent call last):\n"
      "  File \"z.py\", line 1, in <module>\n"
      "    q()\n"
      "RuntimeError: another start\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].detail, "z.py:1 in <module>");
}

TEST(Srun, NamesTheTaskThatASignalEnded) {
  const model::Run run = ReadLog(
      "step 1 loss 2.0\nstep 2 loss 1.9\n"
      "srun: error: node12: task 13: Exited with exit code 137\n"
      "srun: Terminating StepId=1.0\n"
      "srun: error: node1: tasks 0-7: Killed\n"
      "slurmstepd: error: *** STEP 1.0 ON node1 CANCELLED AT 2024-01-01T00:00:00 ***\n");
  const auto events = EventsOf(run, EventKind::kExit);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].name, "-9");
  EXPECT_EQ(events[0].rank, 13);
  EXPECT_EQ(events[0].place.line, 3U);
  EXPECT_THAT(report::EventText(events[0]), HasSubstr("node12"));
}

TEST(Srun, ReadsAllEndings) {
  const auto code = [](std::string_view ending) {
    const auto failure = FailureOfSrun("srun: error: n[1-2]: tasks 4-15: " + std::string(ending), 7);
    return failure ? failure->exit_code : 0;
  };
  EXPECT_EQ(code("Killed"), -9);
  EXPECT_EQ(code("Segmentation fault (core dumped)"), -11);
  EXPECT_EQ(code("Exited with exit code 139"), -11);
  EXPECT_EQ(code("Exited with exit code 134"), -6);
  // Asked to end, or failed by itself: its own lines say why.
  EXPECT_EQ(code("Exited with exit code 1"), 0);
  EXPECT_EQ(code("Exited with exit code 143"), 0);
  EXPECT_EQ(code("Terminated"), 0);
  EXPECT_EQ(code(""), 0);
  EXPECT_EQ(FailureOfSrun("srun: error: n1: task 99999999999999999999: Killed", 1)->rank, -1);
  EXPECT_FALSE(FailureOfSrun("srun: error: Unable to create step", 1));
  EXPECT_FALSE(FailureOfSrun("srun: error: n1: task", 1));
}

}  // namespace
}  // namespace vigil::textlog
