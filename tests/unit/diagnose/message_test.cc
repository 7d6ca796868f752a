// What error messages in the log say about the cause.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::HasSubstr;

TEST(Messages, AMessageThatNamesItsCauseIsTakenAtItsCertainty) {
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) {
    if (row.cause.empty() || row.role != "root" || row.severity < model::Severity::kError) continue;
    RunMaker run;
    run.Found(row.id, model::kNoStep, model::kNoStep, std::string(row.title));
    const model::Diagnosis diagnosis = run.First();
    EXPECT_EQ(diagnosis.cause, row.cause) << row.id << "\n" << Describe(diagnosis);
    EXPECT_NEAR(diagnosis.confidence, row.certainty, 0.08) << row.id;
  }
}

TEST(Messages, TheFixOfTheMessageComesFirst) {
  RunMaker run;
  run.Found("log/cuda-oom", model::kNoStep, model::kNoStep, "CUDA out of memory")
      .Found("memory/oom", model::kNoStep, model::kNoStep);
  run.Fact("batch_size", "8").Fact("accumulation", "4");
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 1U) << "the message and what it stands for are one";
  const model::Diagnosis& diagnosis = diagnoses[0];
  ASSERT_FALSE(diagnosis.remedies.empty());
  EXPECT_EQ(diagnosis.remedies[0].id, "log/cuda-oom");
  const model::Remedy* batch = FindRemedyIn(diagnosis, "smaller-batch");
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->setting, "per_device_train_batch_size");
  EXPECT_EQ(batch->current, "8");
  EXPECT_EQ(batch->proposed, "4");
  const model::Remedy* accumulation = FindRemedyIn(diagnosis, "more-accumulation");
  ASSERT_NE(accumulation, nullptr);
  EXPECT_EQ(accumulation->proposed, "8");
}

TEST(Messages, AnExceptionThatNothingExplainsIsReportedAsItIs) {
  RunMaker run;
  run.Found("log/uncaught-exception", model::kNoStep, model::kNoStep, "ValueError: strange things");
  const model::Diagnosis diagnosis = run.First();
  EXPECT_EQ(diagnosis.cause, kUnknownCause);
  EXPECT_THAT(Words(diagnosis.summary), HasSubstr("strange things"));
}

TEST(Messages, ARunStoppedByHandNeedsNoCause) {
  RunMaker run;
  run.Found("log/interrupted", 40, 40, "stopped by hand at step 40");
  EXPECT_TRUE(run.Diagnoses().empty());
}

TEST(Messages, FailuresAtDifferentStepsAreDifferentIncidents) {
  RunMaker run;
  run.Series("loss", 2000, [&](int s) { return run.HealthyLoss(s); });
  run.Found("log/cuda-oom", 300, 300, "CUDA out of memory")
      .Found("log/disk-full", 1800, 1800, "No space left on device");
  EXPECT_EQ(run.Diagnoses().size(), 2U);
}

}  // namespace
}  // namespace vigil::diagnose
