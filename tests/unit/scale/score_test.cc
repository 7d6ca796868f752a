#include "scale/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scale/hold_out.h"
#include "scale/lead.h"
#include "scale/pick.h"

namespace vigil::scale {
namespace {

using model::Severity;
using testing::ElementsAre;
using testing::IsEmpty;

Record Labelled(Class kind, const std::string& fault = "lr-too-high") {
  Record record;
  record.id = "0000001-f0";
  record.label.kind = kind;
  record.label.fault = fault;
  record.label.findings = {"loss/divergence", "loss/spike"};
  record.label.causes = {"lr-too-high", "no-warmup"};
  record.label.onset = 10;
  record.label.seen_in = {"loss"};
  record.label.is_seen_in_known = true;
  return record;
}

Verdict Saying(const std::string& id, Severity severity, std::int64_t step = 30, const std::string& cause = "") {
  Verdict verdict;
  verdict.findings.push_back({id, severity, step});
  if (!cause.empty()) verdict.causes.push_back({cause, 0.75, {"bad-sample"}});
  verdict.steps = 100;
  return verdict;
}

TEST(WhatIsAsked, FollowsFromTheMeasuredClass) {
  EXPECT_EQ(AskedOf(Labelled(Class::kHealthy, "none")), Asked::kSilence);
  EXPECT_EQ(AskedOf(Labelled(Class::kHarmless)), Asked::kNoError);
  EXPECT_EQ(AskedOf(Labelled(Class::kWeak)), Asked::kEitherWay);
  EXPECT_EQ(AskedOf(Labelled(Class::kFatal)), Asked::kFinding);
  EXPECT_EQ(AskedOf(Labelled(Class::kNotLearned)), Asked::kNothing);
  EXPECT_EQ(AskedOf(Labelled(Class::kTwinNotLearned)), Asked::kNothing);
  EXPECT_EQ(AskedOf(Labelled(Class::kFatal, "crash-interrupted")), Asked::kInterrupted);
}

TEST(WhatIsAsked, IsNothingWhereNoLoggedSeriesShowsTheFault) {
  Record record = Labelled(Class::kFatal);
  record.label.seen_in.clear();
  EXPECT_EQ(AskedOf(record), Asked::kNothing);
  record.label.is_seen_in_known = false;
  EXPECT_EQ(AskedOf(record), Asked::kFinding) << "it was not compared";
  record.label.is_seen_in_known = true;
  record.label.effect = 2.5;
  EXPECT_EQ(AskedOf(record), Asked::kFinding) << "time and memory are labelled by their effect";
  record.label.effect.reset();
  record.crashed = true;
  EXPECT_EQ(AskedOf(record), Asked::kFinding) << "a crash is shown by its message";
}

TEST(Scores, TakeAnyExpectedFindingFromWarningUp) {
  const Record record = Labelled(Class::kFatal);
  EXPECT_TRUE(ScoreOf(record, Saying("loss/spike", Severity::kWarning)).is_found);
  EXPECT_FALSE(ScoreOf(record, Saying("loss/spike", Severity::kInfo)).is_found);
  EXPECT_FALSE(ScoreOf(record, Saying("grad/zero", Severity::kFatal)).is_found);
  EXPECT_EQ(ScoreOf(record, Saying("loss/spike", Severity::kWarning, 30)).delay, 20);
  EXPECT_EQ(ScoreOf(record, Saying("loss/spike", Severity::kWarning, -1)).delay, std::nullopt);
}

TEST(Scores, DistinguishRightPairedWrongUnknownAndNoCauses) {
  const Record record = Labelled(Class::kFatal);
  const auto answer = [&](const std::string& cause) {
    return ScoreOf(record, Saying("loss/spike", Severity::kError, 30, cause)).cause;
  };
  EXPECT_EQ(answer("lr-too-high"), CauseAnswer::kRight);
  EXPECT_EQ(answer("no-warmup"), CauseAnswer::kRight) << "the files cannot distinguish it";
  EXPECT_EQ(answer("frozen-params"), CauseAnswer::kWrong);
  EXPECT_EQ(answer("unknown"), CauseAnswer::kUnknown);
  EXPECT_EQ(answer(""), CauseAnswer::kNone);
  Record paired = record;
  paired.label.causes = {"bad-sample"};
  EXPECT_EQ(ScoreOf(paired, Saying("loss/spike", Severity::kError, 30, "frozen-params")).cause, CauseAnswer::kInPair);
  EXPECT_EQ(ScoreOf(paired, Saying("loss/spike", Severity::kError, 30, "unknown")).cause, CauseAnswer::kInPair);
  Calibration calibration;
  calibration.Add(ScoreOf(paired, Saying("loss/spike", Severity::kError, 30, "unknown")));
  EXPECT_EQ(calibration.cases(), 0) << "no cause was stated";
  paired.label.causes.clear();
  EXPECT_EQ(ScoreOf(paired, Saying("loss/spike", Severity::kError, 30, "frozen-params")).cause, CauseAnswer::kNotAsked);
}

TEST(Tallies, CountErrorsOnHealthyAndHarmlessRunsAndFindingsOnFatalOnes) {
  Tally tally;
  tally.Add(ScoreOf(Labelled(Class::kHealthy, "none"), Saying("loss/spike", Severity::kError)));
  tally.Add(ScoreOf(Labelled(Class::kHealthy, "none"), Saying("loss/spike", Severity::kWarning)));
  tally.Add(ScoreOf(Labelled(Class::kHarmless), Saying("loss/spike", Severity::kWarning)));
  tally.Add(ScoreOf(Labelled(Class::kFatal), Saying("loss/spike", Severity::kError, 30, "lr-too-high")));
  tally.Add(ScoreOf(Labelled(Class::kFatal), {}));
  tally.Add(ScoreOf(Labelled(Class::kNotLearned), {}));
  EXPECT_EQ(tally.runs, 5);
  EXPECT_EQ(tally.left_out, 1);
  EXPECT_EQ(tally.healthy, 2);
  EXPECT_EQ(tally.healthy_errors, 1);
  EXPECT_EQ(tally.healthy_warned, 1);
  EXPECT_EQ(tally.healthy_steps, 200);
  EXPECT_EQ(tally.harmless_errors, 0);
  EXPECT_EQ(tally.harmless_found, 1);
  EXPECT_EQ(tally.fatal, 2);
  EXPECT_EQ(tally.found, 1);
  EXPECT_EQ(tally.cause_right, 1);
  EXPECT_EQ(tally.cause_none, 1);
}

TEST(Tallies, OfPartsAddUpToThatOfTheWhole) {
  const std::vector<Score> scores = {
      ScoreOf(Labelled(Class::kHealthy, "none"), Saying("loss/spike", Severity::kError)),
      ScoreOf(Labelled(Class::kHarmless), Saying("loss/spike", Severity::kError)),
      ScoreOf(Labelled(Class::kWeak), Saying("loss/spike", Severity::kError)),
      ScoreOf(Labelled(Class::kFatal), Saying("loss/spike", Severity::kError, 30, "unknown")),
      ScoreOf(Labelled(Class::kFatal), Saying("loss/spike", Severity::kError, 30, "frozen-params")),
      ScoreOf(Labelled(Class::kFatal, "crash-interrupted"), Saying("loss/spike", Severity::kError)),
      ScoreOf(Labelled(Class::kNotLearned), {})};
  Tally whole;
  Tally sum;
  for (const Score& score : scores) {
    whole.Add(score);
    Tally part;
    part.Add(score);
    sum.Add(part);
  }
  EXPECT_EQ(sum.runs, whole.runs);
  EXPECT_EQ(sum.left_out, 1);
  EXPECT_EQ(sum.interrupted_found, 1);
  EXPECT_EQ(sum.found, whole.found);
  EXPECT_EQ(sum.causes, whole.causes);
  EXPECT_EQ(sum.cause_unknown, 1);
  EXPECT_EQ(sum.cause_wrong, 1);
  EXPECT_EQ(sum.weak_found, 1);
  EXPECT_EQ(sum.harmless_errors, 1);
  EXPECT_EQ(sum.healthy_errors, 1);
  EXPECT_EQ(sum.healthy_steps, whole.healthy_steps);
  EXPECT_EQ(sum.delays, whole.delays);
  EXPECT_EQ(sum.healthy_error_ids, whole.healthy_error_ids);
}

TEST(ConfidenceAgainstTruth, CountsNamedCausesOfHarmedRunsInTenBins) {
  Calibration calibration;
  for (int i = 0; i < 3; ++i)
    calibration.Add(ScoreOf(Labelled(Class::kFatal), Saying("loss/spike", Severity::kError, 30, "lr-too-high")));
  calibration.Add(ScoreOf(Labelled(Class::kWeak), Saying("loss/spike", Severity::kError, 30, "frozen-params")));
  calibration.Add(ScoreOf(Labelled(Class::kFatal), Saying("loss/spike", Severity::kError, 30, "unknown")));
  calibration.Add(ScoreOf(Labelled(Class::kHarmless), Saying("loss/spike", Severity::kError, 30, "lr-too-high")));
  EXPECT_EQ(calibration.cases(), 4);
  EXPECT_EQ(calibration.bins[7].cases, 4);
  EXPECT_EQ(calibration.bins[7].right, 3);
  EXPECT_NEAR(*calibration.ExpectedError(), 0, 1e-12) << "three of four were right, and 0.75 was stated";
}

TEST(ConfidenceAgainstTruth, TakesACertaintyOfOneIntoTheLastBin) {
  Score score = ScoreOf(Labelled(Class::kFatal), Saying("loss/spike", Severity::kError, 30, "lr-too-high"));
  score.confidence = 1;
  Calibration calibration;
  calibration.Add(score);
  EXPECT_EQ(calibration.bins[9].cases, 1);
}

// ---- leave one out

std::vector<Record> SmallSet() {
  std::vector<Record> records;
  const auto add = [&](const std::string& id, const std::string& task, Class kind) {
    Record& record = records.emplace_back(Labelled(kind));
    record.id = id;
    record.task = task;
  };
  add("1-h0", "lm", Class::kHealthy);
  add("1-f0", "lm", Class::kFatal);
  add("2-h0", "gan", Class::kHealthy);
  add("2-f0", "gan", Class::kFatal);
  add("3-o0", "lm", Class::kHealthy);
  add("3-f0", "vae", Class::kFatal);
  return records;
}

TEST(HoldingOut, KeepsAPartAndAllThatWasTrainedBesideItFromTheFit) {
  const auto records = SmallSet();
  const auto folds = FoldsBy(records, TaskOf);
  ASSERT_EQ(folds.size(), 3U);
  EXPECT_EQ(folds[1].name, "lm");
  EXPECT_THAT(folds[1].held_out, ElementsAre(0, 1, 4));
  EXPECT_THAT(folds[1].fitted_on, ElementsAre(2, 3)) << "3-f0 is of another task, but of the group of 3-o0";
}

TEST(HoldingOut, FitsForEachPartWithoutItAndScoresItAlone) {
  const auto records = SmallSet();
  std::vector<std::vector<std::size_t>> fits;
  const Fitter fitter = [&](const std::vector<Record>&, const std::vector<std::size_t>& fitted_on) -> Examiner {
    fits.push_back(fitted_on);
    return [](const Record&) { return Saying("loss/spike", Severity::kError, 30, "lr-too-high"); };
  };
  const auto rows = LeaveOneOut(records, FoldsBy(records, TaskOf), fitter, 2);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(fits.size(), 3U);
  EXPECT_EQ(rows[1].name, "lm");
  EXPECT_EQ(rows[1].tally.runs, 3);
  EXPECT_EQ(rows[1].tally.healthy_errors, 2);
  const HeldOut sum = SumOf(rows);
  EXPECT_EQ(sum.tally.runs, 6);
  EXPECT_EQ(sum.tally.cause_right, 3);
  EXPECT_EQ(sum.calibration.cases(), 3);
}

// ---- picking

TEST(PickedRuns, HaveSomethingToSayAndOfEveryKind) {
  std::vector<Candidate> candidates;
  candidates.reserve(200);
  for (int i = 0; i < 100; ++i) candidates.push_back({"silent" + std::to_string(i), {}});
  for (int i = 0; i < 50; ++i)
    candidates.push_back({"spike" + std::to_string(i), Saying("loss/spike", Severity::kError)});
  candidates.push_back({"zero", Saying("grad/zero", Severity::kFatal)});
  candidates.push_back({"warned", Saying("loss/plateau", Severity::kWarning)});
  const auto ids = PickForTwins(candidates, 8);
  EXPECT_THAT(ids, testing::SizeIs(7)) << "four with an error, one of two with a warning, two silent";
  EXPECT_THAT(ids, testing::Contains("zero"));
  EXPECT_THAT(ids, testing::Contains("warned"));
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(), [](const std::string& id) { return id.starts_with("silent"); }), 2);
  EXPECT_EQ(ids, PickForTwins(candidates, 8));
}

