// Journals: bytes a sample against the same samples as raw numbers (with and without zstd, by rows and by columns) and
// as the event file that tensorboard's own writer makes of them; the speed of packing, of writing to a file on disk, of
// the whole way through the recorder, and of reading.
#include <fcntl.h>
#include <zstd.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <span>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "journal/journal.h"
#include "record/record.h"
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

// Packs rows into blocks, and gives the bytes of each to `take`.
template <class Take>
void PackJournal(std::span<const Row> rows, std::size_t rows_per_block, const Take& take) {
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
    if ((i + 1) % rows_per_block != 0 && i + 1 != rows.size()) continue;
    builder.Finish(number++, bytes);
    take(bytes);
    bytes.clear();
  }
}

std::string MakeJournal(std::span<const Row> rows, std::size_t rows_per_block) {
  std::string whole;
  PackJournal(rows, rows_per_block, [&](const std::string& bytes) { whole += bytes; });
  return whole;
}

template <class Number>
void PutRaw(std::string& out, Number value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// One sample behind the other, as they come.
std::string ByRows(std::span<const Row> rows) {
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

// Series by series: its steps, its times, its values.
std::string ByColumns(std::span<const Row> rows) {
  std::string out;
  for (std::size_t series = 0; series < kSeries; ++series) {
    for (const Row& row : rows) PutRaw(out, row.step);
    for (const Row& row : rows) PutRaw(out, row.time_ms);
    for (const Row& row : rows) PutRaw(out, row.values[series]);
  }
  return out;
}

// As columns of one table, whose rows need one step and one time: what a program that knows its series in advance can
// do.
std::string AsTable(std::span<const Row> rows) {
  std::string out;
  for (const Row& row : rows) PutRaw(out, row.step);
  for (const Row& row : rows) PutRaw(out, row.time_ms);
  for (std::size_t series = 0; series < kSeries; ++series) {
    for (const Row& row : rows) PutRaw(out, row.values[series]);
  }
  return out;
}

std::size_t Zstd(const std::string& raw) {
  std::string packed(ZSTD_compressBound(raw.size()), '\0');
  return ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 3);
}

void PrintSize(std::string_view what, std::size_t bytes, double samples, std::size_t ours) {
  fmt::print("  {:<52} {:>8.2f} bytes/sample  {:>6.1f}x\n", what, static_cast<double>(bytes) / samples,
             static_cast<double>(bytes) / static_cast<double>(ours));
}

// The file that tensorboard's writer makes of the same samples: as many as Python can write in a few seconds.
void CompareTensorBoard(std::span<const Row> all) {
  const auto rows = all.first(std::min<std::size_t>(all.size(), 20'000));
  const TemporaryFile samples("samples", ByRows(rows));
  const std::string folder = samples.path() + "_events";
  std::string command = fmt::format(
      "'{0}/bench/peers/install.sh' 2>&1 && '{0}/build/peers/bin/python' '{0}/bench/peers/tensorboard_writer.py' '{1}' "
      "'{2}'",
      VIGIL_SOURCE_DIR, samples.path(), folder);
  for (const std::string_view name : kNames) command += fmt::format(" '{}'", name);
  std::fflush(stdout);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen((command + " 2>/dev/null").c_str(), "r"), ::pclose);
  std::array<char, 512> line = {};
  const bool told = pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr;
  const auto words = Split(Trim(line.data()), '\t');
  const auto bytes = told && words.size() == 2 ? ParseNumber(words[0]) : std::nullopt;
  if (bytes) {
    const double count = static_cast<double>(rows.size() * kSeries);
    const std::size_t ours = MakeJournal(rows, 2000).size();
    PrintSize(fmt::format("event file by tensorboard, first {} steps", rows.size()), static_cast<std::size_t>(*bytes),
              count, ours);
    PrintSize("journal of these", ours, count, ours);
  } else {
    fmt::print("  peer not run: {}\n", Trim(line.data()));
  }
  std::filesystem::remove_all(folder);
}

double WallSeconds() { return static_cast<double>(platform::MonotonicNs()) * 1e-9; }

struct Times {
  double wall_s = std::numeric_limits<double>::infinity();
  double processor_s = std::numeric_limits<double>::infinity();
};

// The least times of `repeats` that `write(descriptor)` and the wait for the disk take, for a new file each time.
template <class Write>
Times ToDisk(int repeats, const Write& write) {
  const std::string path = fmt::format("{}/journal_bench_{}", VIGIL_BINARY_DIR, ::getpid());  // /tmp may be memory
  Times best;
  for (int i = 0; i < repeats; ++i) {
    const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    const double before = WallSeconds();
    const double processor_before = ThreadCpuSeconds();
    write(file);
    ::fdatasync(file);
    best.wall_s = std::min(best.wall_s, WallSeconds() - before);
    best.processor_s = std::min(best.processor_s, ThreadCpuSeconds() - processor_before);
    ::close(file);
    std::remove(path.c_str());
  }
  return best;
}

void WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) std::abort();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

struct Recorded {
  double seconds = 0;
  std::uint64_t lost = 0;
};

// The whole way: record calls, ring, the recorder's thread, a file on disk. Flushed whenever the ring may be half full,
// since a training is slower than this loop.
Recorded ThroughRecorder(std::span<const Row> rows) {
  const std::string folder = fmt::format("{}/journal_bench_run_{}", VIGIL_BINARY_DIR, ::getpid());
  record::Options options;
  options.folder = folder;
  record::RunHandle run = 0;
  std::string message;
  Recorded recorded;
  if (record::Open(options, run, message) != record::Code::kOk) return recorded;
  std::array<record::SeriesHandle, kSeries> series = {};
  for (std::size_t id = 0; id < kSeries; ++id) {
    journal::Definition definition;
    definition.name = kNames[id];
    static_cast<void>(record::OpenSeries(run, definition, series[id]));
  }
  constexpr std::size_t kRowsBetween = 2000;
  const double before = WallSeconds();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t id = 0; id < kSeries; ++id)
      static_cast<void>(record::Add(series[id], rows[i].step, rows[i].values[id]));
    if ((i + 1) % kRowsBetween == 0) static_cast<void>(record::Flush(run, 10'000));
  }
  record::RunStatus status;
  static_cast<void>(record::GetStatus(run, status));
  static_cast<void>(record::Close(run, 0));
  recorded.seconds = WallSeconds() - before;
  recorded.lost = status.lost_records;
  std::filesystem::remove_all(folder);
  return recorded;
}

int Main() {
  constexpr std::int64_t kSteps = 200'000;
  const auto rows = MakeRows(kSteps);
  const double samples = static_cast<double>(kSteps) * kSeries;
  const std::string raw = ByRows(rows);
  std::string journal;
  const double pack = BestSeconds(3, [&] { journal = MakeJournal(rows, 2000); });
  fmt::print("{} steps of {} series\n", kSteps, kSeries);
  PrintSize("journal, full blocks", journal.size(), samples, journal.size());
  for (const std::size_t block : {100U, 4U, 1U})
    PrintSize(fmt::format("journal, {} steps a block", block), MakeJournal(rows, block).size(), samples,
              journal.size());
  PrintSize("step, time and value as they are", raw.size(), samples, journal.size());
  PrintSize("the same with zstd, sample by sample", Zstd(raw), samples, journal.size());
  PrintSize("the same with zstd, column by column", Zstd(ByColumns(rows)), samples, journal.size());
  PrintSize("one table with zstd: step and time once a row", Zstd(AsTable(rows)), samples, journal.size());
  CompareTensorBoard(rows);

  const TemporaryFile file("rank-0.vigil", journal);
  std::size_t points = 0;
  const double read = BestSeconds(5, [&] {
    points = 0;
    const auto run = formats::ReadFile(file.path());
    for (const model::Series& series : run->series) points += series.size();
  });
  if (points != static_cast<std::size_t>(samples)) {
    fmt::print("  FAILED: read {} of {} samples\n", points, samples);
    return 1;
  }
  const Times write =
      ToDisk(7, [&](int to) { PackJournal(rows, 2000, [&](const std::string& bytes) { WriteAll(to, bytes); }); });
  const Times write_raw = ToDisk(7, [&](int to) { WriteAll(to, raw); });
  const Recorded recorded = ThroughRecorder(rows);
  const auto print = [&](std::string_view what, double seconds, std::string_view how) {
    fmt::print("  {:<28} {:>6.2f} GB/s of raw samples  {:>6.1f} ns/sample, {}\n", what,
               static_cast<double>(raw.size()) / seconds * 1e-9, seconds * 1e9 / samples, how);
  };
  print("packing", pack, "in memory, processor time");
  print("writing", write.processor_s, "packed and written to a file on disk, processor time");
  print("writing", write.wall_s, "the same with the wait for the disk (fdatasync), wall time");
  print("raw samples", write_raw.processor_s, "written as they are, processor time");
  print("raw samples", write_raw.wall_s, "the same with the wait for the disk, wall time");
  print("recording", recorded.seconds,
        fmt::format("record calls to a closed journal on disk, wall time, {} lost", recorded.lost));
  print("reading", read, "file to columns, checksums on, processor time");
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
