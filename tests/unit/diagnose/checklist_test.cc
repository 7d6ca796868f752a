// The checklist is filled in from what a run left, and nothing is called done without evidence.
#include "diagnose/checklist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/checklist.h"
#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using model::CheckState;
using ::testing::HasSubstr;

model::CheckedItem Item(const RunMaker& maker, std::string_view id) {
  model::RunReport report;
  report.run = maker.run;
  report.findings = maker.findings;
  report.diagnoses = maker.Diagnoses();
  for (const model::CheckedItem& item : FillChecklist(report)) {
    if (item.id == id) return item;
  }
  ADD_FAILURE() << id << " is no item";
  return {};
}

CheckState StateOf(const RunMaker& maker, std::string_view id) { return Item(maker, id).state; }

TEST(Checklist, HasEveryItemInItsOrder) {
  const model::RunReport nothing;
  const auto items = FillChecklist(nothing);
  ASSERT_EQ(items.size(), catalogue::Checklist().size());
  for (std::size_t i = 0; i < items.size(); ++i) EXPECT_EQ(items[i].id, catalogue::Checklist()[i].id);
}

TEST(Checklist, CallsNothingDoneOfARunThatLeftNothing) {
  for (const model::CheckedItem& item : FillChecklist(model::RunReport())) {
    EXPECT_NE(item.state, CheckState::kDone) << item.id << ": " << Words(item.reason);
    EXPECT_FALSE(item.reason.empty()) << item.id;
  }
}

TEST(Checklist, GivesAReasonForEveryAnswer) {
  RunMaker maker;
  maker.Series("loss", 100, [&](int step) { return maker.HealthyLoss(step); }).Fact("lr", "0.001").Fact("seed", "7");
  model::RunReport report;
  report.run = maker.run;
  for (const model::CheckedItem& item : FillChecklist(report)) EXPECT_FALSE(Words(item.reason).empty()) << item.id;
}

TEST(Checklist, TakesASeedFromTheSettingsWithItsPlace) {
  RunMaker maker;
  maker.Fact("seed", "42");
  maker.run.facts.back().place = {0, 12};
  const model::CheckedItem done = Item(maker, "checklist/seed");
  EXPECT_EQ(done.state, CheckState::kDone);
  EXPECT_EQ(Words(done.reason), "seed is 42");
  EXPECT_EQ(done.path, "run/train.log");
  EXPECT_EQ(done.line, 12U);
  EXPECT_EQ(StateOf(RunMaker().Fact("lr", "0.1"), "checklist/seed"), CheckState::kNotDone);
  EXPECT_EQ(StateOf(RunMaker().Fact("seed", "None"), "checklist/seed"), CheckState::kNotDone);
  EXPECT_EQ(StateOf(RunMaker(), "checklist/seed"), CheckState::kNotPossible);
}

TEST(Checklist, CountsAClipByDefaultOnlyWhereSettingsWereRead) {
  EXPECT_EQ(StateOf(RunMaker().Fact("max_grad_norm", "1.0"), "checklist/clipping"), CheckState::kDone);
  const model::CheckedItem off = Item(RunMaker().Fact("max_grad_norm", "0"), "checklist/clipping");
  EXPECT_EQ(off.state, CheckState::kNotDone);
  EXPECT_FALSE(off.command.empty());
  EXPECT_EQ(StateOf(RunMaker("hf-trainer").Fact("lr", "0.1"), "checklist/clipping"), CheckState::kDone);
  EXPECT_EQ(StateOf(RunMaker("hf-trainer"), "checklist/clipping"), CheckState::kNotPossible);
  EXPECT_EQ(StateOf(RunMaker("torch").Fact("lr", "0.1"), "checklist/clipping"), CheckState::kNotPossible);
}

TEST(Checklist, SaysHowToCompareWithFp32AndWhenThereIsNoNeed) {
  const model::CheckedItem mixed = Item(RunMaker().Fact("bf16", "True"), "checklist/fp32");
  EXPECT_EQ(mixed.state, CheckState::kNotPossible);
  EXPECT_THAT(Words(mixed.reason), HasSubstr("bf16"));
  EXPECT_THAT(mixed.command + mixed.change, HasSubstr("bf16"));
  EXPECT_EQ(StateOf(RunMaker().Fact("precision", "fp32"), "checklist/fp32"), CheckState::kDone);
  EXPECT_EQ(StateOf(RunMaker(), "checklist/fp32"), CheckState::kNotPossible);
}

