// Which remedy comes first: the one that heals, or decides, where the files cannot tell causes apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/incident.h"
#include "diagnose/remedy.h"
#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Order(const RunMaker& run, std::string_view cause) {
  const catalogue::CauseRow* row = catalogue::FindCause(cause);
  EXPECT_NE(row, nullptr) << cause;
  const auto incidents = GroupIncidents(run.run, run.findings);
  std::vector<std::string> ids;
  if (row == nullptr || incidents.empty()) return ids;
  for (const model::Remedy& remedy : RemediesFor(*row, run.run, incidents.front())) ids.push_back(remedy.id);
  return ids;
}

std::optional<model::Remedy> Offer(const RunMaker& run, std::string_view id) {
  const auto incidents = GroupIncidents(run.run, run.findings);
  return incidents.empty() ? std::nullopt : RemedyFor(id, run.run, incidents.front());
}

std::string FirstOf(const std::vector<std::string>& ids) { return ids.empty() ? std::string() : ids.front(); }

TEST(RemedyOrder, BatchOrLayerIsDecidedByTheFirstNonFiniteValue) {
  RunMaker run("torch");
  run.Found("loss/non-finite", 100, 200);
  EXPECT_EQ(FirstOf(Order(run, "bad-sample")), "find-first-op");
  EXPECT_EQ(FirstOf(Order(run, "layer-numerics")), "find-first-op");
  EXPECT_THAT(Order(run, "bad-sample"), Contains("skip-non-finite"));
}

TEST(RemedyOrder, ABadBatchThatStaysFiniteIsLookedAt) {
  RunMaker run("torch");
  run.Found("loss/spike", 100, 100);
  EXPECT_EQ(FirstOf(Order(run, "bad-sample")), "inspect-batch");
  EXPECT_THAT(Order(run, "bad-sample"), Not(Contains("skip-non-finite")));
}

TEST(RemedyOrder, ATrainerLeavesOutNonFiniteStepsInItsOwnWay) {
  RunMaker run("hf-trainer");
  run.Found("loss/non-finite", 100, 200);
  EXPECT_THAT(Order(run, "layer-numerics"), Not(Contains("skip-non-finite")));
}

TEST(RemedyOrder, TheLabelsAreLookedAtBeforeAnythingIsTrained) {
  RunMaker run("torch");
  run.Found("loss/plateau", 100, 200);
  EXPECT_EQ(FirstOf(Order(run, "wrong-targets")), "check-labels");
}

// ---- how a run was ended

TEST(RemedyOrder, AStopByHandAfterANanGivesNoAdvice) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return s < 150 ? run.HealthyLoss(s) : std::nan(""); });
  run.Series("grad_norm", 300, [&](int s) { return s < 150 ? run.HealthyNorm() : std::nan(""); });
  run.Found("loss/non-finite", 150, 300).Found("grad/non-finite", 150, 300).Found("log/interrupted", 300, 300);
  run.findings.back().signature = "log/interrupted";
  run.findings.back().severity = model::Severity::kWarning;
  for (const model::Diagnosis& diagnosis : run.Diagnoses()) {
    for (const model::Remedy& remedy : diagnosis.remedies) EXPECT_NE(remedy.id, "log/interrupted");
  }
}

// ---- a rate that jumped

RunMaker Jumped(double after) {
  RunMaker run("torch");
  run.Fact("lr", "0.001");
  run.Series("lr", 400, [=](int s) { return s < 250 ? 1e-3 : after; });
  run.Found("lr/schedule-break", 250, 250).Found("loss/divergence", 251, 400);
  return run;
}

TEST(RemedyOrder, ARateThatJumpedIsAMatterOfTheSchedule) {
  EXPECT_EQ(FirstOf(Order(Jumped(1.0), "lr-too-high")), "keep-to-schedule");
  EXPECT_THAT(Order(Jumped(1.0), "lr-too-high"), Not(Contains("lower-lr")));
}

TEST(RemedyOrder, ABreakBelowTheStatedRateIsNoJump) {
  EXPECT_EQ(FirstOf(Order(Jumped(1e-4), "lr-too-high")), "lower-lr");
}

TEST(RemedyOrder, WithoutAStatedRateTheRateBeforeTheTroubleCounts) {
  RunMaker run = Jumped(1.0);
  run.run.facts.clear();
  EXPECT_EQ(FirstOf(Order(run, "lr-too-high")), "keep-to-schedule");
}

TEST(RemedyOrder, ARateThatTheScheduleTookToZeroIsNotSetAgain) {
  RunMaker ended("torch");
  ended.Fact("lr", "0.001").Found("loss/plateau", 100, 200);
  ended.Series("lr", 200, [](int s) { return s < 50 ? 1e-3 : 0.0; });
  EXPECT_EQ(FirstOf(Order(ended, "lr-zero")), "lengthen-schedule");
  RunMaker none("torch");
  none.Fact("lr", "0").Fact("optimizer", "adam").Found("lr/zero", 1, 200);
  EXPECT_EQ(FirstOf(Order(none, "lr-zero")), "set-lr");
}

