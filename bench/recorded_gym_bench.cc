// What recording costs a training: whole runs of the gym, with nothing but its log, with journals of what a step
// logs (memory of the process included), and with the norms and activations of all layers too, in turns. In the
// processor time of the whole process: the recorder's own thread counts.
#include <filesystem>
#include <vector>

#include "formats/formats.h"
#include "gym/gym.h"
#include "ingest/ingest.h"
#include "support.h"

namespace vigil::bench {
namespace {

double ProcessCpuSeconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The journal holds the loss of every step: what was measured was recorded.
void CheckJournal(Bench& bench, const std::string& path, int steps) {
  const auto run = formats::ReadFile(path);
  std::size_t most = 0;
  for (std::size_t i = 0; run && i < run->series.size(); ++i) most = std::max(most, run->series[i].size());
  bench.Check(most == static_cast<std::size_t>(steps), "the journal has {} of {} steps", most, steps);
}

// Processor time of one run.
double RunSeconds(Bench& bench, gym::Options options, int steps, const std::string& folder) {
  options.out = folder;
  options.steps = steps;
  options.threads = 1;
  options.eval_every = 0;
  const double before = ProcessCpuSeconds();
  const auto summary = gym::Train(options, {});
  const double seconds = ProcessCpuSeconds() - before;
  bench.Check(summary.has_value(), "a training failed: {}", summary ? "" : summary.error().Text());
  if (options.journal) CheckJournal(bench, folder + "/rank-0.vigil", steps);
  std::filesystem::remove_all(folder);
  return seconds;
}

struct Way {
  const char* name;
  bool metrics;
  bool journal;
  std::int64_t stats_every;
};
constexpr Way kWays[] = {{"its log alone", false, false, 0},
                         {"a journal: ten numbers a step, a fingerprint, memory", true, true, 0},
                         {"a journal, and every 10th step all layers", true, true, 10},
                         {"metrics.jsonl instead, the same numbers", true, false, 10}};

// The least of all turns: what a busy machine adds is not ours.
struct Cost {
  double start_s = std::numeric_limits<double>::infinity();  // a run of one step
  double whole_s = std::numeric_limits<double>::infinity();
  double step_s(int steps) const { return (whole_s - start_s) / (steps - 1); }
};

void Main(Bench& bench) {
  const int turns = bench.Repeats(15);
  const int steps = bench.Size(101, 11);
  const std::string folder = fmt::format("{}/bench_gym_{}", VIGIL_BINARY_DIR, ::getpid());  // /tmp may be memory
  std::array<Cost, std::size(kWays)> costs;
  for (int turn = 0; turn < turns; ++turn) {
    for (std::size_t i = 0; i < std::size(kWays); ++i) {
      gym::Options options;
      options.metrics = kWays[i].metrics;
      options.journal = kWays[i].journal;
      options.stats_every = kWays[i].stats_every;
      costs[i].start_s = std::min(costs[i].start_s, RunSeconds(bench, options, 1, folder));
      costs[i].whole_s = std::min(costs[i].whole_s, RunSeconds(bench, options, steps, folder));
    }
  }
  bench.Print("runs of the gym, default model, one thread, {} steps: {:.2f} ms a step (budget of recording 0.5%)\n",
              steps, costs[0].step_s(steps) * 1e3);
  for (std::size_t i = 1; i < std::size(kWays); ++i) {
    bench.Print("  {:<56} {:>+6.2f}% of a step, {:>+6.2f}% of the run, {:.1f} ms at its start and end\n", kWays[i].name,
                100 * (costs[i].step_s(steps) / costs[0].step_s(steps) - 1),
                100 * (costs[i].whole_s / costs[0].whole_s - 1), (costs[i].start_s - costs[0].start_s) * 1e3);
  }
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
