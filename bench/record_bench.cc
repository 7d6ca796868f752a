// Recording a scalar: time, allocations and system calls, from one thread and from many, against the cheapest thing
// that could be done instead (appending to a vector) and against writing a line to a file.
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <thread>
#include <vector>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "record/record.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr std::int64_t kScalars = 60'000;  // what a lane holds: nothing is dropped while the clock runs

struct Recording {
  Recording() {
    folder = fmt::format("/tmp/vigil_bench_{}", ::getpid());
    record::Options options;
    options.folder = folder;
    options.flush_interval_ms = 3'600'000;
    std::string message;
    if (record::Open(options, run, message) != record::Code::kOk) fmt::print("  FAILED: {}\n", message);
    journal::Definition definition;
    definition.name = "loss";
    static_cast<void>(record::OpenSeries(run, definition, series));
  }
  ~Recording() {
    static_cast<void>(record::Close(run, 0));
    std::filesystem::remove_all(folder);
  }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  std::string folder;
  record::RunHandle run = 0;
  record::SeriesHandle series = 0;
};

void PrintNs(const Bench& bench, std::string_view what, double seconds, double scalars) {
  bench.Print("  {:<52} {:>8.1f} ns/scalar\n", what, seconds * 1e9 / scalars);
}

double OneThread(const Recording& recording, int rounds) {
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    static_cast<void>(record::Flush(recording.run, 10'000));
    const double seconds = BestSeconds(1, [&] {
      for (std::int64_t step = 0; step < kScalars; ++step)
        static_cast<void>(record::Add(recording.series, step, static_cast<double>(step) * 0.1));
    });
    best = std::min(best, seconds);
  }
  return best;
}

// What was measured is recording: every scalar came into the journal.
void CheckAllWritten(Bench& bench, const Recording& recording, int rounds) {
  static_cast<void>(record::Flush(recording.run, 10'000));
  record::RunStatus status;
  const bool known = record::GetStatus(recording.run, status) == record::Code::kOk;
  bench.Check(known && status.dropped_records == 0, "{} records were dropped", status.dropped_records);
  const std::size_t points = PointsOf(formats::ReadFile(recording.folder + "/rank-0.vigil"));
  const auto expected = static_cast<std::size_t>(rounds) * kScalars;
  bench.Check(points == expected, "{} of {} scalars are in the journal", points, expected);
}

// Processor time of a call, when that many threads record at once: what sharing costs, whatever the number of cores.
double ManyThreads(const Recording& recording, int count) {
  std::atomic<double> total = 0;
  std::vector<std::thread> threads;
  constexpr std::int64_t kEach = 20'000;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      static_cast<void>(record::Add(recording.series, 0, 0));  // the lane is claimed
      const double before = ThreadCpuSeconds();
      for (std::int64_t step = 0; step < kEach; ++step) static_cast<void>(record::Add(recording.series, step, 0.1));
      total.fetch_add(ThreadCpuSeconds() - before);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return total / count / kEach;
}

void Main(Bench& bench) {
  const Recording recording;
  const int rounds = bench.Repeats(30);
  const double ours = OneThread(recording, rounds);
  CheckAllWritten(bench, recording, rounds);
  const std::size_t heap_before = ::mallinfo2().uordblks;
  for (std::int64_t step = 0; step < kScalars; ++step) static_cast<void>(record::Add(recording.series, step, 1));
  const std::size_t heap = ::mallinfo2().uordblks - heap_before;
  std::vector<std::pair<std::int64_t, double>> kept;
  const double vector = BestSeconds(rounds, [&] {
    kept.clear();
    for (std::int64_t step = 0; step < kScalars; ++step) kept.emplace_back(step, static_cast<double>(step) * 0.1);
  });
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::tmpfile(), std::fclose);
  const double lines = BestSeconds(bench.Repeats(5), [&] {
    for (std::int64_t step = 0; step < kScalars; ++step)
      fmt::print(file.get(), "{{\"step\": {}, \"loss\": {}}}\n", step, static_cast<double>(step) * 0.1);
  });
  bench.Print("one scalar, from the call to the shared memory (budget 30 ns)\n");
  PrintNs(bench, "vigil, one thread", ours, kScalars);
  for (const int count : {2, 8, 62, 64}) {
    bench.Print("  {:<52} {:>8.1f} ns/scalar\n", fmt::format("vigil, {} threads, processor time of one", count),
                ManyThreads(recording, count) * 1e9);
  }
  PrintNs(bench, "appending to a vector", vector, kScalars);
  PrintNs(bench, "a buffered JSON line", lines, kScalars);
  bench.Print("  heap grown by {} scalars: {} bytes; system calls and allocations are counted by record_test\n",
              kScalars, heap);
  bench.Print("  {:.1f} times the vector, {:.2f} of a JSON line\n", ours / vector, ours / lines);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
