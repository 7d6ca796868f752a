#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base.h"
#include "report/beside.h"
#include "report/plot.h"
#include "report/report.h"
#include "report/screen.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/verdict.h"
#include "report/words.h"

namespace vigil::report {
namespace {

constexpr std::size_t kFindingsShown = 8;  // more only when asked: the first ones are the severe ones
constexpr std::size_t kEvidenceShown = 4;
constexpr std::size_t kRunsInDetail = 4;  // with more, the table would scroll away
constexpr std::size_t kVerdictIndent = 2;
constexpr std::size_t kLabelWidth = 9;
constexpr std::size_t kFamilyWidth = 11;
constexpr std::size_t kStateWidth = 13;

Ink InkOf(State state) {
  constexpr std::array<Ink, kStateCount> kInks = {Ink::kGreen, Ink::kCyan, Ink::kYellow, Ink::kRed};
  return kInks[static_cast<std::size_t>(state)];
}

Ink InkOf(model::Severity severity) {
  constexpr std::array<Ink, 4> kInks = {Ink::kCyan, Ink::kYellow, Ink::kRed, Ink::kRed};
  return kInks[static_cast<std::size_t>(severity)];
}

std::string_view Sign(const Screen& screen, State state) {
  constexpr std::array<std::array<std::string_view, 2>, kStateCount> kSigns = {
      {{"✓", "ok"}, {"?", "?"}, {"!", "!"}, {"✗", "x"}}};
  const auto& [unicode, ascii] = kSigns[static_cast<std::size_t>(state)];
  return screen.Glyph(unicode, ascii);
}

std::string RunName(const Screen& screen, const model::Run& run, std::size_t columns) {
  const std::string name = screen.Clean(run.name);
  return screen.CutMiddle(name.empty() ? "(unnamed run)" : name, columns);
}

// ---- the lines to act on

// What stands in full below may be cut; what is to be done, and why, never is.
bool MayBeCut(LineKind kind) { return kind == LineKind::kNotChecked || kind == LineKind::kDamaged; }

void DrawVerdictLines(Screen& screen, const std::vector<VerdictLine>& lines, bool whole) {
  for (const VerdictLine& line : lines) {
    // The one label that is longer than its column pushes its text to the right.
    const std::string label = PadRight(Label(line.kind), std::max(kLabelWidth, Label(line.kind).size() + 2));
    const Ink ink = IsAction(line.kind) ? Ink::kCyan : Ink::kPlain;
    if (MayBeCut(line.kind) && !whole) {
      screen.Short(kVerdictIndent, label, line.text, Ink::kDim, ink);
    } else {
      screen.Item(kVerdictIndent, label, line.text, Ink::kDim, ink);
    }
  }
}

void DrawVerdict(Screen& screen, const model::RunReport& run, const Verdict& verdict, bool whole) {
  const std::string_view sign = Sign(screen, verdict.state);
  const std::string name = RunName(screen, run.run, screen.width() / 2);
  const std::size_t taken = DisplayWidth(sign) + 1 + DisplayWidth(name) + 2;
  const std::size_t room = screen.width() > taken + 4 ? screen.width() - taken : 4;
  const Ink ink = InkOf(verdict.state);
  // Words one space apart, so that what stands beside the name can be taken off its front.
  const std::string headline = Join(Wrap(screen.Clean(verdict.headline), verdict.headline.size() * 4 + 1), " ");
  const std::vector<std::string> first = Wrap(headline, room);
  const std::string beside = first.empty() ? std::string() : first.front();
  screen.Raw(screen.Paint(sign, ink) + " " + screen.Paint(name, Ink::kBold) + "  " + screen.Paint(beside, ink));
  if (first.size() > 1) screen.Item(kVerdictIndent, "", Trim(headline.substr(beside.size())), Ink::kPlain, ink);
  DrawVerdictLines(screen, verdict.lines, whole);
}

// ---- plots

// Findings that have a place on the axis of the plot.
std::vector<PlotMark> MarksOf(const model::RunReport& run, model::Axis axis) {
  std::vector<PlotMark> marks;
  for (std::size_t i = 0; i < run.findings.size() && i < kFindingsShown; ++i) {
    const model::Finding& finding = run.findings[i];
    const auto count = CountOn(run.run, axis, finding.first);
    if (count && finding.severity > model::Severity::kInfo)
      marks.push_back({*count, fmt::format("{}", i + 1), InkOf(finding.severity)});
  }
  return marks;
}

void DrawPlots(Screen& screen, const model::RunReport& run) {
  constexpr std::size_t kMostPlots = 3;
  std::size_t rows = 6;
  for (const model::Series* series : KeySeries(run, kMostPlots)) {
    screen.Blank();
    DrawPlot(screen, {series, series->signal, SpanOn(run.run, series->axis), rows, MarksOf(run, series->axis)});
    rows = 4;  // the first plot is what people look at
  }
}

// ---- what was found, and why we think so

std::string FindingText(const model::Finding& finding) {
  std::vector<std::string> parts = {OneLine(MessageText(finding))};
  if (const std::string labels = LabelText(finding.labels); !labels.empty()) parts.push_back("[" + labels + "]");
  return Join(parts, " ");
}

void DrawEvidence(Screen& screen, std::size_t indent, std::string_view lead, const model::Evidence& evidence) {
  const std::string place = PlaceText(evidence);
  const std::string text = OneLine(EvidenceText(evidence));
  screen.Item(indent, lead, place.empty() ? text : fmt::format("{} ({})", text, place));
}

void DrawFinding(Screen& screen, const model::Finding& finding, std::size_t number, bool verbose) {
  const std::string lead = fmt::format("{:>2} {:<8}", number, model::Name(finding.severity));
  const std::string where = RangeText({finding.first, finding.last});
  const std::string id = screen.Clean(finding.id);
  screen.Item(2, lead, where.empty() ? id : fmt::format("{}, {}", id, where), InkOf(finding.severity));
  const std::size_t indent = 2 + lead.size();
  screen.Item(indent, "", FindingText(finding), Ink::kPlain, Ink::kDim);
  if (!verbose) return;
  for (const model::Evidence& evidence : finding.evidence) DrawEvidence(screen, indent, "- ", evidence);
}

void DrawFindings(Screen& screen, const model::RunReport& run, bool verbose) {
  if (run.findings.empty()) return;
  screen.Heading("findings");
  const std::size_t shown = verbose ? run.findings.size() : std::min(run.findings.size(), kFindingsShown);
  for (std::size_t i = 0; i < shown; ++i) DrawFinding(screen, run.findings[i], i + 1, verbose);
  if (shown < run.findings.size())
    screen.Item(2, "", fmt::format("and {} more (--verbose shows them)", run.findings.size() - shown));
}

void DrawReasons(Screen& screen, const model::Diagnosis& diagnosis, bool verbose) {
  if (!HasReasons(diagnosis)) return;
  const std::size_t most = verbose ? std::string::npos : kEvidenceShown;
  screen.Heading("evidence");
  const auto draw = [&](std::string_view lead, const std::vector<model::Evidence>& evidence) {
    for (std::size_t i = 0; i < std::min(evidence.size(), most); ++i) DrawEvidence(screen, 2, lead, evidence[i]);
  };
  draw("+ ", WithoutRepeats(diagnosis.supporting));
  draw("- ", WithoutRepeats(diagnosis.opposing));
  const std::vector<std::string> missing = MissingTexts(diagnosis);
  for (std::size_t i = 0; i < std::min(missing.size(), most); ++i)
    screen.Item(2, "? ", "not available: " + OneLine(missing[i]));
  for (const std::string& rival : RivalTexts(diagnosis)) screen.Item(2, "", rival);
}

// The title, then the change with its values or what to do in words.
std::string RemedyLine(const model::Remedy& remedy) {
  const std::string title = OneLine(RemedyTitle(remedy));
  const std::string text = OneLine(RemedyText(remedy));
  // A value without a setting to give it to is only said in words.
  const std::string change = ProposedText(remedy).empty() || remedy.setting.empty() ? text : ChangeText(remedy);
  return text.starts_with(title) && change == text ? text : fmt::format("{}: {}", title, change);
}

void DrawRemedy(Screen& screen, const model::Remedy& remedy, std::size_t number, bool whole) {
  const std::string lead = fmt::format("{}. ", number);
  screen.Item(2, lead, RemedyLine(remedy));
  const auto detail = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) screen.Item(2 + lead.size(), PadRight(label, 6), text, Ink::kDim);
  };
  detail("code", OneLine(remedy.code));
  if (!whole) return;
  detail("why", OneLine(RemedyReason(remedy)));
  detail("then", OneLine(RemedyEffect(remedy)));
}

