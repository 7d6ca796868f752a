#include "report/counted.h"

#include <gtest/gtest.h>

#include "report/report.h"

namespace vigil::report {
namespace {

model::Run CountedIn(std::initializer_list<model::Axis> axes) {
  model::Run run;
  for (const model::Axis axis : axes) run.series.emplace_back().axis = axis;
  return run;
}

TEST(CountWord, IsStepUnlessEverySeriesIsCountedOtherwise) {
  EXPECT_EQ(CountWord(model::Run()), "step");
  EXPECT_EQ(CountWord(CountedIn({model::Axis::kStep})), "step");
  EXPECT_EQ(CountWord(CountedIn({model::Axis::kRow, model::Axis::kRow})), "logged point");
  EXPECT_EQ(CountWord(CountedIn({model::Axis::kEpoch})), "epoch");
  EXPECT_EQ(CountWord(CountedIn({model::Axis::kRow, model::Axis::kStep})), "step");
}

TEST(CountedAs, RewordsOnlyWhatCounts) {
  EXPECT_EQ(CountedAs("loss is NaN from step 12 on", "logged point"), "loss is NaN from logged point 12 on");
  EXPECT_EQ(CountedAs("steps 5-9: 20 steps later, every step", "epoch"), "epochs 5-9: 20 epochs later, every step");
  EXPECT_EQ(CountedAs("warmup_steps 5, logging-steps 6, stepped 7", "epoch"),
            "warmup_steps 5, logging-steps 6, stepped 7");
  EXPECT_EQ(CountedAs("step 12", "step"), "step 12");
  EXPECT_EQ(CountedAs("", "epoch"), "");
}

TEST(SayWhatIsCounted, LeavesQuotesOfALogAlone) {
  model::RunReport report;
  report.run = CountedIn({model::Axis::kRow});
  report.findings.resize(2);
  report.findings[0].id = "loss/non-finite";
  report.findings[0].message = "loss is NaN at step 3";
  report.findings[1].id = "log/cuda-oom";
  report.findings[1].message = "step 3: CUDA out of memory";
  SayWhatIsCounted(report);
  EXPECT_EQ(report.findings[0].message, "loss is NaN at logged point 3");
  EXPECT_EQ(report.findings[1].message, "step 3: CUDA out of memory");
}

}  // namespace
}  // namespace vigil::report
