#include "diagnose/baseline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/compared.h"
#include "diagnose/curve.h"
#include "diagnose/facts.h"
#include "diagnose/new_finding.h"
#include "diagnose/places.h"
#include "diagnose/settings_alike.h"

namespace vigil::diagnose {
namespace {

using model::Aspect;
using model::Baseline;
using model::ComparedMetric;
using model::Finding;
using model::RunReport;
using model::Series;
using model::Standing;

constexpr std::string_view kNewFindings = "baseline/new-findings";

// A row of findings that compares metrics: the row names them, this how.
struct Kind {
  std::string_view finding;
  Measured measured;
  bool is_evaluation;
};
constexpr std::array kKinds = {
    Kind{"baseline/loss", Measured::kCourse, false},    Kind{"baseline/eval", Measured::kCourse, true},
    Kind{"baseline/score", Measured::kCourse, false},   Kind{"baseline/speed", Measured::kPace, false},
    Kind{"baseline/memory", Measured::kCeiling, false},
};

// ---- which series belong together

// Ranks and layers of a run are not compared one by one: what the run says of the whole is.
bool IsOfAPart(const Series& series) {
  return !model::FindLabel(series.labels, "rank").empty() || !model::FindLabel(series.labels, "layer").empty();
}

// The series of a metric, one for each of its labels.
std::vector<const Series*> SeriesOf(const model::Run& run, std::string_view signal) {
  std::vector<const Series*> chosen;
  for (const Series& series : run.series) {
    if (series.signal != signal || series.empty() || IsOfAPart(series)) continue;
    const auto same =
        std::find_if(chosen.begin(), chosen.end(), [&](const Series* other) { return other->labels == series.labels; });
    if (same == chosen.end()) {
      chosen.push_back(&series);
    } else if ((*same)->size() < series.size()) {
      *same = &series;
    }
  }
  if (const Series* first = run.Find(signal); chosen.empty() && first != nullptr) chosen.push_back(first);
  return chosen;
}

const Series* PartnerOf(const Series& series, const std::vector<const Series*>& others) {
  const auto at =
      std::find_if(others.begin(), others.end(), [&](const Series* other) { return other->labels == series.labels; });
  if (at != others.end()) return *at;
  return others.size() == 1 && series.labels.empty() ? others.front() : nullptr;
}

// Whether the training is there to improve that metric. The loss of a policy, or of one side of a game, says nothing of
// how good it is, and neither does the accuracy of tokens where preferences or rewards are learned.
bool IsTarget(const model::Run& run, std::string_view signal) {
  const bool by_tokens = signal == "accuracy" || signal == "perplexity" || signal == "eval_perplexity";
  if (IsReinforcement(run)) return !by_tokens && signal != "loss" && signal != "eval_loss";
  if (by_tokens && (run.HasMethod("dpo") || Logged(run, "preference_margin"))) return false;
  return signal != "loss" || !IsAdversarial(run);
}

// A loss that is lost may be logged as 0, or not at all: the finding knows, the numbers do not.
bool IsLost(const RunReport& report, std::string_view signal) {
  return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
    const bool non_finite = finding.id == "loss/non-finite" || finding.id == "loss/eval-non-finite";
    return non_finite && finding.signal == signal && finding.severity >= model::Severity::kError;
  });
}

std::vector<MetricPair> PairsOf(const RunReport& run_report, const RunReport& reference_report,
                                const catalogue::SignalRow& signal) {
  const model::Run& run = run_report.run;
  const model::Run& reference = reference_report.run;
  std::vector<MetricPair> pairs;
  const std::vector<const Series*> here = SeriesOf(run, signal.id);
  const std::vector<const Series*> there = SeriesOf(reference, signal.id);
  std::set<const Series*> paired;
  for (const Series* series : here) {
    pairs.push_back({run, reference, series, PartnerOf(*series, there), signal.better});
    paired.insert(pairs.back().other);
  }
  for (const Series* other : there) {
    if (!paired.contains(other)) pairs.push_back({run, reference, nullptr, other, signal.better});
  }
  for (MetricPair& pair : pairs) {
    pair.is_lost = IsLost(run_report, signal.id);
    pair.is_reference_lost = IsLost(reference_report, signal.id);
  }
  return pairs;
}

// ---- the pace of runs that log none

// The time of a step from the times at which points were written; empty where they have none.
Series PaceOf(const model::Run& run) {
  Series pace;
  const Series* series = run.Find("loss");
  if (series == nullptr || series->times.empty()) return pace;
  pace.TakeHeaderOf(*series);
  pace.signal = pace.raw = "step_time_s";
  for (std::size_t i = 1; i < series->size(); ++i) {
    const auto steps = static_cast<double>(series->steps[i] - series->steps[i - 1]);
    const double seconds = series->times[i] - series->times[i - 1];
    if (steps > 0 && seconds > 0) pace.Append(series->steps[i], seconds / steps);
  }
  return pace;
}

