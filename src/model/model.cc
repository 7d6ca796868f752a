#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>

#include "base/base.h"
#include "model/baseline.h"
#include "model/finding.h"
#include "model/position.h"
#include "model/preflight.h"
#include "model/report.h"
#include "model/run.h"
#include "model/statement.h"

namespace vigil::model {
namespace {

constexpr std::array<std::string_view, 4> kSeverityNames = {"info", "warning", "error", "fatal"};
constexpr std::array<std::string_view, 8> kFamilyNames = {"loss", "rl",     "memory", "throughput",
                                                          "hang", "resume", "eval",   "setup"};

template <class Enum, std::size_t kCount>
std::optional<Enum> ParseName(const std::array<std::string_view, kCount>& names, std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

}  // namespace

std::string_view Name(Severity severity) { return kSeverityNames[static_cast<std::size_t>(severity)]; }
std::string_view Name(Family family) { return kFamilyNames[static_cast<std::size_t>(family)]; }
std::optional<Severity> ParseSeverity(std::string_view name) { return ParseName<Severity>(kSeverityNames, name); }
std::optional<Family> ParseFamily(std::string_view name) { return ParseName<Family>(kFamilyNames, name); }

std::string_view FindLabel(const Labels& labels, std::string_view key) {
  for (const auto& [name, value] : labels) {
    if (name == key) return value;
  }
  return {};
}

void Series::Truncate(std::size_t count) {
  steps.Truncate(count);
  values.Truncate(count);
  times.Truncate(count);
  lines.Truncate(count);
  std::erase_if(segment_starts, [&](std::uint32_t start) { return start >= count; });
}

void Series::CountPoints() {
  const std::span<std::int64_t> counts = steps.Mutable();
  std::iota(counts.begin(), counts.end(), std::int64_t{0});
  segment_starts = {0};
}

void BatchFingerprints::Append(const BatchFingerprints& others) {
  if (steps.empty()) {
    *this = others;
    return;
  }
  steps.Append(others.steps);
  hashes.Append(others.hashes);
  ranks.Append(others.ranks);
}

double Series::LoggingInterval() const {
  // As many gaps of the beginning and of the end as say what is usual: a run of any length costs the same.
  constexpr std::size_t kSide = 1024;
  std::vector<std::int64_t> gaps;
  gaps.reserve(std::min(steps.size(), 2 * kSide));
  const auto add = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (steps[i] > steps[i - 1]) gaps.push_back(steps[i] - steps[i - 1]);
    }
  };
  if (steps.size() <= 2 * kSide) {
    add(1, steps.size());
  } else {
    add(1, kSide);
    add(steps.size() - kSide, steps.size());
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return static_cast<double>(*middle);
}

const Series* Run::Find(std::string_view signal) const {
  const Series* best = nullptr;
  for (const Series& candidate : series) {
    if (candidate.signal != signal) continue;
    const bool better = best == nullptr || candidate.labels.size() < best->labels.size() ||
                        (candidate.labels.size() == best->labels.size() && candidate.size() > best->size());
    if (better) best = &candidate;
  }
  return best;
}

const Fact* Run::FindFact(std::string_view key) const {
  const auto at = std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.key == key; });
  return at == facts.end() ? nullptr : &*at;
}

std::optional<double> Run::FactNumber(std::string_view key) const {
  const Fact* fact = FindFact(key);
  return fact == nullptr ? std::nullopt : ParseNumber(fact->value);
}

Axis MainAxis(const Run& run) {
  const Series* longest = nullptr;
  for (const Series& series : run.series) {
    // A single point, such as the total that a trainer logs at the end, is no course over steps.
    if (series.axis == Axis::kStep && series.size() > 1) return Axis::kStep;
    if (!series.empty() && (longest == nullptr || series.size() > longest->size())) longest = &series;
  }
  return longest == nullptr ? Axis::kStep : longest->axis;
}

double Finding::MeasureOr(std::string_view name, double otherwise) const {
  for (const Measure& measure : measures) {
    if (measure.name == name) return measure.value;
  }
  return otherwise;
}

std::string_view Name(Standing standing) {
  constexpr std::array<std::string_view, 4> kNames = {"alike", "better", "worse", "not_compared"};
  return kNames[static_cast<std::size_t>(standing)];
}

std::string_view Name(Aspect aspect) {
  constexpr std::array<std::string_view, 4> kNames = {"final", "best", "typical", "peak"};
  return kNames[static_cast<std::size_t>(aspect)];
}

std::string_view Name(CheckState state) {
  constexpr std::array<std::string_view, 3> kNames = {"done", "not_done", "not_possible"};
  return kNames[static_cast<std::size_t>(state)];
}

bool Baseline::IsOfUse() const {
  return std::any_of(metrics.begin(), metrics.end(),
                     [](const ComparedMetric& metric) { return metric.standing != Standing::kNotCompared; });
}

void InsertFinding(RunReport& report, Finding finding) {
  const auto at = std::find_if(report.findings.begin(), report.findings.end(),
                               [&](const Finding& other) { return other.severity < finding.severity; });
  const auto index = static_cast<std::uint32_t>(at - report.findings.begin());
  report.findings.insert(at, std::move(finding));
  for (Diagnosis& diagnosis : report.diagnoses) {
    for (std::uint32_t& refers_to : diagnosis.findings) refers_to += refers_to >= index ? 1 : 0;
  }
}

void SetPrice(Report& report, double per_gpu_hour) {
  for (RunReport& run : report.runs) {
    for (Diagnosis& diagnosis : run.diagnoses) {
      Cost& cost = diagnosis.cost;
      if (!IsNoValue(cost.gpu_hours)) cost.money = cost.gpu_hours * per_gpu_hour;
    }
  }
}

std::optional<Severity> WorstSeverity(const Report& report) {
  std::optional<Severity> worst;
  for (const RunReport& run : report.runs) {
    for (const Finding& finding : run.findings) {
      if (!worst || finding.severity > *worst) worst = finding.severity;
    }
  }
  return worst;
}

std::optional<Severity> WorstSeverity(const PreflightReport& report) {
  std::optional<Severity> worst;
  for (const PlannedRun& run : report.runs) {
    for (const ConfigBreach& breach : run.breaches) {
      if (!worst || breach.finding.severity > *worst) worst = breach.finding.severity;
    }
  }
  return worst;
}

Quote QuoteOf(const RunHeader& run, const Event& event) {
  Quote quote{event.text, {}, event.place.line};
  if (event.place.source < run.sources.size()) quote.path = run.sources[event.place.source].path;
  if (!event.says.empty()) quote.says.push_back(event.says);
  return quote;
}

}  // namespace vigil::model
