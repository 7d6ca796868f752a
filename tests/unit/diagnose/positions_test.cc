// Places on different axes: settings count steps, a table may be counted in epochs, and nothing confuses the two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/curve.h"
#include "diagnose/evidence.h"
#include "diagnose/incident.h"
#include "diagnose/places.h"
#include "run_maker.h"

namespace vigil::diagnose {
namespace {

using model::Axis;
using model::Position;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// One row per epoch, a blow-up at epoch 57; the settings beside it count steps.
RunMaker ByEpochs() {
  RunMaker run("torch");
  run.CountedOn(Axis::kEpoch).Fact("max_steps", "100000").Fact("warmup_steps", "100").Fact("save_steps", "10");
  run.Series("loss", 80, [&](int e) { return run.HealthyLoss(e) * (e < 57 ? 1 : 1 + 0.8 * (e - 56)); });
  run.Series("lr", 80, [](int) { return 3e-4; });
  run.Found("loss/divergence", 57, 80).Found("lr/no-warmup", 1, 1);
  return run;
}

// The text of all diagnoses and config findings of the run.
std::string AllWords(const RunMaker& run) {
  std::string words;
  for (const model::Diagnosis& diagnosis : run.Diagnoses()) words += Describe(diagnosis);
  for (const model::Finding& finding : CheckConfig(run.run, {})) words += Words(finding.says) + "\n";
  return words;
}

TEST(Positions, AnEpochIsNoShareOfPlannedSteps) {
  const RunMaker run = ByEpochs();
  const std::string words = AllWords(run);
  EXPECT_THAT(words, AllOf(Not(HasSubstr("of 100000")), Not(HasSubstr("very start")), Not(HasSubstr("00 epochs"))));
  EXPECT_THAT(words, HasSubstr("epoch 57"));
  for (const model::Diagnosis& diagnosis : run.Diagnoses())
    EXPECT_NE(diagnosis.cause, "no-warmup") << Describe(diagnosis);
}

TEST(Positions, ASaveIntervalInStepsPromisesNoCheckpointBeforeAnEpoch) {
  const std::string restart = Words(ByEpochs().First().restart);
  EXPECT_THAT(restart, AllOf(HasSubstr("before epoch 57"), Not(HasSubstr("checkpoint-")), Not(HasSubstr("every"))));
}

TEST(Positions, AWarmUpIsAShareOfStepsWhateverTheMetricsAreCountedOn) {
  const auto findings = CheckConfig(ByEpochs().run, {});
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].id, "config/no-warmup");
  EXPECT_THAT(Words(findings[0].says), AllOf(HasSubstr("0.1%"), HasSubstr("steps"), Not(HasSubstr("epoch"))));
}

// 1000 steps an epoch, as the run logged it.
RunMaker ByEpochsWithMap() {
  RunMaker run = ByEpochs();
  run.run.axes.Learn(Axis::kEpoch, Axis::kStep, {{1, 1000}, {80, 80000}});
  return run;
}

TEST(Positions, AMapOfTheRunLeadsFromTheEpochToTheLastCheckpoint) {
  const std::string restart = Words(ByEpochsWithMap().First().restart);
  // The point of epoch 57 stands for all of its steps, so the trouble may begin right behind epoch 56.
  EXPECT_THAT(restart, AllOf(HasSubstr("checkpoint-56000"), HasSubstr("every 10 steps"), HasSubstr("before epoch 57")));
}

TEST(Positions, AMapOfTheRunGivesThePlannedEndInEpochs) {
  const RunMaker run = ByEpochsWithMap();
  EXPECT_EQ(EndOf(run.run, Axis::kEpoch).at.value(), 100);
  EXPECT_TRUE(EndOf(run.run, Axis::kEpoch).planned);
  const std::vector<Incident> incidents = GroupIncidents(run.run, run.findings);
  const Answer early = FindTest("early-failure")(run.run, incidents.front());
  EXPECT_EQ(early.verdict, Verdict::kNo);
  EXPECT_EQ(Words(early.evidence.says), "it began at epoch 57 of 100");
}

