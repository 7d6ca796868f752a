#include <array>
#include <cmath>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "report/json.h"
#include "report/json_beside.h"
#include "report/json_members.h"
#include "report/json_statement.h"
#include "report/judged_on.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/verdict.h"
#include "report/words.h"

// The order of keys is that of doc/formats/diagnosis-json.md, which describes each.

namespace vigil::report {
namespace {

// Three digits are more than a confidence is worth, and the same on every machine.
void WriteConfidence(JsonWriter& json, double confidence) {
  json.Key("confidence");
  json.Number(std::isfinite(confidence) ? std::round(confidence * 1000) / 1000 : 0);
}

void WriteSource(JsonWriter& json, const model::Source& source) {
  WriteText(json, "path", source.path);
  WriteText(json, "format", source.format);
  WriteText(json, "state", Name(source.state));
  WriteTextOrNull(json, "note", NoteText(source));
  WriteNotes(json, source.notes);
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
  WriteText(json, "axis", model::Name(series.axis));
}

void WriteEvidence(JsonWriter& json, const model::Evidence& evidence) {
  const model::Quote* quote = QuoteIn(evidence.says);
  const bool quoted = evidence.path.empty() && quote != nullptr;
  WriteText(json, "text", EvidenceText(evidence));
  WriteCount(json, "step", evidence.at);
  json.Key("value");
  model::IsNoValue(evidence.value) ? json.Null() : json.Number(evidence.value);
  WriteTextOrNull(json, "path", quoted ? quote->path : evidence.path);
  const std::uint32_t line = quoted ? quote->line : evidence.line;
  json.Key("line");
  line == 0 ? json.Null() : json.Count(line);
  WriteAxis(json, evidence.at);
  WriteSays(json, "says", evidence.says);
}

void WriteFinding(JsonWriter& json, const model::Finding& finding) {
  WriteText(json, "id", finding.id);
  WriteText(json, "family", model::Name(finding.family));
  WriteText(json, "severity", model::Name(finding.severity));
  WriteTextOrNull(json, "signal", finding.signal);
  WriteTextOrNull(json, "signature", finding.signature);
  WriteSteps(json, finding.first, finding.last);
  json.Key("ranks");
  json.OpenList();
  for (const std::int32_t rank : finding.ranks) json.Integer(rank);
  json.CloseList();
  WriteText(json, "message", MessageText(finding));
  WriteSays(json, "says", finding.says);
  WriteList(json, "evidence", finding.evidence, WriteEvidence);
}

void WriteChange(JsonWriter& json, const model::SettingChange& change) {
  WriteText(json, "setting", change.setting);
  WriteTextOrNull(json, "current", change.current);
  WriteText(json, "proposed", change.proposed);
}

std::string_view KindOf(const model::Remedy& remedy) {
  const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id);
  constexpr std::array<std::string_view, 3> kKinds = {"setting", "code", "look"};
  return row == nullptr ? "code" : kKinds[static_cast<std::size_t>(row->kind)];
}

void WriteRemedy(JsonWriter& json, const model::Remedy& remedy) {
  WriteText(json, "id", remedy.id);
  WriteText(json, "title", RemedyTitle(remedy));
  WriteText(json, "kind", KindOf(remedy));
  WriteText(json, "text", RemedyText(remedy));
  WriteTextOrNull(json, "framework", remedy.framework);
  WriteTextOrNull(json, "file", remedy.file);
  WriteTextOrNull(json, "setting", remedy.setting);
  WriteTextOrNull(json, "current", remedy.current);
  WriteTextOrNull(json, "proposed", ProposedText(remedy));
  WriteList(json, "also", remedy.also, WriteChange);
  WriteTextOrNull(json, "code", remedy.code);
  WriteTextOrNull(json, "reason", RemedyReason(remedy));
  WriteSays(json, "reason_says", remedy.reason);
  WriteTextOrNull(json, "effect", RemedyEffect(remedy));
  WriteSays(json, "effect_says", remedy.effect);
}

// null where there is none.
void WriteNextCommand(JsonWriter& json, const model::Diagnosis& diagnosis) {
  const model::NextCommand& next = diagnosis.next_command;
  json.Key("next_command");
  if (next.command.empty()) return json.Null();
  json.Open();
  WriteText(json, "command", next.command);
  WriteTextOrNull(json, "change", next.change);
  WriteTextOrNull(json, "first", NextFirstText(diagnosis));
  WriteSays(json, "first_says", next.first);
  WriteList(json, "outcomes", NextOutcomes(diagnosis), [](JsonWriter& out, const NextOutcome& outcome) {
    WriteText(out, "seen", outcome.seen);
    WriteText(out, "means", outcome.means);
    WriteTexts(out, "causes", outcome.causes);
  });
  json.Close();
}

void WriteRival(JsonWriter& json, const model::Rival& rival) {
  WriteText(json, "cause", rival.cause);
  WriteConfidence(json, rival.confidence);
  WriteTextOrNull(json, "tell_apart", rival.tell_apart.empty() ? std::string() : Sentence(rival.tell_apart));
  WriteSays(json, "tell_apart_says", rival.tell_apart);
}

void WriteMissing(JsonWriter& json, const model::Diagnosis& diagnosis) {
  WriteTexts(json, "missing", MissingTexts(diagnosis));
  json.Key("missing_says");
  json.OpenList();
  for (const model::Statement& missing : diagnosis.missing) WriteStatement(json, missing);
  json.CloseList();
}

// null where nothing of it is known.
void WriteCost(JsonWriter& json, const model::Cost& cost) {
  json.Key("cost");
  if (!cost.known()) return json.Null();
  json.Open();
  WriteNumberOrNull(json, "steps", cost.steps);
  WriteNumberOrNull(json, "hours", cost.hours);
  WriteNumberOrNull(json, "gpu_hours", cost.gpu_hours);
  WriteNumberOrNull(json, "money", cost.money);
  json.Close();
}

void WriteDiagnosis(JsonWriter& json, const model::Diagnosis& diagnosis, const std::vector<model::Finding>& findings) {
  WriteText(json, "cause", diagnosis.cause);
  WriteText(json, "family", model::Name(diagnosis.family));
  WriteConfidence(json, diagnosis.confidence);
  WriteList(json, "rivals", diagnosis.rivals, WriteRival);
  WriteText(json, "summary", SummaryText(diagnosis));
  WriteSays(json, "summary_says", diagnosis.summary);
  WriteSteps(json, diagnosis.first, diagnosis.last);
  std::vector<std::string> ids;
  for (const std::uint32_t index : diagnosis.findings) {
    if (index < findings.size()) ids.push_back(findings[index].id);
  }
  WriteTexts(json, "findings", ids);
  WriteList(json, "for", diagnosis.supporting, WriteEvidence);
  WriteList(json, "against", diagnosis.opposing, WriteEvidence);
  WriteMissing(json, diagnosis);
  WriteTextOrNull(json, "next", NextText(diagnosis));
  WriteSays(json, "next_says", diagnosis.next);
  WriteTextOrNull(json, "restart", RestartText(diagnosis));
  WriteSays(json, "restart_says", diagnosis.restart);
  WriteTextOrNull(json, "skip", SkipText(diagnosis));
  WriteSays(json, "skip_says", diagnosis.skip);
  WriteTextOrNull(json, "restart_command", diagnosis.restart_command);
  WriteList(json, "remedies", diagnosis.remedies, WriteRemedy);
  WriteCost(json, diagnosis.cost);
  WriteNextCommand(json, diagnosis);
}

void WriteCoverage(JsonWriter& json, const model::Coverage& coverage) {
  WriteText(json, "family", model::Name(coverage.family));
  WriteText(json, "state", Name(coverage.state));
  WriteTextOrNull(json, "reason", ReasonText(coverage));
  WriteTextOrNull(json, "enable", EnableText(coverage));
  WriteSays(json, "reason_says", coverage.reason);
  WriteSays(json, "enable_says", coverage.enable);
  WriteList(json, "closed", coverage.closed, [](JsonWriter& out, const std::string& id) {
    const catalogue::FindingRow* row = catalogue::FindFinding(id);
    WriteText(out, "id", id);
    WriteText(out, "needs", row == nullptr ? std::string_view() : row->needs);
  });
}

void WriteMethod(JsonWriter& json, const model::TrainingMethod& method) {
  json.Key("regime");
  json.Open();
  WriteText(json, "name", method.name);
  WriteConfidence(json, method.confidence);
  json.Close();
}

void WriteSpan(JsonWriter& json, const Span& span) {
  json.Key("steps");
  json.Open();
  WriteCount(json, "first", span.First());
  WriteCount(json, "last", span.Last());
  json.Key("logged");
  json.Count(span.logged);
  WriteAxis(json, span.First());
  json.Close();
}

// What a script wants first: the state, the cause, the change to make, where to restart.
void WriteVerdict(JsonWriter& json, const model::RunReport& report) {
  const Verdict verdict = VerdictOf(report);
  const model::Diagnosis* best = report.diagnoses.empty() ? nullptr : &report.diagnoses.front();
  const std::string_view change = verdict.Find(LineKind::kChange);
  WriteText(json, "headline", verdict.headline);
  json.Key("verdict");
  json.Open();
  WriteText(json, "state", Name(verdict.state));
  WriteTextOrNull(json, "cause", best == nullptr ? std::string_view() : best->cause);
  if (best != nullptr) {
    WriteConfidence(json, best->confidence);
  } else {
    json.Key("confidence");
    json.Null();
  }
  WriteTextOrNull(json, "change", change.empty() ? verdict.Find(LineKind::kDo) : change);
  WriteTextOrNull(json, "restart", verdict.Find(LineKind::kRestart));
  json.Close();
}

// How many points the verdict rests on, and which checks would need more.
void WriteJudgedOn(JsonWriter& json, const model::Run& run) {
  const JudgedOn judged = JudgedOnOf(run);
  json.Key("judged_on");
  json.Open();
  WriteTextOrNull(json, "metric", judged.metric);
  json.Key("points");
  json.Count(judged.points);
  json.Key("few");
  json.Boolean(judged.few);
  WriteList(json, "needs", judged.needs, [](JsonWriter& out, const JudgedOn::Need& need) {
    WriteText(out, "finding", need.finding);
    out.Key("points");
    out.Count(need.points);
  });
  json.Close();
}

void WriteRun(JsonWriter& json, const model::RunReport& report) {
  const model::Run& run = report.run;
  WriteText(json, "name", run.name);
  WriteList(json, "sources", run.sources, WriteSource);
  WriteTextOrNull(json, "framework", run.framework);
  WriteMethod(json, run.method);
  WriteSpan(json, SpanOf(run));
  json.Key("ranks");
  json.Integer(run.ranks);
  WriteList(json, "signals", run.series, WriteSignal);
  WriteList(json, "findings", report.findings, WriteFinding);
  WriteVerdict(json, report);
  WriteJudgedOn(json, run);
  WriteList(json, "diagnoses", report.diagnoses, [&](JsonWriter& out, const model::Diagnosis& diagnosis) {
    WriteDiagnosis(out, diagnosis, report.findings);
  });
  WriteList(json, "coverage", report.coverage, WriteCoverage);
  WriteBaseline(json, report.baseline.get());
  WriteList(json, "checklist", report.checklist, WriteCheckedItem);
}

void WriteUnread(JsonWriter& json, const model::Unread& unread) {
  WriteText(json, "path", unread.path);
  WriteText(json, "reason", WhyUnread(unread));
  WriteNotes(json, unread.notes);
}

void WriteFixedSetting(JsonWriter& json, const model::FixedSetting& setting) {
  WriteText(json, "remedy", setting.remedy);
  WriteText(json, "setting", setting.setting);
  WriteTextOrNull(json, "current", setting.current);
  WriteText(json, "proposed", setting.proposed);
  WriteTextOrNull(json, "problem", setting.problem);
}

void WriteFix(JsonWriter& json, const model::Fix& fix) {
  WriteText(json, "run", fix.run);
  WriteTextOrNull(json, "config", fix.config);
  WriteTextOrNull(json, "written", fix.is_dry ? std::string() : fix.written);
  WriteTextOrNull(json, "would_write", fix.is_dry ? fix.written : std::string());
  WriteTextOrNull(json, "diff", fix.diff);
  WriteTextOrNull(json, "snippet", fix.snippet);
  WriteList(json, "settings", fix.settings, WriteFixedSetting);
}

}  // namespace

std::string RenderJson(const model::Report& report, std::string_view version) {
  JsonWriter json(JsonWriter::Layout::kPretty);
  json.Open();
  WriteText(json, "schema", "vigil.diagnosis/1");
  WriteText(json, "version", version);
  WriteList(json, "runs", report.runs, WriteRun);
  WriteList(json, "unread", report.unread, WriteUnread);
  WriteList(json, "fixes", report.fixes, WriteFix);
  json.Close();
  return json.Take() + "\n";
}

}  // namespace vigil::report
