// Every system call of recording and draining fails once, and for good: calls say so, and what they took is kept.
#include "platform/faults.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "journal/ring.h"
#include "platform/files.h"
#include "platform/recording.h"
#include "support.h"

namespace vigil::record {
namespace {

struct Recorded {
  bool opened = false;
  bool failed = false;         // a call did
  bool survives_kill = false;  // it was said that records outlive the process
  std::size_t taken = 0;
  std::array<char, 64> ring = {};  // what is left under a name of this process
};

// The ring of this process that has a name. Removing it may be what fails: others would do so after days.
void NoteRing(Recorded& recorded) {
  for (const std::string& name : platform::NamesIn(platform::SharedMemory::kFolder, journal::Ring::NamePrefix())) {
    if (journal::Ring::IsOwnName(name)) name.copy(recorded.ring.data(), recorded.ring.size() - 1);
  }
}

void RemoveRing(const Recorded& recorded) {
  if (recorded.ring[0] != '\0')
    std::filesystem::remove(std::string(platform::SharedMemory::kFolder) + "/" + recorded.ring.data());
}

// One run with all that makes system calls, while they may fail.
Recorded RecordOneRun(const std::string& folder) {
  Recorded recorded;
  Options options;
  options.folder = folder;
  options.flush_interval_ms = 1;
  options.close_timeout_ms = 500;
  RunHandle run = 0;
  std::string message;
  recorded.opened = Open(options, run, message) == Code::kOk;
  if (!recorded.opened) return recorded;
  journal::Definition definition;
  definition.name = "loss";
  SeriesHandle series = 0;
  if (OpenSeries(run, definition, series) == Code::kOk) {
    for (std::int64_t step = 0; step < 300; ++step) recorded.taken += Add(series, step, 1) == Code::kOk ? 1 : 0;
    static_cast<void>(Flush(run, 20));
    RunStatus status;
    recorded.survives_kill = GetStatus(run, status) == Code::kOk && status.survives_kill;
  }
  static_cast<void>(Close(run, 0));
  return recorded;
}

// The same in a process of its own: what it could not write is left to whoever drains.
Recorded RecordInAnotherProcess(const std::string& folder, std::int64_t calls_left, int problem, bool for_good) {
  std::array<int, 2> ends = {};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    platform::FailCall(calls_left, problem, for_good);
    Recorded recorded = RecordOneRun(folder);
    recorded.failed = platform::HasFailed();
    platform::FailCall(-1, 0);
    NoteRing(recorded);
    static_cast<void>(::write(ends[1], &recorded, sizeof(recorded)));
    ::_exit(0);
  }
  ::close(ends[1]);
  Recorded recorded;
  EXPECT_EQ(::read(ends[0], &recorded, sizeof(recorded)), static_cast<ssize_t>(sizeof(recorded)));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return recorded;
}

std::size_t PointsIn(const std::string& folder) {
  std::size_t points = 0;
  for (const model::Run& run : pipeline::ImportPaths({folder}).runs) {
    for (const model::Series& series : run.series) points += series.raw == "loss" ? series.size() : 0;
  }
  return points;
}

// Far more than there are: how many depends on the load of the machine, and on what others left in shared memory.
constexpr std::int64_t kMostCalls = 1'000'000;

class RecorderFaults : public testing::TestWithParam<std::pair<int, bool>> {};
INSTANTIATE_TEST_SUITE_P(Every, RecorderFaults,
                         testing::Values(std::pair(EIO, false), std::pair(ENOSPC, false), std::pair(EMFILE, true)));

TEST_P(RecorderFaults, CallThatFailsLosesNothingThatWasTaken) {
  const auto [problem, for_good] = GetParam();
  std::size_t opened = 0;
  for (std::int64_t at = 0;; ++at) {
    const Folder folder;
    const Recorded recorded = RecordInAnotherProcess(folder.path(), at, problem, for_good);
    const journal::Leftovers leftovers = DrainIn(folder.path());
    opened += recorded.opened ? 1 : 0;
    if (recorded.survives_kill) {
      EXPECT_EQ(PointsIn(folder.path()), recorded.taken)
          << "call " << at << ", drained " << leftovers.rings << ", "
          << (leftovers.problems.empty() ? std::string() : leftovers.problems[0].Text());
    }
    RemoveRing(recorded);
    if (!recorded.failed) {
      EXPECT_EQ(recorded.taken, 300U);
      break;
    }
    ASSERT_LT(at, kMostCalls);
  }
  EXPECT_GT(opened, 0U);
}

TEST_P(RecorderFaults, DrainingThatFailsLeavesTheRingOrEmptiesIt) {
  const auto [problem, for_good] = GetParam();
  for (std::int64_t at = 0;; ++at) {
    const Folder folder;
    const pid_t child = ::fork();
    if (child == 0) {
      const RunHandle run = OpenIn(folder.path(), 60'000);
      const SeriesHandle loss = SeriesIn(run, "loss");
      for (std::int64_t step = 0; step < 300; ++step) static_cast<void>(Add(loss, step, 1));
      ::raise(SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    platform::FailCall(at, problem, for_good);
    DrainIn(folder.path());
    const bool failed = platform::HasFailed();
    platform::FailCall(-1, 0);
    DrainIn(folder.path());
    EXPECT_EQ(PointsIn(folder.path()), 300U) << "call " << at;
    if (!failed) break;
    ASSERT_LT(at, kMostCalls);
  }
}

}  // namespace
}  // namespace vigil::record