TEST(Positions, PlannedEpochsAreAnEndInEpochsOnly) {
  RunMaker run("torch");
  run.CountedOn(Axis::kEpoch).Fact("epochs", "90").Series("loss", 80, [](int) { return 1.0; });
  EXPECT_EQ(EndOf(run.run, Axis::kEpoch).at.value(), 90);
  EXPECT_FALSE(EndOf(run.run, Axis::kStep).at.known());
}

TEST(Positions, WithoutAMapNothingLiesBeforeAPlaceOfAnotherAxis) {
  RunMaker run;
  run.Series("loss", 100, [](int s) { return 1.0 * s; });
  const Course course = LastCourse(run.run, "loss");
  const Stretch loss = course.View();
  EXPECT_EQ(loss.Before(Position(Axis::kStep, 11)).size(), 10U);
  EXPECT_TRUE(loss.Before(Position(Axis::kEpoch, 11)).empty());
  EXPECT_TRUE(loss.From(Position(Axis::kEpoch, 11)).empty());
  EXPECT_TRUE(std::isnan(ValueAt(loss, Position(Axis::kEpoch, 11))));
}

TEST(Positions, AMapBringsThePlaceToTheAxisOfTheSeries) {
  RunMaker run;
  run.Series("loss", 100, [](int s) { return 1.0 * s; });
  run.run.axes.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {10, 100}});
  const Course course = LastCourse(run.run, "loss");
  EXPECT_EQ(ValueAt(course.View(), Position(Axis::kEpoch, 4)), 40.0);
  EXPECT_EQ(course.View().Between(Position(Axis::kEpoch, 2), Position(Axis::kStep, 30)).size(), 11U);
}

TEST(Positions, OnePointAnEpochIsNotEveryStep) {
  const RunMaker run = ByEpochs();
  const Course loss = LastCourse(run.run, "loss");
  EXPECT_FALSE(IsLoggedEvery(loss.View(), 5));
}

// A step and an epoch of one moment belong to one incident when the run says how they relate, and not by their numbers.
TEST(Positions, FindingsOnTwoAxesAreComparedByTheMap) {
  RunMaker run;
  run.Series("loss", 10000, [&](int s) { return run.HealthyLoss(s); });
  run.Found("loss/divergence", 9000, 10000);
  run.CountedOn(Axis::kEpoch).Found("grad/explosion", 90, 100);
  run.run.axes.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {100, 10000}});
  EXPECT_EQ(GroupIncidents(run.run, run.findings).size(), 1U);
  run.findings[1].first = model::Position(Axis::kEpoch, 10);
  run.findings[1].last = model::Position(Axis::kEpoch, 20);
  EXPECT_EQ(GroupIncidents(run.run, run.findings).size(), 2U);
}

TEST(Positions, ADiagnosisHasTheAxisOfItsOnset) {
  const model::Diagnosis diagnosis = ByEpochs().First();
  EXPECT_EQ(diagnosis.first.axis(), Axis::kEpoch);
  EXPECT_EQ(diagnosis.first.value(), 57);
}

model::Series Labelled(std::string_view signal, const model::Labels& labels, double value, int points) {
  model::Series series;
  series.signal = signal;
  series.labels = labels;
  for (int step = 1; step <= points; ++step) series.Append(step, value);
  return series;
}

Verdict VerdictOf(std::string_view test, const RunMaker& run) {
  const std::vector<Incident> incidents = GroupIncidents(run.run, run.findings);
  return FindTest(test)(run.run, incidents.front()).verdict;
}

