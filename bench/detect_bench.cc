// All detectors over the series of a run, per sample, against one pass that only reads the samples and against the
// obvious form of the same baseline: a window that is sorted again for every value.
#include <cmath>
#include <deque>
#include <random>
#include <vector>

#include "detect/detect.h"
#include "stats/stats.h"
#include "support.h"

namespace vigil::bench {
namespace {

model::Series MakeSeries(std::string_view signal, double level, double sigma, std::size_t steps, std::mt19937& random) {
  model::Series series;
  series.signal = std::string(signal);
  series.raw = series.signal;
  std::normal_distribution<double> noise(0, sigma);
  for (std::size_t i = 0; i < steps; ++i) {
    const double trend = 1 + 2 / std::sqrt(1.0 + static_cast<double>(i));
    series.Append(static_cast<std::int64_t>(i + 1), level * trend * std::exp(noise(random)));
  }
  return series;
}

double SortedWindowSeconds(const Bench& bench, const model::Series& series) {
  constexpr std::size_t kWindow = 128;
  const std::size_t count = std::min<std::size_t>(20'000, series.size());
  double sum = 0;
  const double seconds = BestSeconds(bench.Repeats(3), [&] {
    std::deque<double> window;
    for (std::size_t i = 0; i < count; ++i) {
      const double value = std::log(series.values[i]);
      sum += stats::RobustSigma(std::vector<double>(window.begin(), window.end())) + value;
      window.push_back(value);
      if (window.size() > kWindow) window.pop_front();
    }
  });
  return std::isfinite(sum) ? seconds / static_cast<double>(count) : 0;
}

// What the guard asks about each step: two values, judged before the next ones come.
double JudgeSeconds(Bench& bench, const model::Series& loss, const model::Series& grad_norm) {
  std::size_t spikes = 0;
  const double seconds = BestSeconds(bench.Repeats(5), [&] {
    detect::StepJudge judge(catalogue::Thresholds{});
    spikes = 0;
    for (std::size_t i = 0; i < loss.size(); ++i)
      spikes += judge.Judge(loss.values[i], grad_norm.values[i]).loss_spike ? 1 : 0;
  });
  bench.Check(spikes == 1, "the judge of steps counts {} steps to spikes of the loss, and there is 1", spikes);
  return seconds / static_cast<double>(loss.size());
}

void Main(Bench& bench) {
  const std::size_t steps = bench.Size<std::size_t>(200'000, 2'000);
  std::mt19937 random(1);
  model::Run run;
  run.method = {"sft", 0.9};
  run.series.push_back(MakeSeries("loss", 2, 0.05, steps, random));
  run.series.push_back(MakeSeries("grad_norm", 1, 0.3, steps, random));
  run.series.push_back(MakeSeries("lr", 1e-4, 0, steps, random));
  const auto samples = static_cast<double>(run.series.size() * steps);
  // One value in the middle is fifty times its neighbours: a benchmark of detectors that find nothing measures nothing.
  run.series[0].values.MutableFrom(steps / 2).front() *= 50;
  std::vector<model::Finding> found;
  const double all = BestSeconds(bench.Repeats(5), [&] { found = detect::Detect(run, catalogue::Thresholds()); });
  bench.Check(std::any_of(found.begin(), found.end(), [](const model::Finding& f) { return f.id == "loss/spike"; }),
              "the spike in the loss was not found");
  double sum = 0;
  const double read = BestSeconds(bench.Repeats(5), [&] {
    for (const model::Series& series : run.series) {
      for (std::size_t i = 0; i < series.size(); ++i) sum += series.values[i] + static_cast<double>(series.steps[i]);
    }
  });
  bench.Print("detectors over loss, grad_norm and lr, {} steps each ({} findings, checksum {:.3g})\n", steps,
              found.size(), sum);
  bench.Print("  {:<44} {:>9.1f} ns/sample\n", "all detectors together", all * 1e9 / samples);
  bench.Print("  {:<44} {:>9.1f} ns/sample\n", "reading the samples only", read * 1e9 / samples);
  const double sorted = SortedWindowSeconds(bench, run.series[0]);
  const double judge = JudgeSeconds(bench, run.series[0], run.series[1]);
  bench.Print("  {:<44} {:>9.1f} ns/sample\n", "one baseline, its window sorted for each value", sorted * 1e9);
  bench.Print("  {:<44} {:>9.1f} ns/step\n", "the guard's judge of a step: loss and grad_norm", judge * 1e9);
  bench.Print("  all detectors take {:.3f} of the time of one sorted baseline, the judge of a step {:.3f}\n",
              all / samples / sorted, judge / sorted);
  bench.Print("  {:.2f} of the budget of 250 ns a sample\n", all * 1e9 / samples / 250);
}

}  // namespace
}  // namespace vigil::bench

int main(int argc, char** argv) { return vigil::bench::RunBench(argc, argv, vigil::bench::Main); }
