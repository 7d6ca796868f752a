#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "report/counted.h"

namespace vigil::report {
namespace {

constexpr std::string_view kUndecided = "unknown";

// Signals that tell whether a run made progress, most telling first.
constexpr std::array<std::string_view, 4> kProgressSignals = {"loss", "eval_loss", "reward", "policy_loss"};

// The message, with its steps where it does not speak of steps itself.
std::string WithSteps(std::string message, std::int64_t first, std::int64_t last) {
  if (first == model::kNoStep || message.find("step") != std::string::npos) return message;
  return fmt::format("{} ({})", message, StepText(first, last));
}

std::string FindingHeadline(const model::Finding& finding) {
  const catalogue::FindingRow* row = catalogue::FindFinding(finding.id);
  const std::string title = row == nullptr ? finding.id : std::string(row->title);
  const std::string message = OneLine(finding.message.empty() ? title : finding.message);
  return WithSteps(message, finding.first_step, finding.last_step);
}

void AddLine(std::vector<VerdictLine>& lines, std::string_view label, std::string text) {
  if (!text.empty()) lines.push_back({label, std::move(text)});
}

std::vector<const model::Finding*> FindingsOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  std::vector<const model::Finding*> findings;
  for (const std::uint32_t index : diagnosis.findings) {
    if (index < run.findings.size()) findings.push_back(&run.findings[index]);
  }
  return findings;
}

// The row of the message that the diagnosis is about, null when it is about something else.
const catalogue::SignatureRow* MessageOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const auto findings = FindingsOf(run, diagnosis);
  for (const model::Finding* finding : findings) {
    const catalogue::SignatureRow* row = catalogue::FindSignature(finding->id);
    if (row != nullptr && (finding == findings.front() || row->finding == findings.front()->id)) return row;
  }
  return nullptr;
}

// Causes that only sort messages into groups: what the message itself means says more.
bool IsWide(std::string_view cause) {
  constexpr std::array<std::string_view, 4> kWide = {kUndecided, "bad-config", "missing-file-or-module",
                                                     "version-mismatch"};
  return std::find(kWide.begin(), kWide.end(), cause) != kWide.end();
}

std::string CauseLine(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const catalogue::SignatureRow* message = MessageOf(run, diagnosis);
  const bool undecided = diagnosis.cause == kUndecided;
  if (message != nullptr && IsWide(diagnosis.cause) && (undecided || message->cause == diagnosis.cause) &&
      diagnosis.rival.empty())
    return OneLine(message->explanation);
  const std::string title = CauseTitle(diagnosis.cause);
  if (undecided) return diagnosis.summary.empty() ? title : OneLine(diagnosis.summary);
  std::string named = fmt::format("{} (confidence {})", title, Percent(diagnosis.confidence));
  if (diagnosis.rival.empty()) return named;
  return fmt::format("{}, or: {} ({})", named, CauseTitle(diagnosis.rival), Percent(diagnosis.rival_confidence));
}

// The first observation that says more than the headline; where there is none, the place to look at.
std::string ReasonLine(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const std::string headline = HeadlineOf(run, diagnosis);
  for (const model::Evidence& evidence : diagnosis.supporting) {
    if (std::string text = OneLine(evidence.text); text != headline) return text;
  }
  return diagnosis.supporting.empty() ? std::string() : PlaceText(diagnosis.supporting.front());
}

// What the rows say to do about a known message or a bad setting.
std::string FixOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  for (const model::Finding* finding : FindingsOf(run, diagnosis)) {
    if (const catalogue::SignatureRow* row = catalogue::FindSignature(finding->id)) return OneLine(row->fix);
    for (const catalogue::ConfigRuleRow& rule : catalogue::ConfigRules()) {
      if (rule.id == finding->id) return OneLine(rule.set);
    }
  }
  return {};
}

// Enough of a signal of progress for its course to be judged at all.
bool ShowsACourse(const model::Run& run) {
  constexpr std::size_t kFewest = 5;
  return std::any_of(kProgressSignals.begin(), kProgressSignals.end(), [&](std::string_view signal) {
    const model::Series* series = run.Find(signal);
    return series != nullptr && series->size() >= kFewest;
  });
}

bool WasJudged(const model::RunReport& run) {
  if (!ShowsACourse(run.run)) return false;
  return run.coverage.empty() || std::any_of(run.coverage.begin(), run.coverage.end(), [](const auto& coverage) {
           return coverage.state != model::CoverageState::kBlind;
         });
}

