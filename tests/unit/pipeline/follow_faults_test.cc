// Every system call of following files fails once, while they grow: what could not be read then is read later, and
// nothing is missing or doubled at the end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "pipeline/pipeline.h"
#include "platform/faults.h"
#include "support/scratch.h"

namespace vigil::pipeline {
namespace {

class FollowFaults : public ScratchTest, public ::testing::WithParamInterface<int> {
 protected:
  void Append(const std::string& name, const std::string& text) const {
    std::ofstream(Folder() + "/" + name, std::ios::binary | std::ios::app) << text;
  }
  // The same steps as JSON lines, as a log, and as the document of a trainer that is rewritten.
  void Grow(int first, int last) const {
    std::string rows;
    std::string lines;
    std::string history;
    for (int step = first; step <= last; ++step) {
      rows += fmt::format("{{\"step\": {}, \"loss\": {}.5}}\n", step, step);
      lines += fmt::format("step={} lr=1e-4 grad_norm={}.25\n", step, step);
    }
    for (int step = 1; step <= last; ++step)
      history += fmt::format("{}{{\"step\": {}, \"eval_loss\": {}.75}}", step == 1 ? "" : ", ", step, step);
    Append("train.jsonl", rows);
    Append("train.log", lines);
    Write("trainer_state.json", fmt::format("{{\"global_step\": {}, \"log_history\": [{}]}}", last, history));
  }
};

// "signal: points, last step", of all series, in order.
std::vector<std::string> Summary(const std::vector<model::Run>& runs) {
  std::vector<std::string> lines;
  for (const model::Run& run : runs) {
    for (const model::Series& series : run.series)
      lines.push_back(
          fmt::format("{}: {}, {}", series.signal, series.size(), series.size() == 0 ? 0 : series.steps.back()));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST_P(FollowFaults, ACallThatFailsWhileFilesGrowLosesAndDoublesNothing) {
  std::int64_t failures = 0;
  for (std::int64_t at = 0;; ++at) {
    TearDown();
    SetUp();
    Follower follower({Folder()});
    Grow(1, 20);
    follower.Poll();
    Grow(21, 40);
    platform::FailCall(at, GetParam());
    follower.Poll();
    const bool failed = platform::HasFailed();
    platform::FailCall(-1, 0);
    Grow(41, 60);
    follower.Poll();
    follower.Conclude();
    follower.Poll();
    ASSERT_EQ(Summary(follower.Runs()), Summary(ImportPaths({Folder()}).runs)) << "call " << at;
    if (!failed) break;
    ++failures;
  }
  EXPECT_GT(failures, 5);
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, FollowFaults, ::testing::Values(EIO, EMFILE, ENOENT, EACCES));

}  // namespace
}  // namespace vigil::pipeline
