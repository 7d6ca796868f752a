// Draining is a visible step of reading: it says what it moved, and can be left out.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "support/paths.h"
#include "support/shell.h"

namespace vigil::record {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::Outcome;
using testing_support::QuoteForShell;
using testing_support::RunShell;

// A process that records `steps` losses in the folder and is killed before its thread writes them to the file.
void RecordAndDie(const std::string& folder, int steps) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr std::uint32_t kNeverMs = 3'600'000;
    const RunHandle run = OpenIn(folder, kNeverMs);
    const SeriesHandle series = SeriesIn(run, "loss");
    for (int step = 1; step <= steps; ++step) Add(series, step, 1.0 / step);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
}

// Root writes everywhere, unless the program is started without that capability.
constexpr std::string_view kWithoutOverride = "setpriv --bounding-set -dac_override ";

Outcome Diagnose(const std::string& folder, const std::string& options, std::string_view launcher = "") {
  return RunShell(std::string(launcher) + testing_support::kProgram + " diagnose " + QuoteForShell(folder) + " " +
                  options + " 2>&1");
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VIGIL_NO_THREADS_IN_CHILDREN
#endif
#endif

class Draining : public testing::Test {
 protected:
  void SetUp() override {
#ifdef VIGIL_NO_THREADS_IN_CHILDREN
    GTEST_SKIP() << "the thread sanitizer forbids threads in a child of a process with threads";
#endif
    RecordAndDie(folder_.path(), 50);
  }
  void TearDown() override { DrainIn(folder_.path()); }
  Folder folder_;
};

TEST_F(Draining, SaysInOneLineWhatWasMoved) {
  const Outcome first = Diagnose(folder_.path(), "");
  EXPECT_THAT(first.output, HasSubstr("records of 1 killed process from shared memory into its journal"));
  EXPECT_THAT(Diagnose(folder_.path(), "").output, Not(HasSubstr("shared memory")));
  EXPECT_EQ(SeriesOf(ReadRun(folder_.path()), "loss").size(), 50U);
}

TEST_F(Draining, LeavesAllAsItIsWhenAskedAndSaysWhatIsMissing) {
  for (const char* option : {"--no-drain", "--read-only", "--read-only -q"}) {
    const Outcome outcome = Diagnose(folder_.path(), option);
    EXPECT_THAT(outcome.output, Not(HasSubstr("moved"))) << option;
    EXPECT_THAT(outcome.output, HasSubstr("the last records of a killed process are in /dev/shm/vigil-")) << option;
  }
  EXPECT_GT(DrainIn(folder_.path()).records, 0U);
}

TEST_F(Draining, AFolderThatCannotBeWrittenIsNoError) {
  ::chmod((folder_.path() + "/rank-0.vigil").c_str(), 0400);
  ::chmod(folder_.path().c_str(), 0500);
  const Outcome outcome = Diagnose(folder_.path(), "", ::geteuid() == 0 ? kWithoutOverride : "");
  ::chmod(folder_.path().c_str(), 0700);
  EXPECT_THAT(outcome.output, HasSubstr("stay in"));
  EXPECT_NE(outcome.code, 2);
}

}  // namespace
}  // namespace vigil::record
