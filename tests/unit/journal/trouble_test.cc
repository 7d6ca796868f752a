// Full disks, folders that vanish or cannot be written, clocks that jump, two processes of one rank: recording goes on,
// and the journal says what happened.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>

#include "journal/mover.h"
#include "journal/ring.h"
#include "support.h"

namespace vigil::journal {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::uint64_t fake_monotonic_ns = 1'000'000'000'000;
std::int64_t fake_unix_ns = 1'700'000'000'000'000'000;

MoverOptions OptionsFor(const std::string& folder) {
  MoverOptions options;
  options.folder = folder;
  options.begin = SampleBegin();
  options.monotonic_ns = [] { return fake_monotonic_ns; };
  options.unix_ns = [] { return fake_unix_ns; };
  return options;
}

void Pass(std::uint64_t seconds) {
  fake_monotonic_ns += seconds * 1'000'000'000;
  fake_unix_ns += static_cast<std::int64_t>(seconds) * 1'000'000'000;
}

Ring SmallRing() {
  RingOptions options;
  options.lane_bytes = 32U << 10U;
  Ring ring = Ring::Create(options).value();
  ring.ReserveLane(1);
  return ring;
}

class Mounted {
 public:
  Mounted(const std::string& path, const char* options, unsigned long flags = 0)
      : path_(path), mounted_(::mount("tmpfs", path.c_str(), "tmpfs", flags, options) == 0) {}
  ~Mounted() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  explicit operator bool() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

TEST(JournalTrouble, AFullDiskLosesOnlyWhatTheRingCannotKeep) {
  const TemporaryFolder folder;
  const Mounted disk(folder.path(), "size=128k");
  if (!disk) GTEST_SKIP() << "no small file system could be mounted (needs root): a full disk was not tried";
  Ring ring = SmallRing();
  const auto mover = Mover::Create(ring, OptionsFor(folder.path())).value();
  LaneWriter writer = ring.Writer(1);
  const std::string ballast = folder.path() + "/ballast";
  std::ofstream(ballast, std::ios::binary) << std::string(std::size_t{1} << 20U, 'b');
  std::int64_t step = 0;
  bool failed = false;
  for (int round = 0; round < 200; ++round) {
    Pass(1);
    for (int i = 0; i < 100; ++i, ++step)
      EXPECT_TRUE(writer.AddScalar(0, step, std::sqrt(static_cast<double>(step)), fake_monotonic_ns));
    failed |= !mover->Move(false);
  }
  ASSERT_TRUE(failed);
  EXPECT_EQ(mover->status().problem, ENOSPC);
  fs::remove(ballast);
  Pass(1);
  EXPECT_TRUE(mover->Move(false));
  EXPECT_EQ(mover->status().problem, 0);
  const Kept kept = Decode(ReadAll(mover->path()));
  EXPECT_THAT(kept.damages, IsEmpty());
  std::uint64_t lost = 0;
  for (const DroppedRecords& dropped : kept.dropped) lost += dropped.records;
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(kept.points.at(0).size() + lost, static_cast<std::size_t>(step));
  EXPECT_EQ(kept.points.at(0).back().step, step - 1);
  ASSERT_THAT(kept.events, SizeIs(1));
  EXPECT_EQ(kept.events[0].kind, EventKind::kGap);
  EXPECT_THAT(kept.events[0].text, HasSubstr("No space left on device"));
}

// No file of this process may become larger than that, while it lives: what a quota does, to one's own files.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    sigset_t signals;
    ::sigemptyset(&signals);
    ::sigaddset(&signals, SIGXFSZ);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // as in the recorder's own thread
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_ = {};
};

TEST(JournalTrouble, AQuotaStopsTheFileAndNotTheRecording) {
  const TemporaryFolder folder;
  Ring ring = SmallRing();
  const auto mover = Mover::Create(ring, OptionsFor(folder.path())).value();
  LaneWriter writer = ring.Writer(1);
  std::int64_t step = 0;
  const auto record = [&] {
    Pass(1);
    for (int i = 0; i < 100; ++i, ++step)
      EXPECT_TRUE(writer.AddScalar(0, step, std::sqrt(static_cast<double>(step)), fake_monotonic_ns));
    return mover->Move(false);
  };
  bool failed = false;
  {
    const FileSizeLimit limit(8192);
    for (int round = 0; round < 100; ++round) failed |= !record();
    EXPECT_EQ(mover->status().problem, EFBIG);
  }
  ASSERT_TRUE(failed);
  EXPECT_TRUE(record());
  const Kept kept = Decode(ReadAll(mover->path()));
  EXPECT_THAT(kept.damages, IsEmpty());
  std::uint64_t lost = 0;
  for (const DroppedRecords& dropped : kept.dropped) lost += dropped.records;
  EXPECT_EQ(kept.points.at(0).size() + lost, static_cast<std::size_t>(step)) << "every record is there or counted";
  EXPECT_EQ(kept.points.at(0).back().step, step - 1);
}

TEST(JournalTrouble, AReadOnlyFolderIsRefusedWithItsNameAndReason) {
  const TemporaryFolder folder;
  const Mounted disk(folder.path(), "size=64k", MS_RDONLY);
  if (!disk) ::chmod(folder.path().c_str(), 0500);
  Ring ring = SmallRing();
  const auto mover = Mover::Create(ring, OptionsFor(folder.path()));
  ASSERT_FALSE(mover);
  EXPECT_THAT(mover.error().Text(), HasSubstr(folder.path()));
}

TEST(JournalTrouble, AFolderThatVanishesAndComesBackGetsANewFile) {
  const TemporaryFolder outer;
  const std::string folder = outer.path() + "/run";
  fs::create_directory(folder);
  Ring ring = SmallRing();
  const auto mover = Mover::Create(ring, OptionsFor(folder)).value();
  LaneWriter writer = ring.Writer(1);
  ring.AddDefinition(EncodeEntry(SampleDefinition(0)));
  EXPECT_TRUE(writer.AddScalar(0, 1, 1, 0));
  Pass(2);
  ASSERT_TRUE(mover->Move(false));
  fs::remove_all(folder);
  Pass(2);
  EXPECT_TRUE(writer.AddScalar(0, 2, 2, 0));
  EXPECT_FALSE(mover->Move(false));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_TRUE(writer.AddScalar(0, 3, 3, 0));
  fs::create_directory(folder);
  Pass(2);
  EXPECT_TRUE(mover->Move(false));
  EXPECT_EQ(mover->status().files, 2U);
  const Kept kept = Decode(ReadAll(mover->path()));
  ASSERT_THAT(kept.points.at(0), SizeIs(2));
  EXPECT_EQ(kept.points.at(0)[0].step, 2);
  EXPECT_EQ(kept.definitions.at(0).name, "series-0");
  ASSERT_THAT(kept.events, SizeIs(1));
  EXPECT_THAT(kept.events[0].text, HasSubstr("was removed"));
}

TEST(JournalTrouble, AClockThatJumpsBendsNoDuration) {
  const TemporaryFolder folder;
  Ring ring = SmallRing();
  const auto mover = Mover::Create(ring, OptionsFor(folder.path())).value();
  LaneWriter writer = ring.Writer(1);
  for (int step = 0; step < 10; ++step) {
    if (step == 5) fake_unix_ns -= 3600'000'000'000;
    EXPECT_TRUE(writer.AddScalar(0, step, 1, fake_monotonic_ns));
    Pass(1);
    ASSERT_TRUE(mover->Move(false));
  }
  const Kept kept = Decode(ReadAll(mover->path()));
  ASSERT_THAT(kept.clocks, SizeIs(2));
  for (std::size_t i = 1; i < 10; ++i)
    EXPECT_EQ(kept.points.at(0)[i].time_ms - kept.points.at(0)[i - 1].time_ms, 1000U);
}

TEST(JournalTrouble, TwoProcessesOfOneRankWriteTwoFiles) {
  const TemporaryFolder folder;
  Ring first = SmallRing();
  Ring second = SmallRing();
  const auto one = Mover::Create(first, OptionsFor(folder.path())).value();
  const auto other = Mover::Create(second, OptionsFor(folder.path())).value();
  EXPECT_THAT(one->path(), testing::EndsWith("/rank-3.vigil"));
  EXPECT_THAT(other->path(), testing::EndsWith("/rank-3.2.vigil"));
  EXPECT_EQ(Decode(ReadAll(other->path())).begins.at(0).part, 2);
}

TEST(JournalTrouble, ARingWithoutSharedMemoryStillMoves) {
  const TemporaryFolder folder;
  RingOptions options;
  options.shared = false;
  Ring ring = Ring::Create(options).value();
  EXPECT_FALSE(ring.Publish(Ring::NewName()));
  const auto mover = Mover::Create(ring, OptionsFor(folder.path())).value();
  ring.ReserveLane(1);
  EXPECT_TRUE(ring.Writer(1).AddScalar(0, 1, 2, 3));
  EXPECT_TRUE(mover->Move(true));
  EXPECT_EQ(Decode(ReadAll(mover->path())).size(), 1U);
}

}  // namespace
}  // namespace vigil::journal
