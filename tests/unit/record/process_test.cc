// Processes: fork with and without exec, exit without closing, kill, signals.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "report/report.h"
#include "support.h"
#include "support/paths.h"
#include "support/shell.h"

namespace vigil::record {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Runs `work` in a child; its exit status.
template <class Work>
int InChild(Work&& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(RecorderForks, TheChildsHandlesAreDeadAndTheParentGoesOn) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  EXPECT_EQ(Add(series, 1, 1), Code::kOk);
  const int status = InChild([&] {
    int wrong = 0;
    wrong += Add(series, 2, 2) != Code::kForked;
    wrong += AddHyperparameter(run, "a", "b") != Code::kForked;
    wrong += BeginStep(run, 1) != Code::kForked;
    wrong += Flush(run, 10) != Code::kForked;
    wrong += Close(run, 0) != Code::kForked;
    return wrong;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Add(series, 3, 3), Code::kOk);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_THAT(SeriesOf(ReadRun(folder.path()), "loss").steps, testing::ElementsAre(1, 3));
}

TEST(RecorderForks, AChildMayRecordItsOwnRun) {
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer forbids threads in a child of a process with threads";
#endif
#endif
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  const std::string own = folder.path() + "/child";
  const int status = InChild([&] {
    const RunHandle mine = OpenIn(own);
    const SeriesHandle loss = SeriesIn(mine, "loss");
    int wrong = 0;
    for (std::int64_t step = 0; step < 1000; ++step) wrong += Add(loss, step, 1) != Code::kOk;
    wrong += Add(series, 2, 2) != Code::kForked;
    wrong += Close(mine, 0) != Code::kOk;
    return wrong;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SeriesOf(ReadRun(own), "loss").size(), 1000U);
  std::filesystem::remove_all(own);
  EXPECT_EQ(Add(series, 3, 3), Code::kOk);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), 1U);
}

TEST(RecorderForks, ForkingWhileThreadsRecordIsSafe) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  std::atomic<bool> done = false;
  std::int64_t recorded = 0;
  std::thread recording([&] {
    for (; !done; ++recorded) {
      EXPECT_EQ(Add(series, recorded, 1), Code::kOk);
      if (recorded % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(InChild([&] { return Add(series, 0, 0) == Code::kForked ? 0 : 1; }), 0);
    EXPECT_EQ(InChild([] { return ::execlp("true", "true", static_cast<char*>(nullptr)); }), 0);
  }
  done = true;
  recording.join();
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), static_cast<std::size_t>(recorded));
}

TEST(RecorderEnds, AProcessThatExitsWithoutClosingLeavesAWholeJournal) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const SeriesHandle loss = SeriesIn(OpenIn(folder.path(), 60'000), "loss");
    for (std::int64_t step = 0; step < 500; ++step) Add(loss, step, 1);
    std::exit(3);
  }
  ::waitpid(child, nullptr, 0);
  const model::Run run = ReadRun(folder.path());
  EXPECT_EQ(SeriesOf(run, "loss").size(), 500U);
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("ended without closing"));
}

