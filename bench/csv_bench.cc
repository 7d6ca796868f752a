// Reading of tables of metrics, against copying the bytes, reading the file, and Python's readers of such tables.
#include <random>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr std::size_t kColumns = 8;
constexpr std::size_t kKeptWhole = 500'000;  // rows of a table this wide that no reader thins

double RateOf(std::size_t row, std::size_t rows) {
  return 0.0003 * static_cast<double>(rows - row) / static_cast<double>(rows);
}
double ScoreOf(std::size_t row) { return 0.1 + 0.01 * static_cast<double>(row % 100); }

// What a logger with eight metrics leaves: Python's shortest form of doubles and of floats turned to doubles.
std::string MakeTable(std::size_t rows) {
  std::string out = "step,train/loss,grad_norm,lr,entropy,tokens_per_s,accuracy,step_time,eval_score\n";
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto noise = static_cast<double>(uniform(random));
    out +=
        fmt::format("{},{},{:.4f},{},{:.6g},{:.1f},{},{:.3f},{}\n", i, 2.5 + noise, 0.5 + noise, RateOf(i, rows), noise,
                    100'000 + 1000 * noise, static_cast<double>(uniform(random)), 0.25 + noise * 0.01, ScoreOf(i));
  }
  return out;
}

// A long table is thinned by design, so the number of points says nothing: what is kept must be what was written, of
// every metric, from the first row to the last.
void CheckRun(Bench& bench, const ingest::Reading<model::Run>& run, std::size_t rows) {
  bench.Check(run && run->series.size() == kColumns, "the table was not read as {} metrics", kColumns);
  if (!run) return;
  for (const model::Series& series : run->series) {
    const std::size_t kept = series.size();
    bench.Check(kept > 0 && kept <= rows && (kept == rows || rows > kKeptWhole), "{}: {} points of {} rows", series.raw,
                kept, rows);
    if (kept == 0) continue;
    const auto last = static_cast<std::size_t>(series.steps.back());
    bench.Check(series.steps.front() == 0 && last == rows - 1, "{}: steps {} to {} of {} rows", series.raw,
                series.steps.front(), last, rows);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kept; ++i) {
      const auto row = static_cast<std::size_t>(series.steps[i]);
      wrong += series.raw == "lr" && series.values[i] != RateOf(row, rows) ? 1 : 0;
      wrong += series.raw == "eval_score" && series.values[i] != ScoreOf(row) ? 1 : 0;
    }
    bench.Check(wrong == 0, "{}: {} values are not those of their row", series.raw, wrong);
  }
}

void Main(Bench& bench) {
  const std::size_t rows = bench.Size<std::size_t>(1'000'000, 2'000);
  const std::string content = MakeTable(rows);
  const TemporaryFile file("metrics.csv", content);
  bench.Print("table of {} rows and {} metrics: {:.0f} MB, {:.1f} bytes a cell\n", rows, kColumns,
              Megabytes(content.size()),
              static_cast<double>(content.size()) / static_cast<double>(rows * (kColumns + 1)));
  const double seconds = BestSeconds(bench.Repeats(7), [&] { static_cast<void>(formats::ReadFile(file.path())); });
  CheckRun(bench, formats::ReadFile(file.path()), rows);
  const Limits limits = MeasureLimits(bench, file.path(), content);
  const std::size_t cells = rows * (kColumns + 1);
  bench.PrintRate("vigil, file to columns", content.size(), seconds, cells, "cell");
  bench.PrintRate("reading the bytes (page cache)", content.size(), limits.read_seconds, cells, "cell");
  bench.PrintRate("copying the bytes (memcpy)", content.size(), limits.copy_seconds, cells, "cell");
  bench.Print("  {:.1f} times the time of reading, {:.1f} times that of copying\n", seconds / limits.read_seconds,
              seconds / limits.copy_seconds);
  ComparePeer(bench, "csv_readers.py", file.path(), content.size(), seconds / static_cast<double>(content.size()));
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
