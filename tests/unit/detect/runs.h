// Runs made for tests: curves with the noise of real training.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "detect/detect.h"
#include "model/finding.h"
#include "model/run.h"
#include "report/sentence.h"

namespace vigil::detect::testing {

using Value = std::function<double(int step)>;

class RunMaker {
 public:
  explicit RunMaker(std::uint32_t seed = 1) : random_(seed) {}

  RunMaker& Method(const std::string& name) {
    run_.method = {name, 0.9};
    return *this;
  }
  RunMaker& Planned(int steps) {
    run_.planned_steps = model::StepAt(steps);
    return *this;
  }
  RunMaker& Fact(const std::string& key, const std::string& value) {
    run_.facts.push_back({key, value, key, {}});
    return *this;
  }
  // A series of `signal` over steps first..last, every `interval`.
  RunMaker& Series(const std::string& signal, int last, const Value& value, int first = 1, int interval = 1) {
    model::Series series;
    series.signal = signal;
    series.raw = signal;
    for (int step = first; step <= last; step += interval) series.Append(step, value(step));
    run_.series.push_back(std::move(series));
    return *this;
  }
  // Goes on with the last series from an earlier step: a restart.
  RunMaker& Again(int first, int last, const Value& value) {
    for (int step = first; step <= last; ++step) run_.series.back().Append(step, value(step));
    return *this;
  }
  // The log says that the run was stopped after that step and went on.
  RunMaker& Resumed(int after) {
    model::Event event;
    event.kind = model::EventKind::kResume;
    event.at = model::StepAt(after);
    run_.events.push_back(std::move(event));
    return *this;
  }
  RunMaker& Batch(int step, std::uint64_t hash, std::int32_t rank = 0) {
    run_.batches.Append(model::StepAt(step), hash, rank);
    return *this;
  }
  double Gauss(double sigma) { return std::normal_distribution<double>(0, sigma)(random_); }
  double Heavy(double sigma, double freedom) { return sigma * std::student_t_distribution<double>(freedom)(random_); }

  // A power law with log-normal noise: how losses fall.
  Value Falling(double start, double floor, double sigma, double exponent = 0.5) {
    return
        [=, this](int step) { return (floor + (start - floor) * std::pow(step, -exponent)) * std::exp(Gauss(sigma)); };
  }
  Value Level(double level, double sigma) {
    return [=, this](int) { return level * std::exp(Gauss(sigma)); };
  }

  const model::Run& run() const { return run_; }
  std::vector<model::Finding> Find() const { return Detect(run_, catalogue::Thresholds()); }

 private:
  std::mt19937 random_;
  model::Run run_;
};

inline const model::Finding* Get(const std::vector<model::Finding>& findings, std::string_view id) {
  for (const model::Finding& finding : findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

inline int CountAtLeast(const std::vector<model::Finding>& findings, model::Severity severity) {
  int count = 0;
  for (const model::Finding& finding : findings) count += finding.severity >= severity ? 1 : 0;
  return count;
}

// What a person reads of it.
inline std::string Words(const model::Finding& finding) { return report::Sentence(finding.says); }
inline std::string Words(const model::Evidence& evidence) { return report::Sentence(evidence.says); }

// Names of what was found at warning or above, for messages of failing tests.
inline std::string Describe(const std::vector<model::Finding>& findings) {
  std::string all;
  for (const model::Finding& finding : findings)
    all += finding.id + " [" + std::string(Name(finding.severity)) + "] " + Words(finding) + "\n";
  return all;
}

}  // namespace vigil::detect::testing
