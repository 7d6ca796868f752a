// What is bounded in a log: how many events and series of it are kept. What ends a run is never what is left out, and
// what is left out is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "log_support.h"
#include "report/report.h"

namespace vigil::textlog {
namespace {

using ::testing::HasSubstr;

std::string Steps(int first, int last) {
  std::string text;
  for (int step = first; step <= last; ++step)
    text += "step: " + std::to_string(step) + " loss: " + std::to_string(3 - 0.001 * step) + " grad_norm: 1.0\n";
  return text;
}

std::string Traceback(const std::string& function, const std::string& error) {
  return "Traceback (most recent call last):\n  File \"train.py\", line 3, in " + function + "\n    work()\n" + error +
         "\n";
}

// `caught` errors that a loop goes on after, and one at the end.
std::string ErrorsAndAnEnd(int caught, const std::string& each, const std::string& last) {
  std::string text;
  for (int i = 0; i < caught; ++i) text += Steps(5 * i, 5 * i + 4) + Traceback("load", each);
  return text + Steps(5 * caught, 5 * caught + 4) + Traceback("<module>", last);
}

TEST(LogLimits, TheErrorThatEndsARunStaysBehindAHundredThatWereCaught) {
  const model::Run run = ReadLog(ErrorsAndAnEnd(100, "MyError: bad sample", "MyError: too many bad samples"));
  const auto exceptions = EventsOf(run, model::EventKind::kException);
  ASSERT_EQ(exceptions.size(), 64U);
  EXPECT_THAT(exceptions.back().text, HasSubstr("too many bad samples"));
  EXPECT_FALSE(exceptions.back().run_went_on);
  EXPECT_EQ(exceptions.front().at.value(), 4) << "the first stays too";
  EXPECT_THAT(report::NoteText(run.sources.front()), HasSubstr("37 events left out"));
  for (std::size_t i = 1; i < exceptions.size(); ++i) EXPECT_LT(exceptions[i - 1].place.line, exceptions[i].place.line);
}

TEST(LogLimits, TheMemoryErrorThatEndsARunKeepsItsSignature) {
  const std::string error = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB";
  const model::Run run = ReadLog(ErrorsAndAnEnd(100, error, error));
  const auto signatures = EventsOf(run, model::EventKind::kSignature);
  ASSERT_FALSE(signatures.empty());
  EXPECT_FALSE(signatures.back().run_went_on);
  EXPECT_EQ(signatures.back().at.value(), 504);
}

TEST(LogLimits, NoNumberOfOtherEventsHidesTheLast) {
  std::string text;
  for (int i = 0; i < 6000; ++i)
    text += Steps(i, i) + "Saving model checkpoint to out/checkpoint-" + std::to_string(i) + "\n";
  const model::Run run = ReadLog(text + Traceback("<module>", "ValueError: the end"));
  EXPECT_LE(run.events.size(), 4096U);
  ASSERT_FALSE(EventsOf(run, model::EventKind::kException).empty());
  EXPECT_THAT(run.events.back().text, HasSubstr("the end"));
  const auto checkpoints = EventsOf(run, model::EventKind::kCheckpoint);
  ASSERT_FALSE(checkpoints.empty());
  EXPECT_THAT(checkpoints.back().text, HasSubstr("checkpoint-5999")) << "the last checkpoint is what people go back to";
}

TEST(LogLimits, NamesOfTheirOwnDoNotHideTheLastEither) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += Traceback("f", "Made" + std::to_string(i) + "UpError: x");
  const model::Run run = ReadLog(Steps(0, 20) + text + Traceback("<module>", "ValueError: the end"));
  EXPECT_LE(run.events.size(), 4096U);
  ASSERT_FALSE(run.events.empty());
  EXPECT_THAT(run.events.back().text, HasSubstr("the end"));
}

std::string RankLine(int rank, int step, const std::string& loss) {
  return "[rank" + std::to_string(rank) + "]: step: " + std::to_string(step) + " loss: " + loss +
         " grad_norm: 1.0 lr: 0.001 tps: 1000 mfu: 40\n";
}

TEST(LogLimits, AThousandRanksHaveTheirMetrics) {
  constexpr int kRanks = 1024;
  std::string text;
  for (int step = 0; step < 3; ++step) {
    for (int rank = 0; rank < kRanks; ++rank)
      text += RankLine(rank, step, rank == 1000 && step == 2 ? "nan" : std::to_string(2.5 + 0.001 * rank - 0.1 * step));
  }
  const model::Run run = ReadLog(text);
  bool found = false;
  for (const model::Series& series : run.series) {
    if (series.signal != "loss" || model::FindLabel(series.labels, "rank") != "1000") continue;
    found = true;
    EXPECT_TRUE(std::isnan(series.values.back()));
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(report::NoteText(run.sources.front()), "");
}

TEST(LogLimits, MetricsBeyondTheLimitAreNamed) {
  std::string text;
  for (int i = 0; i < 6000; ++i)
    text += "step: " + std::to_string(i) + " loss: 2.5 lr: 0.001 made_up_" + std::to_string(i) + ": 1.5\n";
  const model::Run run = ReadLog(text);
  EXPECT_THAT(report::NoteText(run.sources.front()), HasSubstr("more metrics than are read"));
  EXPECT_EQ(PointsOf(run, "loss").size(), 6000U);
}

}  // namespace
}  // namespace vigil::textlog
