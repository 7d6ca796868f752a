// What killed processes left is never lost by looking at it: a folder that is not mounted keeps its ring, a ring that
// is damaged harms nobody.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <random>

#include "journal/mover.h"
#include "journal/ring.h"
#include "support.h"

namespace vigil::journal {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kRecords = 1000;

std::string ShownName(const std::string& name) { return "/dev/shm/" + name; }

constexpr std::uint64_t kDayNs = std::uint64_t{86'400} * 1'000'000'000;

// Of a clock that counts from the start of the machine, which may be later than that: it wraps around.
std::uint64_t FourDaysAgo() { return platform::MonotonicNs() - 4 * kDayNs; }
std::int64_t UnixFourDaysAgo() { return platform::UnixNs() - static_cast<std::int64_t>(4 * kDayNs); }

// A process that recorded into `folder` and was killed before anything but the names was in the file.
class KilledRecorder {
 public:
  explicit KilledRecorder(const std::string& folder, std::uint64_t (*clock)() = platform::MonotonicNs) {
    int ends[2] = {};
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) RecordAndDie(folder, clock, ends[1]);
    ::close(ends[1]);
    std::array<char, 64> name = {};
    EXPECT_GT(::read(ends[0], name.data(), name.size() - 1), 0);
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    name_ = name.data();
  }
  ~KilledRecorder() {
    ::unlink(ShownName(name_).c_str());
    ::unlink(ShownName("damaged-" + name_).c_str());
  }
  KilledRecorder(const KilledRecorder&) = delete;
  KilledRecorder& operator=(const KilledRecorder&) = delete;

  const std::string& name() const { return name_; }
  bool is_there() const { return fs::exists(ShownName(name_)); }
  bool is_aside() const { return fs::exists(ShownName("damaged-" + name_)); }

  void Patch(std::uint64_t offset, std::uint64_t word) const {
    const int file = ::open(ShownName(name_).c_str(), O_RDWR);
    EXPECT_EQ(::pwrite(file, &word, sizeof(word), static_cast<off_t>(offset)), 8);
    ::close(file);
  }
  // Where the control words of the lane with the samples stand: reserved, head, records.
  std::uint64_t ControlOffset() const {
    std::string header(32U << 10U, '\0');
    std::ifstream(ShownName(name_), std::ios::binary).read(header.data(), static_cast<std::streamsize>(header.size()));
    for (std::size_t at = 8192; at + 24 <= header.size(); at += 64) {
      std::array<std::uint64_t, 3> words = {};
      std::memcpy(words.data(), header.data() + at, sizeof(words));
      if (words[0] == words[1] && words[2] == static_cast<std::uint64_t>(kRecords)) return at;
    }
    ADD_FAILURE() << "no lane with the records";
    return 0;
  }

 private:
  [[noreturn]] static void RecordAndDie(const std::string& folder, std::uint64_t (*clock)(), int name_pipe) {
    RingOptions small;
    small.lane_bytes = 64U << 10U;
    Ring ring = Ring::Create(small).value();
    const std::string name = Ring::NewName();
    ring.Publish(name);
    MoverOptions options;
    options.folder = folder;
    options.begin = SampleBegin();
    options.flush_interval_ms = 60'000;
    options.monotonic_ns = clock;
    const auto mover = Mover::Create(ring, std::move(options)).value();
    mover->Move(true);
    ring.ReserveLane(1);
    ring.AddDefinition(EncodeEntry(SampleDefinition(0)));
    LaneWriter writer = ring.Writer(1);
    for (std::int64_t step = 0; step < kRecords; ++step) EXPECT_TRUE(writer.AddScalar(0, step, 1.5, 1'000'000));
    static_cast<void>(::write(name_pipe, name.data(), name.size()));
    ::raise(SIGKILL);
    ::_exit(9);
  }
  std::string name_;
};

Leftovers DrainAt(const std::string& place) {
  DrainOptions options;
  options.places = {place};
  return DrainLeftovers(options);
}

std::size_t PointsIn(const std::string& folder) {
  std::size_t points = 0;
  for (const std::string& path : JournalsIn(folder)) points += Decode(ReadAll(path)).size();
  return points;
}

struct RunFolder {
  RunFolder() { fs::create_directory(path); }
  TemporaryFolder outer;
  std::string path = outer.path() + "/run";
};

// ---- folders

TEST(Leftovers, AreWrittenIntoTheirJournal) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  EXPECT_EQ(PointsIn(run.path), 0U);
  const Leftovers leftovers = DrainAt(run.path);
  EXPECT_EQ(leftovers.rings, 1U);
  EXPECT_EQ(leftovers.records, static_cast<std::uint64_t>(kRecords));
  EXPECT_EQ(PointsIn(run.path), static_cast<std::size_t>(kRecords));
  EXPECT_FALSE(killed.is_there());
}