// A limit on the size of files raises a signal in whoever writes: never in the trainer's threads.
TEST(RecorderEnds, ALimitOnTheSizeOfFilesHarmsNobody) {
  const Folder folder;
  for (const bool before : {false, true}) {
    const int status = InChild([&] {
      const auto limit = [](rlim_t bytes) {
        rlimit both = {};
        ::getrlimit(RLIMIT_FSIZE, &both);
        both.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &both);
      };
      if (before) limit(8);
      Options options;
      options.folder = folder.path() + (before ? "/before" : "/after");
      options.flush_interval_ms = 1;
      RunHandle run = 0;
      std::string message;
      const Code opened = Open(options, run, message);
      if (!before && opened != Code::kOk) return 2;
      if (opened != Code::kOk) return 0;
      limit(2048);
      const SeriesHandle loss = SeriesIn(run, "loss");
      for (std::int64_t step = 0; step < 10'000; ++step) Add(loss, step, 1.0 / static_cast<double>(step + 3));
      Flush(run, 100);
      RunStatus state;
      if (GetStatus(run, state) != Code::kOk || state.problem != EFBIG) return 3;
      return Close(run, 0) == Code::kIo ? 0 : 4;
    });
    EXPECT_EQ(status, 0) << before;
  }
  // What could not be written is left to the next process that drains.
  DrainIn(folder.path());
  EXPECT_EQ(SeriesOf(ReadRun(folder.path() + "/after"), "loss").size(), 10'000U);
}

// A trainer empties what was left in its own folder; what lies elsewhere is for people with time to wait.
TEST(RecorderEnds, ATrainerLeavesOtherRunsAlone) {
  const Folder folder;
  const std::string other = folder.path() + "/other";
  std::array<std::string, 2> rings;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string path = i == 0 ? other : folder.path() + "/own";
    EXPECT_EQ(InChild([&] {
                const SeriesHandle loss = SeriesIn(OpenIn(path, 60'000), "loss");
                return Add(loss, 1, 1) == Code::kOk ? 0 : 1;
              }),
              0);
    rings[i] = "/dev/shm/" + BeginOf(path).ring;
    const timespec long_ago[2] = {{1, 0}, {1, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, rings[i].c_str(), long_ago, 0), 0);
  }
  const RunHandle run = OpenIn(folder.path() + "/own");
  for (int wait = 0; wait < 500 && std::filesystem::exists(rings[1]); ++wait) ::usleep(10'000);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_FALSE(std::filesystem::exists(rings[1]));
  EXPECT_TRUE(std::filesystem::exists(rings[0]));
  // The record may have been written by its own process, whose first turn comes soon after opening.
  EXPECT_EQ(DrainIn(other).rings, 1U);
  EXPECT_EQ(SeriesOf(ReadRun(other), "loss").size(), 1U);
}

TEST(RecorderEnds, WatchingARunThatWasKilledShowsItsLastRecords) {
  const Folder folder;
  EXPECT_EQ(InChild([&] {
              const SeriesHandle loss = SeriesIn(OpenIn(folder.path(), 60'000), "loss");
              for (std::int64_t step = 0; step < 500; ++step) Add(loss, step, 1);
              return 0;
            }),
            0);
  const auto watched = testing_support::RunVigil(testing_support::kProgram,
                                                 "watch " + folder.path() + " --interval 0.02 --until-idle 0.1");
  EXPECT_THAT(watched.output, HasSubstr("500 points"));
  EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), 500U);
}

struct Progress {
  std::array<std::atomic<std::int64_t>, 4> recorded = {};
};

// Killed at any moment, with several threads at it: `vigil` then has everything that was acknowledged.
TEST(RecorderEnds, AKilledProcessLosesNothing) {
  std::mt19937 random(std::random_device{}());
  auto& progress = *new (::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Progress;
  for (int round = 0; round < 60 && !testing::Test::HasFailure(); ++round) {
    const Folder folder;
    for (auto& count : progress.recorded) count = 0;
    const pid_t child = ::fork();
    if (child == 0) {
      const RunHandle run = OpenIn(folder.path(), 1);
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
          const SeriesHandle series = SeriesIn(run, "series-" + std::to_string(i));
          for (std::int64_t step = 0; step < 20'000;) {
            if (Add(series, step, static_cast<double>(i)) != Code::kOk) continue;  // a small lane is full
            progress.recorded[i].store(++step);
          }
          for (;;) ::pause();
        });
      }
      for (;;) ::pause();
    }
    ::usleep(static_cast<useconds_t>(random() % 15'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_THAT(DrainIn(folder.path()).problems, SizeIs(0));
    std::int64_t all = 0;
    for (const auto& count : progress.recorded) all += count;
    if (all == 0) continue;
    const model::Run run = ReadRun(folder.path());
    for (std::size_t i = 0; i < 4; ++i) {
      const auto recorded = static_cast<std::size_t>(progress.recorded[i].load());
      if (recorded == 0) continue;
      const model::Series& series = SeriesOf(run, "series-" + std::to_string(i));
      ASSERT_GE(series.size(), recorded);
      ASSERT_LE(series.size(), recorded + 1);
      for (std::size_t at = 0; at < series.size(); ++at) ASSERT_EQ(series.steps[at], static_cast<std::int64_t>(at));
    }
  }
}

SeriesHandle handled_series = 0;
std::atomic<std::int64_t> handled_ok = 0;

TEST(RecorderSignals, AHandlerMayRecordAndNeverCorrupts) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  handled_series = SeriesIn(run, "handled");
  struct sigaction action = {};
  action.sa_handler = [](int) {
    if (Add(handled_series, handled_ok.load(), 2) == Code::kOk) ++handled_ok;
  };
  struct sigaction before = {};
  ::sigaction(SIGALRM, &action, &before);
  const itimerval every = {{0, 200}, {0, 200}};
  ::setitimer(ITIMER_REAL, &every, nullptr);
  std::int64_t recorded = 0;
  constexpr std::int64_t kMost = 20'000'000;  // where timers are slow
  for (; recorded < 100'000 || (handled_ok == 0 && recorded < kMost); ++recorded) {
    EXPECT_EQ(Add(series, recorded, 1), Code::kOk);
    if (recorded % 10'000 == 0) Flush(run, 5000);
  }
  const itimerval never = {};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  const model::Run read = ReadRun(folder.path());
  EXPECT_EQ(SeriesOf(read, "loss").size(), static_cast<std::size_t>(recorded));
  EXPECT_GT(handled_ok, 0);
  EXPECT_EQ(SeriesOf(read, "handled").size(), static_cast<std::size_t>(handled_ok));
}

}  // namespace
}  // namespace vigil::record
