// All detectors over the series of a run, per sample, against one pass that only reads the samples and against the
// obvious form of the same baseline: a window that is sorted anew for every value.
#include <cmath>
#include <deque>
#include <random>

#include "detect/detect.h"
#include "stats/stats.h"
#include "support.h"

namespace vigil::bench {
namespace {

constexpr std::size_t kSteps = 200'000;

model::Series MakeSeries(std::string_view signal, double level, double sigma, std::mt19937& random) {
  model::Series series;
  series.signal = std::string(signal);
  series.raw = series.signal;
  std::normal_distribution<double> noise(0, sigma);
  for (std::size_t i = 0; i < kSteps; ++i) {
    const double trend = 1 + 2 / std::sqrt(1.0 + static_cast<double>(i));
    series.Append(static_cast<std::int64_t>(i + 1), level * trend * std::exp(noise(random)));
  }
  return series;
}

double SortedWindowSeconds(const model::Series& series) {
  constexpr std::size_t kWindow = 128;
  constexpr std::size_t kValues = 20'000;
  double sum = 0;
  const double seconds = BestSeconds(3, [&] {
    std::deque<double> window;
    for (std::size_t i = 0; i < kValues; ++i) {
      const double value = std::log(series.values[i]);
      sum += stats::RobustSigma(std::vector<double>(window.begin(), window.end())) + value;
      window.push_back(value);
      if (window.size() > kWindow) window.pop_front();
    }
  });
  return std::isfinite(sum) ? seconds / kValues : 0;
}

int Main() {
  std::mt19937 random(1);
  model::Run run;
  run.regime = {"sft", 0.9};
  run.series.push_back(MakeSeries("loss", 2, 0.05, random));
  run.series.push_back(MakeSeries("grad_norm", 1, 0.3, random));
  run.series.push_back(MakeSeries("lr", 1e-4, 0, random));
  const auto samples = static_cast<double>(run.series.size() * kSteps);
  std::size_t found = 0;
  const double all = BestSeconds(5, [&] { found = detect::Detect(run, catalogue::Settings()).size(); });
  double sum = 0;
  const double read = BestSeconds(5, [&] {
    for (const model::Series& series : run.series) {
      for (std::size_t i = 0; i < series.size(); ++i) sum += series.values[i] + static_cast<double>(series.steps[i]);
    }
  });
  fmt::print("detectors over loss, grad_norm and lr, {} steps each ({} findings, checksum {:.3g})\n", kSteps, found,
             sum);
  fmt::print("  {:<44} {:>9.1f} ns/sample\n", "all detectors together", all * 1e9 / samples);
  fmt::print("  {:<44} {:>9.1f} ns/sample\n", "reading the samples only", read * 1e9 / samples);
  fmt::print("  {:<44} {:>9.1f} ns/sample\n", "one baseline, its window sorted for each value",
             SortedWindowSeconds(run.series[0]) * 1e9);
  fmt::print("  {:.2f} of the budget of 1 us a sample\n", all * 1e6 / samples);
  return 0;
}

}  // namespace
}  // namespace vigil::bench

int main() { return vigil::bench::Main(); }
