// Discovery and joining: a folder of small runs, from walking it to joined runs. The cost of a run must not grow with
// the number of runs: the ratio of ten times as many is given.
#include <filesystem>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support.h"

namespace vigil::bench {
namespace {

// Runs of three files: metrics, settings, and a log that tells the same numbers with fewer digits.
void MakeRun(const std::filesystem::path& folder, int seed) {
  std::filesystem::create_directories(folder / "logs");
  std::string rows;
  std::string log;
  for (int step = 10; step <= 400; step += 10) {
    const double noise =
        static_cast<double>((seed * 2654435761U + static_cast<unsigned>(step) * 40503U) % 1000U) * 1e-4;
    const double loss = 3.0 / (1 + 0.01 * step) + noise;
    rows +=
        fmt::format("{{\"step\": {}, \"loss\": {:.6f}, \"learning_rate\": 0.0001, \"grad_norm\": 1.5}}\n", step, loss);
    log += fmt::format("step {} loss: {:.4f} lr: 0.0001\n", step, loss);
  }
  std::ofstream(folder / "metrics.jsonl") << rows;
  std::ofstream(folder / "logs" / "train.log") << log;
  std::ofstream(folder / "config.json") << R"({"learning_rate": 0.0001, "max_steps": 400, "weight_decay": 0.1})";
}

double SecondsFor(int runs) {
  const std::filesystem::path root = fmt::format("/tmp/vigil_tree_bench_{}_{}", ::getpid(), runs);
  for (int i = 0; i < runs; ++i) MakeRun(root / fmt::format("group{}", i / 100) / fmt::format("run{}", i), i);
  std::size_t found = 0;
  const double seconds = BestSeconds(1, [&] { found = pipeline::ImportPaths({root.string()}).runs.size(); });
  std::filesystem::remove_all(root);
  fmt::print("{:>6} runs of 3 files: {:.2f} s of processor time, {:.0f} us a run, {} runs found\n", runs, seconds,
             seconds / runs * 1e6, found);
  return seconds;
}

// What nothing can be had from costs a look at its name and size.
void MeasureEmptyFiles() {
  constexpr int kFolders = 50;
  constexpr int kFiles = 1000;
  const std::filesystem::path root = fmt::format("/tmp/vigil_tree_bench_{}_empty", ::getpid());
  for (int folder = 0; folder < kFolders; ++folder) {
    std::filesystem::create_directories(root / std::to_string(folder));
    for (int i = 0; i < kFiles; ++i) std::ofstream(root / std::to_string(folder) / fmt::format("{}.log", i)).flush();
  }
  MakeRun(root / "run", 1);
  std::size_t found = 0;
  const double seconds = BestSeconds(1, [&] { found = pipeline::ImportPaths({root.string()}).runs.size(); });
  std::filesystem::remove_all(root);
  fmt::print("{:>6} empty files and one run: {:.2f} s of processor time, {:.1f} us a file, {} run found\n",
             kFolders * kFiles, seconds, seconds / (kFolders * kFiles) * 1e6, found);
}

}  // namespace
}  // namespace vigil::bench

int main() {
  using namespace vigil::bench;
  const double small = SecondsFor(1000);
  const double large = SecondsFor(10'000);
  fmt::print("ten times the runs: {:.1f} times the time\n", large / small);
  MeasureEmptyFiles();
  return 0;
}