bool HasPace(const std::vector<ComparedMetric>& metrics) {
  return std::any_of(metrics.begin(), metrics.end(), [](const ComparedMetric& metric) {
    return metric.aspect == Aspect::kTypical && metric.standing != Standing::kNotCompared;
  });
}

// ---- what the finding says

model::Statement Says(const ComparedMetric& metric, const std::string& baseline) {
  if (std::isnan(metric.value))
    return says::BaselineNotFinite{
        .metric = metric.signal, .until = metric.over.last, .baseline = baseline, .reference = metric.reference};
  const double change = (metric.value - metric.reference) / std::max(1e-300, std::abs(metric.reference));
  switch (metric.aspect) {
    case Aspect::kFinal:
      return says::BaselineEndsWorse{.metric = metric.signal,
                                     .value = metric.value,
                                     .change = change,
                                     .reference = metric.reference,
                                     .baseline = baseline,
                                     .until = metric.over.last};
    case Aspect::kBest:
      return says::BaselineBestWorse{.metric = metric.signal,
                                     .until = metric.over.last,
                                     .value = metric.value,
                                     .change = change,
                                     .reference = metric.reference,
                                     .baseline = baseline};
    case Aspect::kTypical:
      return says::BaselineTypicallyWorse{.metric = metric.signal,
                                          .value = metric.value,
                                          .change = change,
                                          .reference = metric.reference,
                                          .baseline = baseline};
    case Aspect::kPeak:
      break;
  }
  return says::BaselinePeakWorse{.metric = metric.signal,
                                 .value = metric.value,
                                 .change = change,
                                 .reference = metric.reference,
                                 .baseline = baseline};
}

model::Evidence Observed(model::Statement says) {
  model::Evidence evidence;
  evidence.says = std::move(says);
  return evidence;
}

void AddSettings(const Baseline& baseline, Finding& finding) {
  constexpr std::size_t kMost = 8;
  for (std::size_t i = 0; i < std::min(baseline.settings.size(), kMost); ++i) {
    const model::DifferingSetting& setting = baseline.settings[i];
    finding.evidence.push_back(Observed(says::BaselineSettingDiffers{.setting = setting.setting,
                                                                     .value = setting.value,
                                                                     .reference = setting.reference,
                                                                     .baseline = baseline.name}));
  }
}

Finding FindingOf(std::string_view id, const ComparedMetric& metric, const Baseline& baseline,
                  const catalogue::Thresholds& thresholds) {
  Finding finding = NewFinding(id, thresholds);
  finding.signal = metric.signal;
  finding.labels = metric.labels;
  finding.first = metric.over.first;
  finding.last = metric.over.last;
  finding.says = Says(metric, baseline.name);
  if (!model::IsNoValue(metric.noise))
    finding.evidence.push_back(
        Observed(says::BaselineNoise{.noise = metric.noise, .difference = std::abs(metric.value - metric.reference)}));
  for (const model::Statement& remark : baseline.remarks) finding.evidence.push_back(Observed(remark));
  AddSettings(baseline, finding);
  return finding;
}

// The end of a metric and its best are one story.
void AddFindings(std::string_view id, const std::vector<ComparedMetric>& metrics, const Baseline& baseline,
                 RunReport& run, const catalogue::Thresholds& thresholds) {
  const auto worse = std::find_if(metrics.begin(), metrics.end(),
                                  [](const ComparedMetric& metric) { return metric.standing == Standing::kWorse; });
  if (worse != metrics.end()) model::InsertFinding(run, FindingOf(id, *worse, baseline, thresholds));
}

// ---- one kind of metrics

CompareLimits LimitsOf(const Kind& kind, const catalogue::Thresholds& thresholds) {
  CompareLimits limits;
  limits.is_evaluation = kind.is_evaluation;
  limits.z = thresholds.Threshold(kind.finding, "z");
  limits.margin = thresholds.Threshold(kind.finding, "margin");
  if (kind.measured != Measured::kCourse) return limits;
  limits.of_progress = thresholds.Threshold(kind.finding, "of_progress");
  limits.stretch = thresholds.Threshold(kind.finding, "stretch");
  return limits;
}