TEST(Leftovers, OfAFolderThatIsNotMountedStayAndAreReported) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  fs::rename(run.path, run.outer.path() + "/unmounted");
  for (int look = 0; look < 2; ++look) {
    const Leftovers leftovers = DrainAt(run.path);
    EXPECT_EQ(leftovers.rings, 0U);
    ASSERT_THAT(leftovers.problems, SizeIs(1));
    EXPECT_THAT(leftovers.problems[0].Text(), HasSubstr(run.path + "/rank-3.vigil"));
    EXPECT_TRUE(killed.is_there());
  }
  fs::rename(run.outer.path() + "/unmounted", run.path);
  EXPECT_EQ(DrainAt(run.path).rings, 1U);
  EXPECT_EQ(PointsIn(run.path), static_cast<std::size_t>(kRecords));
}

TEST(Leftovers, OfARunThatWasMovedAreWrittenWhereItIsNow) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  const std::string moved = run.outer.path() + "/moved";
  fs::rename(run.path, moved);
  EXPECT_EQ(DrainAt(moved).rings, 1U);
  EXPECT_EQ(PointsIn(moved), static_cast<std::size_t>(kRecords));
}

TEST(Leftovers, AreNotWrittenIntoAnotherRunOfTheSameName) {
  const RunFolder run;
  const KilledRecorder first(run.path);
  fs::rename(run.path, run.outer.path() + "/moved");
  fs::create_directory(run.path);
  const KilledRecorder second(run.path);
  const Leftovers leftovers = DrainAt(run.path);
  EXPECT_EQ(leftovers.rings, 1U);
  ASSERT_THAT(leftovers.problems, SizeIs(1));
  EXPECT_THAT(leftovers.problems[0].Text(), HasSubstr("another run"));
  EXPECT_EQ(PointsIn(run.path), static_cast<std::size_t>(kRecords));
  EXPECT_TRUE(first.is_there());
}

// As old as their process, however often somebody looked since.
TEST(Leftovers, OfARunThatWasRemovedAreForgottenAfterDays) {
  for (const auto clock : {platform::MonotonicNs, FourDaysAgo}) {
    const RunFolder run;
    const KilledRecorder killed(run.path, clock);
    fs::remove_all(run.path);
    const bool is_old = clock == FourDaysAgo;
    EXPECT_THAT(DrainAt(run.path).problems, SizeIs(is_old ? 0 : 1));
    EXPECT_EQ(killed.is_there(), !is_old);
  }
}

TEST(Leftovers, OfARunThatAnotherTookThePlaceOfAreForgottenAfterDays) {
  const RunFolder run;
  const KilledRecorder young(run.path);
  const KilledRecorder old(run.path, FourDaysAgo);
  fs::remove_all(run.path);
  fs::create_directory(run.path);
  const KilledRecorder later(run.path);
  for (int look = 0; look < 3; ++look) DrainAt(run.path);
  EXPECT_TRUE(young.is_there());
  EXPECT_FALSE(old.is_there());
  EXPECT_EQ(PointsIn(run.path), static_cast<std::size_t>(kRecords));
}

TEST(Leftovers, OfOtherFoldersAreLeftAlone) {
  const RunFolder run;
  const RunFolder asked;
  const KilledRecorder killed(run.path, FourDaysAgo);
  const Leftovers leftovers = DrainAt(asked.path);
  EXPECT_EQ(leftovers.rings, 0U);
  EXPECT_THAT(leftovers.problems, IsEmpty());
  EXPECT_TRUE(killed.is_there());
  EXPECT_EQ(PointsIn(run.path), 0U);
}

// Whoever makes rings keeps shared memory tidy: of runs that were removed, and only of those.
TEST(Leftovers, OfRunsThatWereRemovedElsewhereAreTidiedUpAfterDays) {
  const RunFolder removed;
  const RunFolder there;
  const RunFolder mine;
  const KilledRecorder forgotten(removed.path, FourDaysAgo);
  const KilledRecorder young(removed.path);
  const KilledRecorder wanted(there.path, FourDaysAgo);
  fs::remove_all(removed.path);
  DrainOptions options;
  options.places = {mine.path};
  options.tidies_up = true;
  EXPECT_THAT(DrainLeftovers(options).problems, IsEmpty());
  EXPECT_FALSE(forgotten.is_there());
  EXPECT_TRUE(young.is_there());
  EXPECT_TRUE(wanted.is_there());
  EXPECT_EQ(PointsIn(there.path), 0U);
}