std::string UnjudgedHeadline(const model::RunReport& run) {
  const StepSpan span = SpanOf(run.run);
  if (span.logged == 0) return "no metrics were read, so nothing can be said about the training";
  if (span.logged == 1)
    return fmt::format("only one point was logged ({} {}): too few to judge", CountWord(run.run), span.first);
  return "too little of a loss or reward was logged to judge the training";
}

bool StopsShortOfPlan(const model::Run& run) {
  constexpr double kNearlyAll = 0.98;
  return run.planned_steps > 0 &&
         static_cast<double>(SpanOf(run).last) < kNearlyAll * static_cast<double>(run.planned_steps);
}

// A log that stops short is no finding: the run may be going on. But it has to be said.
std::string SilentEnd(const model::Run& run) {
  if (!StopsShortOfPlan(run)) {
    const std::int64_t last = SpanOf(run).last;
    const bool no_end = std::any_of(run.events.begin(), run.events.end(), [&](const model::Event& event) {
      return event.name == model::kNoEndEvent && event.step >= last;
    });
    return no_end
               ? fmt::format("the record stops at {} {} without an end: still running, or killed", CountWord(run), last)
               : std::string();
  }
  return fmt::format(
      "the log stops at {} {} of {} planned and gives no reason: still running, or stopped from outside "
      "(time limit, kill, lost machine)",
      CountWord(run), SpanOf(run).last, run.planned_steps);
}

std::string HealthyHeadline(const model::Run& run) {
  const StepSpan span = SpanOf(run);
  const std::string progress = ProgressText(run);
  const std::string plan = StopsShortOfPlan(run) ? fmt::format(" of {} planned", run.planned_steps) : std::string();
  const std::string steps =
      fmt::format("no problems found in {}{}", CountedAs(StepText(span.first, span.last), CountWord(run)), plan);
  return progress.empty() ? steps : fmt::format("{} ({})", steps, progress);
}

// Without a diagnosis the worst finding speaks; notes of severity info do not make a run sick.
Verdict UndiagnosedVerdict(const model::RunReport& run) {
  Verdict verdict;
  if (!run.findings.empty() && WorstOf(run) > model::Severity::kInfo) {
    verdict.headline = FindingHeadline(run.findings.front());
    const catalogue::FindingRow* row = catalogue::FindFinding(run.findings.front().id);
    if (row != nullptr) AddLine(verdict.lines, "means", std::string(row->why));
  } else {
    verdict.outlook = WasJudged(run) ? Outlook::kHealthy : Outlook::kUnjudged;
    verdict.headline = verdict.outlook == Outlook::kHealthy ? HealthyHeadline(run.run) : UnjudgedHeadline(run);
  }
  if (verdict.outlook == Outlook::kHealthy) AddLine(verdict.lines, "ends", SilentEnd(run.run));
  AddLine(verdict.lines, "unseen", BlindText(run));
  return verdict;
}

// The first damaged file of the run and the place, and how many more there are.
std::string DamageText(const model::Run& run) {
  const auto is_damaged = [](const model::Source& source) { return source.state == model::SourceState::kPartial; };
  const auto first = std::find_if(run.sources.begin(), run.sources.end(), is_damaged);
  if (first == run.sources.end()) return {};
  const auto more = std::count_if(first + 1, run.sources.end(), is_damaged);
  const std::string others = more == 0 ? std::string() : fmt::format(" (and {} more)", more);
  return fmt::format("{}: {}{}", OneLine(first->path), OneLine(first->note), others);
}

// A step axis beats the others: epochs and clock times do not number steps.
bool CountsSteps(const model::Series& series) {
  return series.axis == model::Axis::kStep || series.axis == model::Axis::kRow;
}

void Widen(StepSpan& span, const model::Series& series) {
  if (series.empty()) return;
  const auto [low, high] = std::minmax_element(series.steps.begin(), series.steps.end());
  span.first = span.logged == 0 ? *low : std::min(span.first, *low);
  span.last = span.logged == 0 ? *high : std::max(span.last, *high);
  span.logged = std::max<std::uint64_t>(span.logged, series.size());
}

}  // namespace

std::string OneLine(std::string_view text) {
  // Longer texts are dumps, and nobody reads them in a report; JSON has them whole.
  constexpr std::size_t kLongest = 2000;
  std::size_t end = std::min(text.size(), kLongest);
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U && end > 0) --end;
  std::string flat(text.substr(0, end));
  if (end < text.size()) flat += "...";
  std::replace_if(flat.begin(), flat.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  return std::string(Trim(Printable(flat)));
}

