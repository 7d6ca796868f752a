// The report as OpenMetrics 1.0, for a text file that a collector scrapes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "report/report.h"
#include "report/span.h"
#include "report/verdict.h"
#include "report/words.h"

namespace vigil::report {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : OneLine(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return FormatExact(value);
}

// All samples of one metric stand together, and no two have the same labels.
class Family {
 public:
  Family(std::string_view name, std::string_view help) : name_(name), help_(help) {}

  void Add(std::string labels, double value) { samples_.emplace(std::move(labels), value); }
  // Of several with the same labels, the one that matters most.
  void AddHighest(const std::string& labels, double value) {
    const auto [at, is_new] = samples_.emplace(labels, value);
    at->second = std::max(at->second, value);
  }
  void AddLowest(const std::string& labels, double value) {
    const auto [at, is_new] = samples_.emplace(labels, value);
    at->second = std::min(at->second, value);
  }

  std::string Text() const {
    if (samples_.empty()) return {};
    std::string out = fmt::format("# TYPE {0} gauge\n# HELP {0} {1}\n", name_, help_);
    for (const auto& [labels, value] : samples_) out += fmt::format("{}{{{}}} {}\n", name_, labels, NumberText(value));
    return out;
  }

 private:
  std::string name_;
  std::string help_;
  std::map<std::string, double> samples_;
};

std::string FindingLabels(const std::string& run, const model::Finding& finding) {
  std::string labels = fmt::format("{},id=\"{}\",severity=\"{}\",signal=\"{}\"", run, Escaped(finding.id),
                                   model::Name(finding.severity), Escaped(finding.signal));
  if (!finding.labels.empty()) labels += fmt::format(",labels=\"{}\"", Escaped(LabelText(finding.labels)));
  return labels;
}

std::string AxisLabel(model::Axis axis) { return fmt::format(",axis=\"{}\"", model::Name(axis)); }

}  // namespace

std::string RenderOpenMetrics(const model::Report& report) {
  Family severity("vigil_run_severity", "The worst finding of a run: 0 none, 1 info, 2 warning, 3 error, 4 fatal.");
  Family last("vigil_run_last_step", "The last position that a run logged, on the axis named.");
  Family findings("vigil_finding_severity", "A finding that holds: 1 info, 2 warning, 3 error, 4 fatal.");
  Family steps("vigil_finding_first_step",
               "The position at which a finding begins, on the axis named, where it has one.");
  Family causes("vigil_cause_confidence", "How sure the cause is, 0 to 1.");
  Family values("vigil_signal_last", "The last value of a metric.");
  for (const model::RunReport& run : report.runs) {
    const std::string name = fmt::format("run=\"{}\"", Escaped(run.run.name));
    const bool any = !run.findings.empty();
    severity.Add(name, any ? 1 + static_cast<double>(WorstOf(run)) : 0);
    if (const model::Position end = SpanOf(run.run).Last(); end.known())
      last.Add(name + AxisLabel(end.axis()), static_cast<double>(end.value()));
    for (const model::Finding& finding : run.findings) {
      const std::string labels = FindingLabels(name, finding);
      findings.AddHighest(labels, 1 + static_cast<double>(finding.severity));
      if (const model::Position first = finding.first; first.known())
        steps.AddLowest(labels + AxisLabel(first.axis()), static_cast<double>(first.value()));
    }
    for (const model::Diagnosis& diagnosis : run.diagnoses)
      causes.Add(fmt::format("{},cause=\"{}\"", name, Escaped(diagnosis.cause)), diagnosis.confidence);
    for (const model::Series& series : run.run.series) {
      // A value that was not logged is no sample: NaN says that the metric is NaN.
      if (series.empty() || model::IsNoValue(series.values.back())) continue;
      std::string labels =
          fmt::format("{},signal=\"{}\",raw=\"{}\"", name, Escaped(series.signal), Escaped(series.raw));
      // Names of labels are the source's own; one label holds them all.
      if (!series.labels.empty()) labels += fmt::format(",labels=\"{}\"", Escaped(LabelText(series.labels)));
      values.Add(std::move(labels), series.values.back());
    }
  }
  return severity.Text() + last.Text() + findings.Text() + steps.Text() + causes.Text() + values.Text() + "# EOF\n";
}

}  // namespace vigil::report