// Why, and what is to be seen then, is said of the first; of all when more is asked for.
void DrawRemedies(Screen& screen, const model::Diagnosis& diagnosis, bool verbose) {
  if (diagnosis.remedies.empty()) return;
  const bool undecided = diagnosis.cause == kUndecided;
  screen.Heading(undecided ? "what to try, the likeliest first" : "what to change, fastest first");
  for (std::size_t i = 0; i < diagnosis.remedies.size(); ++i)
    DrawRemedy(screen, diagnosis.remedies[i], i + 1, verbose || i == 0);
  if (diagnosis.restart_command.empty()) return;
  screen.Heading("start again with");
  screen.Item(2, "", OneLine(diagnosis.restart_command), Ink::kPlain, Ink::kCyan);
}

void DrawNext(Screen& screen, const model::Diagnosis& diagnosis) {
  // What would decide is already among the first lines when nothing is decided.
  const std::string next = OneLine(NextText(diagnosis));
  if (next.empty() || diagnosis.cause == kUndecided) return;
  screen.Heading("to be sure");
  screen.Item(2, "", next);
}

// The last thing that is said: one command, and what to make of its outcome.
void DrawNextCommand(Screen& screen, const model::Diagnosis& diagnosis) {
  const model::NextCommand& next = diagnosis.next_command;
  if (next.command.empty()) return;
  screen.Heading("run next");
  if (const std::string first = OneLine(NextFirstText(diagnosis)); !first.empty()) {
    screen.Item(2, "first ", first, Ink::kDim);
  } else if (!next.change.empty()) {
    screen.Item(2, "with ", OneLine(next.change), Ink::kDim, Ink::kCyan);
  }
  screen.Item(2, "$ ", OneLine(next.command), Ink::kDim, Ink::kCyan);
  for (const NextOutcome& outcome : NextOutcomes(diagnosis))
    screen.Item(2, "if ", fmt::format("{}: {} ({})", outcome.seen, outcome.means, Join(outcome.causes, ", ")),
                Ink::kDim);
}

