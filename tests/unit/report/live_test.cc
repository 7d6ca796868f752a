#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/report.h"
#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::HasSubstr;

TEST(RenderLive, ShowsWhereTheRunIsAndWhatIsWrong) {
  const std::string text = RenderLive(samples::One(samples::DivergedRun()), {});
  EXPECT_THAT(text, HasSubstr("step "));
  EXPECT_THAT(text, HasSubstr("\n  loss "));
  EXPECT_THAT(text, HasSubstr("\n  grad_norm "));
  EXPECT_THAT(text, HasSubstr("error"));
}

TEST(RenderLive, FitsTheWidthAndSpeaksAscii) {
  TextOptions options;
  options.width = 50;
  options.unicode = false;
  const std::string text = RenderLive(samples::One(samples::DivergedRun()), options);
  for (const char c : text) EXPECT_GE(c, '\n') << "a byte outside of ASCII";
  std::size_t column = 0;
  for (const char c : text) {
    column = c == '\n' ? 0 : column + 1;
    EXPECT_LE(column, 50U);
  }
}

TEST(RenderLive, SaysWhichRankIsBehindAndWhichIsSilent) {
  model::RunReport run;
  run.run.name = "ranks";
  run.run.ranks = 3;
  for (int rank = 0; rank < 3; ++rank) {
    model::Series series;
    series.signal = "step_time_s";
    if (rank > 0) series.labels = {{"rank", std::to_string(rank)}};
    for (int step = 1; step <= (rank == 2 ? 80 : 100); ++step) series.Append(step, 0.5, 1000.0 + step);
    run.run.series.push_back(std::move(series));
  }
  model::Report report;
  report.runs.push_back(run);
  EXPECT_THAT(RenderLive(report, {}, 1102.0), HasSubstr("2 of 3 in step; rank 2 at step 80: behind, silent for 22 s"));
  report.runs[0].run.series.pop_back();
  EXPECT_THAT(RenderLive(report, {}, 1101.0), HasSubstr("2 of 2 in step\n"));
}

TEST(RenderLive, TakesNoRankForBehindThatOnlyWritesLater) {
  model::RunReport run;
  run.run.name = "ranks";
  run.run.ranks = 2;
  for (int rank = 0; rank < 2; ++rank) {
    model::Series series;
    series.signal = "step_time_s";
    if (rank > 0) series.labels = {{"rank", "1"}};
    for (int step = 1; step <= (rank == 1 ? 80 : 100); ++step) series.Append(step, 0.05, 1000.0 + 0.05 * step);
    run.run.series.push_back(std::move(series));
  }
  model::Report report;
  report.runs.push_back(run);
  EXPECT_THAT(RenderLive(report, {}, 1005.0), HasSubstr("2 of 2 in step\n"));
}

TEST(RenderLive, CountsInTheAxisOfTheRun) {
  model::RunReport run = samples::EpochRun();
  EXPECT_THAT(RenderLive(samples::One(run), {}), HasSubstr("by-epochs  epoch 60\n"));
  run.run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{0, 0}, {60, 6000}});
  EXPECT_THAT(RenderLive(samples::One(run), {}), HasSubstr("by-epochs  epoch 60, step 6,000 of 100,000 (6%)\n"));
}

TEST(RenderLive, HasNothingToSayOfNoRuns) { EXPECT_EQ(RenderLive({}, {}), ""); }

TEST(Alarms, AreALineOfTextOrJson) {
  const Alarm alarm = {"2026-11-15T03:12:45",
                       "",
                       "loss/spike",
                       model::Severity::kWarning,
                       samples::Epoch(7),
                       samples::Said("the \"loss\" jumped", {samples::Epoch(7)}),
                       false};
  EXPECT_EQ(AlarmText(alarm, {}), "03:12:45 warning loss/spike: the \"loss\" jumped\n");
  EXPECT_EQ(AlarmJson(alarm),
            "{\"schema\":\"vigil.alarm/1\",\"time\":\"2026-11-15T03:12:45\",\"state\":\"raised\",\"run\":\"\","
            "\"id\":\"loss/spike\",\"severity\":\"warning\",\"first_step\":7,\"axis\":\"epoch\",\"message\":\"the "
            "\\\"loss\\\" jumped\",\"says\":{\"id\":\"the \\\"loss\\\" jumped\",\"arguments\":{\"argument0\":{\"axis\":"
            "\"epoch\",\"value\":7}}}}\n");
}

}  // namespace
}  // namespace vigil::report
