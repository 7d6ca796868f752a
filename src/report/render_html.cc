#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "report/beside.h"
#include "report/chart.h"
#include "report/json.h"
#include "report/page.inc"
#include "report/plot.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/verdict.h"
#include "report/words.h"

namespace vigil::report {
namespace {

constexpr std::size_t kPointsPerCurve = 2000;
constexpr std::size_t kPointsOfAllRuns = 60000;  // per metric: a page of hundreds of runs must still open
constexpr std::size_t kFewestPoints = 200;

// The page as it grows. Text goes through `Text` and `Escaped` only.
class Page {
 public:
  template <class... Arguments>
  void Add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }
  void AddRaw(std::string_view text) { out_ += text; }
  std::string Take() { return std::move(out_); }

 private:
  std::string out_;
};

std::string_view SignOf(State state) {
  constexpr std::array<std::string_view, kStateCount> kSigns = {"✓", "?", "!", "✗"};
  return kSigns[static_cast<std::size_t>(state)];
}

std::string NameOf(const model::Run& run) { return run.name.empty() ? "(unnamed run)" : EscapeHtml(run.name); }

// ---- the verdict

void AddLines(Page& page, const std::vector<VerdictLine>& lines) {
  if (lines.empty()) return;
  page.Add("<dl class=\"lines\">");
  for (const VerdictLine& line : lines) {
    const bool act = IsAction(line.kind) || line.kind == LineKind::kCause;
    page.Add("<dt>{}</dt><dd{}>{}</dd>", Label(line.kind), act ? " class=\"act\"" : "", EscapeHtml(line.text));
  }
  page.Add("</dl>\n");
}

void AddVerdict(Page& page, const model::RunReport& run) {
  const Verdict verdict = VerdictOf(run);
  page.Add("<div class=\"card verdict {}\"><p class=\"name\">{}</p>", Name(verdict.state), NameOf(run.run));
  page.Add("<h2><span class=\"sign\">{}</span><span>{}</span></h2>\n", SignOf(verdict.state),
           EscapeHtml(verdict.headline));
  AddLines(page, verdict.lines);
  page.Add("</div>\n");
}

// ---- plots

void AddCharts(Page& page, const model::RunReport& run, const std::vector<Chart>& charts) {
  for (std::size_t i = 0; i < charts.size(); ++i) {
    page.Add("<figure class=\"card\" data-plot=\"{}\"><figcaption><b>{}</b>", i, EscapeHtml(charts[i].title));
    std::vector<const model::Series*> series;
    for (std::size_t j = 0; j < charts[i].curves.size(); ++j) {
      series.push_back(charts[i].curves[j].series);
      page.Add("<span class=\"key curve{}\">{}</span>", j, EscapeHtml(series.back()->raw));
    }
    if (ScaleOf(series).logarithmic) page.Add("<span class=\"soft\">log scale</span>");
    page.Add("<span class=\"readout\"></span></figcaption>{}</figure>\n", DrawSvg(charts[i], run));
  }
}

// ---- findings, evidence, remedies

std::string WithPlace(const model::Evidence& evidence) {
  const std::string place = PlaceText(evidence);
  const std::string text = EscapeHtml(EvidenceText(evidence));
  return place.empty() ? text : fmt::format("{} <span class=\"soft\">({})</span>", text, EscapeHtml(place));
}

void AddReason(Page& page, std::string_view kind, std::string_view label, const std::string& text) {
  page.Add("<li><span class=\"why {}\">{}</span><span>{}</span></li>", kind, label, text);
}

void AddReasons(Page& page, const model::Diagnosis& diagnosis) {
  if (!HasReasons(diagnosis)) return;
  page.Add("<h3>Evidence</h3>\n<div class=\"card\"><ul class=\"reasons\">");
  for (const model::Evidence& evidence : WithoutRepeats(diagnosis.supporting))
    AddReason(page, "for", "for", WithPlace(evidence));
  for (const model::Evidence& evidence : WithoutRepeats(diagnosis.opposing))
    AddReason(page, "against", "against", WithPlace(evidence));
  for (const std::string& missing : MissingTexts(diagnosis)) AddReason(page, "missing", "missing", EscapeHtml(missing));
  page.Add("</ul>");
  for (const std::string& rival : RivalTexts(diagnosis)) page.Add("<p>{}</p>", EscapeHtml(rival));
  page.Add("</div>\n");
}

std::string CodeOrNothing(const std::string& text) {
  return text.empty() ? std::string() : fmt::format("<code>{}</code>", EscapeHtml(text));
}

// Whose setting it is; nothing for a remedy that is no setting.
std::string WhereText(const model::Remedy& remedy) {
  if (remedy.setting.empty() || remedy.framework == "*") return EscapeHtml(remedy.file);
  return EscapeHtml(remedy.file.empty() ? remedy.framework : remedy.file);
}

// Why it helps and what it should change, and the line of code.
std::string WhyAndThen(const model::Remedy& remedy) {
  std::string text;
  for (const std::string& part : {RemedyReason(remedy), RemedyEffect(remedy)}) {
    if (!part.empty()) text += fmt::format("<br><span class=\"soft\">{}</span>", EscapeHtml(part));
  }
  return remedy.code.empty() ? text : text + "<br>" + CodeOrNothing(remedy.code);
}

std::string AlsoTable(const model::Remedy& remedy) {
  std::string text;
  for (const model::SettingChange& also : remedy.also)
    text += fmt::format("<br><code>{}: {}</code>", EscapeHtml(also.setting), EscapeHtml(also.proposed));
  return text;
}

void AddRemedies(Page& page, const model::Diagnosis& diagnosis) {
  if (diagnosis.remedies.empty()) return;
  const bool undecided = diagnosis.cause == kUndecided;
  page.Add("<h3>{}</h3>\n<div class=\"card scroll\"><table>",
           undecided ? "What to try, the likeliest first" : "What to change, fastest first");
  page.Add("<tr><th></th><th>remedy</th><th>setting</th><th>now</th><th>proposed</th><th>where</th></tr>");
  for (std::size_t i = 0; i < diagnosis.remedies.size(); ++i) {
    const model::Remedy& remedy = diagnosis.remedies[i];
    page.Add("<tr><td>{}</td><td><b>{}</b><br>{}{}</td><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", i + 1,
             EscapeHtml(RemedyTitle(remedy)), EscapeHtml(RemedyText(remedy)), WhyAndThen(remedy),
             CodeOrNothing(remedy.setting), AlsoTable(remedy), CodeOrNothing(remedy.current),
             CodeOrNothing(ProposedText(remedy)), WhereText(remedy));
  }
  page.Add("</table></div>\n");
  if (!diagnosis.restart_command.empty())
    page.Add("<h3>Start again with</h3>\n<div class=\"card scroll\"><code>{}</code></div>\n",
             EscapeHtml(diagnosis.restart_command));
}

void AddNextCommand(Page& page, const model::Diagnosis& diagnosis) {
  const model::NextCommand& next = diagnosis.next_command;
  if (next.command.empty()) return;
  page.Add("<h3>Run next</h3>\n<div class=\"card scroll\">");
  if (const std::string first = NextFirstText(diagnosis); !first.empty())
    page.Add("<p>first {}</p>", EscapeHtml(first));
  else if (!next.change.empty())
    page.Add("<p>with <code>{}</code></p>", EscapeHtml(next.change));
  page.Add("<p><code>{}</code></p><ul>", EscapeHtml(next.command));
  for (const NextOutcome& outcome : NextOutcomes(diagnosis))
    page.Add("<li>{}: {} ({})</li>", EscapeHtml(outcome.seen), EscapeHtml(outcome.means),
             EscapeHtml(Join(outcome.causes, ", ")));
  page.Add("</ul></div>\n");
}

void AddDiagnosis(Page& page, const model::Diagnosis& diagnosis) {
  AddReasons(page, diagnosis);
  AddRemedies(page, diagnosis);
  if (const std::string next = NextText(diagnosis); !next.empty())
    page.Add("<h3>To be sure</h3>\n<div class=\"card\">{}</div>\n", EscapeHtml(next));
  AddNextCommand(page, diagnosis);
}

void AddFurther(Page& page, const model::RunReport& run) {
  for (std::size_t i = 1; i < run.diagnoses.size(); ++i) {
    page.Add("<h3>Also</h3>\n<div class=\"card\"><b>{}</b>", EscapeHtml(HeadlineOf(run, run.diagnoses[i])));
    AddLines(page, LinesOf(run, run.diagnoses[i]));
    page.Add("</div>\n");
    AddDiagnosis(page, run.diagnoses[i]);
  }
}

void AddFinding(Page& page, const model::Finding& finding, std::size_t number) {
  page.Add("<tr><td>{}</td><td class=\"tight tone-{}\"><span class=\"pill\">{}</span></td>", number,
           model::Name(finding.severity), model::Name(finding.severity));
  page.Add("<td class=\"tight\"><code>{}</code></td><td class=\"tight\">{}</td><td>{}", EscapeHtml(finding.id),
           RangeText({finding.first, finding.last}), EscapeHtml(MessageText(finding)));
  if (const std::string labels = LabelText(finding.labels); !labels.empty())
    page.Add(" <span class=\"soft\">[{}]</span>", EscapeHtml(labels));
  if (!finding.evidence.empty()) {
    page.Add("<ul>");
    for (const model::Evidence& evidence : finding.evidence)
      page.Add("<li class=\"notes\">{}</li>", WithPlace(evidence));
    page.Add("</ul>");
  }
  page.Add("</td></tr>");
}

void AddFindings(Page& page, const model::RunReport& run) {
  if (run.findings.empty()) return;
  page.Add("<h3>Findings</h3>\n<div class=\"card scroll\"><table>");
  page.Add("<tr><th></th><th>severity</th><th>id</th><th>where</th><th>what was observed</th></tr>");
  for (std::size_t i = 0; i < run.findings.size(); ++i) AddFinding(page, run.findings[i], i + 1);
  page.Add("</table></div>\n");
}

// ---- what could be checked

void AddCoverage(Page& page, const model::RunReport& run) {
  if (run.coverage.empty()) return;
  page.Add("<h3>What could be checked</h3>\n<div class=\"card scroll\"><table>");
  page.Add("<tr><th>family</th><th>state</th><th>why</th><th>to enable</th></tr>");
  for (const model::Coverage& coverage : run.coverage)
    page.Add("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>", model::Name(coverage.family),
             Word(coverage.state), EscapeHtml(ReasonText(coverage)), EscapeHtml(EnableText(coverage)));
  page.Add("</table></div>\n");
}

void AddSources(Page& page, const model::Run& run) {
  page.Add("<table><tr><th>file</th><th>format</th><th>state</th><th>note</th></tr>");
  for (const model::Source& source : run.sources)
    page.Add("<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>", EscapeHtml(source.path),
             EscapeHtml(source.format), Name(source.state), EscapeHtml(NoteText(source)));
  page.Add("</table>\n");
}

void AddMetrics(Page& page, const model::Run& run) {
  if (run.series.empty()) return;
  page.Add("<table><tr><th>metric</th><th>logged as</th><th>labels</th><th>points</th></tr>");
  for (const model::Series& series : run.series)
    page.Add("<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>", EscapeHtml(series.signal),
             EscapeHtml(series.raw), EscapeHtml(LabelText(series.labels)), FormatCount(series.size()));
  page.Add("</table>\n");
}

void AddFacts(Page& page, const model::Run& run) {
  if (run.facts.empty()) return;
  page.Add("<table><tr><th>setting</th><th>value</th></tr>");
  for (const model::Fact& fact : run.facts)
    page.Add("<tr><td><code>{}</code></td><td>{}</td></tr>", EscapeHtml(fact.key), EscapeHtml(fact.value));
  page.Add("</table>\n");
}

void AddOrigins(Page& page, const model::Run& run) {
  page.Add("<h3>What was read</h3>\n<div class=\"card scroll\"><p>{}, training method {} ({})</p>",
           run.framework.empty() ? "framework not recognised" : "framework " + EscapeHtml(run.framework),
           EscapeHtml(run.method.name), Percent(run.method.confidence));
  page.Add("<details><summary>{}, {}, {}</summary>", CountOf(run.sources.size(), "file"),
           CountOf(run.series.size(), "metric"), CountOf(run.facts.size(), "setting"));
  AddSources(page, run);
  AddMetrics(page, run);
  AddFacts(page, run);
  page.Add("</details></div>\n");
}

// ---- data for the script

void WriteCurve(JsonWriter& json, const Curve& curve) {
  json.Open();
  json.Key("name");
  json.Text(OneLine(curve.series->raw));
  json.Key("steps");
  json.OpenList();
  for (const std::size_t index : curve.kept) json.Integer(curve.series->steps[index]);
  json.CloseList();
  json.Key("values");
  json.OpenList();
  for (const std::size_t index : curve.kept) json.Rounded(curve.series->values[index]);
  json.CloseList();
  json.Close();
}

void WriteFrame(JsonWriter& json) {
  json.Key("frame");
  json.Open();
  json.Key("width");
  json.Number(kFrame.width);
  json.Key("left");
  json.Number(kFrame.left);
  json.Key("right");
  json.Number(kFrame.right);
  json.Close();
}

// What the positions of a plot are called, and where they begin and end.
void WriteAxis(JsonWriter& json, const Span& span) {
  json.Open();
  json.Key("word");
  json.Text(AxisWord(span.axis));
  json.Key("first");
  json.Integer(span.first);
  json.Key("last");
  json.Integer(span.last);
  json.Close();
}

void WriteRunData(JsonWriter& json, const model::RunReport& run, const std::vector<Chart>& charts) {
  json.Open();
  json.Key("axes");
  json.OpenList();
  for (const Chart& chart : charts) WriteAxis(json, SpanOn(run.run, chart.axis));
  json.CloseList();
  json.Key("plots");
  json.OpenList();
  for (const Chart& chart : charts) {
    json.OpenList();
    for (const Curve& curve : chart.curves) WriteCurve(json, curve);
    json.CloseList();
  }
  json.CloseList();
  json.Close();
}

// JSON that cannot end the element it stands in, whatever the strings hold.
std::string SafeInScript(std::string_view json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      fmt::format_to(std::back_inserter(safe), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

// ---- the page

// What a tab of the browser shows.
std::string TitleOf(const model::Report& report) {
  return report.runs.size() == 1 ? NameOf(report.runs.front().run) : fmt::format("{} runs", report.runs.size());
}

void AddHead(Page& page, const model::Report& report, std::string_view version) {
  page.AddRaw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
  // Nothing is loaded and nothing runs but the style and the script of this page.
  page.Add(
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; "
      "base-uri 'none'; form-action 'none'\">\n",
      page::kCssHash, page::kJsHash);
  page.AddRaw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  page.Add("<title>{} - vigil</title>\n", TitleOf(report));
  page.Add("<style>{}</style></head>\n<body><main>\n", page::kCss);
  page.Add("<header class=\"top\"><b>vigil</b><span>diagnosis of training runs, version {}</span></header>\n",
           EscapeHtml(version));
}

void AddSummary(Page& page, const model::Report& report, const std::vector<std::size_t>& order) {
  page.Add("<div class=\"card scroll\"><table><tr><th></th><th>run</th><th>last logged</th><th>verdict</th></tr>");
  for (const std::size_t index : order) {
    const model::RunReport& run = report.runs[index];
    const Verdict verdict = VerdictOf(run);
    const std::string cause = run.diagnoses.empty() ? std::string() : CauseTitle(run.diagnoses.front().cause) + ": ";
    page.Add(
        "<tr class=\"verdictrow {}\"><td class=\"tight\"><span class=\"pill\">{}</span></td><td><a "
        "href=\"#run-{}\">{}</a></td>",
        Name(verdict.state), Name(verdict.state), index, NameOf(run.run));
    page.Add("<td>{}</td><td>{}{}</td></tr>\n", PositionText(SpanOf(run.run).Last()), EscapeHtml(cause),
             EscapeHtml(verdict.headline));
  }
  page.Add("</table></div>\n");
}

void AddRun(Page& page, const model::RunReport& run, std::size_t index, const std::vector<Chart>& charts) {
  page.Add("<section class=\"run\" id=\"run-{}\">\n", index);
  AddVerdict(page, run);
  AddCharts(page, run, charts);
  if (run.baseline) page.AddRaw(BaselineHtml(*run.baseline));
  if (!run.diagnoses.empty()) AddDiagnosis(page, run.diagnoses.front());
  AddFindings(page, run);
  AddFurther(page, run);
  if (!run.checklist.empty()) page.AddRaw(ChecklistHtml(run.checklist));
  AddCoverage(page, run);
  AddOrigins(page, run.run);
  page.Add("</section>\n");
}

void AddUnread(Page& page, const model::Report& report) {
  if (report.unread.empty()) return;
  page.Add("<h3>Could not be read</h3>\n<div class=\"card scroll\"><table><tr><th>file</th><th>reason</th></tr>");
  for (const model::Unread& unread : report.unread)
    page.Add("<tr><td><code>{}</code></td><td>{}</td></tr>", EscapeHtml(unread.path), EscapeHtml(WhyUnread(unread)));
  page.Add("</table></div>\n");
}

}  // namespace

std::string RenderHtml(const model::Report& report, std::string_view version) {
  Page page;
  AddHead(page, report, version);
  const std::vector<std::size_t> order = WorstFirst(report);
  if (report.runs.size() > 1) AddSummary(page, report, order);
  const std::size_t points =
      std::clamp(kPointsOfAllRuns / std::max<std::size_t>(report.runs.size(), 1), kFewestPoints, kPointsPerCurve);
  JsonWriter data(JsonWriter::Layout::kDense);
  data.Open();
  WriteFrame(data);
  data.Key("runs");
  data.OpenList();
  for (const std::size_t index : order) {
    const std::vector<Chart> charts = ChartsOf(report.runs[index], points);
    AddRun(page, report.runs[index], index, charts);
    WriteRunData(data, report.runs[index], charts);
  }
  data.CloseList();
  data.Close();
  AddUnread(page, report);
  page.AddRaw("<footer>This page is one file: it loads nothing and sends nothing.</footer>\n</main>\n");
  page.Add("<script type=\"application/json\" id=\"vigil-data\">{}</script>\n", SafeInScript(data.Take()));
  page.Add("<script>{}</script>\n</body></html>\n", page::kJs);
  return page.Take();
}

}  // namespace vigil::report
