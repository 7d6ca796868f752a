// What a record call costs, as counts: no allocation and no system call.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <thread>

#include "support.h"

// The sanitizers have an allocator of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define VIGIL_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef VIGIL_COUNTS_ALLOCATIONS
#define VIGIL_COUNTS_ALLOCATIONS 1
#endif

#if VIGIL_COUNTS_ALLOCATIONS
namespace {
std::atomic<std::uint64_t> allocations = 0;      // of all threads
thread_local std::uint64_t own_allocations = 0;  // of this one
// From the one before so many on, allocations of the threads that are not spared fail, so many times.
std::atomic<std::int64_t> fail_from = -1;
std::atomic<std::int64_t> fail_count = 0;
std::atomic<std::int64_t> unspared = 0;
thread_local bool spared = false;
// False when it is to fail.
bool CountAllocation() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  ++own_allocations;
  const std::int64_t from = fail_from.load(std::memory_order_relaxed);
  if (spared || from < 0) return true;
  const std::int64_t number = unspared.fetch_add(1);
  return number < from || number >= from + fail_count.load();
}
}  // namespace
extern "C" {
void* __libc_malloc(std::size_t size);                     // NOLINT: the C library's own name
void* __libc_calloc(std::size_t count, std::size_t size);  // NOLINT
void* __libc_realloc(void* memory, std::size_t size);      // NOLINT
void* malloc(std::size_t size) { return CountAllocation() ? __libc_malloc(size) : nullptr; }
void* calloc(std::size_t count, std::size_t size) { return CountAllocation() ? __libc_calloc(count, size) : nullptr; }
void* realloc(void* memory, std::size_t size) { return CountAllocation() ? __libc_realloc(memory, size) : nullptr; }
}
#endif

