// The whole program on small folders, from exec to exit, against a program that does nothing and against the start of
// a Python that reads the same trainer state with its json module and does nothing with it; and on one long run in
// three formats, from file to verdict, against one pass that finds the numbers of the file and converts them.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <random>
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

Cost Best(const Bench& bench, const std::vector<std::string>& words, int repeats = 20) {
  Cost best;
  for (int i = 0; i < bench.Repeats(repeats); ++i) {
    const Cost cost = RunOnce(words);
    best = {std::min(best.wall, cost.wall), std::min(best.cpu, cost.cpu)};
  }
  return best;
}

void Print(const Bench& bench, std::string_view what, const Cost& cost) {
  bench.Print("  {:<44} {:>7.1f} ms   {:>7.1f} ms of processor\n", what, 1e3 * cost.wall, 1e3 * cost.cpu);
}

// ---- a long run

struct Format {
  std::string_view name;
  std::string_view file;
  std::string_view head;
  std::string (*row)(std::size_t step, double loss, double norm, double rate);
};

constexpr Format kFormats[] = {
    {"JSON lines", "long.jsonl", "",
     [](std::size_t step, double loss, double norm, double rate) {
       return fmt::format("{{\"step\": {}, \"loss\": {:.4f}, \"grad_norm\": {:.4f}, \"learning_rate\": {:.6g}}}\n",
                          step, loss, norm, rate);
     }},
    {"a table", "long.csv", "step,loss,grad_norm,lr\n",
     [](std::size_t step, double loss, double norm, double rate) {
       return fmt::format("{},{:.4f},{:.4f},{:.6g}\n", step, loss, norm, rate);
     }},
    {"log text", "long.log", "",
     [](std::size_t step, double loss, double norm, double rate) {
       return fmt::format("step {} | loss {:.4f} | grad_norm {:.4f} | lr {:.6g}\n", step, loss, norm, rate);
     }},
};

std::string LongRun(const Format& format, std::size_t steps) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 1);
  std::string text(format.head);
  for (std::size_t i = 1; i <= steps; ++i) {
    const double trend = 1 + 2 / std::sqrt(static_cast<double>(i));
    const double rate = 1e-4 * (1 - 0.9 * static_cast<double>(i) / static_cast<double>(steps));
    text += format.row(i, 2 * trend * std::exp(0.05 * noise(random)), trend * std::exp(0.3 * noise(random)), rate);
  }
  return text;
}

// What any reader has to do: find the numbers, and convert them. Returns how many there are.
std::size_t ConvertNumbers(std::string_view text) {
  std::size_t count = 0;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    double value = 0;
    const bool is_digit = *at >= '0' && *at <= '9';
    const auto [behind, error] = is_digit ? std::from_chars(at, end, value) : std::from_chars_result{at + 1, {}};
    count += is_digit ? 1 : 0;
    at = behind;
  }
  return count;
}

void MeasureLongRuns(Bench& bench, const std::string& program) {
  const auto steps = bench.Size<std::size_t>(1'000'000, 2'000);
  bench.Print("{} steps of loss, grad_norm and lr, from file to verdict, best of 5\n", steps);
  for (const Format& format : kFormats) {
    const std::string text = LongRun(format, steps);
    const TemporaryFile file(std::string(format.file), text);
    std::size_t numbers = 0;
    const double limit = BestSeconds(bench.Repeats(5), [&] { numbers = ConvertNumbers(text); });
    bench.Check(numbers == 4 * steps, "{} has {} numbers", format.file, numbers);
    const Cost cost = Best(bench, {program, "diagnose", file.path()}, 5);
    bench.Check(std::isfinite(cost.wall), "vigil diagnose of {} failed", format.name);
    Print(bench, fmt::format("vigil diagnose, {}", format.name), cost);
    bench.Print("    {:.3g} times the processor time of converting its numbers, {:.2g} of 1 s\n", cost.cpu / limit,
                cost.wall);
  }
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
  MeasureLongRuns(bench, program);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
