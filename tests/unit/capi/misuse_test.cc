// Calls at the wrong time and from the wrong place: after fork, after fork and exec, from other threads, while the
// process ends. Each is a code or does its work; none is undefined.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vigil/vigil.hpp>

#include "ingest/ingest.h"
#include "journal/journal.h"
#include "journal/mover.h"
#include "pipeline/pipeline.h"
#include "support/paths.h"

namespace {

class Misuse : public testing::Test {
 protected:
  Misuse() {
    std::string name = (std::filesystem::temp_directory_path() / "vigil_misuse_XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~Misuse() override { std::filesystem::remove_all(folder_); }

  vigil_run Open() const {
    vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
    options.folder = folder_.c_str();
    vigil_run run = {0};
    EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_OK) << vigil_last_error();
    return run;
  }
  static vigil_series Series(vigil_run run) {
    vigil_series series = {0};
    EXPECT_EQ(vigil_series_open(run, "loss", nullptr, &series), VIGIL_OK);
    return series;
  }
  std::size_t Points() const {
    const auto imported = vigil::pipeline::ImportPaths({folder_});
    if (imported.runs.empty() || imported.runs[0].Find("loss") == nullptr) return 0;
    return imported.runs[0].Find("loss")->size();
  }
  std::string folder_;
};

int ExitCodeOf(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Misuse, EveryCallAfterForkReturnsForked) {
  const vigil_run run = Open();
  const vigil_series series = Series(run);
  vigil_guard guard = {0};
  ASSERT_EQ(vigil_guard_open(run, nullptr, &guard), VIGIL_OK);
  const pid_t child = ::fork();
  if (child == 0) {
    vigil_decision decision = {sizeof decision, 0, 0, 0, 0, {}};
    const bool refused =
        vigil_series_add(series, 1, 1) == VIGIL_FORKED && vigil_step_begin(run, 1) == VIGIL_FORKED &&
        vigil_batch_add(run, 1, 1) == VIGIL_FORKED && vigil_config_set(run, "a", "b") == VIGIL_FORKED &&
        vigil_run_flush(run, 10) == VIGIL_FORKED && vigil_run_close(run, 0) == VIGIL_FORKED &&
        vigil_guard_judge(guard, 1, 1, 1, &decision) == VIGIL_FORKED && decision.action == VIGIL_ACTION_GO;
    ::_exit(refused ? 0 : 1);
  }
  EXPECT_EQ(ExitCodeOf(child), 0);
  EXPECT_EQ(vigil_series_add(series, 1, 1), VIGIL_OK) << "the parent goes on";
  EXPECT_EQ(vigil_guard_close(guard), VIGIL_OK);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  EXPECT_EQ(Points(), 1U);
}

// Another program in the child inherits neither files nor locks: the parent's record stays its own.
TEST_F(Misuse, AHandleOfOneKindIsNotTakenForOneOfAnother) {
  const vigil_run run = Open();
  const vigil_series series = Series(run);
  vigil_tensor tensor = {0};
  ASSERT_EQ(vigil_tensor_open(run, "weights", "0", &tensor), VIGIL_OK);
  const vigil_tensor_stats stats = {1, 1, 1, 1, 1, 1, 0, 0};
  EXPECT_EQ(vigil_tensor_add(tensor, 1, &stats), VIGIL_OK);
  EXPECT_NE(vigil_tensor_add({series.id}, 1, &stats), VIGIL_OK);
  EXPECT_NE(vigil_series_add({tensor.id}, 1, 1), VIGIL_OK);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  EXPECT_EQ(Points(), 0U) << "nothing was written into the loss";
}

TEST_F(Misuse, AChildThatBecomesAnotherProgramInheritsNothing) {
  const vigil_run run = Open();
  const vigil_series series = Series(run);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", "ls -l /proc/self/fd | grep -qE '/dev/shm/|[.]vigil' && exit 7; exit 0", nullptr);
    ::_exit(9);
  }
  EXPECT_EQ(ExitCodeOf(child), 0);
  for (std::int64_t step = 0; step < 100; ++step) EXPECT_EQ(vigil_series_add(series, step, 1), VIGIL_OK);
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  EXPECT_EQ(Points(), 100U);
}

TEST_F(Misuse, HandlesMayBeUsedAndClosedByAnyThread) {
  const vigil_run run = Open();
  const vigil_series series = Series(run);
  EXPECT_EQ(vigil_step_begin(run, 1), VIGIL_OK);
  std::thread([&] {
    EXPECT_EQ(vigil_series_add(series, 1, 1), VIGIL_OK);
    EXPECT_EQ(vigil_step_end(run), VIGIL_OK) << "a step may end in another thread than it began in";
    EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
    EXPECT_EQ(vigil_run_close(run, 0), VIGIL_CLOSED) << "twice";
  }).join();
  EXPECT_EQ(vigil_series_add(series, 2, 1), VIGIL_CLOSED);
  EXPECT_EQ(vigil_step_end(run), VIGIL_CLOSED);
  EXPECT_EQ(Points(), 1U);
}

// Two packages of a program may each bring the library along.
TEST_F(Misuse, TwoCopiesOfTheLibraryLeaveEachOthersRunsAlone) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto load = [&](const char* name) {
      std::filesystem::copy_file(vigil::testing_support::kLibrary, folder_ + name);
      return ::dlopen((folder_ + name).c_str(), RTLD_NOW | RTLD_LOCAL);
    };
    void* const first = load("/first.so");
    void* const second = load("/second.so");
    if (first == nullptr || second == nullptr || first == second) ::_exit(3);
    const auto open_first = reinterpret_cast<decltype(&vigil_run_open)>(::dlsym(first, "vigil_run_open"));
    const auto open_second = reinterpret_cast<decltype(&vigil_run_open)>(::dlsym(second, "vigil_run_open"));
    const auto series_open = reinterpret_cast<decltype(&vigil_series_open)>(::dlsym(first, "vigil_series_open"));
    const auto add = reinterpret_cast<decltype(&vigil_series_add)>(::dlsym(first, "vigil_series_add"));
    vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
    const std::string run_folder = folder_ + "/run";
    options.folder = run_folder.c_str();
    options.flush_interval_ms = 3'600'000;
    vigil_run run = {0};
    vigil_run other = {0};
    vigil_series series = {0};
    if (open_first(&options, &run) != VIGIL_OK || series_open(run, "loss", nullptr, &series) != VIGIL_OK) ::_exit(4);
    for (std::int64_t step = 0; step < 100; ++step) add(series, step, 1);
    options.rank = 1;
    if (open_second(&options, &other) != VIGIL_OK) ::_exit(5);
    ::usleep(100'000);  // the second one looks for what killed processes left
    for (std::int64_t step = 100; step < 200; ++step) add(series, step, 1);
    ::kill(::getpid(), SIGKILL);
  }
  EXPECT_EQ(ExitCodeOf(child), 128 + SIGKILL);
  vigil::journal::DrainOptions drain;
  drain.places = {folder_};
  EXPECT_EQ(vigil::journal::DrainLeftovers(drain).rings, 2U);
  EXPECT_EQ(Points(), 200U);
}

