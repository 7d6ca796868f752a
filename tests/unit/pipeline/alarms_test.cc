#include "vigil/alarms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vigil::app {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

model::Finding Spike(model::Severity severity, std::int64_t step = 10) {
  model::Finding finding;
  finding.id = "loss/spike";
  finding.signal = "loss";
  finding.severity = severity;
  finding.first = model::Position(model::Axis::kStep, step);
  return finding;
}

model::Report With(const std::vector<model::Finding>& findings) {
  model::Report report;
  report.runs.resize(1);
  report.runs[0].run.name = "run";
  report.runs[0].findings = findings;
  return report;
}

TEST(AlarmBook, RaisesAFindingOnce) {
  AlarmBook book;
  EXPECT_THAT(book.Update(With({Spike(model::Severity::kWarning)})), SizeIs(1));
  EXPECT_THAT(book.Update(With({Spike(model::Severity::kWarning, 12)})), IsEmpty()) << "the same, a little later";
}

TEST(AlarmBook, RaisesItAgainWhenItGetsWorse) {
  AlarmBook book;
  book.Update(With({Spike(model::Severity::kWarning)}));
  const auto worse = book.Update(With({Spike(model::Severity::kError)}));
  ASSERT_THAT(worse, SizeIs(1));
  EXPECT_EQ(worse[0].severity, model::Severity::kError);
  EXPECT_THAT(book.Update(With({Spike(model::Severity::kWarning)})), IsEmpty()) << "better is no news";
}

TEST(AlarmBook, SaysAtTheEndWhatHoldsNow) {
  AlarmBook book;
  book.Update(With({Spike(model::Severity::kError, 10)}));
  EXPECT_THAT(book.Update(With({Spike(model::Severity::kWarning, 12)})), IsEmpty());
  const auto last = book.Conclude(With({Spike(model::Severity::kWarning, 12)}));
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0].severity, model::Severity::kWarning);
  EXPECT_EQ(last[0].first.value(), 12);
  EXPECT_FALSE(last[0].cleared);
  EXPECT_THAT(book.Conclude(With({Spike(model::Severity::kWarning, 12)})), IsEmpty());
}

TEST(AlarmBook, ReportsWhatNoLongerHolds) {
  AlarmBook book;
  book.Update(With({Spike(model::Severity::kWarning)}));
  const auto news = book.Update(With({}));
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_TRUE(news[0].cleared);
  EXPECT_THAT(book.Update(With({})), IsEmpty());
}

TEST(AlarmBook, IsSilentAboutRemarks) {
  AlarmBook book;
  EXPECT_THAT(book.Update(With({Spike(model::Severity::kInfo)})), IsEmpty());
}

TEST(AlarmBook, NamesTheRunWhereThereAreSeveral) {
  AlarmBook book;
  model::Report report = With({Spike(model::Severity::kWarning)});
  report.runs.push_back(report.runs[0]);
  report.runs[1].run.name = "other";
  const auto news = book.Update(report);
  ASSERT_THAT(news, SizeIs(2));
  EXPECT_EQ(news[0].run, "run");
  EXPECT_EQ(news[1].run, "other");
}

}  // namespace
}  // namespace vigil::app