void CompareKind(const Kind& kind, const RunReport& reference, Baseline& baseline, RunReport& run,
                 const catalogue::Thresholds& thresholds) {
  const catalogue::FindingRow* row = catalogue::FindFinding(kind.finding);
  if (row == nullptr || !thresholds.Enabled(kind.finding)) return;
  const CompareLimits limits = LimitsOf(kind, thresholds);
  const auto add = [&](const std::vector<ComparedMetric>& metrics) {
    baseline.metrics.insert(baseline.metrics.end(), metrics.begin(), metrics.end());
    AddFindings(kind.finding, metrics, baseline, run, thresholds);
  };
  for (const std::string_view id : row->signals) {
    const catalogue::SignalRow* signal = catalogue::FindSignal(id);
    if (signal == nullptr || signal->better == catalogue::Better::kNeither) continue;
    if (!IsTarget(run.run, id) || !IsTarget(reference.run, id)) continue;
    for (const MetricPair& pair : PairsOf(run, reference, *signal)) add(CompareMetric(pair, kind.measured, limits));
  }
  if (kind.measured != Measured::kPace || HasPace(baseline.metrics)) return;
  const Series here = PaceOf(run.run);
  const Series there = PaceOf(reference.run);
  if (!here.empty() && !there.empty())
    add(CompareMetric({run.run, reference.run, &here, &there, catalogue::Better::kLower}, kind.measured, limits));
}

// ---- findings

// Ids of what counts: a note is no difference, and what this comparison found is none either.
std::set<std::string> GraveIds(const RunReport& report) {
  std::set<std::string> ids;
  for (const Finding& finding : report.findings) {
    if (finding.severity >= model::Severity::kWarning && !finding.id.starts_with("baseline/")) ids.insert(finding.id);
  }
  return ids;
}

std::vector<std::string> Without(const std::set<std::string>& ids, const std::set<std::string>& others) {
  std::vector<std::string> left;
  std::set_difference(ids.begin(), ids.end(), others.begin(), others.end(), std::back_inserter(left));
  return left;
}

void CompareFindings(const RunReport& reference, Baseline& baseline, RunReport& run,
                     const catalogue::Thresholds& thresholds) {
  const std::set<std::string> here = GraveIds(run);
  const std::set<std::string> there = GraveIds(reference);
  baseline.new_findings = Without(here, there);
  baseline.missing_findings = Without(there, here);
  const std::vector<std::string>& ids = baseline.new_findings;
  if (ids.empty() || !thresholds.Enabled(kNewFindings)) return;
  Finding finding = NewFinding(kNewFindings, thresholds);
  for (const Finding& other : run.findings) {
    if (std::find(ids.begin(), ids.end(), other.id) != ids.end())
      finding.severity = std::max(finding.severity, other.severity);
  }
  finding.severity = thresholds.SeverityOf(kNewFindings, finding.severity);
  finding.says = says::BaselineNewFindingsNew{
      .count = static_cast<double>(ids.size()), .baseline = baseline.name, .findings = ids};
  AddSettings(baseline, finding);
  model::InsertFinding(run, std::move(finding));
}

// ---- what limits the comparison

void RemarkLengths(const model::Run& run, const model::Run& reference, Baseline& baseline) {
  constexpr double kNearlyAll = 0.98;
  const model::Axis axis = model::MainAxis(run);
  const model::Position here = LastSeen(run, axis);
  const model::Position there = LastSeen(reference, axis);
  if (!here.known() || !there.known()) return;
  const auto end = static_cast<double>(here.value());
  const auto other = static_cast<double>(there.value());
  if (end < kNearlyAll * other)
    baseline.remarks.emplace_back(says::BaselineRunIsShorter{.end = here, .baseline = baseline.name, .other = there});
  if (other < kNearlyAll * end)
    baseline.remarks.emplace_back(
        says::BaselineReferenceIsShorter{.baseline = baseline.name, .end = there, .other = here});
}

void RemarkRates(const model::Run& run, const model::Run& reference, Baseline& baseline) {
  constexpr double kApart = 1.2;
  const Course here = LastCourse(run, "lr");
  const Course there = LastCourse(reference, "lr");
  if (here.size() == 0 || there.size() == 0 || here.axis != there.axis) return;
  const model::Position until(here.axis, std::min(here.steps.back(), there.steps.back()));
  const double value = ValueAt(here.View(), until);
  const double other = ValueAt(there.View(), until);
  const auto [low, high] = std::minmax(value, other);
  if (low >= 0 && high > kApart * low)
    baseline.remarks.emplace_back(
        says::BaselineRatesDiffer{.until = until, .value = value, .reference = other, .baseline = baseline.name});
}

}  // namespace

void CompareWithBaseline(RunReport& run, const RunReport& reference, const catalogue::Thresholds& thresholds) {
  Baseline baseline;
  baseline.name = reference.run.name;
  baseline.settings = DifferingSettings(run.run, reference.run);
  RemarkLengths(run.run, reference.run, baseline);
  RemarkRates(run.run, reference.run, baseline);
  for (const Kind& kind : kKinds) CompareKind(kind, reference, baseline, run, thresholds);
  CompareFindings(reference, baseline, run, thresholds);
  run.baseline = std::make_shared<const Baseline>(std::move(baseline));
}

}  // namespace vigil::diagnose
