// A run made for one rule, judged from its series to its cause as the program does it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <string_view>

#include "identify/identify.h"
#include "model/report.h"
#include "pipeline/pipeline.h"
#include "report/sentence.h"

namespace vigil::rules {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();

class Story {
 public:
  using Value = std::function<double(int)>;

  explicit Story(std::string method = "", std::string framework = "hf-trainer", std::uint32_t seed = 1)
      : random_(seed) {
    run.framework = std::move(framework);
    if (!method.empty()) run.method = {std::move(method), 0.9};
    run.profile = identify::ProfileOf(run.framework, run.method);
    run.name = "run";
    run.sources.push_back({"run/train.log", "log-text", model::SourceState::kRead, {}});
    run.sources.back().has_messages = true;
  }
  // A point every `every` steps.
  Story& Series(std::string_view signal, int steps, const Value& value, int every = 1,
                const model::Labels& labels = {}) {
    model::Series series;
    series.signal = signal;
    series.raw = signal;
    series.labels = labels;
    for (int step = every; step <= steps; step += every) series.Append(step, value(step));
    run.series.push_back(std::move(series));
    return *this;
  }
  Story& Fact(std::string_view key, std::string_view value) {
    run.facts.push_back({std::string(key), std::string(value), std::string(key), {}});
    return *this;
  }
  Story& Planned(int steps) {
    run.planned_steps = model::StepAt(steps);
    return *this;
  }
  Story& Resumed(int after) {
    model::Event event;
    event.kind = model::EventKind::kResume;
    event.at = model::StepAt(after);
    run.events.push_back(std::move(event));
    return *this;
  }

  double Noise(double sigma) { return sigma * normal_(random_); }
  double Factor(double sigma) { return std::exp(Noise(sigma)); }
  // A language model that is tuned: from 1.9 to about 1.1.
  double TunedLoss(int step) { return 1.05 + 0.85 / std::sqrt(1 + step / 8.0) + Noise(0.02); }

  // Warm-up and cosine.
  static double Cosine(double peak, int step, int warmup, int total) {
    if (step < warmup) return peak * step / warmup;
    return peak * 0.5 * (1 + std::cos(3.14159265 * (step - warmup) / std::max(1, total - warmup)));
  }

  model::RunReport Report() const { return pipeline::DiagnoseRun(run, catalogue::Thresholds()); }

  model::Run run;

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_{0, 1};
};

inline const model::Finding* Find(const model::RunReport& report, std::string_view id) {
  for (const model::Finding& finding : report.findings) {
    if (finding.id == id) return &finding;
  }
  return nullptr;
}

// The cause of the incident that the finding belongs to, empty where there is none.
inline std::string CauseOf(const model::RunReport& report, std::string_view id) {
  for (const model::Diagnosis& diagnosis : report.diagnoses) {
    for (const std::uint32_t index : diagnosis.findings) {
      if (report.findings[index].id == id) return diagnosis.cause;
    }
  }
  return {};
}

// The cause and its rivals: what the diagnosis names.
inline std::vector<std::string> NamedFor(const model::RunReport& report, std::string_view id) {
  std::vector<std::string> named;
  for (const model::Diagnosis& diagnosis : report.diagnoses) {
    for (const std::uint32_t index : diagnosis.findings) {
      if (report.findings[index].id != id) continue;
      named.push_back(diagnosis.cause);
      for (const model::Rival& rival : diagnosis.rivals) named.push_back(rival.cause);
      return named;
    }
  }
  return named;
}

inline std::string Describe(const model::RunReport& report) {
  std::string text;
  for (const model::Finding& finding : report.findings)
    text +=
        finding.id + " [" + std::string(model::Name(finding.severity)) + "] " + report::Sentence(finding.says) + "\n";
  for (const model::Diagnosis& diagnosis : report.diagnoses) {
    text += "cause " + diagnosis.cause + " " + std::to_string(diagnosis.confidence) + "\n";
    for (const auto& evidence : diagnosis.supporting) text += "  + " + report::Sentence(evidence.says) + "\n";
    for (const auto& evidence : diagnosis.opposing) text += "  - " + report::Sentence(evidence.says) + "\n";
    for (const auto& rival : diagnosis.rivals)
      text += "  or " + rival.cause + " " + std::to_string(rival.confidence) + "\n";
  }
  return text;
}

inline model::Severity WorstOf(const model::RunReport& report) {
  model::Severity worst = model::Severity::kInfo;
  for (const model::Finding& finding : report.findings) worst = std::max(worst, finding.severity);
  return worst;
}

// Nothing above a note.
inline void ExpectSound(const Story& story, std::string_view why) {
  const model::RunReport report = story.Report();
  EXPECT_LE(WorstOf(report), model::Severity::kInfo) << why << "\n" << Describe(report);
}

// The finding at that severity or above.
inline model::RunReport ExpectFound(const Story& story, std::string_view id,
                                    model::Severity least = model::Severity::kWarning) {
  model::RunReport report = story.Report();
  const model::Finding* found = Find(report, id);
  EXPECT_NE(found, nullptr) << id << "\n" << Describe(report);
  if (found != nullptr) {
    EXPECT_GE(found->severity, least) << id << "\n" << Describe(report);
  }
  return report;
}

inline void ExpectCause(const Story& story, std::string_view id, std::string_view cause) {
  const model::RunReport report = ExpectFound(story, id);
  EXPECT_EQ(CauseOf(report, id), cause) << id << "\n" << Describe(report);
}

// Only a note, between what is healthy and what is flagged.
inline void ExpectWatched(const Story& story, std::string_view id) {
  const model::RunReport report = story.Report();
  const model::Finding* found = Find(report, id);
  ASSERT_NE(found, nullptr) << id << "\n" << Describe(report);
  EXPECT_EQ(found->severity, model::Severity::kInfo) << id << "\n" << Describe(report);
}

}  // namespace vigil::rules
