#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "platform/files.h"
#include "platform/process.h"
#include "platform/terminal.h"

namespace vigil::platform {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class PlatformTest : public testing::Test {
 protected:
  PlatformTest() {
    std::string pattern = testing::TempDir() + "vigil-platform-XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PlatformTest() override {
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  std::string Write(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

  std::vector<std::string> List(std::size_t limit = 100) {
    std::vector<std::string> names;
    for (const Entry& entry : ListFiles(folder_, limit, unreadable_))
      names.push_back(entry.path.substr(folder_.size() + 1));
    return names;
  }

  std::string folder_;
  std::vector<Error> unreadable_;
};

TEST_F(PlatformTest, ReportsHowManyFilesItHasFoundSoFar) {
  constexpr std::size_t kFiles = 5000;
  for (std::size_t i = 0; i < kFiles; ++i) std::ofstream(Path(std::to_string(i)));
  std::vector<std::size_t> reported;
  EXPECT_EQ(ListFiles(folder_, 2 * kFiles, unreadable_, [&](std::size_t found) { reported.push_back(found); }).size(),
            kFiles);
  ASSERT_FALSE(reported.empty());
  EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end()));
  EXPECT_LE(reported.back(), kFiles);
}

TEST_F(PlatformTest, ReadsAFileToItsEnd) {
  auto file = File::Open(Write("log", "hello"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size_bytes(), 5U);
  char piece[4];
  EXPECT_EQ(*file->Read(piece, sizeof piece), 4U);
  EXPECT_EQ(*file->Read(piece, sizeof piece), 1U);
  EXPECT_EQ(piece[0], 'o');
  EXPECT_EQ(*file->Read(piece, sizeof piece), 0U);
}

TEST_F(PlatformTest, SeesWhatIsAppendedAfterTheEndWasReached) {
  const std::string path = Write("log", "a");
  auto file = File::Open(path);
  ASSERT_TRUE(file);
  char piece[4];
  EXPECT_EQ(*file->Read(piece, sizeof piece), 1U);
  EXPECT_EQ(*file->Read(piece, sizeof piece), 0U);
  std::ofstream(path, std::ios::app) << "bc";
  EXPECT_EQ(*file->Read(piece, sizeof piece), 2U);
}

TEST_F(PlatformTest, MovesAFileWithoutClosingItTwice) {
  auto first = File::Open(Write("a", "a"));
  auto second = File::Open(Write("b", "b"));
  ASSERT_TRUE(first && second);
  *first = std::move(*second);
  char piece[4];
  EXPECT_EQ(*first->Read(piece, sizeof piece), 1U);
  EXPECT_EQ(piece[0], 'b');
}

TEST_F(PlatformTest, RefusesWhatIsNoFileWithTheReason) {
  EXPECT_THAT(File::Open(folder_).error().Text(), HasSubstr("is a folder"));
  EXPECT_THAT(File::Open(Path("missing")).error().Text(), HasSubstr("missing: cannot be opened: No such file"));
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(File::Open(Path("pipe")).error().Text(), HasSubstr("not a regular file"))
      << "and does not wait for a writer";
  EXPECT_THAT(File::Open("/dev/zero").error().Text(), HasSubstr("not a regular file"));
}

TEST_F(PlatformTest, ReadsAWholeFileUpToItsLimit) {
  const std::string content(3'000'000, 'x');
  const std::string path = Write("big", content);
  EXPECT_EQ(*ReadWholeFile(path, content.size()), content);
  EXPECT_THAT(ReadWholeFile(path, content.size() - 1).error().Text(), HasSubstr("larger than the limit of 2.9 MiB"));
  EXPECT_EQ(*ReadWholeFile(Write("empty", ""), 0), "");
}

TEST_F(PlatformTest, WritesAtomicallyAndLeavesNothingElse) {
  const std::string path = Write("report.html", "old");
  ASSERT_TRUE(WriteFileAtomically(path, "new"));
  EXPECT_EQ(*ReadWholeFile(path, 100), "new");
  EXPECT_THAT(List(), ElementsAre("report.html"));
  EXPECT_EQ(fs::status(path).permissions(), static_cast<fs::perms>(0644));
}

TEST_F(PlatformTest, SaysWhyAFileCannotBeWritten) {
  const auto status = WriteFileAtomically(Path("missing/report.html"), "x");
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().Text(), HasSubstr("missing/report.html: cannot be written: No such file"));
}

TEST_F(PlatformTest, AFailedWriteLeavesTheFolderAsItWas) {
  fs::create_directory(Path("taken"));
  EXPECT_FALSE(WriteFileAtomically(Path("taken"), "x")) << "a folder stands in the place of the file";
  EXPECT_THAT(List(), IsEmpty());
}

TEST_F(PlatformTest, StatDistinguishesFilesFromFolders) {
  EXPECT_EQ(Stat(folder_)->kind, EntryKind::kFolder);
  const auto entry = Stat(Write("log", "abc"));
  EXPECT_EQ(entry->kind, EntryKind::kFile);
  EXPECT_EQ(entry->size_bytes, 3U);
  EXPECT_GT(entry->modified_unix_s, 1.6e9);
  EXPECT_EQ(Stat("/dev/null")->kind, EntryKind::kOther);
  EXPECT_FALSE(Stat(Path("missing")));
}

TEST_F(PlatformTest, ListsFilesBelowInAStableOrder) {
  Write("b.log", "");
  Write("a/z.log", "");
  Write("a/deep/y.log", "");
  EXPECT_THAT(List(), ElementsAre("a/deep/y.log", "a/z.log", "b.log"));
  EXPECT_THAT(unreadable_, IsEmpty());
}

TEST_F(PlatformTest, DoesNotEnterWhatIsNotARunsOwn) {
  Write(".git/objects/x", "");
  Write("node_modules/x", "");
  Write("run/__pycache__/x", "");
  Write("run/train.log", "");
  EXPECT_THAT(List(), ElementsAre("run/train.log"));
}

TEST_F(PlatformTest, FollowsLinksAndGivesWhatIsReachedTwiceOnce) {
  Write("run/train.log", "x");
  fs::create_symlink(Path("run/train.log"), Path("latest.log"));
  fs::create_directory_symlink(folder_, Path("run/loop"));
  fs::create_directory_symlink(Path("run"), Path("again"));
  fs::create_symlink(Path("missing"), Path("broken"));
  EXPECT_THAT(List(), ElementsAre("run/train.log")) << "by its real path";
  ASSERT_EQ(unreadable_.size(), 1U);
  EXPECT_THAT(unreadable_[0].path, HasSubstr("broken"));
}

TEST_F(PlatformTest, FollowsLinksToWhatLiesElsewhere) {
  std::string elsewhere = (fs::temp_directory_path() / "vigil_elsewhere_XXXXXX").string();
  ASSERT_NE(::mkdtemp(elsewhere.data()), nullptr);
  fs::create_directories(fs::path(elsewhere) / "deep");
  std::ofstream(fs::path(elsewhere) / "deep/train.log") << "x";
  fs::create_directory_symlink(elsewhere, Path("run"));
  fs::create_directory_symlink(Path("run"), fs::path(elsewhere) / "deep/back");
  EXPECT_THAT(List(), ElementsAre("run/deep/train.log"));
  fs::remove_all(elsewhere);
}

TEST_F(PlatformTest, KnowsTheMemoryThatTheMachineAndItsControlGroupsLeave) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  EXPECT_EQ(AvailableBytes(folder_), 0U) << "nothing is known";
  Write("proc/meminfo", "MemTotal:   8388608 kB\nMemAvailable:    4194304 kB\n");
  EXPECT_EQ(AvailableBytes(folder_), 4096 * kMiB);
  Write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job/7\n0::/slice/run\n");
  EXPECT_EQ(AvailableBytes(folder_), 4096 * kMiB) << "groups without limits";
  Write("sys/fs/cgroup/slice/run/memory.max", "max\n");
  Write("sys/fs/cgroup/slice/memory.max", std::to_string(3000 * kMiB) + "\n");
  Write("sys/fs/cgroup/slice/memory.current", std::to_string(1500 * kMiB) + "\n");
  Write("sys/fs/cgroup/slice/memory.stat",
        "anon 5\ninactive_file " + std::to_string(400 * kMiB) + "\nactive_file " + std::to_string(100 * kMiB) + "\n");
  EXPECT_EQ(AvailableBytes(folder_), 2000 * kMiB) << "of the group above; its page cache can be had";
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(1000 * kMiB) + "\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", std::to_string(1100 * kMiB) + "\n");
  Write("sys/fs/cgroup/memory/memory.stat", "total_inactive_file " + std::to_string(200 * kMiB) + "\n");
  EXPECT_EQ(AvailableBytes(folder_), 100 * kMiB) << "the first version, seen from inside a container";
  EXPECT_GT(AvailableBytes(), 0U);
}

