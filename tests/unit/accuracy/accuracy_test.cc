#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "accuracy/cases.h"
#include "accuracy/judge.h"
#include "accuracy/markdown.h"
#include "accuracy/page.h"
#include "accuracy/tables.h"

namespace vigil::accuracy {
namespace {

using model::Severity;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Case Labelled(std::string_view expect, std::vector<std::string> causes = {}, std::int64_t onset = -1) {
  Case labelled;
  labelled.path = "runs/a";
  labelled.split = "score";
  labelled.wanted = expect;
  labelled.expectation = ParseExpectation(expect);
  labelled.causes = std::move(causes);
  labelled.onset_step = onset;
  return labelled;
}

model::Report Saying(const std::string& id, Severity severity, std::int64_t step = 10, const std::string& cause = "") {
  model::Report report;
  report.runs.resize(1);
  model::Finding finding;
  finding.id = id;
  finding.severity = severity;
  finding.first = model::Position(model::Axis::kStep, step);
  report.runs[0].findings.push_back(finding);
  report.runs[0].run.sources.push_back({"a.log", "log", model::SourceState::kRead, {}});
  if (!cause.empty()) {
    report.runs[0].diagnoses.resize(1);
    report.runs[0].diagnoses[0].cause = cause;
  }
  return report;
}

TEST(Expectations, AreIdsHealthOrOnlyToBeRead) {
  EXPECT_EQ(ParseExpectation("none").kind, Expectation::Kind::kHealthy);
  EXPECT_EQ(ParseExpectation("-").kind, Expectation::Kind::kReadable);
  EXPECT_THAT(ParseExpectation("loss/spike,grad/spike").ids, ElementsAre("loss/spike", "grad/spike"));
  EXPECT_THAT(ParseExpectation("memory/oom log/*").ids, ElementsAre("memory/oom", "log/*"));
  const Expectation hang = ParseExpectation("hang/missing-rank;ranks=9,14");
  EXPECT_THAT(hang.ids, ElementsAre("hang/missing-rank"));
  EXPECT_THAT(hang.ranks, ElementsAre(9, 14));
}

TEST(Judging, AnyExpectedFindingFromWarningUpIsRight) {
  const Case labelled = Labelled("loss/spike,grad/spike");
  EXPECT_TRUE(Judge(labelled, Saying("grad/spike", Severity::kWarning)).expected_found);
  EXPECT_FALSE(Judge(labelled, Saying("grad/spike", Severity::kInfo)).expected_found);
  EXPECT_FALSE(Judge(labelled, Saying("loss/divergence", Severity::kFatal)).expected_found);
}

TEST(Judging, AFamilyStandsForAllOfIt) {
  EXPECT_TRUE(Judge(Labelled("log/*"), Saying("log/cuda-oom", Severity::kFatal)).expected_found);
  EXPECT_FALSE(Judge(Labelled("log/*"), Saying("loss/spike", Severity::kFatal)).expected_found);
}

TEST(Judging, RanksMustBeExactlyThose) {
  model::Report report = Saying("hang/missing-rank", Severity::kFatal);
  report.runs[0].findings[0].ranks = {9, 14};
  EXPECT_TRUE(Judge(Labelled("hang/missing-rank;ranks=9,14"), report).expected_found);
  report.runs[0].findings[0].ranks = {9};
  EXPECT_FALSE(Judge(Labelled("hang/missing-rank;ranks=9,14"), report).expected_found);
}

TEST(Judging, OnlyErrorsAlarmOnAHealthyRun) {
  EXPECT_TRUE(Judge(Labelled("none"), Saying("loss/divergence", Severity::kError)).disagrees());
  EXPECT_FALSE(Judge(Labelled("none"), Saying("loss/spike", Severity::kWarning)).disagrees());
}

TEST(Judging, TheFirstCauseCounts) {
  const Case labelled = Labelled("loss/divergence", {"lr-too-high", "no-warmup"});
  EXPECT_TRUE(Judge(labelled, Saying("loss/divergence", Severity::kError, 3, "no-warmup")).cause_right());
  EXPECT_FALSE(Judge(labelled, Saying("loss/divergence", Severity::kError, 3, "bad-sample")).cause_right());
  EXPECT_FALSE(Judge(labelled, Saying("loss/divergence", Severity::kError, 3)).cause_right());
}

TEST(Judging, DelayIsMeasuredFromTheOnset) {
  EXPECT_EQ(Judge(Labelled("loss/spike", {}, 60), Saying("loss/spike", Severity::kError, 65)).delay_steps, 5);
  EXPECT_EQ(Judge(Labelled("loss/spike"), Saying("loss/spike", Severity::kError, 65)).delay_steps, std::nullopt);
}

TEST(Judging, AnUnreadFileIsNeitherRightNorWrong) {
  model::Report report;
  report.unread.push_back({"runs/a", "unknown format"});
  const Outcome outcome = Judge(Labelled("loss/spike"), report);
  EXPECT_FALSE(outcome.read);
  EXPECT_FALSE(outcome.disagrees());
  Tally tally;
  tally.Add(outcome, Unread::kApart);
  EXPECT_EQ(tally.unread, 1);
  EXPECT_EQ(tally.faulty, 0);
  EXPECT_TRUE(std::isnan(tally.Recall()));
}

TEST(Tallies, AnUnreadFixtureIsAMissedOne) {
  Tally tally;
  tally.Add(Judge(Labelled("loss/spike"), model::Report()), Unread::kMissed);
  EXPECT_EQ(tally.missed(), 1);
  EXPECT_EQ(tally.Recall(), 0);
}

TEST(Tallies, PrecisionCountsAlarmsOnHealthyRunsAndWrongAlarmsOnFaultyOnes) {
  Tally tally;
  tally.Add(Judge(Labelled("loss/spike"), Saying("loss/spike", Severity::kWarning)), Unread::kApart);
  tally.Add(Judge(Labelled("loss/spike"), Saying("lr/zero", Severity::kError)), Unread::kApart);
  tally.Add(Judge(Labelled("loss/spike"), Saying("lr/zero", Severity::kWarning)), Unread::kApart);
  tally.Add(Judge(Labelled("none"), Saying("lr/zero", Severity::kError)), Unread::kApart);
  tally.Add(Judge(Labelled("none"), Saying("lr/zero", Severity::kWarning)), Unread::kApart);
  EXPECT_DOUBLE_EQ(tally.Precision(), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(tally.Recall(), 1.0 / 3.0);
  EXPECT_EQ(tally.missed(), 2);
  EXPECT_EQ(tally.false_alarms, 1);
}

TEST(Tables, ListEveryWrongAnswerAndNoRightOne) {
  Outcome wrong = Judge(Labelled("loss/spike"), Saying("lr/zero", Severity::kError));
  wrong.labelled.path = "runs/wrong";
  const Outcome right = Judge(Labelled("loss/spike"), Saying("loss/spike", Severity::kError));
  const std::string text = FixtureTables({wrong, right});
  EXPECT_THAT(text, HasSubstr("| runs/wrong | score | loss/spike | lr/zero (error at 10) |"));
  EXPECT_THAT(text, Not(HasSubstr("| runs/a |")));
  EXPECT_THAT(text, HasSubstr("| scored | 1 of 2 |"));
}

TEST(Tables, PutOurReadingBesideADisagreement) {
  const Outcome outcome = Judge(Labelled("none"), Saying("lr/zero", Severity::kError));
  EXPECT_THAT(CorpusTables({outcome}, {}), HasSubstr("not looked at yet"));
  EXPECT_THAT(CorpusTables({outcome}, {{"runs/a", "the label is wrong | see line 3"}}),
              HasSubstr("the label is wrong \\| see line 3"));
}

TEST(Tables, NameTheFilesThatAReaderLeft) {
  Case of_known = Labelled("none");
  of_known.group = "csv";
  Case of_unknown = Labelled("none");
  of_unknown.group = "traces";
  of_unknown.path = "traces/b";
  model::Report nothing;
  nothing.unread.push_back({"runs/a", "content of no kind"});
  const std::string text = CorpusTables(
      {Judge(of_known, Saying("lr/zero", Severity::kInfo)), Judge(of_known, nothing), Judge(of_unknown, nothing)}, {});
  EXPECT_THAT(text, HasSubstr("| runs/a |  | content of no kind |"));
  EXPECT_THAT(text, Not(HasSubstr("traces/b")));
}

TEST(Pages, AreReplacedPartByPart) {
  EXPECT_EQ(PartOf(ReplacePart(EmptyPage(), "gym", "gym\n"), "gym"), "gym\n");
  const std::string page = ReplacePart(EmptyPage(), "fixtures", "new\n");
  EXPECT_EQ(PartOf(page, "fixtures"), "new\n");
  EXPECT_EQ(PartOf(page, "corpus"), PartOf(EmptyPage(), "corpus"));
  EXPECT_EQ(ReplacePart("no parts", "fixtures", "new"), "no parts");
}

TEST(Lists, SayWhichColumnIsMissing) {
  const auto cases = ParseFixtureLabels("path\ttrainer\n", "LABELS.tsv");
  ASSERT_FALSE(cases);
  EXPECT_EQ(cases.error().Text(), "LABELS.tsv: the header has no column 'fault'");
  EXPECT_THAT(ParseReadings("", "x.tsv").error().Text(), HasSubstr("no header"));
}

TEST(Lists, AreReadByTheNamesOfTheirColumns) {
  const auto cases = ParseFixtureLabels(
      "onset_step\tpath\ttrainer\tfault\tsplit\texpect\tcause\tnote\n60\truns/x\thf\tnan\ttune\tloss/spike\ta,b\t\n",
      "LABELS.tsv");
  ASSERT_TRUE(cases);
  ASSERT_EQ(cases->size(), 1U);
  EXPECT_EQ(cases->front().onset_step, 60);
  EXPECT_THAT(cases->front().causes, ElementsAre("a", "b"));
  const auto corpus =
      ParseCorpusManifest("kind\tpath\tlabel\texpect\tconfidence\nissue\ti/1\thang / late\t-\thigh\n", "M");
  ASSERT_TRUE(corpus);
  EXPECT_EQ(corpus->front().label, "hang");
  EXPECT_THAT(corpus->front().expectation.ids, IsEmpty());
}

}  // namespace
}  // namespace vigil::accuracy
