// Rounds of kill, delete and restart: nothing piles up, in shared memory or in the process that drains. Few rounds in
// every test run; `VIGIL_SOAK_ROUNDS=5000 ctest -R Soak` for the long form.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <random>

#include "journal/ring.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/recording.h"
#include "support.h"

namespace vigil::record {
namespace {

namespace fs = std::filesystem;

int Rounds() {
  const char* const given = std::getenv("VIGIL_SOAK_ROUNDS");
  return given == nullptr ? 40 : std::atoi(given);
}

std::size_t EntriesOf(const char* folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

struct LeftRing {
  std::string name;
  std::string journal;
};

// Rings of journals below that folder.
std::vector<LeftRing> RingsOf(const std::string& folder) {
  std::vector<LeftRing> rings;
  for (const std::string& name : platform::NamesIn(platform::SharedMemory::kFolder, journal::Ring::NamePrefix())) {
    if (journal::Ring::IsOwnName(name)) continue;
    const auto note = journal::Ring::Peek(name);
    if (note && note->journal_path.starts_with(folder)) rings.push_back({name, note->journal_path});
  }
  return rings;
}

std::uint64_t BytesOf(const std::vector<LeftRing>& rings) {
  std::uint64_t bytes = 0;
  for (const LeftRing& ring : rings) bytes += platform::SharedMemoryUsedBy(ring.name);
  return bytes;
}

// Records until it is killed, a while after it said that it records.
void RecordAndBeKilled(const std::string& folder, std::mt19937& random) {
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const RunHandle run = OpenIn(folder);
    const SeriesHandle loss = SeriesIn(run, "loss");
    static_cast<void>(::write(ends[1], "x", 1));
    for (std::int64_t step = 0;; ++step) {
      static_cast<void>(Add(loss, step, 1));
      if (step % 100 == 0) ::usleep(200);
    }
  }
  ::close(ends[1]);
  char ready = 0;
  EXPECT_EQ(::read(ends[0], &ready, 1), 1);
  ::close(ends[0]);
  ::usleep(static_cast<useconds_t>(random() % 15'000));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(Soak, KillsDeletionsAndRestartsLeaveNothingBehind) {
  const Folder outer;
  std::mt19937 random(3);
  std::size_t files_before = 0;
  std::size_t threads_before = 0;
  std::uint64_t memory_before = 0;
  std::uint64_t shared_most = 0;
  const int rounds = Rounds();
  for (int round = 0; round < rounds; ++round) {
    const std::string folder = outer.path() + "/run-" + std::to_string(random() % 3);
    RecordAndBeKilled(folder, random);
    if (random() % 3 == 0) fs::remove_all(folder);
    if (random() % 3 == 0) DrainIn(folder);
    if (round % 10 == 9) shared_most = std::max(shared_most, BytesOf(RingsOf(outer.path())));
    if (round == rounds / 4) {
      files_before = EntriesOf("/proc/self/fd");
      threads_before = EntriesOf("/proc/self/task");
      memory_before = platform::ResidentBytes();
    }
  }
  EXPECT_EQ(EntriesOf("/proc/self/fd"), files_before);
  EXPECT_EQ(EntriesOf("/proc/self/task"), threads_before);
  EXPECT_LT(platform::ResidentBytes(), memory_before + (std::uint64_t{64} << 20U));
  EXPECT_LE(shared_most, platform::SpaceForSharedMemory().total_bytes / 4);
  for (const auto& entry : fs::directory_iterator(outer.path())) DrainIn(entry.path());
  // Those of removed runs stay for a while. They are young: none of their journals may be there.
  for (const LeftRing& ring : RingsOf(outer.path())) {
    EXPECT_NE(BeginOfJournal(ring.journal).ring, ring.name) << ring.journal;
    fs::remove(std::string(platform::SharedMemory::kFolder) + "/" + ring.name);
  }
  fmt::print("{} rounds: at most {:.1f} MiB of shared memory at once, memory grew by {:.1f} MiB\n", rounds,
             static_cast<double>(shared_most) / 1048576.0,
             (static_cast<double>(platform::ResidentBytes()) - static_cast<double>(memory_before)) / 1048576.0);
}

}  // namespace
}  // namespace vigil::record
