#include "scale/verdict.h"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/pipeline.h"

namespace vigil::scale {
namespace {

// Ids and names of a catalogue or a set: no quotes or controls in them.
std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

std::string ListOf(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(Quoted(word));
  return "[" + Join(quoted, ",") + "]";
}

std::string LabelJson(const Label& label) {
  return fmt::format(
      R"({{"class":{},"fault":{},"level":{},"levels":{},"onset":{},"findings":{},"causes":{},"split":{}}})",
      Quoted(Name(label.kind)), Quoted(label.fault), label.level, label.levels, label.onset, ListOf(label.findings),
      ListOf(label.causes), label.split);
}

std::string FindingsJson(const std::vector<FoundThing>& findings) {
  std::vector<std::string> items;
  items.reserve(findings.size());
  for (const FoundThing& finding : findings)
    items.push_back(fmt::format("[{},{},{}]", Quoted(finding.id), Quoted(model::Name(finding.severity)),
                                finding.first < 0 ? "null" : std::to_string(finding.first)));
  return "[" + Join(items, ",") + "]";
}

std::string CausesJson(const std::vector<NamedCause>& causes) {
  std::vector<std::string> items;
  items.reserve(causes.size());
  for (const NamedCause& cause : causes)
    items.push_back(fmt::format("[{},{:.3f},{}]", Quoted(cause.cause), cause.confidence, ListOf(cause.rivals)));
  return "[" + Join(items, ",") + "]";
}

}  // namespace

void AddReport(const model::RunReport& report, Verdict& verdict) {
  for (const model::Finding& finding : report.findings) {
    const bool has_step = finding.first.known() && finding.first.axis() == model::Axis::kStep;
    verdict.findings.push_back({finding.id, finding.severity, has_step ? finding.first.value() : -1});
  }
  for (const model::Diagnosis& diagnosis : report.diagnoses) {
    NamedCause& cause = verdict.causes.emplace_back(NamedCause{diagnosis.cause, diagnosis.confidence, {}});
    for (const model::Rival& rival : diagnosis.rivals) cause.rivals.push_back(rival.cause);
  }
  for (const model::Series& series : report.run.series)
    verdict.steps = std::max(verdict.steps, static_cast<std::int64_t>(series.size()));
}

Verdict Examine(const Record& record, const catalogue::Thresholds& thresholds, const diagnose::FittedModel& model) {
  Verdict verdict;
  AddReport(pipeline::DiagnoseRun(record.run, thresholds, true, model), verdict);
  for (const model::Run& other : record.others)
    AddReport(pipeline::DiagnoseRun(other, thresholds, true, model), verdict);
  std::stable_sort(verdict.findings.begin(), verdict.findings.end(),
                   [](const FoundThing& a, const FoundThing& b) { return a.severity > b.severity; });
  return verdict;
}

std::string VerdictLine(const Record& record, const Verdict& verdict) {
  return fmt::format(
      R"({{"id":{},"task":{},"family":{},"optimizer":{},"odd":{},"label":{},"findings":{},"diagnoses":{}}})",
      Quoted(record.id), Quoted(record.task), Quoted(record.family), Quoted(record.optimizer), Quoted(record.odd),
      LabelJson(record.label), FindingsJson(verdict.findings), CausesJson(verdict.causes));
}

}  // namespace vigil::scale
