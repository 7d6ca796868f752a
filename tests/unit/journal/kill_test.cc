// A process that is killed at any moment loses nothing that a record call returned from. VIGIL_KILLS sets how many
// processes are killed (200 by default, fewer where forks are slow; 10,000 take some minutes).
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "journal/mover.h"
#include "journal/ring.h"
#include "support.h"

namespace vigil::journal {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// Seen by the parent after the child is dead.
struct Progress {
  std::atomic<std::int64_t> recorded = 0;
  std::atomic<std::int64_t> texts = 0;
};

Progress& SharedProgress() {
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *new (page) Progress;
}

// Records as fast as it can, slowed down so that the lane is never full, until it is killed.
[[noreturn]] void RecordUntilKilled(const std::string& folder, Progress& progress) {
  Ring ring = Ring::Create({}).value();
  const std::string name = Ring::NewName();
  ring.Publish(name);
  MoverOptions options;
  options.folder = folder;
  options.begin = SampleBegin();
  options.begin.ring = name;
  options.flush_interval_ms = 0;
  const auto mover = Mover::Create(ring, std::move(options)).value();
  ring.ReserveLane(1);
  ring.AddDefinition(EncodeEntry(SampleDefinition(0)));
  std::thread moving([&] {
    for (;;) mover->Move(true);
  });
  LaneWriter samples = ring.Writer(1);
  LaneWriter texts = ring.Writer(kTextLane);
  for (std::int64_t step = 0;; ++step) {
    static_cast<void>(
        samples.AddScalar(0, step, static_cast<double>(step) * 1.1, static_cast<std::uint64_t>(step) * 1'000'000));
    progress.recorded.store(step + 1, std::memory_order_release);
    if (step % 50 == 0) {
      Hyperparameter hyperparameter = {0, std::to_string(step),
                                       std::string(static_cast<std::size_t>(step % 9000), 's')};
      static_cast<void>(texts.AddText(Section::kHyperparameters, EncodeEntry(hyperparameter)));
      progress.texts.fetch_add(1, std::memory_order_release);
    }
    while (ring.FillPercent(1) > 50 || ring.FillPercent(kTextLane) > 50) std::this_thread::yield();
  }
}

void ExpectNothingLost(const std::string& folder, const Progress& progress) {
  const auto files = JournalsIn(folder);
  const std::int64_t recorded = progress.recorded.load();
  if (files.empty()) {
    EXPECT_EQ(recorded, 0);
    return;
  }
  ASSERT_THAT(files, SizeIs(1));
  const Kept kept = Decode(ReadAll(files[0]));
  ASSERT_THAT(kept.damages, IsEmpty());
  ASSERT_THAT(kept.cuts, IsEmpty());
  ASSERT_THAT(kept.dropped, IsEmpty());
  const std::vector<Point> none;
  const auto& points = kept.points.empty() ? none : kept.points.at(0);
  ASSERT_GE(points.size(), static_cast<std::size_t>(recorded));
  ASSERT_LE(points.size(), static_cast<std::size_t>(recorded) + 1);  // one whose call had not returned
  for (std::size_t i = 0; i < points.size(); ++i) ASSERT_EQ(points[i].step, static_cast<std::int64_t>(i));
  const auto texts = static_cast<std::size_t>(progress.texts.load());
  ASSERT_GE(kept.settings.size(), texts);
  ASSERT_LE(kept.settings.size(), texts + 1);
}

Leftovers DrainIn(const std::string& folder) {
  DrainOptions options;
  options.places = {folder};
  return DrainLeftovers(options);
}

int KillsWanted() {
  const char* const wanted = std::getenv("VIGIL_KILLS");
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr int kUsual = 40;
#else
  constexpr int kUsual = 200;
#endif
#else
  constexpr int kUsual = 200;
#endif
  return wanted == nullptr ? kUsual : std::atoi(wanted);
}

TEST(JournalKilled, NothingIsLostThatARecordCallReturnedFrom) {
  std::mt19937 random(std::random_device{}());
  std::uint64_t drained = 0;
  Progress& progress = SharedProgress();
  for (int round = 0; round < KillsWanted() && !HasFailure(); ++round) {
    const TemporaryFolder folder;
    progress.recorded = 0;
    progress.texts = 0;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) RecordUntilKilled(folder.path(), progress);
    ::usleep(static_cast<useconds_t>(random() % 12'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const Leftovers leftovers = DrainIn(folder.path());
    EXPECT_THAT(leftovers.problems, IsEmpty());
    drained += leftovers.records;
    ExpectNothingLost(folder.path(), progress);
  }
  EXPECT_GT(drained, 0U) << "no process was killed while its ring held something: the test tests nothing";
}

// Draining is interrupted too: the next process that drains goes on.
TEST(JournalKilled, ADrainerThatIsKilledIsNoLossEither) {
  std::mt19937 random(std::random_device{}());
  Progress& progress = SharedProgress();
  for (int round = 0; round < KillsWanted() / 10 && !HasFailure(); ++round) {
    const TemporaryFolder folder;
    progress.recorded = 0;
    progress.texts = 0;
    const pid_t child = ::fork();
    if (child == 0) RecordUntilKilled(folder.path(), progress);
    ::usleep(static_cast<useconds_t>(3000 + random() % 5000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    for (int attempt = 0; attempt < 5; ++attempt) {
      const pid_t drainer = ::fork();
      if (drainer == 0) {
        DrainIn(folder.path());
        ::_exit(0);
      }
      ::usleep(static_cast<useconds_t>(random() % 2000));
      ::kill(drainer, SIGKILL);
      ::waitpid(drainer, nullptr, 0);
    }
    DrainIn(folder.path());
    ExpectNothingLost(folder.path(), progress);
  }
}

TEST(JournalKilled, ARingWhoseOwnerLivesIsLeftAlone) {
  Progress& progress = SharedProgress();
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) RecordUntilKilled(folder.path(), progress);
  while (progress.recorded.load() < 1000) ::usleep(1000);
  EXPECT_EQ(DrainIn(folder.path()).rings, 0U);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(DrainIn(folder.path()).rings, 1U);
  EXPECT_EQ(DrainIn(folder.path()).rings, 0U);
  ExpectNothingLost(folder.path(), progress);
}

}  // namespace
}  // namespace vigil::journal
