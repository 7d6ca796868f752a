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

TEST(Messages, AValueOfThisRunComesBeforeTheAdviceOfTheMessage) {
  RunMaker run;
  run.Found("log/cuda-oom", model::kNoStep, model::kNoStep, "CUDA out of memory")
      .Found("memory/oom", model::kNoStep, model::kNoStep);
  run.Fact("batch_size", "8").Fact("accumulation", "4");
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 1U) << "the message and what it stands for are one";
  const model::Diagnosis& diagnosis = diagnoses[0];
  ASSERT_FALSE(diagnosis.remedies.empty());
  EXPECT_EQ(diagnosis.remedies[0].id, "smaller-batch");
  EXPECT_EQ(diagnosis.remedies[0].setting, "per_device_train_batch_size");
  EXPECT_EQ(diagnosis.remedies[0].current, "8");
  EXPECT_EQ(diagnosis.remedies[0].proposed, "4");
  ASSERT_EQ(diagnosis.remedies[0].also.size(), 1U);
  EXPECT_EQ(diagnosis.remedies[0].also[0].proposed, "8");
  EXPECT_NE(FindRemedyIn(diagnosis, "log/cuda-oom"), nullptr);
}

TEST(OneFailureIsOneStory, AnIndexErrorAfterManyGoodStepsIsASample) {
  RunMaker late;
  late.Series("loss", 300, [&](int s) { return late.HealthyLoss(s); });
  late.Found("log/index-out-of-range", 300, 300, "IndexError: index out of range in self");
  EXPECT_EQ(late.First().cause, "bad-sample") << Describe(late.First());
  RunMaker early;
  early.Series("loss", 1, [&](int s) { return early.HealthyLoss(s); });
  early.Found("log/index-out-of-range", 1, 1, "IndexError: index out of range in self");
  EXPECT_EQ(early.First().cause, "tokenizer-changed") << Describe(early.First());
}

model::Event Mismatch(const std::string& tensor, const std::string& theirs, const std::string& ours) {
  model::Event event;
  event.kind = model::EventKind::kSignature;
  event.name = "log/shape-mismatch-checkpoint";
  event.text = "size mismatch for " + tensor + ": copying a param with shape torch.Size([" + theirs +
               "]) from checkpoint, the shape in current model is torch.Size([" + ours + "]).";
  return event;
}

TEST(OneFailureIsOneStory, TheSizesInTheMessageDecide) {
  RunMaker vocabulary;
  vocabulary.run.events = {Mismatch("model.embed_tokens.weight", "128, 64", "99, 64"),
                           Mismatch("lm_head.weight", "128, 64", "99, 64")};
  vocabulary.Found("log/shape-mismatch-checkpoint", model::kNoStep, model::kNoStep);
  EXPECT_EQ(vocabulary.First().cause, "tokenizer-changed") << Describe(vocabulary.First());
  RunMaker width;
  width.run.events = {Mismatch("model.embed_tokens.weight", "99, 64", "99, 96")};
  width.Found("log/shape-mismatch-checkpoint", model::kNoStep, model::kNoStep);
  EXPECT_EQ(width.First().cause, "bad-config") << Describe(width.First());
}

TEST(OneFailureIsOneStory, AnEndForWantOfMemoryAfterAClimbIsTheLeak) {
  RunMaker run;
  run.Series("loss", 100, [&](int s) { return run.HealthyLoss(s); });
  run.Found("memory/leak", 1, 100).Found("memory/host-alloc", 100, 100, "DefaultCPUAllocator: can't allocate memory");
  run.findings[0].severity = model::Severity::kWarning;
  run.findings[0].measures = {{"gib_per_step", 0.01}, {"growth", 2}};
  run.findings[1].signature = "log/host-alloc";
  const auto diagnoses = run.Diagnoses();
  ASSERT_EQ(diagnoses.size(), 1U) << "the climb and its end are one";
  EXPECT_EQ(diagnoses[0].cause, "memory-leak-host-ref") << Describe(diagnoses[0]);
}

TEST(OneFailureIsOneStory, ASilentRankWentAnotherWay) {
  RunMaker run;
  run.run.ranks = 2;
  run.Series("loss", 60, [&](int s) { return run.HealthyLoss(s); });
  model::Event waited;
  waited.kind = model::EventKind::kSignature;
  waited.name = "log/gloo-timeout";
  waited.rank = 0;
  run.run.events = {waited};
  run.Found("log/gloo-timeout", 60, 60, "Timed out waiting 12000ms for recv operation to complete");
  EXPECT_EQ(run.First().cause, "code-path-divergence") << Describe(run.First());
}

TEST(WhatItCost, CountsStepsAndHoursSinceTheFirstBadStep) {
  RunMaker run;
  run.run.ranks = 4;
  run.Series("loss", 1000, [&](int s) { return s >= 400 ? 9.0 : run.HealthyLoss(s); });
  run.Series("step_time_s", 1000, [](int) { return 3.6; });
  run.Found("loss/divergence", 400, 1000);
  const model::Cost cost = run.First().cost;
  EXPECT_EQ(cost.steps, 600);
  EXPECT_NEAR(cost.hours, 0.6, 0.01);
  EXPECT_NEAR(cost.gpu_hours, 2.4, 0.04);
  EXPECT_TRUE(model::IsNoValue(cost.money));
}

TEST(WhatItCost, OfASlowDownIsWhatStepsTakeLonger) {
  RunMaker run;
  run.Series("loss", 1000, [&](int s) { return run.HealthyLoss(s); });
  run.Series("step_time_s", 1000, [](int s) { return s < 500 ? 1.8 : 3.6; });
  run.Found("throughput/regression", 500, 1000);
  run.findings[0].measures = {{"ratio", 2}};
  EXPECT_NEAR(run.First().cost.hours, 0.25, 0.01);
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
