// The map between axes is learned from what the run logged.
#include <gtest/gtest.h>

#include "identify/identify.h"

namespace vigil::identify {
namespace {

model::Run RunWithEpochs(model::Axis axis) {
  model::Run run;
  model::Series epochs;
  epochs.signal = "epoch";
  epochs.axis = axis;
  for (int i = 0; i <= 10; ++i) epochs.Append(50L * i, 0.5 * i);
  run.series.push_back(epochs);
  return run;
}

TEST(Axes, EpochsLoggedAtStepsLeadFromOneToTheOther) {
  model::Run run = RunWithEpochs(model::Axis::kStep);
  LearnAxes(run);
  EXPECT_EQ(run.axes.To(model::Axis::kStep, model::Position(model::Axis::kEpoch, 2)).value(), 200);
  EXPECT_EQ(run.axes.To(model::Axis::kEpoch, model::Position(model::Axis::kStep, 300)).value(), 3);
}

TEST(Axes, RowsLeadNowhere) {
  model::Run run = RunWithEpochs(model::Axis::kRow);
  LearnAxes(run);
  EXPECT_TRUE(run.axes.empty());
}

TEST(Axes, SettingsAloneLeadNowhere) {
  model::Run run;
  run.facts.push_back({"max_steps", "100000", "max_steps", {}});
  run.facts.push_back({"num_train_epochs", "3", "num_train_epochs", {}});
  LearnAxes(run);
  EXPECT_TRUE(run.axes.empty());
}

}  // namespace
}  // namespace vigil::identify
