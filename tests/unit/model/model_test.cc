#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "model/finding.h"
#include "model/position.h"
#include "model/report.h"
#include "model/run.h"
#include "model/statement.h"

namespace vigil::model {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::NanSensitiveDoubleEq;

Series WithSteps(std::initializer_list<std::int64_t> steps) {
  Series series;
  for (const std::int64_t step : steps) series.Append(step, 1.0);
  return series;
}

Series WithSteps(Axis axis, std::initializer_list<std::int64_t> steps) {
  Series series = WithSteps(steps);
  series.axis = axis;
  return series;
}

TEST(MainAxis, IsThatOfStepsWhereSeveralPointsAreCountedInThem) {
  model::Run run;
  EXPECT_EQ(MainAxis(run), Axis::kStep);
  run.series = {WithSteps(Axis::kEpoch, {1, 2, 3}), WithSteps(Axis::kTokens, {1, 2}), WithSteps(Axis::kStep, {300})};
  EXPECT_EQ(MainAxis(run), Axis::kEpoch) << "a total at the end is no course";
  run.series.push_back(WithSteps(Axis::kStep, {100, 200}));
  EXPECT_EQ(MainAxis(run), Axis::kStep);
}

TEST(Series, ACopySharesThePointsAndGoesOnAlone) {
  Series series;
  for (std::int64_t step = 1; step <= 10; ++step) series.Append(step, 0.5, 100.0, 3);
  Series copy = series;
  EXPECT_EQ(copy.values.data(), series.values.data());
  copy.Append(11, 0.25);
  series.Append(5, 0.75);
  EXPECT_EQ(copy.size(), 11U);
  EXPECT_EQ(copy.segment_starts.size(), 1U);
  EXPECT_EQ(series.steps.back(), 5);
  EXPECT_EQ(series.segment_starts.size(), 2U);
}

TEST(Series, TruncatedKeepsTheSegmentsThatAreLeft) {
  Series series;
  for (const std::int64_t step : {1, 2, 1, 2, 1}) series.Append(step, 1.0);
  series.Truncate(4);
  EXPECT_THAT(series.steps, ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(series.segment_starts, ElementsAre(0U, 2U));
}

TEST(BatchFingerprints, OfOneFileAreShared) {
  BatchFingerprints file;
  file.Append(StepAt(1), 11, -1);
  BatchFingerprints run;
  run.Append(file);
  EXPECT_EQ(run.hashes.data(), file.hashes.data());
  run.Append(file);
  EXPECT_EQ(run.hashes, (std::vector<std::uint64_t>{11, 11}));
  EXPECT_EQ(file.hashes, (std::vector<std::uint64_t>{11}));
}

TEST(Series, OpensASegmentWhenAStepGoesBack) {
  const Series series = WithSteps({1, 2, 3, 2, 3, 4});
  EXPECT_THAT(series.segment_starts, ElementsAre(0, 3));
  EXPECT_EQ(series.size(), 6U) << "what a restart overwrote is kept";
}

TEST(Series, ARepeatedStepOpensASegmentToo) { EXPECT_THAT(WithSteps({1, 1}).segment_starts, ElementsAre(0, 1)); }

TEST(Series, AnEmptySeriesHasNoSegments) {
  EXPECT_THAT(Series().segment_starts, IsEmpty());
  EXPECT_EQ(Series().LoggingInterval(), 0);
}

TEST(Series, PaysForTimesAndLinesOnlyFromTheFirstPointThatHasThem) {
  Series series;
  series.Append(1, 0.5);
  EXPECT_THAT(series.times, IsEmpty());
  EXPECT_THAT(series.lines, IsEmpty());
  series.Append(2, 0.4, 1700.0, 12);
  series.Append(3, 0.3);
  EXPECT_THAT(series.times,
              ElementsAre(NanSensitiveDoubleEq(NAN), NanSensitiveDoubleEq(1700.0), NanSensitiveDoubleEq(NAN)));
  EXPECT_THAT(series.lines, ElementsAre(0, 12, 0));
}

TEST(Series, LoggingIntervalIsTheTypicalGapWhateverTheRestarts) {
  EXPECT_EQ(WithSteps({10, 20, 30, 40}).LoggingInterval(), 10);
  EXPECT_EQ(WithSteps({10, 20, 30, 500}).LoggingInterval(), 10) << "one hole is not typical";
  EXPECT_EQ(WithSteps({10, 20, 10, 20, 30}).LoggingInterval(), 10) << "going back is no gap";
  EXPECT_EQ(WithSteps({5}).LoggingInterval(), 0);
}

TEST(Run, FindsTheSeriesThatSpeaksForTheWholeRun) {
  model::Run run;
  run.series.resize(3);
  for (Series& series : run.series) series.signal = "loss";
  run.series[0].labels = {{"rank", "1"}};
  for (int step = 0; step < 9; ++step) run.series[0].Append(step, 1.0);
  run.series[1].Append(1, 1.0);
  run.series[2].Append(1, 1.0);
  run.series[2].Append(2, 1.0);
  EXPECT_EQ(run.Find("loss"), &run.series[2]) << "without labels first, then the one with most points";
  EXPECT_EQ(run.Find("grad_norm"), nullptr);
}

TEST(Run, ReadsFactsAsNumbersWhereTheyAre) {
  model::Run run;
  run.facts = {{"lr", "5e-5", "learning_rate", {}}, {"optim", "adamw_torch", "optim", {}}};
  EXPECT_EQ(run.FactNumber("lr"), 5e-5);
  EXPECT_EQ(run.FactNumber("optim"), std::nullopt);
  EXPECT_EQ(run.FactNumber("warmup_steps"), std::nullopt);
  EXPECT_EQ(run.FindFact("optim")->value, "adamw_torch");
}

TEST(Run, AGuessedMethodIsNotOneToJudgeBy) {
  model::Run run;
  run.method = {"grpo", 0.4};
  EXPECT_FALSE(run.HasMethod("grpo"));
  run.method.confidence = 0.5;
  EXPECT_TRUE(run.HasMethod("grpo"));
  EXPECT_FALSE(run.HasMethod("sft"));
}

TEST(Labels, AreFoundByKey) {
  const Labels labels = {{"layer", "7"}, {"rank", "3"}};
  EXPECT_EQ(FindLabel(labels, "rank"), "3");
  EXPECT_EQ(FindLabel(labels, "phase"), "");
}

TEST(Names, ReadBackToWhatTheyName) {
  for (const Severity severity : {Severity::kInfo, Severity::kWarning, Severity::kError, Severity::kFatal}) {
    EXPECT_EQ(ParseSeverity(Name(severity)), severity);
  }
  for (int i = 0; i <= static_cast<int>(Family::kSetup); ++i) {
    EXPECT_EQ(ParseFamily(Name(static_cast<Family>(i))), static_cast<Family>(i));
  }
  EXPECT_EQ(ParseSeverity("Fatal"), std::nullopt);
  EXPECT_EQ(ParseFamily(""), std::nullopt);
}

TEST(Finding, GivesItsMeasuresByName) {
  Finding finding;
  finding.measures = {{"height", 3.5}};
  EXPECT_EQ(finding.MeasureOr("height", 0), 3.5);
  EXPECT_EQ(finding.MeasureOr("width", -1), -1);
}

TEST(WorstSeverity, LooksAtEveryRun) {
  Report report;
  EXPECT_EQ(WorstSeverity(report), std::nullopt);
  report.runs.resize(2);
  EXPECT_EQ(WorstSeverity(report), std::nullopt);
  report.runs[0].findings.resize(1);
  report.runs[1].findings.resize(2);
  report.runs[1].findings[1].severity = Severity::kError;
  EXPECT_EQ(WorstSeverity(report), Severity::kError);
}

}  // namespace
}  // namespace vigil::model
