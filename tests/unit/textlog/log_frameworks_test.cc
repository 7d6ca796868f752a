// Lines in the forms of boosters, of loops that print tensors, and of bars between the rows of a table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log_support.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;

std::string_view SignalOf(const model::Run& run, std::string_view raw) {
  const model::Series* series = FindRaw(run, raw);
  return series == nullptr ? std::string_view() : series->signal;
}

TEST(BoosterLogs, NamesOfNothingButTheDataAreTheObjective) {
  const model::Run run = ReadLog(
      "0:\tlearn: 0.9512\ttest: 0.9701\tbest: 0.9701 (0)\ttotal: 61ms\tremaining: 6.1s\n"
      "5:\tlearn: 0.8121\ttest: 0.8512\tbest: 0.8512 (5)\ttotal: 361ms\tremaining: 966ms\n"
      "10:\tlearn: 0.7004\ttest: 0.7810\tbest: 0.7810 (10)\ttotal: 1.2s\tremaining: 400ms\n"
      "12:\tlearn: 0.6503\ttest: 0.7901\tbest: 0.7810 (10)\ttotal: 1.4s\tremaining: 0us\n");
  EXPECT_EQ(PointsOf(run, "train loss"), (Points{{0, 0.9512}, {5, 0.8121}, {10, 0.7004}, {12, 0.6503}}));
  EXPECT_EQ(PointsOf(run, "val loss"), (Points{{0, 0.9701}, {5, 0.8512}, {10, 0.7810}, {12, 0.7901}}));
  EXPECT_EQ(SignalOf(run, "val loss"), "eval_loss");
}

TEST(BoosterLogs, SizesOfTheDataAreNoObjective) {
  const model::Run run =
      ReadLog("step 1 | train: 2000 | test: 500 | loss: 2.5\nstep 2 | train: 2000 | test: 500 | loss: 2.4\n");
  EXPECT_EQ(StepsOf(run, "train loss").size(), 0U);
  EXPECT_EQ(StepsOf(run, "loss").size(), 2U);
}

TEST(BoosterLogs, ScoresAtTheEndOfATrainingAreNoObjective) {
  const model::Run run = ReadLog("step 1 loss: 2.5\nstep 2 loss: 2.4\nstep 3 loss: 2.2\nTrain: 0.970, Test: 0.790\n");
  EXPECT_EQ(run.Find("eval_loss"), nullptr);
}

TEST(LoopLogs, ABatchIdCountsWithinItsEpochAndTheScoresShareAName) {
  const model::Run run = ReadLog(
      "epoch: 0, batch_id: 0, loss is: [2.41]\n"
      "epoch: 0, batch_id: 20, loss is: [1.93]\n"
      "[validation] accuracy/loss: 0.61/1.204\n"
      "epoch: 1, batch_id: 0, loss is: [1.12]\n"
      "epoch: 1, batch_id: 20, loss is: [0.97]\n"
      "[validation] accuracy/loss: 0.72/0.911\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{0, 2.41}, {20, 1.93}, {40, 1.12}, {60, 0.97}}));
  EXPECT_EQ(PointsOf(run, "val/accuracy"), (Points{{20, 0.61}, {60, 0.72}}));
  EXPECT_EQ(PointsOf(run, "val/loss"), (Points{{20, 1.204}, {60, 0.911}}));
}

TEST(LoopLogs, WhatFollowsTheBeginOfAnEvaluationIsOfIt) {
  const std::string_view text =
      "Epoch 1/2\n"
      "step 10/20 - loss: 2.11 - acc: 0.21 - 9ms/step\n"
      "step 20/20 - loss: 1.87 - acc: 0.30 - 9ms/step\n"
      "Eval begin...\n"
      "step 4/8 - loss: 1.80 - acc: 0.33 - 2ms/step\n"
      "step 8/8 - loss: 1.75 - acc: 0.36 - 2ms/step\n"
      "Eval samples: 256\n"
      "Epoch 2/2\n"
      "step 10/20 - loss: 1.51 - acc: 0.44 - 9ms/step\n"
      "step 20/20 - loss: 1.32 - acc: 0.50 - 9ms/step\n"
      "Eval begin...\n"
      "step 4/8 - loss: 1.41 - acc: 0.47 - 2ms/step\n"
      "step 8/8 - loss: 1.38 - acc: 0.49 - 2ms/step\n"
      "Eval samples: 256\n";
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30, 40));
  EXPECT_EQ(PointsOf(run, "val/loss"), (Points{{20, 1.75}, {40, 1.38}}));
  EXPECT_EQ(PointsOf(run, "val/acc"), (Points{{20, 0.36}, {40, 0.49}}));
}

TEST(TableLogs, BarsBetweenRowsDoNotEndTheTable) {
  std::string text = "epoch     train_loss  valid_loss  accuracy  time\n";
  for (int i = 0; i <= 90; ++i)
    text += "\rEpoch 1/1 : |####----| " + std::to_string(i) + ".00% [" + std::to_string(i) + "/90 00:01<00:09]";
  text += "\r0         1.941000    1.702000    0.431000  00:04\n";
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOf(run, "train_loss"), (Points{{0, 1.941}}));
  EXPECT_EQ(PointsOf(run, "accuracy"), (Points{{0, 0.431}}));
}

TEST(TableLogs, ARowCountsWhenItsBarIsFullHoweverTheBarIsDrawn) {
  const model::Run run = ReadLog(
      "      Epoch    GPU_mem       loss  Instances       Size\n"
      "        1/2         0G      2.512          8         32: 8% \xE2\x94\x81\xE2\x94\x80 1/12 1.7s/it 1.1s\r"
      "        1/2         0G      1.841          8         32: 100% \xE2\x94\x81\xE2\x94\x81 12/12 1.7s/it 9.1s\n"
      "      Epoch    GPU_mem       loss  Instances       Size\n"
      "        2/2         0G      1.733          8         32: 8% \xE2\x94\x81\xE2\x94\x80 1/12 1.7s/it 1.1s\r"
      "        2/2         0G      1.204          8         32: 100% \xE2\x94\x81\xE2\x94\x81 12/12 1.7s/it 9.1s\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{1, 1.841}, {2, 1.204}}));
}

}  // namespace
}  // namespace vigil::textlog
