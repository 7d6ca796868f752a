// Reading of tables of metrics, against copying the bytes, reading the file, and Python's readers of such tables.
#include <random>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr std::size_t kColumns = 8;

// What a logger with eight metrics leaves: Python's shortest form of doubles and of floats turned to doubles.
std::string MakeTable(std::size_t rows) {
  std::string out = "step,train/loss,grad_norm,lr,entropy,tokens_per_s,accuracy,step_time,eval_score\n";
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(0, 1);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto noise = static_cast<double>(uniform(random));
    const double lr = 0.0003 * static_cast<double>(rows - i) / static_cast<double>(rows);
    out += fmt::format("{},{},{:.4f},{},{:.6g},{:.1f},{},{:.3f},{}\n", i, 2.5 + noise, 0.5 + noise, lr, noise,
                       100'000 + 1000 * noise, static_cast<double>(uniform(random)), 0.25 + noise * 0.01,
                       0.1 + 0.01 * static_cast<double>(i % 100));
  }
  return out;
}

int Main() {
  constexpr std::size_t kRows = 1'000'000;
  const std::string content = MakeTable(kRows);
  const TemporaryFile file("metrics.csv", content);
  fmt::print("table of {} rows and {} metrics: {:.0f} MB, {:.1f} bytes a cell\n", kRows, kColumns,
             Megabytes(content.size()), static_cast<double>(content.size()) / (kRows * (kColumns + 1)));
  std::size_t points = 0;
  const double seconds = BestSeconds(7, [&] {
    const auto part = formats::ReadFile(file.path());
    points = 0;
    for (const model::Series& series : part->series) points += series.size();
  });
  if (points != kRows * kColumns) {
    fmt::print("  FAILED: read {} of {} values\n", points, kRows * kColumns);
    return 1;
  }
  const Limits limits = MeasureLimits(file.path(), content);
  constexpr std::size_t kCells = kRows * (kColumns + 1);
  PrintRate("vigil, file to columns", content.size(), seconds, kCells, "cell");
  PrintRate("reading the bytes (page cache)", content.size(), limits.read_seconds, kCells, "cell");
  PrintRate("copying the bytes (memcpy)", content.size(), limits.copy_seconds, kCells, "cell");
  fmt::print("  {:.1f} times the time of reading, {:.1f} times that of copying\n", seconds / limits.read_seconds,
             seconds / limits.copy_seconds);
  ComparePeer("csv_readers.py", file.path(), content.size(), seconds / static_cast<double>(content.size()));
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
