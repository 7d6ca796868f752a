// Journals: bytes a sample, and the speed of packing and reading, against the same samples as raw numbers (with and
// without zstd) and as a TensorBoard event file.
#include <zstd.h>

#include <cmath>
#include <random>

#include "codec/codec.h"
#include "import/import.h"
#include "journal/journal.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr std::size_t kSeries = 8;
constexpr std::array<std::string_view, kSeries> kNames = {"train/loss",  "train/grad_norm", "train/learning_rate",
                                                          "train/acc",   "train/tokens",    "train/epoch",
                                                          "train/scale", "train/step_time"};

struct Row {
  std::int64_t step = 0;
  std::uint64_t time_ms = 0;
  std::array<double, kSeries> values = {};
};

// What trainers log: noisy floats, a schedule in doubles, counters, a constant.
std::vector<Row> MakeRows(std::int64_t steps) {
  std::mt19937 random(3);
  std::normal_distribution<double> noise(0, 0.05);
  std::vector<Row> rows;
  for (std::int64_t step = 0; step < steps; ++step) {
    const double x = static_cast<double>(step) / static_cast<double>(steps);
    const double loss = 2 + 3 / std::sqrt(1 + 0.01 * static_cast<double>(step));
    Row row;
    row.step = step;
    row.time_ms = static_cast<std::uint64_t>(step) * 437 + random() % 8;
    row.values = {static_cast<float>(loss * std::exp(noise(random))),
                  static_cast<float>(std::exp(10 * noise(random))),
                  3e-4 * 0.5 * (1 + std::cos(3.14159265358979 * x)),
                  static_cast<float>(0.4 + noise(random)),
                  static_cast<double>(step) * 524288,
                  x,
                  1.5,
                  static_cast<float>(0.4 + 0.1 * noise(random))};
    rows.push_back(row);
  }
  return rows;
}

std::string MakeJournal(const std::vector<Row>& rows, std::size_t rows_per_block) {
  std::string bytes = journal::FileHeader();
  journal::BlockBuilder builder;
  for (std::uint32_t id = 0; id < kSeries; ++id) {
    journal::Definition definition;
    definition.id = id;
    definition.name = kNames[id];
    builder.AddEntry(journal::Section::kDefinitions, EncodeEntry(definition));
  }
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::uint32_t id = 0; id < kSeries; ++id) builder.Add(id, rows[i].step, rows[i].values[id], rows[i].time_ms);
    if ((i + 1) % rows_per_block == 0 || i + 1 == rows.size()) builder.Finish(number++, bytes);
  }
  return bytes;
}

template <class Number>
void PutRaw(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string MakeRaw(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    for (const double value : row.values) {
      PutRaw(out, row.step);
      PutRaw(out, row.time_ms);
      PutRaw(out, value);
    }
  }
  return out;
}

// The size of the events that torch's SummaryWriter would write: one record a scalar, floats.
std::size_t EventFileBytes(const std::vector<Row>& rows) {
  std::size_t bytes = 0;
  for (const Row& row : rows) {
    for (const std::string_view name : kNames) {
      const std::size_t inner = 2 + name.size() + 5;
      const std::size_t summary = 2 + inner;
      std::size_t step = 2;
      for (auto rest = static_cast<std::uint64_t>(row.step); rest >= 0x80; rest >>= 7U) ++step;
      bytes += codec::kTfRecordHeaderBytes + 9 + step + 2 + summary + codec::kTfRecordFooterBytes;
    }
  }
  return bytes;
}

std::size_t Zstd(const std::string& raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  return ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3);
}

void PrintSize(std::string_view what, std::size_t bytes, double samples, std::size_t ours) {
  fmt::print("  {:<52} {:>8.2f} bytes/sample  {:>6.1f}x\n", what, static_cast<double>(bytes) / samples,
             static_cast<double>(bytes) / static_cast<double>(ours));
}

int Main() {
  constexpr std::int64_t kSteps = 200'000;
  const auto rows = MakeRows(kSteps);
  const double samples = static_cast<double>(kSteps) * kSeries;
  const std::string raw = MakeRaw(rows);
  std::string journal;
  const double write = BestSeconds(3, [&] { journal = MakeJournal(rows, 2000); });
  fmt::print("{} steps of {} series\n", kSteps, kSeries);
  PrintSize("journal, full blocks", journal.size(), samples, journal.size());
  for (const std::size_t block : {100U, 4U, 1U})
    PrintSize(fmt::format("journal, {} steps a block", block), MakeJournal(rows, block).size(), samples,
              journal.size());
  PrintSize("step, time and value as they are", raw.size(), samples, journal.size());
  PrintSize("the same with zstd", Zstd(raw), samples, journal.size());
  PrintSize("TensorBoard event file (floats, one event a scalar)", EventFileBytes(rows), samples, journal.size());

  const TemporaryFile file("rank-0.vigil", journal);
  std::size_t points = 0;
  const double read = BestSeconds(5, [&] {
    points = 0;
    const auto run = import::ReadFile(file.path());
    for (const model::Series& series : run->series) points += series.size();
  });
  if (points != static_cast<std::size_t>(samples)) {
    fmt::print("  FAILED: read {} of {} samples\n", points, samples);
    return 1;
  }
  const double raw_bytes = static_cast<double>(raw.size());
  fmt::print("  packing {:>7.2f} GB/s of raw samples  {:>6.1f} ns/sample\n", raw_bytes / write * 1e-9,
             write * 1e9 / samples);
  fmt::print("  reading {:>7.2f} GB/s of raw samples  {:>6.1f} ns/sample, file to columns, checksums on\n",
             raw_bytes / read * 1e-9, read * 1e9 / samples);
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
