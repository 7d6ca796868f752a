// A detector counts on the axis of the series that it judges; settings in steps are compared with it through the map of
// the run, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runs.h"

namespace vigil::detect {
namespace {

using testing::Describe;
using testing::Get;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RunMaker;
using testing::Words;

constexpr int kStepsPerEpoch = 1000;

// All series of the run counted in epochs.
model::Run ByEpochs(const RunMaker& maker) {
  model::Run run = maker.run();
  for (model::Series& series : run.series) series.axis = model::Axis::kEpoch;
  return run;
}

void LearnEpochs(model::Run& run) {
  run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{0, 0}, {10, 10.0 * kStepsPerEpoch}});
}

// A table by epochs beside a configuration in steps: 100,000 of them, a warm-up within the first epoch.
RunMaker TableOfEpochs() {
  RunMaker maker;
  maker.Fact("max_steps", "100000").Fact("save_steps", "10").Planned(100'000);
  maker.Series("loss", 60, [](int epoch) { return epoch < 57 ? 0.7 - 0.005 * epoch : std::nan(""); });
  maker.Series("lr", 60, [](int) { return 1e-3; });
  return maker;
}

TEST(Axes, APlanInStepsIsNotComparedWithEpochs) {
  const auto findings = Detect(ByEpochs(TableOfEpochs()), catalogue::Thresholds());
  EXPECT_EQ(Get(findings, "lr/no-warmup"), nullptr) << "60 epochs are too few to judge 1% of\n" << Describe(findings);
  const model::Finding* lost = Get(findings, "loss/non-finite");
  ASSERT_NE(lost, nullptr);
  EXPECT_EQ(lost->first.axis(), model::Axis::kEpoch);
  EXPECT_THAT(Words(*lost), HasSubstr("from epoch 57 on"));
  for (const model::Finding& finding : findings) EXPECT_THAT(Words(finding), Not(HasSubstr("step"))) << finding.id;
}

TEST(Axes, AStatedWarmupIsOneWhateverTheTableCounts) {
  RunMaker maker = TableOfEpochs();
  maker.Fact("warmup_steps", "100");
  model::Run run = ByEpochs(maker);
  LearnEpochs(run);
  EXPECT_EQ(Get(Detect(run, catalogue::Thresholds()), "lr/no-warmup"), nullptr);
}

TEST(Axes, APlanInStepsHoldsForEpochsWhereTheRunLoggedBoth) {
  model::Run run = ByEpochs(TableOfEpochs());
  Context context;
  context.run = &run;
  context.primary = run.series.data();
  EXPECT_FALSE(context.Planned().known());
  LearnEpochs(run);
  ASSERT_TRUE(context.Planned().known());
  EXPECT_EQ(context.Planned().axis(), model::Axis::kEpoch);
  EXPECT_EQ(context.Planned().value(), 100);
}

// A fifth of the way is room enough to learn in: of 100,000 steps, not of 100,000 epochs.
TEST(Axes, ARunThatGoesOnIsJudgedByTheRoomItHadOnItsOwnAxis) {
  RunMaker maker;
  maker.Planned(100'000);
  maker.Series("loss", 60, maker.Level(2, 0.002));
  model::Run run = ByEpochs(maker);
  constexpr bool kGoesOn = false;
  EXPECT_NE(Get(Detect(run, catalogue::Thresholds(), kGoesOn), "loss/not-decreasing"), nullptr) << "no plan in epochs";
  run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{0, 0}, {10, 1000}});
  EXPECT_EQ(Get(Detect(run, catalogue::Thresholds(), kGoesOn), "loss/not-decreasing"), nullptr) << "60 of 1,000 epochs";
}

TEST(Axes, EveryFindingAndItsEvidenceCarryTheAxis) {
  for (const model::Finding& finding : Detect(ByEpochs(TableOfEpochs()), catalogue::Thresholds())) {
    EXPECT_EQ(finding.first.axis(), model::Axis::kEpoch) << finding.id;
    for (const model::Evidence& evidence : finding.evidence) EXPECT_EQ(evidence.at.axis(), model::Axis::kEpoch);
  }
}