std::vector<VerdictLine> LinesOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  std::vector<VerdictLine> lines;
  AddLine(lines, "cause", CauseLine(run, diagnosis));
  if (diagnosis.cause == kUndecided) AddLine(lines, "decide", OneLine(diagnosis.next));
  if (!diagnosis.remedies.empty()) {
    const model::Remedy& first = diagnosis.remedies.front();
    AddLine(lines, first.setting.empty() ? "do" : "change", ChangeText(first));
  } else {
    AddLine(lines, "do", FixOf(run, diagnosis));
  }
  AddLine(lines, "restart", OneLine(diagnosis.restart));
  AddLine(lines, "because", ReasonLine(run, diagnosis));
  return lines;
}

std::string HeadlineOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const std::vector<const model::Finding*> findings = FindingsOf(run, diagnosis);
  if (findings.empty()) return WithSteps(OneLine(diagnosis.summary), diagnosis.first_step, diagnosis.last_step);
  const model::Finding& root = *findings.front();
  // What only announced the failure is told after the failure.
  const auto lost = std::find_if(findings.begin(), findings.end(), [](const model::Finding* finding) {
    return finding->severity >= model::Severity::kError;
  });
  if (root.severity < model::Severity::kError && lost != findings.end()) return FindingHeadline(**lost);
  for (const model::Finding* finding : findings) {
    const bool as_early = finding->first_step == root.first_step && finding->severity == root.severity;
    if (root.signal == "grad_norm" && as_early && finding->signal == "loss") return FindingHeadline(*finding);
  }
  return FindingHeadline(root);
}

Verdict VerdictOf(const model::RunReport& run) {
  Verdict verdict = run.diagnoses.empty() ? UndiagnosedVerdict(run) : Verdict();
  if (!run.diagnoses.empty()) {
    verdict.headline = HeadlineOf(run, run.diagnoses.front());
    verdict.lines = LinesOf(run, run.diagnoses.front());
  }
  AddLine(verdict.lines, "damaged", DamageText(run.run));
  const model::Severity worst = WorstOf(run);
  if (worst >= model::Severity::kError) verdict.outlook = Outlook::kSick;
  if (worst == model::Severity::kWarning || (worst == model::Severity::kInfo && !run.diagnoses.empty()))
    verdict.outlook = Outlook::kSuspect;
  return verdict;
}

bool HasReasons(const model::Diagnosis& diagnosis) {
  return !diagnosis.supporting.empty() || !diagnosis.opposing.empty() || !diagnosis.missing.empty();
}

std::vector<const model::Series*> TellingSeries(const model::RunReport& run, std::size_t most) {
  std::vector<const model::Series*> telling;
  const auto add = [&](std::string_view signal) {
    const model::Series* series = run.run.Find(signal);
    const bool drawn = std::find(telling.begin(), telling.end(), series) != telling.end();
    if (series != nullptr && series->size() > 1 && !drawn && telling.size() < most) telling.push_back(series);
  };
  const bool rl = run.run.Find("reward") != nullptr;
  add(rl ? "reward" : "loss");
  if (!rl) add("grad_norm");
  if (!run.diagnoses.empty()) {
    for (const model::Finding* finding : FindingsOf(run, run.diagnoses.front())) add(finding->signal);
  }
  if (rl) add("grad_norm");
  if (telling.empty()) add("eval_loss");
  return telling;
}

StepSpan SpanOf(const model::Run& run) {
  StepSpan span;
  for (const model::Series& series : run.series) {
    if (CountsSteps(series)) Widen(span, series);
  }
  if (span.logged != 0) return span;
  for (const model::Series& series : run.series) Widen(span, series);
  return span;
}

model::Severity WorstOf(const model::RunReport& run) {
  model::Severity worst = model::Severity::kInfo;
  for (const model::Finding& finding : run.findings) worst = std::max(worst, finding.severity);
  return worst;
}

std::string CauseTitle(std::string_view cause) {
  if (cause == kUndecided) return "cannot tell";
  const catalogue::CauseRow* row = catalogue::FindCause(cause);
  return OneLine(row == nullptr ? cause : row->title);
}

std::string Percent(double share) {
  const double bounded = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
  return fmt::format("{:.0f}%", bounded * 100);
}