TEST(Checklist, WantsTheLossScaleOfFp16Only) {
  RunMaker half;
  half.Fact("fp16", "True");
  EXPECT_EQ(StateOf(half, "checklist/loss-scale"), CheckState::kNotDone);
  half.Series("loss_scale", 10, [](int) { return 65536; });
  EXPECT_EQ(StateOf(half, "checklist/loss-scale"), CheckState::kDone);
  EXPECT_EQ(StateOf(RunMaker().Fact("bf16", "True"), "checklist/loss-scale"), CheckState::kNotPossible);
}

TEST(Checklist, SeesAWarmUpInTheSettingsOrInTheLoggedRate) {
  EXPECT_EQ(StateOf(RunMaker().Fact("warmup_steps", "100"), "checklist/warm-up"), CheckState::kDone);
  EXPECT_EQ(StateOf(RunMaker().Fact("warmup_steps", "0"), "checklist/warm-up"), CheckState::kNotDone);
  RunMaker logged;
  logged.Series("lr", 100, [](int step) { return CosineLr(1e-3, step, 20, 100); });
  EXPECT_EQ(StateOf(logged, "checklist/warm-up"), CheckState::kDone);
  RunMaker constant;
  constant.Series("lr", 100, [](int) { return 1e-3; });
  EXPECT_EQ(StateOf(constant, "checklist/warm-up"), CheckState::kNotDone);
}

TEST(Checklist, KnowsTheBatchOfTheFirstBadStepWhereItIsRecorded) {
  RunMaker maker;
  maker.Series("loss", 400, [&](int step) { return step < 300 ? maker.HealthyLoss(step) : kNan; });
  EXPECT_EQ(StateOf(maker, "checklist/bad-batch"), CheckState::kNotPossible) << "nothing was found";
  maker.Found("loss/non-finite", 300, 400);
  EXPECT_EQ(StateOf(maker, "checklist/bad-batch"), CheckState::kNotDone);
  for (int step = 1; step <= 400; ++step)
    maker.run.batches.Append(model::StepAt(step), 0xabcdU + static_cast<unsigned>(step), -1);
  const model::CheckedItem done = Item(maker, "checklist/bad-batch");
  EXPECT_EQ(done.state, CheckState::kDone);
  EXPECT_THAT(Words(done.reason), HasSubstr("step 300"));
}

TEST(Checklist, CallsACheckpointWholeOnlyWhereItsOptimizerWasLookedFor) {
  RunMaker maker;
  EXPECT_EQ(StateOf(maker, "checklist/checkpoint"), CheckState::kNotPossible);
  maker.run.checkpoints.push_back({"run/weights.pt", model::StepAt(100)});
  EXPECT_EQ(StateOf(maker, "checklist/checkpoint"), CheckState::kNotPossible);
  maker.run.checkpoints.push_back({"run/checkpoint-200", model::StepAt(200), {"optimizer.pt"}});
  maker.run.checkpoints.front().missing = {"weights"};
  EXPECT_EQ(StateOf(maker, "checklist/checkpoint"), CheckState::kNotDone);
  maker.run.checkpoints.push_back({"run/checkpoint-300", model::StepAt(300)});
  EXPECT_EQ(StateOf(maker, "checklist/checkpoint"), CheckState::kDone);
}

TEST(Checklist, ComparesProcessesWhereThereAreSeveral) {
  RunMaker maker;
  EXPECT_EQ(StateOf(maker, "checklist/one-process"), CheckState::kNotPossible);
  EXPECT_EQ(StateOf(RunMaker().Fact("world_size", "1"), "checklist/one-process"), CheckState::kDone);
  maker.run.ranks = 2;
  EXPECT_EQ(StateOf(maker, "checklist/one-process"), CheckState::kNotDone);
  EXPECT_EQ(StateOf(maker, "checklist/ranks-agree"), CheckState::kNotDone);
  for (const char* rank : {"0", "1"}) {
    maker.Series("loss", 50, [](int) { return 1.0; });
    maker.run.series.back().labels = {{"rank", rank}};
  }
  EXPECT_EQ(StateOf(maker, "checklist/ranks-agree"), CheckState::kDone);
}

TEST(Checklist, NamesTheRulesThatTheOptimizerBreaks) {
  RunMaker maker;
  maker.Fact("optimizer", "adamw").Fact("weight_decay", "0.1");
  EXPECT_EQ(StateOf(maker, "checklist/optimizer"), CheckState::kDone);
  maker.Found("config/weight-decay-high", model::kNoStep, model::kNoStep);
  EXPECT_EQ(StateOf(maker, "checklist/optimizer"), CheckState::kNotDone);
  EXPECT_EQ(StateOf(RunMaker(), "checklist/optimizer"), CheckState::kNotPossible);
}

}  // namespace
}  // namespace vigil::diagnose
