// A disk that does not answer: closing gives up in time, and nobody else writes what is stuck.
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support.h"

namespace {
std::atomic<bool> writes_hang = false;
std::atomic<int> hanging = 0;
}  // namespace

// Stands before that of the C library: the next write of the recorder's thread hangs while `writes_hang` is set.
extern "C" ssize_t write(int file, const void* bytes, std::size_t size) {
  char name[32] = {};
  if (writes_hang && ::pthread_getname_np(::pthread_self(), name, sizeof(name)) == 0 &&
      std::strcmp(name, "vigil-record") == 0) {
    ++hanging;
    while (writes_hang) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    --hanging;
  }
  return ::syscall(SYS_write, file, bytes, size);
}

namespace vigil::record {
namespace {

Options StuckOptions(const std::string& folder) {
  Options options;
  options.folder = folder;
  options.flush_interval_ms = 1;
  options.close_timeout_ms = 50;
  return options;
}

TEST(RecorderStuck, ARunOpenedAgainLeavesTheStuckOneItsRing) {
  const Folder folder;
  RunHandle first = 0;
  std::string message;
  ASSERT_EQ(Open(StuckOptions(folder.path()), first, message), Code::kOk) << message;
  const SeriesHandle loss = SeriesIn(first, "loss");
  EXPECT_EQ(Flush(first, 5000), Code::kOk);
  writes_hang = true;
  for (std::int64_t step = 0; step < 1000; ++step) EXPECT_EQ(Add(loss, step, 1), Code::kOk);
  while (hanging == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(Close(first, 0), Code::kTimeout);
  const std::string ring = "/dev/shm/" + BeginOf(folder.path()).ring;
  // In the same process, and in another: the lock must still be held.
  EXPECT_EQ(DrainIn(folder.path()).rings, 0U);
  std::thread opening([&] {
    RunHandle second = 0;
    std::string ignored;
    EXPECT_EQ(Open(StuckOptions(folder.path()), second, ignored), Code::kOk);
    EXPECT_EQ(Flush(second, 5000), Code::kOk);
    EXPECT_EQ(Close(second, 0), Code::kOk);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_TRUE(std::filesystem::exists(ring));
  writes_hang = false;
  opening.join();
  for (int wait = 0; wait < 500 && std::filesystem::exists(ring); ++wait)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(std::filesystem::exists(ring)) << "what was stuck went on to its end";
  const pipeline::Imported imported = pipeline::ImportPaths({folder.path()});
  std::size_t points = 0;
  for (const model::Run& run : imported.runs) {
    for (const model::Series& series : run.series) points += series.raw == "loss" ? series.size() : 0;
    for (const model::Source& source : run.sources)
      EXPECT_EQ(source.state, model::SourceState::kRead) << report::NoteText(source);
  }
  EXPECT_EQ(points, 1000U);
}

}  // namespace
}  // namespace vigil::record
