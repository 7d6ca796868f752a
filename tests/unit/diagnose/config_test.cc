// Config rules, and what could be checked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> BrokenRules(const RunMaker& run, const catalogue::Thresholds& thresholds = {}) {
  std::vector<std::string> ids;
  for (const model::Finding& finding : CheckConfig(run.run, thresholds)) ids.push_back(finding.id);
  return ids;
}

TEST(Config, ARunThatStatesNothingBreaksNothing) { EXPECT_THAT(BrokenRules(RunMaker()), IsEmpty()); }

TEST(Config, ClippingThatIsOffIsNamedWithItsPlace) {
  RunMaker run;
  run.run.facts.push_back({"max_grad_norm", "0.0", "max_grad_norm", {0, 17}});
  const auto findings = CheckConfig(run.run, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "config/no-clipping");
  EXPECT_EQ(findings[0].family, model::Family::kSetup);
  ASSERT_EQ(findings[0].evidence.size(), 1U);
  EXPECT_EQ(findings[0].evidence[0].path, "run/train.log");
  EXPECT_EQ(findings[0].evidence[0].line, 17U);
}

TEST(Config, SoundSettingsBreakNothing) {
  RunMaker run;
  run.Method("lora")
      .Planned(1000)
      .Fact("lr", "2e-4")
      .Fact("warmup_steps", "50")
      .Fact("max_grad_norm", "1.0")
      .Fact("weight_decay", "0.01");
  EXPECT_THAT(BrokenRules(run), IsEmpty());
}

TEST(Config, AShareInThePlaceOfWarmupStepsIsAShare) {
  RunMaker run;
  run.Planned(1000).Fact("warmup_steps", "0.05");
  EXPECT_THAT(BrokenRules(run), IsEmpty());
}

TEST(Config, NoWarmupIsJudgedInRunsOfSomeLengthOnly) {
  RunMaker run;
  run.Planned(1000).Fact("warmup_steps", "0").Fact("warmup_ratio", "0.0");
  EXPECT_THAT(BrokenRules(run), ElementsAre("config/no-warmup"));
  run.Planned(50);
  EXPECT_THAT(BrokenRules(run), IsEmpty());
}

TEST(Config, TheRateIsJudgedByTheMethodAndOnlyWhereItIsKnown) {
  RunMaker run;
  run.Fact("lr", "2e-3").Method("sft");
  EXPECT_THAT(BrokenRules(run), ElementsAre("config/lr-band"));
  run.Method("sft", 0.2);
  EXPECT_THAT(BrokenRules(run), IsEmpty());
  run.Method("sft").Fact("adapter", "lora");
  EXPECT_THAT(BrokenRules(run), ElementsAre("config/lr-band"));
}

TEST(Config, SettingsOfReinforcement) {
  RunMaker run("trl");
  run.Method("grpo")
      .Fact("logging_steps", "10")
      .Fact("num_generations", "6")
      .Fact("batch_size", "8")
      .Fact("accumulation", "1");
  run.Series("zero_std_share", 30, [](int) { return 0.9; });
  EXPECT_THAT(BrokenRules(run),
              ElementsAre("config/generations-indivisible", "config/sparse-logging", "config/few-generations"));
}

TEST(Config, WeightDecayIsHighForAnAdapterOnly) {
  RunMaker run;
  run.Method("lora").Fact("weight_decay", "0.3");
  EXPECT_THAT(BrokenRules(run), ElementsAre("config/weight-decay-high"));
  run.Method("pretrain");
  EXPECT_THAT(BrokenRules(run), IsEmpty());
}

TEST(Config, EvaluationThatIsTurnedOffAndWasNotDone) {
  RunMaker run;
  run.run.facts.push_back({"", "no", "eval_strategy", {}});
  EXPECT_THAT(BrokenRules(run), ElementsAre("config/no-eval"));
  run.Series("eval_loss", 10, [](int) { return 1.0; });
  EXPECT_THAT(BrokenRules(run), IsEmpty());
}

TEST(Config, ARuleCanBeTurnedOffAndIsNeverAnError) {
  RunMaker run;
  run.Fact("max_grad_norm", "0");
  const auto off = catalogue::Thresholds::Parse("[\"config/no-clipping\"]\nenabled = false\n", "test");
  ASSERT_TRUE(off.has_value());
  EXPECT_THAT(BrokenRules(run, *off), IsEmpty());
  const auto fatal = catalogue::Thresholds::Parse("[\"config/no-clipping\"]\nseverity = \"fatal\"\n", "test");
  ASSERT_TRUE(fatal.has_value());
  const auto findings = CheckConfig(run.run, *fatal);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].severity, model::Severity::kWarning);
}

model::Coverage CoverageOf(const model::Run& run, model::Family family) {
  for (const model::Coverage& coverage : Cover(run, {})) {
    if (coverage.family == family) return coverage;
  }
  return {};
}

TEST(Coverage, AllSignalsOfTheLossAreChecked) {
  RunMaker run;
  for (const std::string_view signal : {"loss", "grad_norm", "lr", "eval_loss"})
    run.Series(signal, 20, [](int) { return 1.0; });
  EXPECT_EQ(CoverageOf(run.run, model::Family::kLoss).state, model::CoverageState::kChecked);
}

TEST(Coverage, AMissingGradientNormIsNamedWithTheSettingThatLogsIt) {
  RunMaker run("torch");
  run.Series("loss", 20, [](int) { return 1.0; }).Series("lr", 20, [](int) { return 1.0; });
  const model::Coverage coverage = CoverageOf(run.run, model::Family::kLoss);
  EXPECT_EQ(coverage.state, model::CoverageState::kPartly);
  EXPECT_THAT(Words(coverage.reason), HasSubstr("gradient norm"));
  EXPECT_THAT(Words(coverage.enable), HasSubstr("clip_grad_norm_"));
}

TEST(Coverage, WithoutAnyMetricNoFamilyIsChecked) {
  model::Run run;
  for (const model::Coverage& coverage : Cover(run, {})) {
    EXPECT_EQ(coverage.state, model::CoverageState::kBlind) << model::Name(coverage.family);
    EXPECT_FALSE(Words(coverage.reason).empty());
    EXPECT_FALSE(Words(coverage.enable).empty());
  }
}

TEST(Coverage, ReinforcementIsNoMatterForAFineTune) {
  RunMaker run;
  run.Method("sft").Series("loss", 20, [](int) { return 1.0; });
  for (const model::Coverage& coverage : Cover(run.run, {})) EXPECT_NE(coverage.family, model::Family::kRl);
}

TEST(Coverage, MemoryIsSeenThroughErrorMessagesOnly) {
  RunMaker run;
  const model::Coverage coverage = CoverageOf(run.run, model::Family::kMemory);
  EXPECT_EQ(coverage.state, model::CoverageState::kPartly);
  EXPECT_THAT(Words(coverage.reason), HasSubstr("error messages"));
}

}  // namespace
}  // namespace vigil::diagnose
