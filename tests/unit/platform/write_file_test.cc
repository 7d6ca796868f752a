// Files that are written where others are already: links, pipes and rights stay what they are.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "platform/files.h"
#include "support/scratch.h"

namespace vigil::platform {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class WriteFile : public ScratchTest {
 protected:
  std::string Path(const std::string& name) const { return folder_ / name; }
  static mode_t RightsOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(::stat(path.c_str(), &info), 0);
    return info.st_mode & 07777U;
  }
};

TEST_F(WriteFile, GetsTheRightsThatTheMaskLeaves) {
  const mode_t before = ::umask(077);
  const Status written = WriteFileAtomically(Path("a"), "x");
  ::umask(before);
  ASSERT_TRUE(written);
  EXPECT_EQ(RightsOf(Path("a")), 0600U);
}

TEST_F(WriteFile, KeepsTheRightsOfAFileThatItReplaces) {
  const std::string path = Write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(WriteFileAtomically(path, "new"));
  EXPECT_EQ(BytesOf(path), "new");
  EXPECT_EQ(RightsOf(path), 0640U);
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

}  // namespace
}  // namespace vigil::platform
