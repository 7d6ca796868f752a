// What a call said to have taken is kept: in bursts, behind an application that closes descriptors, in a small memory.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <linux/close_range.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "journal/inspect.h"
#include "journal/ring.h"
#include "record/slots.h"
#include "support.h"

namespace vigil::record {
namespace {

using testing::SizeIs;

void SleepMs(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

RunStatus StatusOf(RunHandle run) {
  RunStatus status;
  EXPECT_EQ(GetStatus(run, status), Code::kOk);
  return status;
}

TEST(Kept, WhatWasTakenIsInTheJournalHoweverMuchCame) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path(), 250);
  constexpr int kThreads = 3;
  constexpr std::int64_t kEach = 200'000;
  std::array<std::uint64_t, kThreads> taken = {};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const SeriesHandle series = SeriesIn(run, "loss" + std::to_string(i));
      for (std::int64_t step = 0; step < kEach; ++step) {
        const Code code = Add(series, step, 1);
        taken[i] += code == Code::kOk ? 1 : 0;
        ASSERT_TRUE(code == Code::kOk || code == Code::kFull);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::uint64_t all = taken[0] + taken[1] + taken[2];
  EXPECT_EQ(StatusOf(run).dropped_records, kThreads * kEach - all);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  const model::Run read = ReadRun(folder.path());
  for (std::size_t i = 0; i < kThreads; ++i)
    EXPECT_THAT(SeriesOf(read, "loss" + std::to_string(i)).steps, SizeIs(taken[i]));
}

// An exception is followed by much else, and is the one that matters.
TEST(Kept, TheFirstErrorIsThereWhateverCameBehindIt) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path(), 1000);
  journal::Event event;
  event.kind = journal::EventKind::kException;
  event.severity = model::Severity::kFatal;
  event.name = "RuntimeError";
  event.text = "the cause of it all";
  EXPECT_EQ(AddEvent(run, event), Code::kOk);
  std::size_t settings = 0;
  for (int i = 0; i < 20; ++i) {
    const Code code = AddHyperparameter(run, "config" + std::to_string(i), std::string(60'000, 'x'));
    settings += code == Code::kOk ? 1 : 0;
  }
  journal::Event chatter;
  chatter.text = std::string(500, 'y');
  std::size_t messages = 0;
  for (int i = 0; i < 2000; ++i) messages += AddEvent(run, chatter) == Code::kOk ? 1 : 0;
  event.text = "and one more";
  EXPECT_EQ(AddEvent(run, event), Code::kOk) << "there is room for errors";
  EXPECT_EQ(StatusOf(run).dropped_records, 2020 - settings - messages);
  EXPECT_EQ(Close(run, 0), Code::kOk);
  const model::Run read = ReadRun(folder.path());
  std::vector<std::string> errors;
  std::size_t others = 0;
  for (const model::Event& one : read.events) {
    if (one.text.find("cause of it all") != std::string::npos || one.text.find("one more") != std::string::npos) {
      errors.push_back(one.text);
    } else if (one.text.find("yyyy") != std::string::npos) {
      ++others;
    }
  }
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_EQ(others, messages);
}

// What daemons do: everything is closed, and the next file has the number of one of ours.
[[noreturn]] void RecordBehindAClosedDescriptor(const std::string& folder, const std::string& own) {
  const RunHandle run = OpenIn(folder + "/run");
  const SeriesHandle loss = SeriesIn(run, "loss");
  static_cast<void>(Add(loss, 1, 1));
  static_cast<void>(Flush(run, 1000));
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  for (int i = 0; i < 20; ++i) {
    const int file = ::open(own.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
    if (::write(file, "mine\n", 5) != 5) ::_exit(3);
  }
  for (std::int64_t step = 2; step <= 30; ++step) {
    static_cast<void>(Add(loss, step, 1));
    SleepMs(100);
  }
  RunStatus status;
  static_cast<void>(GetStatus(run, status));
  ::_exit(Close(run, 0) == Code::kOk && status.survives_kill ? 0 : 4);
}

TEST(Kept, AFileOfTheApplicationIsNeverWrittenTo) {
  const Folder folder;
  const std::string own = folder.path() + "/own";
  const pid_t child = ::fork();
  if (child == 0) RecordBehindAClosedDescriptor(folder.path(), own);
  int end = 0;
  ::waitpid(child, &end, 0);
  EXPECT_EQ(WEXITSTATUS(end), 0);
  std::ifstream file(own);
  std::size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) EXPECT_EQ(line, "mine");
  EXPECT_EQ(lines, 20U);
  const model::Run read = ReadRun(folder.path() + "/run");
  EXPECT_THAT(SeriesOf(read, "loss").steps, SizeIs(30));
}

TEST(Kept, ARingThatWasRemovedIsNoticed) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  EXPECT_TRUE(StatusOf(run).survives_kill);
  std::filesystem::remove("/dev/shm/" + BeginOf(folder.path()).ring);
  for (int i = 0; i < 50 && StatusOf(run).survives_kill; ++i) SleepMs(100);
  EXPECT_FALSE(StatusOf(run).survives_kill);
  EXPECT_EQ(Close(run, 0), Code::kOk);
}

// A handler that jumps elsewhere leaves the call it interrupted for good: its lane is not lost to the thread.
TEST(Kept, AThreadThatJumpedOutOfACallRecordsAgain) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle series = SeriesIn(run, "loss");
  alignas(Lease) std::array<std::byte, sizeof(Lease)> of_values = {};
  alignas(Lease) std::array<std::byte, sizeof(Lease)> of_texts = {};
  new (of_values.data()) Lease(SlotOf(series), series);  // never ends
  new (of_texts.data()) Lease(SlotOf(run), run, Lease::ForText());
  EXPECT_EQ(Add(series, 1, 1), Code::kBusy);
  EXPECT_EQ(AddHyperparameter(run, "a", "b"), Code::kBusy);
  bool values = false;
  bool texts = false;
  for (int i = 0; i < 100 && !(values && texts); ++i) {
    SleepMs(50);
    values = values || Add(series, 2, 1) == Code::kOk;
    texts = texts || AddHyperparameter(run, "a", "b") == Code::kOk;
  }
  EXPECT_TRUE(values);
  EXPECT_TRUE(texts);
  EXPECT_EQ(Close(run, 0), Code::kOk);
}

