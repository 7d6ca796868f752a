// Parts of the mission and shapes of its source documents, each under its own name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect {
namespace {

using testing::CountAtLeast;
using testing::Describe;
using testing::Get;
using testing::RunMaker;

TEST(M16MemoryOverSteps, FlatIsHealthyAndStaircaseAndSlopeAreFound) {
  RunMaker flat;
  flat.Series("mem_allocated", 300, [&](int) { return 78.4 + 0.05 * flat.Gauss(1); });
  EXPECT_EQ(CountAtLeast(flat.Find(), model::Severity::kWarning), 0) << Describe(flat.Find());
  RunMaker staircase;
  staircase.Series("mem_allocated", 300, [](int step) { return 20 + 0.5 * (step / 10); });
  EXPECT_NE(Get(staircase.Find(), "memory/growth"), nullptr);
  RunMaker slope;
  slope.Series("mem_allocated", 300, [](int step) { return 20 + 0.03 * step; });
  EXPECT_NE(Get(slope.Find(), "memory/growth"), nullptr);
}

TEST(M20Throughput, ChangePointsWaitsCommunicationAndUtilisationAreWatched) {
  RunMaker halved;
  halved.Series("tokens_per_s", 200,
                [&](int step) { return (step < 100 ? 9e4 : 4.4e4) * std::exp(halved.Gauss(0.03)); });
  EXPECT_NE(Get(halved.Find(), "throughput/regression"), nullptr);
  RunMaker network;
  network.Series("step_time_s", 200, [](int step) { return step < 100 ? 1.0 : 1.3; });
  network.Series("comm_time_s", 200, [](int step) { return step < 100 ? 0.1 : 0.45; });
  const auto climbed = network.Find();
  ASSERT_NE(Get(climbed, "throughput/comm-bound"), nullptr) << Describe(climbed);
  EXPECT_EQ(Get(climbed, "throughput/comm-bound")->severity, model::Severity::kWarning);
  RunMaker idle;
  idle.Method("pretrain").Series("mfu", 100, [](int) { return 6.0; });
  EXPECT_NE(Get(idle.Find(), "throughput/low-mfu"), nullptr);
  RunMaker unknown;
  unknown.Series("mfu", 100, [](int) { return -100.0; });
  EXPECT_EQ(Get(unknown.Find(), "throughput/low-mfu"), nullptr) << "not known yet, as some print it";
}

TEST(M26ReproduceAndResume, RanksOutOfSyncAndLostStateAreFound) {
  RunMaker resumed;
  resumed.Resumed(100).Series("loss", 200, resumed.Falling(4, 1, 0.03));
  resumed.Series("lr", 200, [](int step) { return step <= 100 ? 1e-3 : 1e-5 * (step - 100); });
  EXPECT_NE(Get(resumed.Find(), "resume/schedule-restart"), nullptr) << Describe(resumed.Find());
}

}  // namespace
}  // namespace vigil::detect