std::string StepText(std::int64_t first, std::int64_t last) {
  if (first == model::kNoStep) return {};
  if (last == model::kNoStep || last == first) return fmt::format("step {}", first);
  return fmt::format("steps {}-{}", first, last);
}

std::string ChangeText(const model::Remedy& remedy) {
  const catalogue::RemedyRow* row = catalogue::FindRemedy(remedy.id);
  if (remedy.setting.empty()) return OneLine(row == nullptr ? remedy.text : row->title);
  const std::string setting = OneLine(remedy.setting);
  const std::string current = OneLine(remedy.current);
  const std::string proposed = OneLine(remedy.proposed);
  std::string change = proposed.empty()  ? fmt::format("{}: {}", setting, OneLine(remedy.text))
                       : current.empty() ? fmt::format("{}: {}", setting, proposed)
                                         : fmt::format("{}: {} -> {}", setting, current, proposed);
  const std::string where = OneLine(remedy.file.empty() ? remedy.framework : remedy.file);
  return where.empty() || where == "*" ? change : fmt::format("{} ({})", change, where);
}

std::string ProgressText(const model::Run& run) {
  for (const std::string_view signal : kProgressSignals) {
    const model::Series* series = run.Find(signal);
    if (series == nullptr || series->empty()) continue;
    const std::string last = FormatNumber(series->values.back());
    if (series->size() == 1) return fmt::format("{} {}", signal, last);
    return fmt::format("{} {} -> {}", signal, FormatNumber(series->values.front()), last);
  }
  return {};
}

std::string PlaceText(const model::Evidence& evidence) {
  std::vector<std::string> parts;
  const std::string step = fmt::format("{}", evidence.step);
  // Most texts name their step themselves.
  if (evidence.step != model::kNoStep && evidence.text.find(step) == std::string::npos) parts.push_back("step " + step);
  if (!evidence.path.empty()) {
    const std::string path = OneLine(evidence.path);
    parts.push_back(evidence.line == 0 ? path : fmt::format("{}:{}", path, evidence.line));
  }
  return Join(parts, ", ");
}

std::string BlindText(const model::RunReport& run) {
  std::vector<std::string> families;
  for (const model::Coverage& coverage : run.coverage) {
    if (coverage.state == model::CoverageState::kBlind) families.emplace_back(model::Name(coverage.family));
  }
  return families.empty() ? std::string() : "not checked: " + Join(families, ", ");
}

std::string RemarkOf(const model::Diagnosis& diagnosis) {
  if (diagnosis.cause == kUndecided) return {};
  std::string_view rest = diagnosis.summary;
  const auto drop = [&](std::string_view known) {
    if (known.empty() || !rest.starts_with(known)) return;
    rest.remove_prefix(known.size());
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == ':' || rest.front() == '.')) rest.remove_prefix(1);
  };
  drop(CauseTitle(diagnosis.cause));
  if (!diagnosis.supporting.empty()) drop(diagnosis.supporting.front().text);
  return OneLine(rest);
}

std::vector<model::Evidence> WithoutRepeats(const std::vector<model::Evidence>& evidence) {
  std::vector<model::Evidence> kept;
  for (const model::Evidence& one : evidence) {
    const bool said = std::any_of(kept.begin(), kept.end(), [&](const auto& other) { return other.text == one.text; });
    if (!said) kept.push_back(one);
  }
  return kept;
}

std::string LabelText(const model::Labels& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels) parts.push_back(fmt::format("{}={}", OneLine(key), OneLine(value)));
  return Join(parts, " ");
}

std::string_view Name(model::SourceState state) {
  constexpr std::array<std::string_view, 3> kNames = {"read", "partial", "duplicate"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view Name(model::CoverageState state) {
  constexpr std::array<std::string_view, 3> kNames = {"checked", "partly", "blind"};
  return kNames[static_cast<std::size_t>(state)];
}

std::vector<std::size_t> WorstFirst(const model::Report& report) {
  struct Key {
    Outlook outlook;
    model::Severity worst;
  };
  std::vector<Key> keys;
  keys.reserve(report.runs.size());
  for (const model::RunReport& run : report.runs) keys.push_back({VerdictOf(run).outlook, WorstOf(run)});
  std::vector<std::size_t> order(report.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (keys[a].outlook != keys[b].outlook) return keys[a].outlook > keys[b].outlook;
    return keys[a].worst > keys[b].worst;
  });
  return order;
}

}  // namespace vigil::report
