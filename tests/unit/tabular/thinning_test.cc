// Tables of more points than are kept: even over the file, with what stands out, and said.
#include "tabular/thinning.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "report/report.h"
#include "tabular/loss_parts.h"

namespace vigil::tabular {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::size_t PointsOf(const model::Run& run) {
  std::size_t points = 0;
  for (const model::Series& series : run.series) points += series.size();
  return points;
}

std::unique_ptr<ingest::Reader> OpenCsv(ingest::PartBuilder& builder) {
  for (const ingest::Format& one : formats::Formats()) {
    if (one.id == "csv") return one.open(builder);
  }
  return nullptr;
}

TEST(Thinning, KeepsAnEvenShareAndWhatStandsOut) {
  ingest::PartBuilder builder("a.csv", "csv");
  constexpr std::uint64_t kMost = 10'000;
  Thinning thinning(builder, kMost);
  const auto id = builder.OpenSeries("loss");
  constexpr int kPoints = 200'000;
  for (int step = 0; step < kPoints; ++step) {
    const double value = step == 155'555 ? 50 : step >= kPoints - 99 ? std::nan("") : 2.5;
    thinning.Add(id, step, value);
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

// A sum of two series needs points at the same steps, also behind many that are kept out of turn in one of them.
TEST(Thinning, SeriesOfTheSameRowsKeepTheSameTurnsBesideJumps) {
  ingest::PartBuilder builder("a.csv", "csv");
  Thinning thinning(builder, 6'000);
  const auto smooth = builder.OpenSeries("loss/a");
  const auto with_jumps = builder.OpenSeries("loss/b");
  for (int step = 0; step < 100'000; ++step) {
    thinning.Add(smooth, step, 2.5);
    thinning.Add(with_jumps, step, step / 997 % 2 == 1 ? 50 : 2.5);
    if (step % 100 == 0) thinning.MakeRoom();
  }
  ASSERT_GE(thinning.stride(), 16U);
  const auto& steps = builder.series(with_jumps).steps;
  std::size_t missing = 0;
  for (const std::int64_t step : builder.series(smooth).steps)
    missing += std::binary_search(steps.begin(), steps.end(), step) ? 0 : 1;
  EXPECT_LE(missing, 1U) << "of " << builder.series(smooth).size() << "; the last one may wait";
}

// A header that comes again opens a segment; the points before and behind it are kept, and every start is a point.
TEST(Thinning, SegmentsBeginAtPointsThatAreKept) {
  ingest::PartBuilder builder("a.csv", "csv");
  Thinning thinning(builder, 1'000);
  const auto id = builder.OpenSeries("loss");
  for (int step = 0; step < 20'000; ++step) {
    if (step > 0 && step % 1'001 == 0) thinning.OpenSegment(id);
    thinning.Add(id, step, 2.5);
    const model::Series& series = builder.series(id);
    ASSERT_LT(series.segment_starts.back(), series.size());
    if (step % 100 == 0) thinning.MakeRoom();
  }
  thinning.Finish();
  const model::Series& series = builder.series(id);
  EXPECT_TRUE(std::is_sorted(series.segment_starts.begin(), series.segment_starts.end(), std::less_equal<>()));
  EXPECT_GT(thinning.stride(), 4U);
  EXPECT_EQ(series.steps.back(), 19'999);
}

TEST(Thinning, KeepsTheFirstTheLastAndBothExtremes) {
  ingest::PartBuilder builder("a.csv", "csv");
  Thinning thinning(builder, 1000);
  const auto id = builder.OpenSeries("loss");
  constexpr int kPoints = 150'001;
  for (int step = 1; step <= kPoints; ++step) {
    // A little above and below the others: neither is another level.
    const double value = step == 77'777 ? 2.75 : step == 99'999 ? 2.25 : 2.5;
    thinning.Add(id, step, value);
    if (step % 100 == 0) thinning.MakeRoom();
  }
  thinning.Finish();
  const model::Series& series = builder.series(id);
  EXPECT_LE(series.size(), 1200U);
  EXPECT_EQ(series.steps.front(), 1);
  EXPECT_EQ(series.steps.back(), kPoints);
  EXPECT_THAT(series.steps, Contains(77'777)) << "the largest";
  EXPECT_THAT(series.steps, Contains(99'999)) << "the smallest";
  EXPECT_EQ(series.segment_starts.size(), 1U);
}

TEST(Thinning, APointThatIsInThePartStaysUntilAllAreThinnedAgain) {
  ingest::PartBuilder builder("a.csv", "csv");
  Thinning thinning(builder, 1000);
  const auto id = builder.OpenSeries("loss");
  model::Column<std::int64_t> before;
  std::uint64_t stride = 1;
  for (int step = 1; step <= 20'000; ++step) {
    thinning.Add(id, step, 2.5 + 0.1 * std::sin(step));
    if (step % 100 == 0) thinning.MakeRoom();
    const model::Column<std::int64_t>& now = builder.series(id).steps;
    if (std::exchange(stride, thinning.stride()) == stride) {
      ASSERT_GE(now.size(), before.size());
      ASSERT_TRUE(std::equal(before.begin(), before.end(), now.begin())) << step;
    }
    before = now;
  }
  EXPECT_GT(stride, 8U);
}

TEST(Thinning, KeepsTheLastPointBeforeARestart) {
  ingest::PartBuilder builder("a.csv", "csv");
  Thinning thinning(builder, 1000);
  const auto id = builder.OpenSeries("loss");
  for (int step = 0; step < 20'001; ++step) {
    thinning.Add(id, step, 2.5);
    if (step % 100 == 0) thinning.MakeRoom();
  }
  for (int step = 19'990; step < 30'000; ++step) thinning.Add(id, step, 2.5);
  const model::Series& series = builder.series(id);
  ASSERT_EQ(series.segment_starts.size(), 2U);
  EXPECT_EQ(series.steps[series.segment_starts[1]], 19'990);
  EXPECT_EQ(series.steps[series.segment_starts[1] - 1], 20'000);
}

TEST(Thinning, PartsOfALossAreAddedUpAlthoughEachKeepsItsOwnExtremes) {
  ingest::PartBuilder builder("a.csv", "csv");
  Thinning thinning(builder, 2000);
  const auto box = builder.OpenSeries("train/box_loss");
  const auto cls = builder.OpenSeries("train/cls_loss");
  for (int step = 0; step < 50'000; ++step) {
    thinning.Add(box, step, step == 33'333 ? 40 : 1 + 0.1 * std::sin(step));
    thinning.Add(cls, step, step == 41'111 ? std::nan("") : 2 + 0.1 * std::cos(step));
    if (step % 100 == 0) thinning.MakeRoom();
  }
  thinning.Finish();
  model::Run run = builder.Finish();
  EXPECT_NE(run.series[0].steps, run.series[1].steps);
  SumLossParts(run);
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_GT(loss->size(), 400U);
  for (const double value : loss->values) EXPECT_NEAR(value, 3, 0.25);
}

TEST(Thinning, ASumGoesOnBehindARestart) {
  model::Run run;
  run.series.resize(2);
  run.series[0].raw = run.series[0].signal = "train/box_loss";
  run.series[1].raw = run.series[1].signal = "train/cls_loss";
  for (model::Series& series : run.series) {
    for (const int step : {1, 2, 3, 4, 2, 3, 4, 5}) series.Append(step, series.size() < 4 ? 1.0 : 2.0);
  }
  SumLossParts(run);
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->values, testing::ElementsAre(2, 2, 2, 2, 4, 4, 4, 4));
  EXPECT_EQ(loss->segment_starts.size(), 2U);
}

TEST(Thinning, KeepsNaNOfASeriesThatJumpsAllTheTime) {
  model::Series series;
  for (int step = 0; step < 1001; ++step)
    series.Append(step, step == 401 || step == 777 ? std::nan("") : 1 + 9 * (step % 2));
  std::vector<std::uint32_t> extra;
  KeepEverySecond(series, false, extra);
  EXPECT_THAT(series.steps, Contains(401));
  EXPECT_THAT(series.steps, Contains(777));
  EXPECT_LT(series.size(), 600U);
}

TEST(Thinning, AStepThatIsWrittenTwiceIsNoRestart) {
  ingest::PartBuilder builder("metrics.csv", "csv");
  const auto reader = OpenCsv(builder);
  ASSERT_NE(reader, nullptr);
  std::string text = "step,loss";
  for (int column = 0; column < 98; ++column) text += fmt::format(",m{}", column);
  text += '\n';
  for (int step = 0; step < 80'000; ++step) {
    for (int twice = 0; twice < 2; ++twice) {
      text += fmt::format("{},2.5", step);
      for (int column = 0; column < 98; ++column) text += ",1.5";
      text += '\n';
    }
    if (text.size() > 500'000) text.erase(0, reader->Consume(text, false));
  }
  reader->Consume(text, true);
  const model::Run run = builder.Finish();
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->segment_starts.size(), 1U);
}

TEST(Thinning, KeepsRestarts) {
  model::Series series;
  for (int start = 0; start < 3; ++start) {
    for (int step = 10 * start; step < 10 * start + 101; ++step) series.Append(step, 1, 1e9 + step, 7);
  }
  std::vector<std::uint32_t> extra;
  KeepEverySecond(series, true, extra);
  ASSERT_EQ(series.segment_starts.size(), 3U);
  EXPECT_EQ(series.steps[series.segment_starts[1]], 10);
  EXPECT_EQ(series.times.size(), series.size());
  EXPECT_EQ(series.lines.size(), series.size());
}

// Restarts, jumps and values that are not finite, at random.
model::Series RandomSeries(std::mt19937& random, std::size_t size) {
  const auto one_in = [&](std::uint64_t many) { return random() % many == 0; };
  const std::uint64_t jumps = 2 + random() % 40;
  const std::uint64_t gaps = one_in(2) ? 1'000'000 : 3 + random() % 60;
  model::Series series;
  for (std::int64_t step = 0; series.size() < size; ++step) {
    if (one_in(50)) step = std::max<std::int64_t>(0, step - static_cast<std::int64_t>(random() % 30));
    const double value = 1 + 0.001 * static_cast<double>(random() % 1000) + (one_in(jumps) ? 50 : 0);
    series.Append(step, one_in(gaps) ? std::nan("") : value, 1e9 + static_cast<double>(series.size()));
  }
  return series;
}

// The rule, point by point: places that stay.
std::vector<std::size_t> PlacesThatStay(const model::Series& series, bool spikes, std::set<std::size_t> extra) {
  Extremes extremes;
  std::size_t turns = 0;
  std::size_t first_gap = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double value = series.values[i];
    const bool was_finite = i == 0 || std::isfinite(series.values[i - 1]);
    if (std::isfinite(value) != was_finite) ++turns;
    if (!std::isfinite(value) && first_gap == 0) first_gap = i;
    if (std::isfinite(value)) extremes = {std::min(extremes.least, value), std::max(extremes.most, value)};
  }
  const auto place = [&](double value) { return std::find(series.values.begin(), series.values.end(), value); };
  std::set<std::size_t> pinned = {0, first_gap, series.size() - 1};
  for (const double value : {extremes.least, extremes.most})
    pinned.insert(static_cast<std::size_t>(place(value) - series.values.begin()));
  const std::set<std::size_t> starts(series.segment_starts.begin(), series.segment_starts.end());
  std::vector<std::size_t> stay;
  std::size_t turn = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const double value = series.values[i];
    const double before = stay.empty() ? value : series.values[stay.back()];
    const bool turned = std::isfinite(value) != std::isfinite(before);
    const bool stands_out = spikes ? LeavesLevel(value, before) : turned && turns <= series.size() / 8;
    const bool due = !extra.contains(i) && turn++ % 2 == 0;
    if (due || pinned.contains(i) || stands_out || (spikes && starts.contains(i))) stay.push_back(i);
  }
  return stay;
}

TEST(Thinning, KeepsWhatTheRuleSaysPointByPoint) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    model::Series series = RandomSeries(random, 1 + random() % 700);
    std::vector<std::uint32_t> extra;
    for (int halvings = 0; halvings < 4 && series.size() > 1; ++halvings) {
      const bool spikes = random() % 3 != 0;
      const model::Series before = series;
      const std::vector<std::size_t> stay = PlacesThatStay(before, spikes, {extra.begin(), extra.end()});
      KeepEverySecond(series, spikes, extra);
      ASSERT_EQ(series.size(), stay.size()) << "round " << round;
      for (std::size_t i = 0; i < stay.size(); ++i) {
        ASSERT_EQ(series.steps[i], before.steps[stay[i]]) << "round " << round;
        ASSERT_EQ(series.times[i], before.times[stay[i]]) << "round " << round;
        const bool goes_back = i == 0 || series.steps[i] <= series.steps[i - 1];
        const bool starts = std::count(series.segment_starts.begin(), series.segment_starts.end(), i) == 1;
        ASSERT_TRUE(starts || !goes_back) << "round " << round << ": no segment at " << i;
      }
    }
  }
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
  ingest::PartBuilder builder("metrics.csv", "csv");
  const auto reader = OpenCsv(builder);
  ASSERT_NE(reader, nullptr);
  std::string text = "step,loss,grad_norm,lr,a,b,c,d,e,f\n";
  for (std::int64_t step = 0; step < 1'000'000; step += 10'000) {
    text += Rows(step, 10'000);
    text.erase(0, reader->Consume(text, false));
  }
  reader->Consume(text, true);
  const model::Run run = builder.Finish();
  EXPECT_LE(PointsOf(run), kMostPoints + 100'000);
  EXPECT_GT(PointsOf(run), kMostPoints / 4);
  EXPECT_THAT(report::NoteText(run.sources.front()), HasSubstr("too many points to keep: 1 in 2"));
  const model::Series* lr = run.Find("a");
  ASSERT_NE(lr, nullptr);
  EXPECT_THAT(lr->steps, Contains(700'001));
  EXPECT_EQ(lr->steps.back(), 999'999);
}

}  // namespace
}  // namespace vigil::tabular
