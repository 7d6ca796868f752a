// Synthetic runs with realistic noise, for the tests of diagnosis.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "diagnose/diagnose.h"
#include "identify/identify.h"
#include "model/finding.h"
#include "model/position.h"
#include "model/run.h"
#include "model/statement.h"
#include "report/sentence.h"

namespace vigil::diagnose {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// From one level to another, with a constant of so many steps.
inline double Falling(double from, double to, int step, double steps) {
  return to + (from - to) * std::exp(-step / steps);
}

class RunMaker {
 public:
  explicit RunMaker(std::string framework = "hf-trainer", std::uint32_t seed = 1) : random_(seed) {
    run.framework = std::move(framework);
    run.profile = identify::ProfileOf(run.framework, run.method);
    run.sources.push_back({"run/train.log", "log-text", model::SourceState::kRead, {}});
    run.sources.back().has_messages = true;
  }

  // One point every `every` steps from step `every` to `steps`.
  RunMaker& Series(std::string_view signal, int steps, const std::function<double(int)>& value, int every = 1) {
    model::Series series;
    series.signal = signal;
    series.raw = signal;
    series.axis = axis;
    for (int step = every; step <= steps; step += every) series.Append(step, value(step));
    run.series.push_back(std::move(series));
    return *this;
  }

  RunMaker& Fact(std::string_view key, std::string_view value) {
    run.facts.push_back({std::string(key), std::string(value), std::string(key), {}});
    return *this;
  }

  RunMaker& Method(std::string_view name, double confidence = 0.9) {
    run.method = {std::string(name), confidence};
    run.profile = identify::ProfileOf(run.framework, run.method);
    return *this;
  }

  // What series and findings made from here on are counted on.
  RunMaker& CountedOn(model::Axis counted_on) {
    axis = counted_on;
    return *this;
  }

  RunMaker& Planned(std::int64_t steps) {
    run.planned_steps = model::StepAt(steps);
    return *this;
  }

  RunMaker& Event(model::EventKind kind, std::int64_t step, std::string text = "", std::string name = "") {
    model::Event event;
    event.name = std::move(name);
    event.kind = kind;
    if (step != model::kNoStep) event.at = model::StepAt(step);
    event.text = std::move(text);
    run.events.push_back(std::move(event));
    return *this;
  }

  RunMaker& Found(std::string_view id, std::int64_t first, std::int64_t last, const std::string& message = "") {
    model::Finding finding;
    finding.id = id;
    if (first != model::kNoStep) finding.first = model::Position(axis, first);
    if (last != model::kNoStep) finding.last = model::Position(axis, last);
    finding.says =
        says::ConfigStated{.setting = "found", .value = model::Quote{message.empty() ? finding.id : message, {}, 0}};
    if (const catalogue::FindingRow* row = catalogue::FindFinding(id)) {
      finding.family = row->family;
      finding.severity = row->severity;
    } else if (const catalogue::SignatureRow* signature = catalogue::FindSignature(id)) {
      finding.family = signature->family;
      finding.severity = signature->severity;
    } else {
      finding.severity = model::Severity::kError;
    }
    findings.push_back(std::move(finding));
    return *this;
  }

  double Noise(double sigma) { return sigma * normal_(random_); }
  // A factor of log-normal noise, as gradient norms have it.
  double Factor(double sigma) { return std::exp(Noise(sigma)); }

  // A healthy language-model loss: falls from ln(vocabulary) as a power law.
  double HealthyLoss(int step) { return 1.5 + 3 / std::pow(1 + step / 10.0, 0.5) + Noise(0.03); }
  double HealthyNorm() { return 0.9 * Factor(0.15); }

  std::vector<model::Diagnosis> Diagnoses() const { return Diagnose(run, findings, catalogue::Thresholds()); }
  // The first diagnosis; one with an empty cause when there is none.
  model::Diagnosis First() const {
    const auto all = Diagnoses();
    return all.empty() ? model::Diagnosis() : all.front();
  }

  model::Run run;
  std::vector<model::Finding> findings;
  model::Axis axis = model::Axis::kStep;

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
};

// Linear warm-up, then a cosine to 0.
inline double CosineLr(double peak, int step, int warmup, int total) {
  if (step < warmup) return peak * step / warmup;
  return peak * 0.5 * (1 + std::cos(3.14159265358979 * (step - warmup) / std::max(1, total - warmup)));
}

inline std::string Words(const model::Statement& statement) { return report::Sentence(statement); }

inline std::vector<std::string> Words(const std::vector<model::Statement>& statements) {
  std::vector<std::string> words;
  for (const model::Statement& statement : statements) words.push_back(Words(statement));
  return words;
}

// What a remedy says, from the row that it names.
inline std::string_view AdviceOf(const model::Remedy& remedy) {
  if (const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id)) return row->text;
  const catalogue::SignatureRow* signature = catalogue::FindSignature(remedy.id);
  return signature == nullptr ? std::string_view() : signature->fix;
}

// A diagnosis in lines, for the message of a failing test.
inline std::string Describe(const model::Diagnosis& diagnosis) {
  std::string text = diagnosis.cause + " " + std::to_string(diagnosis.confidence) + "\n";
  text += Words(diagnosis.summary) + "\n";
  for (const auto& evidence : diagnosis.supporting) text += "  + " + Words(evidence.says) + "\n";
  for (const auto& evidence : diagnosis.opposing) text += "  - " + Words(evidence.says) + "\n";
  for (const auto& rival : diagnosis.rivals) text += "  or " + rival.cause + ": " + Words(rival.tell_apart) + "\n";
  for (const auto& missing : diagnosis.missing) text += "  ? " + Words(missing) + "\n";
  return text + "next: " + Words(diagnosis.next) + "\nrestart: " + Words(diagnosis.restart) + "\n";
}

inline const model::Remedy* FindRemedyIn(const model::Diagnosis& diagnosis, std::string_view id) {
  for (const model::Remedy& remedy : diagnosis.remedies) {
    if (remedy.id == id) return &remedy;
  }
  return nullptr;
}

}  // namespace vigil::diagnose