void DrawDiagnosis(Screen& screen, const model::Diagnosis& diagnosis, bool verbose) {
  DrawReasons(screen, diagnosis, verbose);
  DrawRemedies(screen, diagnosis, verbose);
  DrawNext(screen, diagnosis);
  DrawNextCommand(screen, diagnosis);
}

// The incidents after the first: their lines to act on, and with `verbose` all that is said about them.
void DrawFurther(Screen& screen, const model::RunReport& run, bool verbose) {
  for (std::size_t i = 1; i < run.diagnoses.size(); ++i) {
    screen.Heading("also: " + HeadlineOf(run, run.diagnoses[i]));
    DrawVerdictLines(screen, LinesOf(run, run.diagnoses[i]), true);
    if (verbose) DrawDiagnosis(screen, run.diagnoses[i], verbose);
  }
}

// ---- what could be checked

// In short: the families. In full: every family, why, and what to log.
void DrawNotChecked(Screen& screen, const model::RunReport& run) {
  const std::string families = NotCheckedText(run);
  if (families.empty()) return;
  screen.Blank();
  screen.Item(2, "", fmt::format("not checked: {} (--verbose says why)", families), Ink::kPlain, Ink::kDim);
}

void DrawCoverage(Screen& screen, const model::RunReport& run) {
  if (run.coverage.empty()) return;
  screen.Heading("what could be checked");
  for (const model::Coverage& coverage : run.coverage) {
    std::string text = OneLine(ReasonText(coverage));
    const std::string enable = OneLine(EnableText(coverage));
    if (!enable.empty()) text += fmt::format("{}to enable: {}", text.empty() ? "" : "; ", enable);
    screen.Item(2, PadRight(model::Name(coverage.family), kFamilyWidth) + PadRight(Word(coverage.state), kStateWidth),
                text);
  }
}

