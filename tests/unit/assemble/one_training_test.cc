// Files of one training that name things in their own ways: what is joined, and what is named by its neighbours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "join_support.h"

namespace vigil::assemble {
namespace {

using ::testing::SizeIs;

TEST(JoinSplits, EventsInFoldersOfTrainingAndEvaluationAreOneRun) {
  const auto runs =
      Joined(Part("r/logs/train/events.out.tfevents.1.host.7.0.v2", "tfevents").Points("epoch_loss", 0, 50),
             Part("r/logs/validation/events.out.tfevents.2.host.7.1.v2", "tfevents").Points("epoch_loss", 0, 50, 2));
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_NE(runs[0].Find("loss"), nullptr);
  ASSERT_NE(runs[0].Find("eval_loss"), nullptr);
  EXPECT_EQ(runs[0].Find("eval_loss")->values[0], LossAt(0, 2));
}

TEST(JoinLogAndTable, OfOneTrainingAreOneRun) {
  const auto runs = Joined(Part("r/train.log", "log-text").Loss(0, 500),
                           Part("r/out/eval/scores.csv", "csv").Points("pearson", 0, 500, 2));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_THAT(runs[0].sources, SizeIs(2));
}

TEST(JoinLogAndTable, StayTwoWhereTheyContradictOrThereIsAChoice) {
  EXPECT_THAT(Joined(Part("r/train.log", "log-text").Loss(0, 500), Part("r/out/scores.csv", "csv").Loss(0, 500, 2)),
              SizeIs(2));
  EXPECT_THAT(Joined(Part("r/train.log", "log-text").Loss(0, 500),
                     Part("r/out/scores.csv", "csv").Points("pearson", 0, 2000, 2)),
              SizeIs(2));
  EXPECT_THAT(
      Joined(Part("r/train.log", "log-text").Loss(0, 500), Part("r/a/scores.csv", "csv").Points("pearson", 0, 500, 2),
             Part("r/b/scores.csv", "csv").Points("pearson", 0, 500, 3)),
      SizeIs(3));
}

TEST(JoinLog, TimesThatEachTakesInItsOwnWayAreNoContradiction) {
  const auto runs = Joined(Part("r/metrics.json", "jsonl").Loss(0, 300).Points("time", 0, 300, 3),
                           Part("r/train.log", "log-text").Loss(0, 300, 1, true).Points("time", 0, 300, 4));
  EXPECT_THAT(runs, SizeIs(1));
}

TEST(JoinLogAndTable, KeepsACurveOfEpochsAndStepsOnceOnTheStepsWithTheBetterDigits) {
  ingest::PartBuilder table("r/out/summary.csv", "csv");
  const auto epochs = table.OpenSeries("eval_loss");
  table.series(epochs).axis = model::Axis::kEpoch;
  for (int epoch = 0; epoch <= 5; ++epoch) table.Add(epochs, epoch, LossAt(epoch * 10));
  const auto runs = Joined(Part("r/train.log", "log-text").Points("eval_loss", 0, 50, 1, true), table.Finish());
  ASSERT_THAT(runs, SizeIs(1));
  ASSERT_THAT(runs[0].series, SizeIs(1));
  EXPECT_EQ(runs[0].series[0].steps[5], 50);
  EXPECT_EQ(runs[0].series[0].values[5], LossAt(50));
}

TEST(PartNames, TheOnlyAccuracyBesideBothLossesIsOfTheEvaluation) {
  const auto runs = Joined(Part("r/history.csv", "csv")
                               .Points("train_loss", 0, 50)
                               .Points("valid_loss", 0, 50, 2)
                               .Points("accuracy", 0, 50, 3));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_NE(runs[0].Find("eval_accuracy"), nullptr);
  EXPECT_EQ(runs[0].Find("accuracy"), nullptr);
}

TEST(PartNames, TheLossOfEachStepDoesNotKeepTheAccuracyOfTheEpochsFromTheEvaluation) {
  const auto runs = Joined(Part("r/train.log", "log-text")
                               .Loss(0, 500)
                               .Points("accuracy", 0, 50, 3)
                               .Points("eval_loss", 0, 50, 2)
                               .Points("train_loss", 0, 50));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_NE(runs[0].Find("eval_accuracy"), nullptr);
}

TEST(PartNames, AnAccuracyThatStandsWithTheTrainingsLossStaysItsOwn) {
  const auto runs =
      Joined(Part("r/history.csv", "csv").Loss(0, 50).Points("acc", 0, 50, 3).Points("val_loss", 0, 50, 2));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_NE(runs[0].Find("accuracy"), nullptr);
  EXPECT_EQ(runs[0].Find("eval_accuracy"), nullptr);
}

TEST(PartNames, ACountUnderTheNameOfATimeIsNone) {
  Part part("r/train.log", "log-text");
  part.Loss(0, 50);
  for (int step = 0; step <= 50; step += 10) part.Point("time/batch", step, step);
  const auto runs = Joined(std::move(part));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("step_time_s"), nullptr);
}

TEST(PartNames, ADoubtfulNameOfTheLossGivesWay) {
  const auto runs = Joined(Part("r/history.csv", "csv").Points("rmse", 0, 50, 2).Loss(0, 50));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0].Find("loss")->raw, "loss");
}

TEST(JoinLossParts, OfTheOnlyComponentIsTheLoss) {
  const auto one = Joined(Part("r/train.log", "log-text").Points("LOSS TAGGER", 0, 50));
  EXPECT_NE(one[0].Find("loss"), nullptr);
  const auto two = Joined(Part("r/train.log", "log-text").Points("LOSS TAGGER", 0, 50).Points("LOSS PARSER", 0, 50, 2));
  ASSERT_NE(two[0].Find("loss"), nullptr);
  EXPECT_NEAR(two[0].Find("loss")->values[0], LossAt(0) + LossAt(0, 2), 1e-9);
}

}  // namespace
}  // namespace vigil::assemble