// As docker gives it.
TEST(Kept, ASmallSharedMemoryIsLeftToOthers) {
  constexpr std::uint64_t kAll = std::uint64_t{64} << 20U;
  for (const std::uint64_t free_bytes : {kAll, kAll / 4, kAll / 16, kAll / 64}) {
    journal::RingOptions options;
    options.space = {kAll, free_bytes};
    options.taken_bytes = [](std::string_view) { return std::uint64_t{0}; };
    journal::Ring ring = journal::Ring::Create(options).value();
    const bool shared = ring.Publish(journal::Ring::NewName());
    for (std::uint32_t lane = 0; lane < journal::kLanes; ++lane) static_cast<void>(ring.ReserveLane(lane));
    ring.Remove();
    EXPECT_EQ(shared, free_bytes > kAll / 64) << free_bytes;
    if (!shared) continue;
    EXPECT_LE(ring.reserved_bytes(), std::min(kAll / 8, free_bytes / 4));
    EXPECT_TRUE(ring.ReserveLane(1)) << "one that ended is used again";
  }
}

// Made at the same time, before any of them has taken what it may.
TEST(Kept, AllRingsTogetherLeaveMostOfASmallSharedMemory) {
  constexpr std::uint64_t kAll = std::uint64_t{64} << 20U;
  static std::vector<journal::Ring> rings;
  journal::RingOptions options;
  options.space = {kAll, kAll};
  options.taken_bytes = [](std::string_view) {
    std::uint64_t taken = 0;
    for (const journal::Ring& ring : rings) taken += ring.reserved_bytes();
    return taken;
  };
  for (int i = 0; i < 16; ++i) {
    journal::Ring ring = journal::Ring::Create(options).value();
    if (!ring.Publish(journal::Ring::NewName())) break;
    ring.Remove();
    rings.push_back(std::move(ring));
  }
  EXPECT_GE(rings.size(), 8U);
  for (std::uint32_t lane = 0; lane < journal::kLanes; ++lane) {
    for (journal::Ring& ring : rings) static_cast<void>(ring.ReserveLane(lane));
  }
  const std::uint64_t taken = options.taken_bytes({});
  EXPECT_LE(taken, kAll / 4);
  EXPECT_GT(taken, kAll / 8);
  rings.clear();
}