// ---- values by the size of the model

TEST(RemedyOrder, TheRangeOfAMethodIsThatOfLargeModels) {
  RunMaker large("torch");
  large.Method("grpo").Fact("optimizer", "adamw").Fact("lr", "0.2").Found("loss/divergence", 100, 200);
  EXPECT_EQ(Offer(large, "lower-lr")->proposed, "0.0001");
  RunMaker small = large;
  small.Fact("parameters", "12388");
  EXPECT_EQ(Offer(small, "lower-lr")->proposed, "0.003") << "what is usual for its optimizer";
}

TEST(RemedyOrder, ASmallModelTakesMoreThanTheDefaultOfItsOptimizer) {
  RunMaker run("torch");
  run.Fact("optimizer", "lion").Fact("lr", "0").Fact("parameters", "20000").Found("lr/zero", 1, 200);
  ASSERT_TRUE(Offer(run, "set-lr"));
  EXPECT_EQ(Offer(run, "set-lr")->proposed, "0.0004");
  EXPECT_THAT(Words(Offer(run, "set-lr")->reason), HasSubstr("20000 parameters"));
  run.run.facts.back().value = "7000000000";
  EXPECT_EQ(Offer(run, "set-lr")->proposed, "0.0001");
}

// ---- updates

TEST(RemedyOrder, TheBatchIsCutUntilTheRunMakesEnoughUpdates) {
  RunMaker run("torch");
  run.Planned(10).Fact("batch_size", "1024").Fact("accumulation", "2").Found("loss/at-chance", 1, 10);
  const auto remedy = Offer(run, "more-steps-per-epoch");
  ASSERT_TRUE(remedy);
  EXPECT_EQ(remedy->proposed, "64");
  ASSERT_EQ(remedy->also.size(), 1U);
  EXPECT_EQ(remedy->also[0].proposed, "1");
  EXPECT_THAT(Words(remedy->reason), HasSubstr("10 updates now, and 320 then"));
}

TEST(RemedyOrder, ABatchIsNotCutBelowWhatIsMoreThanNoise) {
  RunMaker run("torch");
  run.Planned(4).Fact("batch_size", "128").Found("loss/at-chance", 1, 4);
  EXPECT_EQ(Offer(run, "more-steps-per-epoch")->proposed, "16");
}

// ---- causes that are left open

TEST(RemedyOrder, CausesThatAreLeftOpenEachOfferTheirFirstRemedy) {
  RunMaker run("torch");
  run.Series("loss", 300, [&](int s) { return run.HealthyLoss(s) + (s < 150 ? 0.0 : 0.02 * (s - 150)); });
  run.Found("loss/divergence", 150, 300);
  const model::Diagnosis diagnosis = run.First();
  ASSERT_EQ(diagnosis.cause, kUnknownCause) << Describe(diagnosis);
  ASSERT_FALSE(diagnosis.rivals.empty());
  ASSERT_FALSE(diagnosis.remedies.empty());
  EXPECT_THAT(Words(diagnosis.remedies.front().reason), HasSubstr("should it be " + diagnosis.rivals.front().cause));
  EXPECT_THAT(diagnosis.restart_command, Not(HasSubstr("lr"))) << "no change is certain enough to start over with";
}

TEST(RemedyOrder, WhatIsSetFarFromAllUseGoesBeforeCausesThatAreLeftOpen) {
  RunMaker run("torch");
  run.Fact("optimizer", "sgd").Fact("momentum", "0.999");
  run.Series("loss", 300, [&](int s) { return run.HealthyLoss(s) + (s < 150 ? 0.0 : 0.02 * (s - 150)); });
  run.Found("loss/divergence", 150, 300);
  const auto incidents = GroupIncidents(run.run, run.findings);
  ASSERT_FALSE(incidents.empty());
  const auto far = SetBack(run.run, incidents.front());
  ASSERT_EQ(far.size(), 1U);
  EXPECT_EQ(far.front().id, "default-momentum");
  EXPECT_EQ(far.front().proposed, "0.9");
  const model::Diagnosis diagnosis = run.First();
  ASSERT_FALSE(diagnosis.remedies.empty());
  EXPECT_EQ(diagnosis.remedies.front().id, "default-momentum") << Describe(diagnosis);
}

TEST(RemedyOrder, WhatIsMerelyUnusualIsNotSetBack) {
  RunMaker run("torch");
  run.Fact("optimizer", "adam").Fact("momentum", "0.95").Fact("dropout", "0.6").Fact("max_grad_norm", "0.1");
  run.Fact("weight_decay", "0").Fact("temperature", "0.7").Found("loss/plateau", 100, 200);
  const auto incidents = GroupIncidents(run.run, run.findings);
  ASSERT_FALSE(incidents.empty());
  EXPECT_TRUE(SetBack(run.run, incidents.front()).empty());
}

}  // namespace
}  // namespace vigil::diagnose
