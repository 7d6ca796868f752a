#include "platform/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace vigil::platform {
namespace {

// Both ends of a pipe.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends.data()), 0); }
  ~Pipe() {
    CloseReader();
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void CloseReader() { Close(ends[0]); }
  void CloseWriter() { Close(ends[1]); }
  static void Close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

std::string ReadToTheEnd(int descriptor) {
  std::string text;
  std::array<char, 256> piece{};
  for (ssize_t count = 0; (count = ::read(descriptor, piece.data(), piece.size())) > 0;)
    text.append(piece.data(), static_cast<std::size_t>(count));
  return text;
}

TEST(WriteText, WritesAll) {
  Pipe pipe;
  const auto written = WriteText(pipe.ends[1], "verdict\n");
  pipe.CloseWriter();
  ASSERT_TRUE(written);
  EXPECT_TRUE(*written);
  EXPECT_EQ(ReadToTheEnd(pipe.ends[0]), "verdict\n");
}

TEST(WriteText, SaysWhenNobodyReadsAnyMore) {
  IgnoreClosedPipes();
  Pipe pipe;
  pipe.CloseReader();
  const auto written = WriteText(pipe.ends[1], "verdict\n");
  ASSERT_TRUE(written);
  EXPECT_FALSE(*written);
}

TEST(WriteText, NamesTheReasonOfAFailure) {
  const auto written = WriteText(-1, "verdict\n");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().Text(), testing::HasSubstr("Bad file descriptor"));
}

TEST(ClearLineOnInterrupt, ClearsTheLineAndDiesOfTheSignal) {
  Pipe pipe;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ClearLineOnInterrupt(pipe.ends[1]);
    ::raise(SIGINT);
    ::_exit(3);
  }
  pipe.CloseWriter();
  EXPECT_EQ(ReadToTheEnd(pipe.ends[0]), "\r\x1b[K");
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

}  // namespace
}  // namespace vigil::platform