vigil_run run_at_exit = {0};
vigil_series series_at_exit = {0};

// Destructors and handlers of the program may run before or after those of the library.
TEST_F(Misuse, CallsWhileTheProcessEndsAreCodes) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto late = [] {
      const int code = vigil_series_add(series_at_exit, 7, 1);
      if (code != VIGIL_OK && code != VIGIL_CLOSED) ::_exit(5);
      const int closed = vigil_run_close(run_at_exit, 0);
      if (closed != VIGIL_OK && closed != VIGIL_CLOSED) ::_exit(6);
    };
    std::atexit(late);
    run_at_exit = Open();
    series_at_exit = Series(run_at_exit);
    std::atexit(late);
    vigil_series_add(series_at_exit, 1, 1);
    std::exit(0);
  }
  EXPECT_EQ(ExitCodeOf(child), 0);
  EXPECT_GE(Points(), 1U);
}

TEST_F(Misuse, AGuardOfARunThatIsNotOpenIsRefused) {
  const vigil_run run = Open();
  vigil_guard guard = {0};
  EXPECT_EQ(vigil_guard_open({0x0102030405060708U}, nullptr, &guard), VIGIL_CLOSED) << "forged";
  EXPECT_EQ(vigil_run_close(run, 0), VIGIL_OK);
  EXPECT_EQ(vigil_guard_open(run, nullptr, &guard), VIGIL_CLOSED);
  EXPECT_EQ(guard.id, 0U);
  EXPECT_EQ(vigil_guard_open({0}, nullptr, &guard), VIGIL_OK) << "without a run nothing is recorded";
  EXPECT_EQ(vigil_guard_close(guard), VIGIL_OK);
}

TEST_F(Misuse, WhatIsWrongWithTheOptionsIsSaid) {
  vigil_run_options options = VIGIL_RUN_OPTIONS_INIT;
  vigil_run run = {0};
  EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_INVALID);
  EXPECT_STREQ(vigil_last_error(), "no folder was given");
  options.folder = folder_.c_str();
  options.rank = -1;
  EXPECT_EQ(vigil_run_open(&options, &run), VIGIL_INVALID);
  EXPECT_STREQ(vigil_last_error(), "the rank is below 0");
}

}  // namespace