// The superuser empties no ring of another: but it says that there is one.
TEST(Leftovers, OfAnotherUserAreReportedToTheSuperuser) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs the superuser";
  const RunFolder run;
  const KilledRecorder killed(run.path);
  const std::string others = "vigil-12345-" + killed.name().substr(killed.name().rfind('-') + 1);
  fs::rename(ShownName(killed.name()), ShownName(others));
  ASSERT_EQ(::chown(ShownName(others).c_str(), 12345, 12345), 0);
  const Leftovers leftovers = DrainAt(run.path);
  ASSERT_THAT(leftovers.problems, SizeIs(1));
  EXPECT_THAT(leftovers.problems[0].Text(), HasSubstr(others + ", which another user owns"));
  EXPECT_TRUE(fs::exists(ShownName(others)));
  fs::remove(ShownName(others));
}

// With the folder above it missing too, a whole file system may not be mounted.
TEST(Leftovers, AreKeptWhenMoreThanTheRunIsMissing) {
  const RunFolder run;
  const std::string deep = run.path + "/deep";
  fs::create_directory(deep);
  const KilledRecorder killed(deep, FourDaysAgo);
  fs::remove_all(run.path);
  EXPECT_THAT(DrainAt(deep).problems, SizeIs(1));
  EXPECT_TRUE(killed.is_there());
}

TEST(Leftovers, AreForgottenAfterWeeksWhenMoreThanTheRunIsMissing) {
  const RunFolder run;
  const std::string deep = run.path + "/deep";
  fs::create_directory(deep);
  const KilledRecorder killed(deep, [] { return platform::MonotonicNs() - 40 * kDayNs; });
  fs::remove_all(run.path);
  EXPECT_THAT(DrainAt(deep).problems, IsEmpty());
  EXPECT_FALSE(killed.is_there());
}

