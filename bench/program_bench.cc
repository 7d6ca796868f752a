// The whole program on small folders, from exec to exit, against a program that does nothing and against the start of
// a Python that reads the same trainer state with its json module and does nothing with it.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <vector>

#include "support.h"

extern char** environ;

namespace vigil::bench {
namespace {

struct Cost {
  double wall = std::numeric_limits<double>::infinity();
  double cpu = std::numeric_limits<double>::infinity();
};

// Runs the words once with standard output and error thrown away; infinite when they do not run.
Cost RunOnce(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  const auto before = std::chrono::steady_clock::now();
  pid_t child = 0;
  const bool started = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage used = {};
  if (!started || ::wait4(child, &status, 0, &used) != child || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
    return {};
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - before;
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return {wall.count(), seconds(used.ru_utime) + seconds(used.ru_stime)};
}

Cost Best(const Bench& bench, const std::vector<std::string>& words) {
  Cost best;
  for (int i = 0; i < bench.Repeats(20); ++i) {
    const Cost cost = RunOnce(words);
    best = {std::min(best.wall, cost.wall), std::min(best.cpu, cost.cpu)};
  }
  return best;
}

void Print(const Bench& bench, std::string_view what, const Cost& cost) {
  bench.Print("  {:<44} {:>7.1f} ms   {:>7.1f} ms of processor\n", what, 1e3 * cost.wall, 1e3 * cost.cpu);
}

void Main(Bench& bench) {
  const std::string program = std::string(VIGIL_BINARY_DIR) + "/vigil";
  const std::string runs = std::string(VIGIL_SOURCE_DIR) + "/tests/fixtures/runs/";
  const std::string state = runs + "hf/healthy-cosine-s12/checkpoint-200/trainer_state.json";
  bench.Print("the program on small folders, best of 20\n");
  const Cost nothing = Best(bench, {"/bin/true"});
  const Cost python = Best(bench, {"python3", "-c", "import json, sys; json.load(open(sys.argv[1]))", state});
  Print(bench, "a program that does nothing", nothing);
  Print(bench, "python3 reading one trainer state", python);
  for (const char* run : {"hf/healthy-cosine-s12", "torch/lr-too-high-s12", "grpo/entropy-collapse-s5"}) {
    const Cost cost = Best(bench, {program, "diagnose", runs + run});
    bench.Check(std::isfinite(cost.wall), "vigil diagnose {} failed", run);
    Print(bench, fmt::format("vigil diagnose {}", run), cost);
    bench.Print("    {:.2g} of Python's start, {:.2g} of 50 ms\n", cost.wall / python.wall, cost.wall / 0.05);
  }
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
