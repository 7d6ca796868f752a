// Memory may be out at any point of recording, moving and draining: calls say so, nothing that they took is lost.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "../journal/support.h"
#include "journal/ring.h"
#include "platform/memory_budget.h"
#include "support.h"

namespace vigil::record {
namespace {

// Whether allocations of this program can be made to fail: not under TSan, which has an operator new of its own.
bool CanFail() {
  platform::MemoryBudget budget;
  budget.allocations_left = 0;
  const platform::MemoryScope scope(budget);
  try {
    const std::string long_enough(1000, 'x');
    return long_enough.empty();
  } catch (const std::bad_alloc&) {
    return true;
  }
}

class RecorderOutOfMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!CanFail()) GTEST_SKIP() << "allocations are not counted in this build";
  }
};

// Calls `round` with the first allocation of this thread failing, then the second, and so on, until none does. `round`
// runs `work` while it may fail.
void FailEach(bool fails_once, const std::function<void(const std::function<void(std::function<void()>)>&)>& round) {
  bool has_failed = true;
  std::int64_t failures = 0;
  for (std::int64_t at = 0; has_failed; ++at) {
    SCOPED_TRACE(at);
    platform::MemoryBudget budget;
    budget.allocations_left = at;
    budget.fails_once = fails_once;
    round([&](const std::function<void()>& work) {
      const platform::MemoryScope scope(budget);
      work();
    });
    has_failed = budget.has_failed;
    failures += has_failed ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failures, 3);
}

// ---- the calls of the training

std::size_t RecordSome(const Options& options, const journal::Definition& definition) {
  RunHandle run = 0;
  std::string message;
  if (Open(options, run, message) != Code::kOk) return 0;
  SeriesHandle loss = 0;
  TensorHandle tensor = 0;
  std::size_t taken = 0;
  if (OpenSeries(run, definition, loss) == Code::kOk) {
    for (std::int64_t step = 0; step < 50; ++step) taken += Add(loss, step, 1) == Code::kOk ? 1 : 0;
  }
  static_cast<void>(OpenTensor(run, "gradient", "layer", tensor));
  static_cast<void>(AddEvent(run, {}));
  static_cast<void>(AddHyperparameter(run, "lr", "3e-4"));
  static_cast<void>(AddArtifact(run, 1, "checkpoint", "step-1"));
  RunStatus status;
  static_cast<void>(GetStatus(run, status));
  static_cast<void>(Flush(run, 5000));
  static_cast<void>(Close(run, 0));
  return taken;
}

TEST_F(RecorderOutOfMemory, IsACodeOfEveryCallAndLosesNothingThatWasTaken) {
  for (const bool fails_once : {true, false}) {
    FailEach(fails_once, [](const auto& failing) {
      const Folder folder;
      Options options;
      options.folder = folder.path() + "/a folder whose name is too long for a text that needs no memory";
      journal::Definition definition;
      definition.name = "loss";
      std::size_t taken = 0;
      failing([&] { taken = RecordSome(options, definition); });
      DrainIn(options.folder);
      std::size_t points = 0;
      for (const model::Run& run : pipeline::ImportPaths({folder.path()}).runs) {
        for (const model::Series& series : run.series) points += series.raw == "loss" ? series.size() : 0;
      }
      EXPECT_EQ(points, taken);
    });
  }
}

// ---- the thread that writes

TEST_F(RecorderOutOfMemory, WhileRecordsAreMovedLosesAndDoublesNothing) {
  for (const bool fails_once : {true, false}) {
    FailEach(fails_once, [](const auto& failing) {
      const journal::TemporaryFolder folder;
      journal::RingOptions ring_options;
      ring_options.shared = false;
      journal::Ring ring = journal::Ring::Create(ring_options).value();
      journal::MoverOptions options;
      options.folder = folder.path();
      options.begin = journal::SampleBegin();
      const auto mover = std::move(journal::Mover::Create(ring, std::move(options)).value());
      ring.ReserveLane(1);
      ASSERT_TRUE(ring.AddDefinition(EncodeEntry(journal::SampleDefinition(0))));
      journal::LaneWriter writer = ring.Writer(1);
      for (std::int64_t step = 0; step < 500; ++step) ASSERT_TRUE(writer.AddScalar(0, step, 1, 1'000'000));
      failing([&] { mover->Move(true); });
      for (std::int64_t step = 500; step < 600; ++step) ASSERT_TRUE(writer.AddScalar(0, step, 1, 1'000'000));
      EXPECT_TRUE(mover->Move(true));
      const journal::Kept kept = journal::Decode(journal::ReadAll(mover->path()));
      ASSERT_EQ(kept.size(), 600U);
      for (std::size_t i = 0; i < 600; ++i) ASSERT_EQ(kept.points.at(0)[i].step, static_cast<std::int64_t>(i));
    });
  }
}

// ---- draining

TEST_F(RecorderOutOfMemory, WhileLeftoversAreDrainedLeavesThemOrMovesThem) {
  FailEach(true, [](const auto& failing) {
    const Folder folder;
    const pid_t child = ::fork();
    if (child == 0) {
      const SeriesHandle loss = SeriesIn(OpenIn(folder.path(), 60'000), "loss");
      for (std::int64_t step = 0; step < 50; ++step) static_cast<void>(Add(loss, step, 1));
      ::raise(SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    journal::DrainOptions options;
    options.places = {folder.path()};
    failing([&] { journal::DrainLeftovers(options); });
    journal::DrainLeftovers(options);
    EXPECT_EQ(SeriesOf(ReadRun(folder.path()), "loss").size(), 50U);
  });
}

}  // namespace
}  // namespace vigil::record