// ---- lead

model::Run RunWithLoss(const std::vector<double>& values) {
  model::Run run;
  model::Series& loss = run.series.emplace_back();
  loss.signal = loss.raw = "loss";
  for (std::size_t i = 0; i < values.size(); ++i) loss.Append(static_cast<std::int64_t>(i + 1), values[i]);
  return run;
}

TEST(HarmStep, IsTheFirstNonFiniteLossOrTheBeginningOfALastingRise) {
  std::vector<double> values;
  values.reserve(60);
  for (int i = 0; i < 60; ++i) values.push_back(4.0 - 0.05 * i);
  EXPECT_EQ(HarmStep(RunWithLoss(values)), std::nullopt);
  std::vector<double> lost = values;
  for (int i = 0; i < 40; ++i) lost.push_back(20);
  const auto harm = HarmStep(RunWithLoss(lost));
  ASSERT_TRUE(harm);
  EXPECT_GE(*harm, 61);
  EXPECT_LE(*harm, 65) << "the level is a median of five points";
  std::vector<double> nan = values;
  nan[30] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(HarmStep(RunWithLoss(nan)), 31);
}

TEST(HarmStep, IsNoneOfAFlatNoisyLossThatEndsALittleAboveItsStart) {
  std::vector<double> values;
  values.reserve(100);
  for (int i = 0; i < 100; ++i) values.push_back(1.0 + 0.15 * ((i * 7) % 3 - 1) + (i > 80 ? 0.02 : 0));
  EXPECT_EQ(HarmStep(RunWithLoss(values)), std::nullopt);
}

TEST(RunsUpToAStep, HaveNothingOfWhatCameLater) {
  model::Run run = RunWithLoss({3, 2, 1});
  run.series.push_back(run.series[0]);
  run.series[1].Truncate(0);
  run.series[1].Append(3, 7);
  run.events.emplace_back();
  const model::Run part = RunUpTo(run, 2);
  ASSERT_EQ(part.series.size(), 1U);
  EXPECT_EQ(part.series[0].size(), 2U);
  EXPECT_THAT(part.events, IsEmpty());
  EXPECT_EQ(run.series[0].size(), 3U) << "the run itself stays whole";
}

}  // namespace
}  // namespace vigil::scale