// Refused, and then the process was killed: the journal says how many are missing.
TEST(Kept, TheCountOfWhatWasRefusedSurvivesAKill) {
  const Folder folder;
  std::array<int, 2> ends = {};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Options options;
    options.folder = folder.path();
    options.flush_interval_ms = 60'000;
    options.lane_bytes = 32U << 10U;  // about 1000 records
    RunHandle run = 0;
    std::string message;
    static_cast<void>(Open(options, run, message));
    const SeriesHandle loss = SeriesIn(run, "loss");
    std::array<std::uint64_t, 2> counts = {};
    for (std::int64_t step = 0; step < 300'000; ++step) ++counts[Add(loss, step, 1) == Code::kOk ? 0 : 1];
    static_cast<void>(::write(ends[1], counts.data(), sizeof(counts)));
    ::raise(SIGKILL);
  }
  std::array<std::uint64_t, 2> counts = {};
  EXPECT_EQ(::read(ends[0], counts.data(), sizeof(counts)), static_cast<ssize_t>(sizeof(counts)));
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_GT(counts[1], 0U);
  DrainIn(folder.path());
  const auto survey = journal::SurveyFile(folder.path() + "/rank-0.vigil");
  ASSERT_TRUE(survey);
  EXPECT_EQ(survey->samples, counts[0]);
  EXPECT_EQ(survey->dropped_records, counts[1]);
}

// A thread was taken out of its first record call by a jump, and holds the lock for good.
TEST(Kept, ALockThatIsNeverGivenBackHoldsNobodyUp) {
  const Folder folder;
  const RunHandle run = OpenIn(folder.path());
  const SeriesHandle loss = SeriesIn(run, "loss");
  Slot* const slot = SlotOf(run);
  slot->lane_mutex.lock();
  std::thread([&] {
    for (std::int64_t step = 0; step < 100; ++step) EXPECT_EQ(Add(loss, step, 1), Code::kOk);
  }).join();
  EXPECT_EQ(Close(run, 0), Code::kOk);
  EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), 100U);
  slot->lane_mutex.unlock();
}

// Between the application's closing of all descriptors and our next look our lock is lost, and another process may take
// the ring for that of a dead one.
TEST(Kept, WhatAnotherProcessTookOutOfALivingRingIsNeitherLostNorDoubled) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const RunHandle run = OpenIn(folder.path(), 60'000);
    const SeriesHandle loss = SeriesIn(run, "loss");
    for (std::int64_t step = 0; step < 100; ++step) static_cast<void>(Add(loss, step, 1));
    static_cast<void>(Flush(run, 5000));
    for (std::int64_t step = 100; step < 200; ++step) static_cast<void>(Add(loss, step, 1));
    ::close_range(3, ~0U, 0);
    const pid_t other = ::fork();
    if (other == 0) ::_exit(DrainIn(folder.path()).records == 100 ? 0 : 1);
    int status = 0;
    ::waitpid(other, &status, 0);
    for (std::int64_t step = 200; step < 300; ++step) static_cast<void>(Add(loss, step, 1));
    const bool closed = Close(run, 0) == Code::kOk;
    ::_exit(closed && status == 0 ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const model::Run read = ReadRun(folder.path());
  const model::Series& loss = SeriesOf(read, "loss");
  EXPECT_EQ(loss.size(), 300U);
  EXPECT_EQ(loss.steps.back(), 299);
}

}  // namespace
}  // namespace vigil::record
