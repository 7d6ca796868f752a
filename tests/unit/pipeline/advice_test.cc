// Advice that agrees with itself and with the run it is given for, on runs where it once did not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

model::RunReport ReportOf(const std::string& fixture) {
  Imported imported = ImportPaths({std::string(testing_support::kSourceDir) + "/tests/fixtures/" + fixture});
  if (imported.runs.empty()) return {};
  return DiagnoseRun(std::move(imported.runs[0]), catalogue::Thresholds());
}

std::string TextOf(model::RunReport run) {
  model::Report report;
  report.runs.push_back(std::move(run));
  report::TextOptions wide;
  wide.width = 400;
  return report::RenderText(report, wide);
}

const model::Diagnosis& FirstOf(const model::RunReport& run) {
  static const model::Diagnosis kNone;
  return run.diagnoses.empty() ? kNone : run.diagnoses.front();
}

TEST(Advice, DoesNotRepeatATitleInThePlaceOfTheAdvice) {
  EXPECT_THAT(TextOf(ReportOf("runs/torch/labels-masked-s10")),
              Not(HasSubstr("Let the log show non-finite losses: Let the log show non-finite losses")));
}

TEST(Advice, SlowStepsNeedNoRestart) {
  const model::RunReport run = ReportOf("gym/journals/straggler-rank-x2-s1");
  ASSERT_EQ(FirstOf(run).family, model::Family::kThroughput);
  EXPECT_TRUE(FirstOf(run).restart.empty());
  EXPECT_EQ(FirstOf(run).restart_command, "");
}

TEST(Advice, AStragglerBeginsWhereItFellBehind) {
  const model::RunReport run = ReportOf("gym/journals/straggler-rank-x2-s1");
  ASSERT_TRUE(FirstOf(run).first.known());
  EXPECT_NEAR(static_cast<double>(FirstOf(run).first.value()), 70, 3);
}

TEST(Advice, ARaisedRateIsOneThatItsReasonNames) {
  const model::RunReport run = ReportOf("runs/torch/lr-too-low-s9");
  ASSERT_FALSE(FirstOf(run).remedies.empty());
  const model::Remedy& raise = FirstOf(run).remedies.front();
  EXPECT_EQ(raise.id, "raise-lr");
  EXPECT_EQ(ParseNumber(raise.proposed), 1e-05);
  EXPECT_THAT(TextOf(run), HasSubstr("why   1e-05 to 0.003 is usual for Adam"));
}

TEST(Advice, DoesNotAskForAMetricThatWasRead) {
  const model::RunReport run = ReportOf("runs/grpo/reward-constant-s5");
  ASSERT_NE(run.run.Find("zero_std_share"), nullptr);
  EXPECT_THAT(TextOf(run), Not(HasSubstr("not available: the share of groups without reward variance")));
}

TEST(Advice, AHangThatWasFoundWasChecked) {
  const model::RunReport run = ReportOf("gym/journals/hang-rank-x1-s1");
  ASSERT_EQ(FirstOf(run).family, model::Family::kHang);
  for (const model::Coverage& coverage : run.coverage)
    EXPECT_FALSE(coverage.family == model::Family::kHang && coverage.state == model::CoverageState::kBlind);
}

TEST(Advice, WhatIsFatalFromTheSameStepOnIsTheHeadline) {
  const std::string text = TextOf(ReportOf("runs/torch/labels-masked-s10"));
  EXPECT_THAT(text.substr(0, text.find('\n')), HasSubstr("loss is nan from step 1 on"));
}

TEST(Advice, ARunOfAxolotlIsStartedByAxolotl) {
  const model::RunReport run = ReportOf("clients/axolotl");
  EXPECT_EQ(run.run.framework, "axolotl");
  EXPECT_THAT(FirstOf(run).next_command.command, StartsWith("axolotl train "));
  EXPECT_THAT(FirstOf(run).restart_command, StartsWith("axolotl train "));
}

}  // namespace
}  // namespace vigil::pipeline
