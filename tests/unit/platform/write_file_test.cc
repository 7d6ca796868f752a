// Files that are written where others are already: links, pipes and permissions stay what they are.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "platform/faults.h"
#include "platform/files.h"
#include "platform/terminal.h"
#include "support/scratch.h"

namespace vigil::platform {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class WriteFile : public ScratchTest {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  static mode_t PermissionsOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777U;
  }
};

TEST_F(WriteFile, GetsThePermissionsThatTheMaskLeaves) {
  const mode_t before = ::umask(077);
  const Status written = WriteFileAtomically(Path("a"), "x");
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(PermissionsOf(Path("a")), 0600U);
}

TEST_F(WriteFile, KeepsThePermissionsOfAFileThatItReplaces) {
  const std::string path = Write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(WriteFileAtomically(path, "new"));
  EXPECT_EQ(BytesOf(path), "new");
  EXPECT_EQ(PermissionsOf(path), 0640U);
}

TEST_F(WriteFile, ReplacesTheFileBehindALinkAndNotTheLink) {
  fs::create_directory(Path("real"));
  Write("real/a", "old");
  fs::create_symlink("real/a", Path("link"));
  fs::create_symlink("real/new", Path("to_nothing"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new"));
  ASSERT_TRUE(WriteFileAtomically(Path("to_nothing"), "first"));
  EXPECT_TRUE(fs::is_symlink(Path("link")));
  EXPECT_TRUE(fs::is_symlink(Path("to_nothing")));
  EXPECT_EQ(BytesOf(Path("real/a")), "new");
  EXPECT_EQ(BytesOf(Path("real/new")), "first");
}

TEST_F(WriteFile, ALinkToItselfIsAnError) {
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  const Status written = WriteFileAtomically(Path("a"), "x");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().Text(), HasSubstr("/a: cannot be written: "));
  EXPECT_TRUE(fs::is_symlink(Path("a")));
}

TEST_F(WriteFile, APipeIsWrittenTo) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  const int reader = ::open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  ASSERT_TRUE(WriteFileAtomically(Path("pipe"), "through"));
  std::array<char, 16> got = {};
  EXPECT_EQ(::read(reader, got.data(), got.size()), 7);
  EXPECT_STREQ(got.data(), "through");
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(WriteFile, APipeThatNobodyReadsIsAnErrorAndStays) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(WriteFileAtomically(Path("pipe"), "x"));
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

// The file behind it is open for others too: replacing it would take it from them.
TEST_F(WriteFile, ADescriptorIsWrittenTo) {
  const int descriptor = ::open(Path("a").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(::write(descriptor, "before ", 7), 7);
  ASSERT_TRUE(WriteFileAtomically(fmt::format("/dev/fd/{}", descriptor), "report"));
  ASSERT_EQ(::write(descriptor, " after", 6), 6);
  ::close(descriptor);
  EXPECT_EQ(BytesOf(Path("a")), "before report after");
}

// A run folder comes from anywhere: a link there must not lead what is written to another file.
TEST_F(WriteFile, ANameOfOurOwnReplacesALinkAndLeavesWhatIsBehindIt) {
  Write("precious", "old");
  fs::create_symlink("precious", Path("link"));
  fs::create_symlink("nothing", Path("to_nothing"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new", PathFrom::kProgram));
  ASSERT_TRUE(WriteFileAtomically(Path("to_nothing"), "new", PathFrom::kProgram));
  EXPECT_EQ(BytesOf(Path("precious")), "old");
  EXPECT_FALSE(fs::exists(Path("nothing")));
  EXPECT_FALSE(fs::is_symlink(Path("link")));
  EXPECT_EQ(BytesOf(Path("link")), "new");
  EXPECT_EQ(BytesOf(Path("to_nothing")), "new");
}

TEST_F(WriteFile, ANameOfOurOwnThatIsAPipeIsRefused) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(WriteFileAtomically(Path("pipe"), "x", PathFrom::kProgram));
  EXPECT_TRUE(fs::is_fifo(Path("pipe")));
}

TEST_F(WriteFile, ADeviceIsWrittenToAndStays) {
  constexpr unsigned kMemoryDevices = 1;
  constexpr unsigned kFull = 7;
  if (::mknod(Path("full").c_str(), S_IFCHR | 0600, makedev(kMemoryDevices, kFull)) != 0)
    GTEST_SKIP() << "making a device needs root";
  const int opened = ::open(Path("full").c_str(), O_WRONLY | O_CLOEXEC);
  if (opened < 0) GTEST_SKIP() << "the file system of the scratch folder opens no devices";
  ::close(opened);
  const Status written = WriteFileAtomically(Path("full"), "x");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().Text(), HasSubstr("No space left"));
  EXPECT_TRUE(fs::is_character_file(Path("full")));
  EXPECT_FALSE(WriteFileAtomically(Path("full"), "x", PathFrom::kProgram));
  EXPECT_TRUE(fs::is_character_file(Path("full")));
}

// Whatever cannot be looked at is not taken for absent: in a sticky folder the system does not follow another's link.
TEST_F(WriteFile, APathThatCannotBeLookedAtIsAnError) {
  fs::create_directory(Path("folder"));
  const std::string path = Write("folder/a", "old");
  for (const PathFrom from : {PathFrom::kUser, PathFrom::kProgram}) {
    FailCall(0, EACCES, false);
    const Status written = WriteFileAtomically(path, "new", from);
    FailCall(-1, 0, false);
    EXPECT_FALSE(written);
    EXPECT_EQ(BytesOf(path), "old");
  }
}

TEST_F(WriteFile, ADescriptorThatDoesNotBlockIsWaitedFor) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
  const std::string much(1'000'000, 'x');
  std::size_t read = 0;
  std::thread reader([&] {
    std::array<char, 4096> piece = {};
    while (read < 2 * much.size()) {
      const ssize_t count = ::read(ends[0], piece.data(), piece.size());
      if (count > 0) read += static_cast<std::size_t>(count);
    }
  });
  EXPECT_TRUE(WriteFileAtomically(fmt::format("/dev/fd/{}", ends[1]), much));
  EXPECT_TRUE(WriteText(ends[1], much));
  reader.join();
  EXPECT_EQ(read, 2 * much.size());
  for (const int end : ends) ::close(end);
}

TEST_F(WriteFile, AFreeNameIsTakenAndATakenOneIsNot) {
  ASSERT_TRUE(MoveToFreeName(Write("a", "x"), Path("b")));
  EXPECT_FALSE(fs::exists(Path("a")));
  EXPECT_EQ(BytesOf(Path("b")), "x");
  EXPECT_FALSE(MoveToFreeName(Write("c", "y"), Path("b")));
  EXPECT_EQ(BytesOf(Path("b")), "x");
}

}  // namespace
}  // namespace vigil::platform