TEST(DamagedRings, OfNoOrFewBytesArePutAsideAfterDays) {
  for (const std::uintmax_t size : {std::uintmax_t{0}, std::uintmax_t{100}}) {
    const RunFolder run;
    const KilledRecorder killed(run.path);
    fs::resize_file(ShownName(killed.name()), size);
    const timespec then = {static_cast<time_t>(UnixFourDaysAgo() / 1'000'000'000), 0};
    const timespec times[2] = {then, then};
    ASSERT_EQ(::utimensat(AT_FDCWD, ShownName(killed.name()).c_str(), times, 0), 0);
    DrainOptions options;
    options.places = {run.path};
    options.tidies_up = true;
    DrainLeftovers(options);
    DrainLeftovers(options);
    EXPECT_FALSE(killed.is_there()) << size;
    EXPECT_FALSE(killed.is_aside()) << size << ": as old as it is";
  }
}

// A ring of another version: where its journal is cannot be read from it.
TEST(Leftovers, OfOtherVersionsAreForgottenAfterDays) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  constexpr std::uint64_t kLayoutOffset = 8;
  killed.Patch(kLayoutOffset, 77);
  DrainOptions options;
  options.places = {run.path};
  options.tidies_up = true;
  DrainLeftovers(options);
  EXPECT_TRUE(killed.is_there());
  const timespec then = {static_cast<time_t>(UnixFourDaysAgo() / 1'000'000'000), 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, ShownName(killed.name()).c_str(), times, 0), 0);
  DrainLeftovers(options);
  EXPECT_FALSE(killed.is_there());
}

// The disk was full from the start: nothing in the file says whose it is.
TEST(Leftovers, OfAJournalThatCouldNotEvenBeBegunAreWrittenBesideIt) {
  const RunFolder run;
  const bool mounted = ::mount("tmpfs", run.path.c_str(), "tmpfs", 0, "size=128k") == 0;
  if (!mounted) GTEST_SKIP() << "no small file system could be mounted (needs root)";
  const std::string ballast = run.path + "/ballast";
  std::ofstream(ballast, std::ios::binary) << std::string(std::size_t{1} << 20U, 'b');
  {
    const KilledRecorder killed(run.path);
    EXPECT_THAT(DrainAt(run.path).problems, SizeIs(1)) << "the disk is still full";
    EXPECT_TRUE(killed.is_there());
    fs::remove(ballast);
    const Leftovers leftovers = DrainAt(run.path);
    EXPECT_EQ(leftovers.records, static_cast<std::uint64_t>(kRecords));
    EXPECT_FALSE(killed.is_there());
    EXPECT_EQ(PointsIn(run.path), static_cast<std::size_t>(kRecords));
  }
  ::umount2(run.path.c_str(), MNT_DETACH);
}

// ---- damage

TEST(DamagedRings, ArePutAsideAndReportedOnce) {
  for (const std::uint64_t head : {std::uint64_t{1} << 45U, ~std::uint64_t{0}, std::uint64_t{70'000}}) {
    const RunFolder run;
    const KilledRecorder killed(run.path);
    killed.Patch(killed.ControlOffset() + 8, head);
    const Leftovers leftovers = DrainAt(run.path);
    EXPECT_EQ(leftovers.rings, 0U);
    ASSERT_THAT(leftovers.problems, SizeIs(1)) << head;
    EXPECT_THAT(leftovers.problems[0].Text(), HasSubstr("damaged"));
    EXPECT_TRUE(killed.is_aside());
    EXPECT_THAT(DrainAt(run.path).problems, IsEmpty());
  }
}

TEST(DamagedRings, AreForgottenAfterDays) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  killed.Patch(killed.ControlOffset() + 8, ~std::uint64_t{0});
  DrainOptions options;
  options.places = {run.path};
  options.tidies_up = true;
  DrainLeftovers(options);
  DrainLeftovers(options);
  ASSERT_TRUE(killed.is_aside());
  const timespec then = {static_cast<time_t>(UnixFourDaysAgo() / 1'000'000'000), 0};
  const timespec times[2] = {then, then};
  ASSERT_EQ(::utimensat(AT_FDCWD, ShownName("damaged-" + killed.name()).c_str(), times, 0), 0);
  DrainLeftovers(options);
  EXPECT_FALSE(killed.is_aside());
}

TEST(DamagedRings, NoMemoryIsAllocatedForAnImpossibleSeries) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  const std::string bytes = ReadAll(ShownName(killed.name()));
  const std::uint64_t head = RecordHead(RecordKind::kScalar, 4, 0);
  const std::size_t first = bytes.find(std::string(reinterpret_cast<const char*>(&head), sizeof(head)), 32U << 10U);
  ASSERT_NE(first, std::string::npos);
  killed.Patch(first, RecordHead(RecordKind::kScalar, 4, 0xffffffffU));
  killed.Patch(first + 32, RecordHead(RecordKind::kRow, 4, 0xfffffffeU));
  killed.Patch(first + 64, RecordHead(RecordKind::kScalar, 4, kMostSeries));
  EXPECT_EQ(DrainAt(run.path).rings, 1U);
  EXPECT_EQ(PointsIn(run.path), static_cast<std::size_t>(kRecords) - 3);
}

TEST(DamagedRings, InvalidWordsAreReportedInTheJournal) {
  const RunFolder run;
  const KilledRecorder killed(run.path);
  const std::string bytes = ReadAll(ShownName(killed.name()));
  const std::uint64_t head = RecordHead(RecordKind::kScalar, 4, 0);
  const std::size_t first = bytes.find(std::string(reinterpret_cast<const char*>(&head), sizeof(head)), 32U << 10U);
  killed.Patch(first + 320, RecordHead(RecordKind::kScalar, 0, 0));
  EXPECT_EQ(DrainAt(run.path).rings, 1U);
  const Kept kept = Decode(ReadAll(JournalsIn(run.path)[0]));
  EXPECT_EQ(kept.size(), 10U);
  ASSERT_THAT(kept.events, SizeIs(1));
  EXPECT_THAT(kept.events[0].text, HasSubstr("damaged"));
}

TEST(DamagedRings, AnyControlWordsAreSurvived) {
  std::mt19937_64 random(5);
  constexpr std::array<std::uint64_t, 6> kWords = {0, 1, ~std::uint64_t{0}, 1U << 31U, std::uint64_t{1} << 45U, 4096};
  for (int round = 0; round < 60; ++round) {
    const RunFolder run;
    const KilledRecorder killed(run.path);
    const std::uint64_t control = killed.ControlOffset();
    for (int patches = 0; patches < 4; ++patches) {
      const std::uint64_t word = random() % 2 == 0 ? kWords[random() % kWords.size()] : random();
      const std::uint64_t header = random() % 2 == 0 ? random() % 64 : 8192 + random() % 8500;
      killed.Patch(random() % 2 == 0 ? control + 8 * (random() % 16) : header / 8 * 8, word);
    }
    const Leftovers leftovers = DrainAt(run.path);
    EXPECT_LE(leftovers.rings + leftovers.problems.size(), 1U);
  }
}

}  // namespace
}  // namespace vigil::journal