namespace vigil::record {
namespace {

struct Handles {
  explicit Handles(RunHandle opened) : run(opened), loss(SeriesIn(opened, "loss")) {
    EXPECT_EQ(OpenTensor(opened, "gradient", "w", tensor), Code::kOk);
  }
  RunHandle run;
  SeriesHandle loss;
  TensorHandle tensor = 0;
};

// Whether every call of a step went well.
bool RecordStep(const Handles& handles, std::int64_t step) {
  bool fine = BeginStep(handles.run, step) == Code::kOk;
  fine = fine && BeginPhase(handles.run, Phase::kData) == Code::kOk && EndPhase(handles.run, Phase::kData) == Code::kOk;
  fine = fine && Add(handles.loss, step, 1.5) == Code::kOk;
  fine = fine && AddTensor(handles.tensor, step, {}) == Code::kOk;
  fine = fine && AddBatch(handles.run, step, 1) == Code::kOk;
  return fine && EndStep(handles.run) == Code::kOk;
}

#if VIGIL_COUNTS_ALLOCATIONS
TEST(RecordCost, NothingIsAllocatedForAStep) {
  const Folder folder;
  const Handles handles(OpenIn(folder.path(), 60'000));
  ASSERT_EQ(Flush(handles.run, 5000), Code::kOk);
  ASSERT_TRUE(RecordStep(handles, 0));
  const std::uint64_t before = own_allocations;
  bool fine = true;
  for (std::int64_t step = 1; step < 500; ++step) fine = fine && RecordStep(handles, step);
  EXPECT_EQ(own_allocations - before, 0U);
  EXPECT_TRUE(fine);
  EXPECT_EQ(Close(handles.run, 0), Code::kOk);
}

// The recorder's own thread keeps its buffers: a steady stream of scalars costs no allocations there either.
TEST(RecordCost, TheRecordersThreadAllocatesNextToNothingForScalars) {
  const Folder folder;
  const Handles handles(OpenIn(folder.path(), 60'000));
  const auto round = [&](std::int64_t from) {
    for (std::int64_t step = from; step < from + 5000; ++step) Add(handles.loss, step, 0.1 * static_cast<double>(step));
    EXPECT_EQ(Flush(handles.run, 5000), Code::kOk);
  };
  for (std::int64_t i = 0; i < 5; ++i) round(i * 5000);
  const std::uint64_t before = allocations;
  for (std::int64_t i = 5; i < 25; ++i) round(i * 5000);
  EXPECT_LE(static_cast<double>(allocations - before) / (20 * 5000), 0.005);
  EXPECT_EQ(Close(handles.run, 0), Code::kOk);
}

// Memory of the recorder's thread is out at its N-th allocation, and for some more: the process goes on, and every
// record is in the journal once.
TEST(RecordCost, RunningOutOfMemoryLosesNothing) {
  spared = true;
  std::int64_t failed = 0;
  for (std::int64_t from = 0; from < 60; ++from) {
    const Folder folder;
    const Handles handles(OpenIn(folder.path(), 1));
    unspared = 0;
    fail_count = 1 + from % 3;
    fail_from = from;
    for (std::int64_t step = 0; step < 200; ++step) {
      EXPECT_TRUE(RecordStep(handles, step));
      if (step % 20 == 0) AddHyperparameter(handles.run, std::to_string(step), "value");
      if (step % 50 == 0) SeriesIn(handles.run, "series-" + std::to_string(step));
      if (step % 100 == 0) Flush(handles.run, 20);
    }
    EXPECT_EQ(Flush(handles.run, 5000), Code::kOk);
    failed += unspared > from ? 1 : 0;
    fail_from = -1;
    EXPECT_EQ(Close(handles.run, 0), Code::kOk);
    const model::Run run = ReadRun(folder.path());
    ASSERT_EQ(SeriesOf(run, "loss").size(), 200U) << from;
    ASSERT_EQ(SeriesOf(run, "gradient/norm").size(), 200U) << from;
    ASSERT_EQ(run.batches.hashes.size(), 200U) << from;
    for (std::size_t i = 0; i < 200; ++i) ASSERT_EQ(SeriesOf(run, "loss").steps[i], static_cast<std::int64_t>(i));
  }
  spared = false;
  EXPECT_GT(failed, 20) << "hardly any allocation failed: the test tests nothing";
}

// Opening allocates in both threads: it works or is a code.
TEST(RecordCost, OpeningWithoutMemoryIsACode) {
  spared = true;
  int refused = 0;
  for (std::int64_t from = 0; from < 80; ++from) {
    const Folder folder;
    Options options;
    options.folder = folder.path();
    RunHandle run = 0;
    std::string message;
    unspared = 0;
    fail_count = 1;
    fail_from = from;
    spared = from % 2 == 0;
    const Code code = Open(options, run, message);
    spared = true;
    fail_from = -1;
    refused += code == Code::kOk ? 0 : 1;
    EXPECT_EQ(code == Code::kOk, run != 0);
    EXPECT_EQ(Close(run, 0), run != 0 ? Code::kOk : Code::kInvalid);
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    ASSERT_EQ(::sigismember(&blocked, SIGALRM), 0) << "signals are the trainer's";
  }
  spared = false;
  EXPECT_GT(refused, 10);
}
#endif

// From now on this thread is killed for any system call but the one that ends the process.
bool ForbidSystemCalls() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int StatusOfChild(const std::string& folder, bool sins) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Handles handles(OpenIn(folder, 60'000));
    bool fine = Flush(handles.run, 5000) == Code::kOk && RecordStep(handles, 0);
    if (!ForbidSystemCalls()) ::_exit(77);
    for (std::int64_t step = 1; step < 2000; ++step) {
      fine = fine && Add(handles.loss, step, 1) == Code::kOk && AddTensor(handles.tensor, step, {}) == Code::kOk &&
             AddBatch(handles.run, step, 1) == Code::kOk;
    }
    if (sins) ::getppid();
    ::_exit(fine ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(RecordCost, RecordingMakesNoSystemCall) {
#if !VIGIL_COUNTS_ALLOCATIONS
  GTEST_SKIP() << "sanitizers make calls of their own";
#endif
  const Folder folder;
  const int status = StatusOfChild(folder.path(), false);
  if (status == 77) GTEST_SKIP() << "system calls cannot be forbidden here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(StatusOfChild(folder.path(), true), 1000 + SIGSYS) << "the test would not see a system call";
  EXPECT_GE(DrainIn(folder.path()).rings, 1U);  // the second child may have emptied the ring of the first
}

}  // namespace
}  // namespace vigil::record