void DrawSources(Screen& screen, const model::Run& run, bool verbose) {
  bool headed = false;
  for (const model::Source& source : run.sources) {
    if (!verbose && source.state != model::SourceState::kPartial) continue;
    if (!headed) screen.Heading(verbose ? "files" : "damaged files");
    headed = true;
    std::string text = fmt::format("{}, {}", OneLine(source.path), OneLine(source.format));
    if (source.state != model::SourceState::kRead) text += fmt::format(", {}", Name(source.state));
    if (const std::string note = NoteText(source); !note.empty()) text += ": " + OneLine(note);
    screen.Item(2, "", text);
  }
}

std::string MetricText(const model::Series& series) {
  std::string text = OneLine(series.signal);
  if (series.raw != series.signal) text += fmt::format(" (logged as {})", OneLine(series.raw));
  if (const std::string labels = LabelText(series.labels); !labels.empty()) text += " [" + labels + "]";
  text += ", " + CountOf(series.size(), "point");
  const std::size_t restarts = series.segment_starts.size();
  return restarts > 1 ? text + ", " + CountOf(restarts - 1, "restart") : text;
}

void DrawRunFacts(Screen& screen, const model::Run& run) {
  screen.Heading("the run");
  screen.Item(2, PadRight("framework", 11), run.framework.empty() ? "not recognised" : run.framework);
  screen.Item(2, PadRight("method", 11),
              fmt::format("{} (confidence {})", OneLine(run.method.name), Percent(run.method.confidence)));
  for (const model::Fact& fact : run.facts) screen.Item(2, PadRight("setting", 11), fact.key + " = " + fact.value);
  for (const model::Series& series : run.series) screen.Item(2, PadRight("metric", 11), MetricText(series));
}

void DrawDetails(Screen& screen, const model::RunReport& run, bool verbose) {
  DrawPlots(screen, run);
  if (run.baseline) DrawBaseline(screen, *run.baseline);
  DrawFindings(screen, run, verbose);
  if (!run.diagnoses.empty()) DrawDiagnosis(screen, run.diagnoses.front(), verbose);
  DrawFurther(screen, run, verbose);
  if (verbose) {
    DrawCoverage(screen, run);
  } else if (!run.diagnoses.empty()) {
    DrawNotChecked(screen, run);
  }
  DrawSources(screen, run.run, verbose);
  if (verbose) DrawRunFacts(screen, run.run);
}

// ---- several runs

std::string TableText(const model::RunReport& run, const Verdict& verdict) {
  if (run.diagnoses.empty()) return verdict.headline;
  const model::Diagnosis& best = run.diagnoses.front();
  if (best.cause == kUndecided) return verdict.headline;
  return fmt::format("{} ({}): {}", CauseTitle(best.cause), Percent(best.confidence), verdict.headline);
}

