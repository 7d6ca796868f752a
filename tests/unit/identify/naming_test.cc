// Names that mean something only beside the other names of their run, and what values say about them.
#include "identify/naming.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "identify/identify.h"
#include "ingest/ingest.h"

namespace vigil::identify {
namespace {

struct Named {
  std::string_view raw;
  std::function<double(int)> value;
};

model::Run RunOf(const std::vector<Named>& all) {
  ingest::PartBuilder builder("run/file", "jsonl");
  for (const Named& named : all) {
    const auto series = builder.OpenSeries(named.raw);
    for (int i = 0; i < 40; ++i) builder.Add(series, i, named.value(i));
  }
  model::Run run = builder.Finish();
  Classify(run);
  return run;
}

double Noisy(int i) { return 2.0 / (1 + i) + (i % 3) * 0.1; }

std::string SignalOf(const model::Run& run, std::string_view raw) {
  for (const model::Series& series : run.series) {
    if (series.raw == raw) return series.signal;
  }
  return "(absent)";
}

TEST(NamesByStemNamespaceAndUnit, ACostIsTheLossWhereNothingElseIs) {
  EXPECT_EQ(SignalOf(RunOf({{"cost", Noisy}}), "cost"), "loss");
  const model::Run both = RunOf({{"cost", Noisy}, {"train_loss", Noisy}});
  EXPECT_EQ(SignalOf(both, "cost"), "cost");
  EXPECT_EQ(SignalOf(both, "train_loss"), "loss");
}

TEST(NamesByStemNamespaceAndUnit, WhatIsFarAboveTheEvaluationLossIsNoLoss) {
  const auto score = [](int i) { return 60.5 + i; };
  EXPECT_EQ(SignalOf(RunOf({{"L1", score}, {"val_loss", Noisy}}), "L1"), "L1");
  EXPECT_EQ(SignalOf(RunOf({{"L1", Noisy}, {"val_loss", Noisy}}), "L1"), "loss");
}

TEST(NamesByStemNamespaceAndUnit, StepsBySecondAreTurnedIntoTheTimeOfOne) {
  const model::Run run = RunOf({{"loss", Noisy}, {"step/s", [](int) { return 4.0; }}});
  EXPECT_EQ(SignalOf(run, "step/s"), "step_time_s");
  EXPECT_DOUBLE_EQ(run.Find("step_time_s")->values[0], 0.25);
}

TEST(NamesByStemNamespaceAndUnit, CountsOfErrorsAreNoLoss) {
  EXPECT_EQ(SignalOf(RunOf({{"error", [](int i) { return static_cast<double>(i % 4); }}}), "error"), "error");
}

TEST(NamesByStemNamespaceAndUnit, EtaIsALearningRateOrATimeToGo) {
  EXPECT_EQ(SignalOf(RunOf({{"eta", [](int i) { return 0.003 / (1 + i); }}}), "eta"), "lr");
  EXPECT_EQ(SignalOf(RunOf({{"eta", [](int i) { return 400.0 - i; }}}), "eta"), "eta");
  const model::Run both = RunOf({{"eta", [](int) { return 0.5; }}, {"lr", [](int) { return 0.1; }}});
  EXPECT_EQ(SignalOf(both, "eta"), "eta");
}

TEST(NamesByStemNamespaceAndUnit, ANumberOfEachPartIsNoneOfTheWhole) {
  const auto norm = [](int i) { return 1.0 + 0.1 * (i % 3); };
  EXPECT_EQ(SignalOf(RunOf({{"encoder/grad_norm", norm}}), "encoder/grad_norm"), "grad_norm");
  const model::Run parts = RunOf({{"encoder/grad_norm", norm}, {"decoder/grad_norm", norm}});
  EXPECT_EQ(SignalOf(parts, "encoder/grad_norm"), "encoder/grad_norm");
  EXPECT_EQ(SignalOf(parts, "decoder/grad_norm"), "decoder/grad_norm");
}

TEST(NamesByStemNamespaceAndUnit, TrainAndValidAloneAreLosses) {
  const model::Run losses = RunOf({{"train", Noisy}, {"valid", Noisy}});
  EXPECT_EQ(SignalOf(losses, "train"), "loss");
  EXPECT_EQ(SignalOf(losses, "valid"), "eval_loss");
  const auto rising = [](int i) { return 0.1 + 0.02 * i; };
  EXPECT_EQ(SignalOf(RunOf({{"train", rising}, {"valid", rising}}), "train"), "train") << "shares that rise";
}

TEST(NamesByStemNamespaceAndUnit, DataIsAWaitUnlessItCounts) {
  EXPECT_EQ(SignalOf(RunOf({{"Data", [](int i) { return i < 20 ? 0.001 : 0.03; }}}), "Data"), "data_time_s");
  EXPECT_EQ(SignalOf(RunOf({{"Data", [](int i) { return 64.0 * i; }}}), "Data"), "Data");
  EXPECT_EQ(SignalOf(RunOf({{"Data", [](int i) { return 0.5 * i; }}}), "Data"), "Data");
}

TEST(NamesByStemNamespaceAndUnit, ATimeThatOnlyRisesIsThatSinceTheStart) {
  EXPECT_EQ(SignalOf(RunOf({{"time", [](int i) { return 0.3 + (i % 2) * 0.1; }}}), "time"), "step_time_s");
  EXPECT_EQ(SignalOf(RunOf({{"time", [](int i) { return 0.3 * i; }}}), "time"), "time");
}

TEST(NamesByStemNamespaceAndUnit, AccuraciesAboveOneAreInPerCent) {
  const model::Run run = RunOf({{"top1", [](int i) { return 20.0 + i; }}, {"val_acc", [](int) { return 0.5; }}});
  EXPECT_EQ(run.Find("accuracy")->unit, "%");
  EXPECT_EQ(run.Find("eval_accuracy")->unit, "");
}

TEST(NamesByStemNamespaceAndUnit, StepsPerSecondAreTheTimeOfAStep) {
  const model::Run run = RunOf({{"steps_per_sec", [](int i) { return i == 0 ? 0.0 : 4.0; }}});
  ASSERT_NE(run.Find("step_time_s"), nullptr);
  EXPECT_EQ(run.Find("step_time_s")->values[1], 0.25);
  EXPECT_TRUE(std::isnan(run.Find("step_time_s")->values[0])) << "a rate of nothing is no time";
  const model::Run both = RunOf({{"steps_per_sec", [](int) { return 4.0; }}, {"step_time", [](int) { return 0.25; }}});
  EXPECT_EQ(SignalOf(both, "steps_per_sec"), "steps_per_sec");
}

TEST(NamesByStemNamespaceAndUnit, TheStepOfTheOptimizerIsAPartOfTheStep) {
  const auto constant = [](int) { return 0.01; };
  const model::Run run = RunOf(
      {{"iter_time", constant}, {"backward_time", constant}, {"optim_step_time", constant}, {"train_time", constant}});
  EXPECT_EQ(SignalOf(run, "optim_step_time"), "optim_step_time");
  EXPECT_EQ(SignalOf(run, "train_time"), "step_time_s");
  EXPECT_EQ(run.Find("step_time_s")->unit, "s");
}

TEST(NamesByStemNamespaceAndUnit, SharesNamedAfterTheirDataAreAccuraciesBesideALoss) {
  const auto share = [](int i) { return i / 50.0; };
  const model::Run run = RunOf({{"Loss", Noisy}, {"Train", share}, {"Val", share}, {"Test", share}});
  EXPECT_EQ(SignalOf(run, "Train"), "accuracy");
  EXPECT_EQ(SignalOf(run, "Val"), "eval_accuracy");
  EXPECT_EQ(SignalOf(run, "Test"), "Test");
  EXPECT_EQ(SignalOf(RunOf({{"Train", share}, {"Val", share}}), "Train"), "Train") << "they may be the losses";
}

TEST(NamesByStemNamespaceAndUnit, AKlBesideALossOfThePolicyIsThatOfTheUpdate) {
  const auto constant = [](int) { return 0.01; };
  EXPECT_EQ(SignalOf(RunOf({{"KL", constant}, {"LossPi", constant}}), "KL"), "policy_kl");
  EXPECT_EQ(SignalOf(RunOf({{"KL", constant}}), "KL"), "kl");
}

}  // namespace
}  // namespace vigil::identify
