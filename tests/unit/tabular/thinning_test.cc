// Tables of more points than are kept: even over the file, with what stands out, and said.
#include "tabular/thinning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/formats.h"
#include "ingest/ingest.h"

namespace vigil::tabular {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::size_t PointsOf(const model::Run& run) {
  std::size_t points = 0;
  for (const model::Series& series : run.series) points += series.size();
  return points;
}

TEST(Thinning, KeepsAnEvenShareAndWhatStandsOut) {
  ingest::PartBuilder builder("a.csv", "csv");
  constexpr std::uint64_t kMost = 10'000;
  Thinning thinning(builder, kMost);
  const auto id = builder.OpenSeries("loss");
  constexpr int kPoints = 200'000;
  for (int step = 0; step < kPoints; ++step) {
    const double value = step == 155'555 ? 50 : step >= kPoints - 99 ? std::nan("") : 2.5;
    if (thinning.stride() == 1 || thinning.Keeps(id, value)) builder.Add(id, step, value);
    if (step % 100 == 0) thinning.MakeRoom();
  }
  const model::Series& series = builder.series(id);
  EXPECT_LE(series.size(), kMost + 100);
  EXPECT_GT(series.size(), kMost / 4);
  EXPECT_THAT(series.steps, Contains(155'555)) << "a spike is not thinned away";
  EXPECT_THAT(series.steps, Contains(kPoints - 99)) << "nor is the first NaN";
  EXPECT_EQ(series.segment_starts.size(), 1U);
  std::int64_t widest = 0;
  for (std::size_t i = 1; i < series.size(); ++i) widest = std::max(widest, series.steps[i] - series.steps[i - 1]);
  EXPECT_LE(widest, 2 * static_cast<std::int64_t>(thinning.stride()));
}

TEST(Thinning, KeepsRestarts) {
  model::Series series;
  for (int start = 0; start < 3; ++start) {
    for (int step = 10 * start; step < 10 * start + 101; ++step) series.Append(step, 1, 1e9 + step, 7);
  }
  KeepEverySecond(series, true);
  ASSERT_EQ(series.segment_starts.size(), 3U);
  EXPECT_EQ(series.steps[series.segment_starts[1]], 10);
  EXPECT_EQ(series.times.size(), series.size());
  EXPECT_EQ(series.lines.size(), series.size());
}

// Rows of a table that goes on and on.
std::string Rows(std::int64_t first, std::int64_t count) {
  std::string text;
  for (std::int64_t step = first; step < first + count; ++step) {
    text += std::to_string(step);
    for (int column = 0; column < 9; ++column) text += step == 700'001 && column == 3 ? ",nan" : ",2.5";
    text += '\n';
  }
  return text;
}

TEST(Thinning, HoldsABoundedAmountOfAnEndlessTable) {
  const ingest::Format* format = nullptr;
  for (const ingest::Format& one : formats::Formats()) format = one.id == "csv" ? &one : format;
  ASSERT_NE(format, nullptr);
  ingest::PartBuilder builder("metrics.csv", "csv");
  const auto reader = format->open(builder);
  std::string text = "step,loss,grad_norm,lr,a,b,c,d,e,f\n";
  for (std::int64_t step = 0; step < 1'000'000; step += 10'000) {
    text += Rows(step, 10'000);
    text.erase(0, reader->Consume(text, false));
  }
  reader->Consume(text, true);
  const model::Run run = builder.Finish();
  EXPECT_LE(PointsOf(run), kMostPoints + 100'000);
  EXPECT_GT(PointsOf(run), kMostPoints / 4);
  EXPECT_THAT(run.sources.front().note, HasSubstr("too many points to keep: every 2th"));
  const model::Series* lr = run.Find("a");
  ASSERT_NE(lr, nullptr);
  EXPECT_THAT(lr->steps, Contains(700'001));
}

}  // namespace
}  // namespace vigil::tabular
