// Rows of one shape go a short way through the table: the same series as row by row with all care.
#include "tabular/metric_table.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "ingest/ingest.h"

namespace vigil::tabular {
namespace {

struct TableRow {
  double step = 0;
  double epoch = 0;
  double loss = 0;
  bool lacks_loss = false;
};

// How often, in a hundred rows, something happens that does not in a plain log.
struct Habits {
  unsigned goes_back = 0;
  unsigned repeats = 0;
  unsigned epoch_rises = 0;
  unsigned epoch_falls = 0;
  unsigned gaps = 0;
};

std::vector<TableRow> MakeRows(const Habits& habits, std::mt19937& random) {
  std::vector<TableRow> rows;
  const auto below = [&](unsigned limit) { return static_cast<double>(random() % limit); };
  const auto happens = [&](unsigned in_hundred) { return below(100) < in_hundred; };
  TableRow now{1, 1, 2.5, false};
  for (int i = 0; i < 1200; ++i) {
    if (happens(habits.goes_back))
      now.step = below(static_cast<unsigned>(now.step) + 1);
    else if (!happens(habits.repeats))
      now.step += 1 + below(3);
    if (happens(habits.epoch_rises)) now.epoch += 1;
    if (happens(habits.epoch_falls)) now.epoch = std::max(0.0, now.epoch - 1 - below(3));
    now.loss = 1 + 0.001 * below(1000);
    now.lacks_loss = happens(habits.gaps);
    rows.push_back(now);
  }
  return rows;
}

// With care: rows whose last cell may be cut are never taken for like the one before. It is a number that nobody would
// doubt, so that nothing else changes.
model::Run Read(const std::vector<TableRow>& rows, bool with_care, std::uint64_t most_points) {
  ingest::PartBuilder builder("a.csv", "csv");
  MetricTable table(builder, most_points);
  const ColumnId step = table.AddColumn("step");
  const ColumnId epoch = table.AddColumn("epoch");
  const ColumnId loss = table.AddColumn("loss");
  const ColumnId speed = table.AddColumn("tokens_per_second");
  std::uint32_t line = 0;
  for (const TableRow& row : rows) {
    ++line;
    const std::vector<Cell> cells = {{step, line, false, row.step},
                                     {epoch, line, false, row.epoch},
                                     {loss, line, row.lacks_loss, row.loss},
                                     {speed, line, false, 100.0 + line % 7}};
    Row handed{cells};
    handed.last_may_be_cut = with_care;
    table.Add(handed);
    if (line % 300 == 0) table.Flush();  // as at the end of the bytes at hand
  }
  table.Finish();
  return builder.Finish();
}

void ExpectSame(const model::Run& fast, const model::Run& careful) {
  ASSERT_EQ(fast.series.size(), careful.series.size());
  for (std::size_t i = 0; i < fast.series.size(); ++i) {
    const model::Series& a = fast.series[i];
    const model::Series& b = careful.series[i];
    EXPECT_EQ(a.raw, b.raw);
    EXPECT_EQ(a.steps, b.steps) << a.raw;
    EXPECT_EQ(a.lines, b.lines) << a.raw;
    EXPECT_EQ(a.segment_starts, b.segment_starts) << a.raw;
    ASSERT_EQ(a.size(), b.size()) << a.raw;
    for (std::size_t at = 0; at < a.size(); ++at)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(a.values[at]), std::bit_cast<std::uint64_t>(b.values[at])) << a.raw;
  }
}

TEST(MetricTable, PlacesRowsOfOneShapeAsItDoesWithCareWhereverStepsAndEpochsGoBack) {
  constexpr Habits kHabits[] = {
      {0, 0, 1, 0, 0},    // a plain log
      {2, 0, 1, 0, 0},    // restarts
      {0, 0, 40, 50, 0},  // epochs that go back all the time, under steps that go on
      {30, 0, 40, 0, 0},  // steps that begin again with each epoch
      {50, 10, 0, 0, 0},  // and without one
      {20, 20, 20, 20, 0}, {20, 20, 20, 20, 20}, {5, 5, 5, 5, 3},
  };
  std::mt19937 random(7);
  for (const Habits& habits : kHabits) {
    for (int round = 0; round < 12; ++round) {
      SCOPED_TRACE(testing::Message() << "habits " << (&habits - kHabits) << ", round " << round);
      const std::vector<TableRow> rows = MakeRows(habits, random);
      ExpectSame(Read(rows, false, kMostPoints), Read(rows, true, kMostPoints));
      constexpr std::uint64_t kThinned = 1000;
      ExpectSame(Read(rows, false, kThinned), Read(rows, true, kThinned));
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace vigil::tabular