// A data set that is linked beside the logs: its files are given up, the logs are found, whichever link comes first.
TEST_F(PlatformTest, GivesUpOneLinkWithTooMuchBehindItAndFollowsTheOthers) {
  constexpr int kFiles = 21'000;
  fs::create_directories(Path("elsewhere/data"));
  for (int i = 0; i < kFiles; ++i) std::ofstream(Path("elsewhere/data/" + std::to_string(i)));
  Write("elsewhere/logs/train.jsonl", "{}");
  fs::create_directory(Path("run"));
  for (const char* name : {"a", "z"}) fs::create_directory_symlink(Path("elsewhere/logs"), Path("run/") + name);
  for (const char* name : {"data", "everything"})
    fs::create_directory_symlink(Path(name == std::string_view("data") ? "elsewhere/data" : "elsewhere"),
                                 Path("run/") + name);
  std::vector<std::string> found;
  for (const Entry& entry : ListFiles(Path("run"), 1'000'000, unreadable_)) found.push_back(entry.path);
  EXPECT_THAT(found, testing::Contains(Path("run/a/train.jsonl")));
  EXPECT_LE(found.size(), 21'001U) << "what two links lead to is given once";
  ASSERT_FALSE(unreadable_.empty());
  EXPECT_EQ(unreadable_.front().path, Path("run/data"));
  EXPECT_THAT(unreadable_.front().message, HasSubstr("more than 20,000 files behind this link"));
}

TEST_F(PlatformTest, FollowsALinkIntoWhatAnotherLinkWasGivenUpFor) {
  constexpr int kFiles = 20'500;
  Write("elsewhere/0/logs/train.jsonl", "{}");
  fs::create_directories(Path("elsewhere/1"));
  for (int i = 0; i < kFiles; ++i) std::ofstream(Path("elsewhere/1/" + std::to_string(i)));
  fs::create_directory(Path("run"));
  fs::create_directory_symlink(Path("elsewhere"), Path("run/all"));
  fs::create_directory_symlink(Path("elsewhere/0/logs"), Path("run/logs"));
  std::vector<std::string> logs;
  for (const Entry& entry : ListFiles(Path("run"), 1'000'000, unreadable_)) {
    if (entry.path.ends_with(".jsonl")) logs.push_back(entry.path);
  }
  EXPECT_EQ(logs.size(), 1U) << "whichever folder was listed first";
  ASSERT_EQ(unreadable_.size(), 1U);
  EXPECT_EQ(unreadable_.front().path, Path("run/all"));
}

// Such a link leads through everything that lies beside what was asked for, up to the whole disk.
TEST_F(PlatformTest, DoesNotFollowLinksToFoldersAbove) {
  Write("run/train.log", "x");
  fs::create_directory_symlink("/", Path("run/root"));
  fs::create_directory_symlink(fs::path(folder_).parent_path(), Path("run/beside"));
  EXPECT_THAT(List(), ElementsAre("run/train.log"));
  ASSERT_EQ(unreadable_.size(), 2U);
  for (const Error& error : unreadable_) EXPECT_THAT(error.message, HasSubstr("leads to a folder above"));
}

TEST_F(PlatformTest, DoesNotFollowLinksIntoTheFilesOfOtherProcesses) {
  Write("run/train.log", "x");
  fs::create_directory_symlink("/proc/self/fd", Path("run/open"));
  EXPECT_THAT(List(), ElementsAre("run/train.log"));
  ASSERT_EQ(unreadable_.size(), 1U);
  EXPECT_THAT(unreadable_[0].message, HasSubstr("leads into /proc or /sys"));
}

TEST_F(PlatformTest, StopsAtTheLimitAndSaysSo) {
  for (int i = 0; i < 10; ++i) Write("log-" + std::to_string(i), "");
  EXPECT_EQ(List(4).size(), 4U);
  EXPECT_THAT(unreadable_,
              ElementsAre(testing::AllOf(testing::Field(&Error::path, folder_),
                                         testing::Field(&Error::message, HasSubstr("more than 4 files")))));
}

// Root may enter every folder, so the test runs as another user.
class AsNobody {
 public:
  AsNobody() : was_(::geteuid()) { EXPECT_TRUE(was_ != 0 || ::seteuid(65534) == 0); }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() { EXPECT_EQ(::seteuid(was_), 0); }

 private:
  uid_t was_;
};

TEST_F(PlatformTest, NamesAFolderThatCannotBeEntered) {
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  fs::create_directory(Path("closed"));
  fs::permissions(Path("closed"), fs::perms::none);
  const AsNobody nobody;
  EXPECT_THAT(List(), IsEmpty());
  EXPECT_THAT(unreadable_, ElementsAre(testing::AllOf(testing::Field(&Error::path, Path("closed")),
                                                      testing::Field(&Error::message, "Permission denied"))));
}

TEST_F(PlatformTest, NamesAFileThatCannotBeRead) {
  fs::permissions(folder_, static_cast<fs::perms>(0755));
  fs::permissions(Write("secret.log", "x"), fs::perms::none);
  const AsNobody nobody;
  EXPECT_THAT(File::Open(Path("secret.log")).error().Text(),
              HasSubstr("secret.log: cannot be opened: Permission denied"));
}

TEST(Terminal, APipeIsNoneAndTakesItsWidthFromTheEnvironment) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_FALSE(IsTerminal(ends[0]));
  ::unsetenv("COLUMNS");
  EXPECT_EQ(TerminalWidth(ends[0], 77), 77);
  ::setenv("COLUMNS", "132", 1);
  EXPECT_EQ(TerminalWidth(ends[0], 77), 132);
  for (const char* nonsense : {"", "0", "-4", "many", "1000000"}) {
    ::setenv("COLUMNS", nonsense, 1);
    EXPECT_EQ(TerminalWidth(ends[0], 77), 77) << nonsense;
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace vigil::platform