void DrawSummary(Screen& screen, const model::Report& report, const std::vector<std::size_t>& order) {
  std::array<std::size_t, kStateCount> counts{};
  std::size_t widest = 0;
  for (const model::RunReport& run : report.runs) {
    ++counts[static_cast<std::size_t>(VerdictOf(run).state)];
    widest = std::max(widest, DisplayWidth(screen.Clean(run.run.name)));
  }
  std::vector<std::string> parts;
  for (std::size_t i = kStateCount; i-- > 0;) {
    if (counts[i] != 0) parts.push_back(fmt::format("{} {}", counts[i], Name(static_cast<State>(i))));
  }
  screen.Short(0, "", fmt::format("{}: {}", CountOf(report.runs.size(), "run"), Join(parts, ", ")), Ink::kPlain,
               Ink::kBold);
  const std::size_t columns = std::min(widest, screen.width() / 3);
  for (const std::size_t index : order) {
    const model::RunReport& run = report.runs[index];
    const Verdict verdict = VerdictOf(run);
    const std::string sign = PadRight(Sign(screen, verdict.state), screen.unicode() ? 2 : 3);
    const std::string lead = sign + PadRight(RunName(screen, run.run, columns), columns) + "  ";
    screen.Short(0, lead, TableText(run, verdict), InkOf(verdict.state));
  }
}

// ---- configs with remedies put in

void DrawFixedSettings(Screen& screen, const model::Fix& fix) {
  for (const model::FixedSetting& setting : fix.settings) {
    if (setting.problem.empty()) continue;
    screen.Item(2, "- ",
                fmt::format("{}: {} was not set: {}", OneLine(setting.setting), OneLine(setting.proposed),
                            OneLine(setting.problem)));
  }
}

// As it is, with its blanks, so that it can be given to patch.
void DrawLines(Screen& screen, std::string_view text) {
  for (const std::string_view line : Split(text, '\n')) {
    const std::string shown = Printable(line);
    if (!line.empty()) screen.Raw(screen.unicode() ? shown : ToAscii(shown));
  }
}

// What was done with which file.
std::string FixText(const model::Fix& fix) {
  if (fix.config.empty()) return "no config file among the files of the run; set this where it is configured";
  if (fix.diff.empty()) return fmt::format("{} was left as it is; set this by hand", OneLine(fix.config));
  if (fix.written.empty()) return fmt::format("could not be written beside {}", OneLine(fix.config));
  return fmt::format("{} {}", fix.is_dry ? "would write" : "wrote", OneLine(fix.written));
}

void DrawFix(Screen& screen, const model::Fix& fix) {
  screen.Blank();
  screen.Item(2, "fix  ", fmt::format("{}: {}", OneLine(fix.run), FixText(fix)), Ink::kBold, Ink::kBold);
  DrawLines(screen, fix.diff.empty() ? fix.snippet : fix.diff);
  DrawFixedSettings(screen, fix);
}

void DrawUnread(Screen& screen, const model::Report& report) {
  if (report.unread.empty()) return;
  screen.Heading("could not be read");
  for (const model::Unread& unread : report.unread)
    screen.Item(2, "", fmt::format("{}: {}", OneLine(unread.path), OneLine(WhyUnread(unread))));
}

}  // namespace

std::string RenderText(const model::Report& report, const TextOptions& options) {
  Screen screen(options);
  const std::vector<std::size_t> order = WorstFirst(report);
  const bool several = report.runs.size() > 1;
  const bool detailed = options.verbose || (!options.brief && report.runs.size() <= kRunsInDetail);
  if (several) DrawSummary(screen, report, order);
  for (const std::size_t index : order) {
    const model::RunReport& run = report.runs[index];
    const Verdict verdict = VerdictOf(run);
    // Among several runs the table has said all there is to say about one without problems.
    const bool is_asked_for = !run.checklist.empty();
    if (verdict.state == State::kHealthy && several && !options.verbose && !is_asked_for) continue;
    if (several) screen.Blank();
    DrawVerdict(screen, run, verdict, options.verbose);
    if (detailed && (options.verbose || !is_asked_for)) DrawDetails(screen, run, options.verbose);
    if (is_asked_for) DrawChecklist(screen, run.checklist);
  }
  for (const model::Fix& fix : report.fixes) DrawFix(screen, fix);
  DrawUnread(screen, report);
  if (options.brief || detailed) return screen.Take();
  screen.Blank();
  screen.Item(0, "", "Plots and evidence: give one run alone, or add --verbose.");
  return screen.Take();
}

}  // namespace vigil::report