model::Event Failed(model::Position at) {
  model::Event event;
  event.kind = model::EventKind::kException;
  event.text = "RuntimeError: boom";
  event.at = at;
  return event;
}

TEST(Axes, AnErrorBehindThePlannedEndIsFoundThroughTheMap) {
  model::Run run = ByEpochs(TableOfEpochs());
  run.events = {Failed(model::EpochAt(100))};
  auto findings = FindingsFromEvents(run, catalogue::Thresholds());
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(Words(findings[0]), HasSubstr("at epoch 100: RuntimeError"));
  LearnEpochs(run);
  findings = FindingsFromEvents(run, catalogue::Thresholds());
  ASSERT_FALSE(findings.empty());
  EXPECT_THAT(Words(findings[0]), HasSubstr("at epoch 100, after the training was complete"));
}

TEST(Axes, TokensAreNotBehindSteps) {
  RunMaker maker;
  maker.Planned(200);
  maker.Series("step_time_s", 100, maker.Level(1, 0.1));
  maker.Series("val_loss", 50'000, maker.Level(1, 0.1), 10'000, 10'000);
  model::Run run = maker.run();
  run.series[1].axis = model::Axis::kTokens;
  const auto stall = FindStall(run, 1000, catalogue::Thresholds());
  ASSERT_TRUE(stall) << "token 50,000 is not past step 200";
  EXPECT_EQ(stall->first.value(), 100);
  EXPECT_EQ(stall->first.axis(), model::Axis::kStep);
}

// Two losses that are lost for good, one counted in steps and one in epochs.
model::Run LostOnTwoAxes() {
  RunMaker maker;
  maker.Series("loss", 600, [](int step) { return step < 500 ? 2.0 - 0.001 * step : std::nan(""); });
  maker.Series("loss", 80, [](int epoch) { return epoch < 57 ? 0.7 - 0.005 * epoch : std::nan(""); });
  model::Run run = maker.run();
  run.series[0].labels = {{"dataset", "a"}};
  run.series[1].labels = {{"dataset", "b"}};
  run.series[1].axis = model::Axis::kEpoch;
  return run;
}

std::vector<model::Axis> AxesOfTheLosses(const model::Run& run) {
  std::vector<model::Axis> axes;
  for (const model::Finding& finding : Detect(run, catalogue::Thresholds())) {
    if (finding.id == "loss/non-finite") axes.push_back(finding.first.axis());
  }
  return axes;
}

TEST(Axes, FindingsOfAnAxisThatNothingLeadsFromFollowThoseOfTheMainAxis) {
  model::Run run = LostOnTwoAxes();
  EXPECT_THAT(AxesOfTheLosses(run), ::testing::ElementsAre(model::Axis::kStep, model::Axis::kEpoch))
      << "epoch 57 is not before step 500";
  run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{0, 0}, {10, 50}});
  EXPECT_THAT(AxesOfTheLosses(run), ::testing::ElementsAre(model::Axis::kEpoch, model::Axis::kStep))
      << "epoch 57 ends at step 285";
}

TEST(Axes, AResumptionKnownByItsEpochIsFoundInTheBatches) {
  RunMaker maker;
  for (int step = 1; step <= 60; ++step) maker.Batch(step, static_cast<std::uint64_t>(1000 + step));
  for (int step = 61; step <= 100; ++step) maker.Batch(step, static_cast<std::uint64_t>(1000 + step - 60));
  model::Run run = maker.run();
  model::Event resumed;
  resumed.kind = model::EventKind::kResume;
  resumed.at = model::EpochAt(6);
  run.events.push_back(resumed);
  EXPECT_EQ(Get(Detect(run, catalogue::Thresholds()), "resume/data-restart"), nullptr) << "epoch 6 is not step 6";
  run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{0, 0}, {10, 100}});
  EXPECT_NE(Get(Detect(run, catalogue::Thresholds()), "resume/data-restart"), nullptr);
}

}  // namespace
}  // namespace vigil::detect
