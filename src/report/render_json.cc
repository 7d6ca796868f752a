#include <cmath>

#include "report/json.h"
#include "report/report.h"
#include "report/words.h"

// The order of keys is that of doc/formats/diagnosis-json.md, which describes each.

namespace vigil::report {
namespace {

void WriteTexts(JsonWriter& json, std::string_view key, const std::vector<std::string>& texts) {
  json.Key(key);
  json.OpenList();
  for (const std::string& text : texts) json.Text(text);
  json.CloseList();
}

void WriteText(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.Text(text);
}

void WriteTextOrNull(JsonWriter& json, std::string_view key, std::string_view text) {
  json.Key(key);
  json.TextOrNull(text);
}

void WriteSteps(JsonWriter& json, std::int64_t first, std::int64_t last) {
  json.Key("first_step");
  json.StepOrNull(first);
  json.Key("last_step");
  json.StepOrNull(last);
}

// Three digits are more than a confidence is worth, and the same on every machine.
void WriteConfidence(JsonWriter& json, double confidence) {
  json.Key("confidence");
  json.Number(std::isfinite(confidence) ? std::round(confidence * 1000) / 1000 : 0);
}

template <class Items, class Write>
void WriteList(JsonWriter& json, std::string_view key, const Items& items, Write write) {
  json.Key(key);
  json.OpenList();
  for (const auto& item : items) {
    json.Open();
    write(json, item);
    json.Close();
  }
  json.CloseList();
}

void WriteSource(JsonWriter& json, const model::Source& source) {
  WriteText(json, "path", source.path);
  WriteText(json, "format", source.format);
  WriteText(json, "state", Name(source.state));
  WriteTextOrNull(json, "note", source.note);
}

void WriteSignal(JsonWriter& json, const model::Series& series) {
  WriteText(json, "name", series.signal);
  WriteText(json, "raw", series.raw);
  WriteTextOrNull(json, "unit", series.unit);
  json.Key("points");
  json.Count(series.size());
  json.Key("labels");
  json.Open();
  for (const auto& [key, value] : series.labels) WriteText(json, key, value);
  json.Close();
}

void WriteEvidence(JsonWriter& json, const model::Evidence& evidence) {
  WriteText(json, "text", evidence.text);
  json.Key("step");
  json.StepOrNull(evidence.step);
  json.Key("value");
  model::IsNoValue(evidence.value) ? json.Null() : json.Number(evidence.value);
  WriteTextOrNull(json, "path", evidence.path);
  json.Key("line");
  evidence.line == 0 ? json.Null() : json.Count(evidence.line);
}

void WriteFinding(JsonWriter& json, const model::Finding& finding) {
  WriteText(json, "id", finding.id);
  WriteText(json, "family", model::Name(finding.family));
  WriteText(json, "severity", model::Name(finding.severity));
  WriteTextOrNull(json, "signal", finding.signal);
  WriteSteps(json, finding.first_step, finding.last_step);
  json.Key("ranks");
  json.OpenList();
  for (const std::int32_t rank : finding.ranks) json.Integer(rank);
  json.CloseList();
  WriteText(json, "message", finding.message);
  WriteList(json, "evidence", finding.evidence, WriteEvidence);
}

void WriteRemedy(JsonWriter& json, const model::Remedy& remedy) {
  WriteText(json, "id", remedy.id);
  WriteText(json, "text", remedy.text);
  WriteTextOrNull(json, "framework", remedy.framework);
  WriteTextOrNull(json, "file", remedy.file);
  WriteTextOrNull(json, "setting", remedy.setting);
  WriteTextOrNull(json, "current", remedy.current);
  WriteTextOrNull(json, "proposed", remedy.proposed);
}

void WriteDiagnosis(JsonWriter& json, const model::Diagnosis& diagnosis, const std::vector<model::Finding>& findings) {
  WriteText(json, "cause", diagnosis.cause);
  WriteText(json, "family", model::Name(diagnosis.family));
  WriteConfidence(json, diagnosis.confidence);
  WriteText(json, "summary", diagnosis.summary);
  WriteSteps(json, diagnosis.first_step, diagnosis.last_step);
  std::vector<std::string> ids;
  for (const std::uint32_t index : diagnosis.findings) {
    if (index < findings.size()) ids.push_back(findings[index].id);
  }
  WriteTexts(json, "findings", ids);
  WriteList(json, "for", diagnosis.supporting, WriteEvidence);
  WriteList(json, "against", diagnosis.opposing, WriteEvidence);
  WriteTexts(json, "missing", diagnosis.missing);
  WriteTextOrNull(json, "next", diagnosis.next);
  WriteList(json, "remedies", diagnosis.remedies, WriteRemedy);
}

void WriteCoverage(JsonWriter& json, const model::Coverage& coverage) {
  WriteText(json, "family", model::Name(coverage.family));
  WriteText(json, "state", Name(coverage.state));
  WriteTextOrNull(json, "reason", coverage.reason);
  WriteTextOrNull(json, "enable", coverage.enable);
}

void WriteRegime(JsonWriter& json, const model::Regime& regime) {
  json.Key("regime");
  json.Open();
  WriteText(json, "name", regime.name);
  WriteConfidence(json, regime.confidence);
  json.Close();
}

void WriteSpan(JsonWriter& json, const StepSpan& span) {
  json.Key("steps");
  json.Open();
  json.Key("first");
  json.StepOrNull(span.first);
  json.Key("last");
  json.StepOrNull(span.last);
  json.Key("logged");
  json.Count(span.logged);
  json.Close();
}

void WriteRun(JsonWriter& json, const model::RunReport& report) {
  const model::Run& run = report.run;
  WriteText(json, "name", run.name);
  WriteList(json, "sources", run.sources, WriteSource);
  WriteTextOrNull(json, "framework", run.framework);
  WriteRegime(json, run.regime);
  WriteSpan(json, SpanOf(run));
  json.Key("ranks");
  json.Integer(run.ranks);
  WriteList(json, "signals", run.series, WriteSignal);
  WriteList(json, "findings", report.findings, WriteFinding);
  WriteList(json, "diagnoses", report.diagnoses, [&](JsonWriter& out, const model::Diagnosis& diagnosis) {
    WriteDiagnosis(out, diagnosis, report.findings);
  });
  WriteList(json, "coverage", report.coverage, WriteCoverage);
}

void WriteUnread(JsonWriter& json, const model::Unread& unread) {
  WriteText(json, "path", unread.path);
  WriteText(json, "reason", unread.reason);
}

}  // namespace

std::string RenderJson(const model::Report& report, std::string_view version) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.Open();
  WriteText(json, "schema", "vigil.diagnosis/1");
  WriteText(json, "version", version);
  WriteList(json, "runs", report.runs, WriteRun);
  WriteList(json, "unread", report.unread, WriteUnread);
  json.Close();
  return json.Take() + "\n";
}

}  // namespace vigil::report
