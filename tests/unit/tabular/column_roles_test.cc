// One list of names for every reader of rows.
#include "tabular/column_roles.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace vigil::tabular {
namespace {

TEST(ColumnRoles, EveryStepNameCountsSteps) {
  std::set<std::string_view> seen;
  int before = 1000;
  for (const std::string_view name : StepNames()) {
    EXPECT_TRUE(seen.insert(name).second) << name << " is listed twice";
    EXPECT_EQ(UseOfColumn(name).role, ColumnRole::kStep) << name;
    EXPECT_LT(StepPriority(name), before) << name << ": the order of the list is the priority";
    before = StepPriority(name);
    EXPECT_GT(before, 0) << name;
    EXPECT_EQ(StepWordPriority(name), before) << name;
  }
}

TEST(ColumnRoles, SpellingDoesNotMatter) {
  EXPECT_EQ(UseOfColumn("Step").role, ColumnRole::kStep);
  EXPECT_EQ(UseOfColumn("Global Step").role, ColumnRole::kStep);
  EXPECT_EQ(UseOfColumn("Wall time").role, ColumnRole::kTime);
  EXPECT_EQ(UseOfColumn(" Train/Global-Step ").role, ColumnRole::kStep);
}

TEST(ColumnRoles, OptimizerStepsComeBeforeCallsOfTheTracker) {
  EXPECT_GT(StepPriority("train/global_step"), StepPriority("step"));
  EXPECT_GT(StepPriority("global_step"), StepPriority("step"));
  EXPECT_GT(StepPriority("step"), StepPriority("total_timesteps"));
  EXPECT_GT(StepPriority("total_timesteps"), StepPriority("_step"));
  EXPECT_TRUE(CountsWholeRun("trainer/global_step"));
  EXPECT_FALSE(CountsWholeRun("step")) << "it may begin again with each epoch";
}

TEST(ColumnRoles, WordsOfLogTextAreNoColumns) {
  EXPECT_GT(StepWordPriority("batch"), 0);
  EXPECT_EQ(UseOfColumn("batch").role, ColumnRole::kFingerprint);
  EXPECT_EQ(StepPriority("s"), 0);
  EXPECT_LT(StepWordPriority("batch"), StepWordPriority("_step"));
  EXPECT_EQ(StepWordPriority("loss"), 0);
}

TEST(ColumnRoles, TheVocabularyNamesLossAndLearningRate) {
  EXPECT_EQ(UseOfColumn("train/loss").role, ColumnRole::kLoss);
  EXPECT_EQ(UseOfColumn("learning_rate").role, ColumnRole::kLearningRate);
  EXPECT_EQ(UseOfColumn("train_loss").role, ColumnRole::kMeanLoss);
  EXPECT_EQ(UseOfColumn("training/epoch").role, ColumnRole::kEpoch);
  EXPECT_EQ(UseOfColumn("num_input_tokens_seen").role, ColumnRole::kTokens);
  EXPECT_EQ(UseOfColumn("something else").role, ColumnRole::kMetric);
}

TEST(ColumnRoles, SplitsThatWereNotTrainedOn) {
  EXPECT_TRUE(IsEvaluationSplit("Validation"));
  EXPECT_TRUE(IsEvaluationSplit("eval"));
  EXPECT_FALSE(IsEvaluationSplit("train"));
  EXPECT_FALSE(IsEvaluationSplit(""));
}

}  // namespace
}  // namespace vigil::tabular
