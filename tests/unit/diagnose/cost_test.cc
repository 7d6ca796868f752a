// Causes of lost speed, memory that climbs and ranks that are lost: what decides between them.
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

RunMaker& Measured(RunMaker& run, const std::string& name, double value) {
  run.findings.back().measures.push_back({name, value});
  return run;
}

TEST(Cost, SlowerByItsWaitForDataIsTheInput) {
  RunMaker run;
  run.Found("throughput/regression", 70, 120);
  Measured(run, "data_share_of_growth", 0.97);
  EXPECT_EQ(run.First().cause, "input-pipeline") << Describe(run.First());
}

TEST(Cost, SlowerWithoutWaitingIsTheWork) {
  RunMaker run;
  run.Found("throughput/regression", 70, 120);
  Measured(run, "data_share_of_growth", 0.01);
  EXPECT_EQ(run.First().cause, "recompute-or-kernel-change") << Describe(run.First());
}

TEST(Cost, WithoutThePartsOfAStepNothingIsNamed) {
  RunMaker run;
  run.Found("throughput/regression", 70, 120);
  EXPECT_EQ(run.First().cause, kUnknownCause) << Describe(run.First());
}

TEST(Cost, WaitsAndLostSpeedAreOneIncident) {
  RunMaker run;
  run.Found("throughput/regression", 70, 120);
  Measured(run, "data_share_of_growth", 0.97);
  run.Found("throughput/data-starved", 70, 120);
  Measured(run, "share", 0.5);
  EXPECT_EQ(Diagnose(run.run, run.findings, catalogue::Thresholds()).size(), 1U);
}

TEST(Cost, MemoryThatClimbsWithTheStepsIsKept) {
  RunMaker run;
  run.Found("memory/leak", 70, 120);
  Measured(run, "gib_per_step", 0.004);
  EXPECT_EQ(run.First().cause, "memory-leak-host-ref") << Describe(run.First());
}

TEST(Cost, WhoWaitedToTheLimitWaitedForALivingRank) {
  RunMaker run;
  run.Event(model::EventKind::kSignature, 70, "all-reduce timed out after 10 s in step 70: rank 1 did not arrive",
            "log/collective-timeout");
  run.Found("log/collective-timeout", 70, 70);
  EXPECT_EQ(run.First().cause, "code-path-divergence") << Describe(run.First());
}

TEST(Cost, ARankWhoseEndWasSeenIsNoDivergence) {
  RunMaker run;
  run.Event(model::EventKind::kSignature, 69, "rank 1 was killed by signal 9", "log/rank-killed");
  run.Event(model::EventKind::kSignature, 70, "all-reduce timed out after 10 s in step 70: rank 1 did not arrive",
            "log/collective-timeout");
  run.Found("log/collective-timeout", 70, 70);
  EXPECT_NE(run.First().cause, "code-path-divergence") << Describe(run.First());
}

}  // namespace
}  // namespace vigil::diagnose