TEST(Positions, AFirstEpochOfUnknownLengthMayHideAHealthyBeginning) {
  RunMaker run;
  run.CountedOn(Axis::kEpoch).Series("loss", 20, [](int) { return kNan; }).Found("loss/non-finite", 1, 20);
  EXPECT_EQ(VerdictOf("bad-from-first-step", run), Verdict::kUnknown);
  run.run.axes.Learn(Axis::kEpoch, Axis::kStep, {{0, 0}, {10, 20}});
  EXPECT_EQ(VerdictOf("bad-from-first-step", run), Verdict::kYes) << "an epoch of two steps hides little";
}

TEST(Positions, ARestartSomeEpochsBeforeIsAnotherOne) {
  RunMaker run;
  run.CountedOn(Axis::kEpoch).Series("lr", 18, [](int) { return 1e-3; });
  for (int epoch = 16; epoch <= 30; ++epoch) run.run.series.back().Append(epoch, 5e-4);
  run.Found("loss/resume-jump", 20, 20);
  EXPECT_EQ(VerdictOf("lr-restarted-at-resume", run), Verdict::kNo) << "the rate changed at epoch 16, not at 20";
}

TEST(Positions, AHandfulOfStepsIsTheStartOnAnyAxisThatLeadsToThem) {
  RunMaker run;
  run.CountedOn(Axis::kTokens).Series("loss", 50'000, [&](int) { return 2 + run.Noise(0.1); }, 1000);
  run.Found("loss/divergence", 4000, 50'000);
  EXPECT_EQ(VerdictOf("early-failure", run), Verdict::kUnknown);
  run.run.axes.Learn(Axis::kTokens, Axis::kStep, {{0, 0}, {50'000, 50}});
  EXPECT_EQ(VerdictOf("early-failure", run), Verdict::kYes);
}

TEST(Positions, PointsOfWholeEpochsDoNotShowASampleThatComesByOnceAnEpoch) {
  const auto bad_every_ten = [](int at) { return at % 10 == 0 ? kNan : 2.0; };
  RunMaker steps;
  steps.Series("loss", 59, bad_every_ten).Found("loss/non-finite", 10, 50);
  EXPECT_EQ(VerdictOf("bad-steps-repeat", steps), Verdict::kYes);
  RunMaker epochs;
  epochs.CountedOn(Axis::kEpoch).Series("loss", 59, bad_every_ten).Found("loss/non-finite", 10, 50);
  EXPECT_EQ(VerdictOf("bad-steps-repeat", epochs), Verdict::kUnknown);
}

TEST(Positions, AFewStepsOfSlackAreNoFewEpochs) {
  RunMaker run;
  run.Series("loss", 60, [](int) { return 2.0; });
  EXPECT_EQ(SlackOn(run.run, Axis::kStep).amount, 5);
  run.run.series.front().axis = Axis::kEpoch;
  EXPECT_EQ(SlackOn(run.run, Axis::kEpoch).amount, 3) << "three points, not five steps";
}

TEST(View, PrefersTheSeriesWithTheLabelsAndFallsBackToTheOthers) {
  model::Run run;
  const model::Labels rank = {{"rank", "3"}};
  run.series = {Labelled("loss", {}, 1, 20), Labelled("loss", rank, 2, 10), Labelled("lr", {}, 3, 20),
                Labelled("grad_norm", {}, 4, 20), Labelled("grad_norm", rank, 5, 0)};
  const RunView view(run, rank);
  EXPECT_EQ(view.Find("loss"), &run.series[1]) << "the view borrows, it copies no column";
  EXPECT_EQ(view.Find("lr"), &run.series[2]);
  EXPECT_EQ(view.Find("grad_norm"), &run.series[3]) << "an empty series answers nothing";
  EXPECT_EQ(view.Find("entropy"), nullptr);
  EXPECT_FALSE(view.Has(run.series[0]));
  EXPECT_TRUE(view.Has(run.series[1]));
  EXPECT_EQ(RunView(run).Find("loss"), &run.series[0]);
}

}  // namespace
}  // namespace vigil::diagnose
