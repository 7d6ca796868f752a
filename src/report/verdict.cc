#include "report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <numeric>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"
#include "report/beside.h"
#include "report/judged_on.h"
#include "report/report.h"
#include "report/sentence.h"
#include "report/span.h"
#include "report/texts.h"
#include "report/words.h"

namespace vigil::report {
namespace {

void AddLine(std::vector<VerdictLine>& lines, LineKind kind, std::string text) {
  if (!text.empty()) lines.push_back({kind, std::move(text)});
}

std::vector<const model::Finding*> FindingsOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  std::vector<const model::Finding*> findings;
  for (const std::uint32_t index : diagnosis.findings) {
    if (index < run.findings.size()) findings.push_back(&run.findings[index]);
  }
  return findings;
}

// The finding that the headline is taken from, null when the diagnosis names none.
const model::Finding* HeadlineFinding(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const std::vector<const model::Finding*> findings = FindingsOf(run, diagnosis);
  if (findings.empty()) return nullptr;
  const model::Finding& root = *findings.front();
  // What only announced the failure is reported after the failure.
  const auto lost = std::find_if(findings.begin(), findings.end(), [](const model::Finding* finding) {
    return finding->severity >= model::Severity::kError;
  });
  if (root.severity < model::Severity::kError && lost != findings.end()) return *lost;
  const auto says_more = [&](const model::Finding* finding) {
    if (!SamePosition(finding->first, root.first)) return false;
    const bool of_loss = root.signal == "grad_norm" && finding->signal == "loss" && finding->severity == root.severity;
    return of_loss || finding->severity > root.severity;
  };
  const auto at = std::find_if(findings.begin(), findings.end(), says_more);
  return at == findings.end() ? &root : *at;
}

// ---- the lines of a diagnosis

// The row of the message that the diagnosis is about, null when it is about something else.
const catalogue::SignatureRow* MessageOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const auto findings = FindingsOf(run, diagnosis);
  for (const model::Finding* finding : findings) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
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
  const std::vector<model::Rival>& rivals = diagnosis.rivals;
  const bool undecided = diagnosis.cause == kUndecided;
  if (message != nullptr && IsWide(diagnosis.cause) && (undecided || message->cause == diagnosis.cause) &&
      (undecided || rivals.empty()))
    return OneLine(message->explanation);
  if (undecided) {
    const std::string summary = OneLine(SummaryText(diagnosis));
    return summary.empty() ? CauseTitle(diagnosis.cause) : summary;
  }
  std::string line = fmt::format("{} (confidence {})", CauseTitle(diagnosis.cause), Percent(diagnosis.confidence));
  for (const model::Rival& rival : rivals)
    line += fmt::format(", or: {} ({})", CauseTitle(rival.cause), Percent(rival.confidence));
  return line;
}

// The first observation that says more than the headline; where there is none, the line of the file to look at.
std::string ReasonLine(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const model::Finding* headline = HeadlineFinding(run, diagnosis);
  for (const model::Evidence& evidence : diagnosis.supporting) {
    if (headline == nullptr || !Repeats(evidence, *headline)) return OneLine(EvidenceText(evidence));
  }
  if (diagnosis.supporting.empty()) return {};
  const std::string place = FilePlaceText(diagnosis.supporting.front());
  return place.empty() ? OneLine(EvidenceText(diagnosis.supporting.front())) : place;
}

// What the rows say to do about a known message or a bad setting.
std::string FixOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  for (const model::Finding* finding : FindingsOf(run, diagnosis)) {
    if (const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding)) return OneLine(row->fix);
    for (const catalogue::ConfigRuleRow& rule : catalogue::ConfigRules()) {
      if (rule.id == finding->id) return OneLine(rule.set);
    }
  }
  return {};
}

// ---- runs without a diagnosis

// Enough of a metric of progress for its course to be judged at all.
bool ShowsACourse(const model::Run& run) {
  constexpr std::size_t kFewest = 5;
  return std::any_of(kProgressMetrics.begin(), kProgressMetrics.end(), [&](std::string_view metric) {
    const model::Series* series = run.Find(metric);
    return series != nullptr && series->size() >= kFewest;
  });
}

bool WasJudged(const model::RunReport& run) {
  if (!ShowsACourse(run.run)) return false;
  return run.coverage.empty() || std::any_of(run.coverage.begin(), run.coverage.end(), [](const auto& coverage) {
           return coverage.state != model::CoverageState::kBlind;
         });
}

std::string UnknownHeadline(const model::RunReport& run) {
  const Span span = SpanOf(run.run);
  if (span.empty()) return "no metrics were read, so nothing can be said about the training";
  if (span.logged == 1)
    return fmt::format("only one point was logged ({}): too few to judge", PositionText(span.First()));
  return "too little of a loss or reward was logged to judge the training";
}

// The planned end: in epochs where the run is counted in them and says how many, in steps else.
model::Position PlanOf(const model::Run& run) {
  constexpr double kMostEpochs = 1e9;
  const auto epochs = run.FactNumber("epochs");
  const bool by_epochs = model::MainAxis(run) == model::Axis::kEpoch && epochs && *epochs >= 1 && *epochs < kMostEpochs;
  return by_epochs ? model::Position(model::Axis::kEpoch, static_cast<std::int64_t>(*epochs)) : run.Planned();
}

// How far the run came on the axis of its plan; unknown where nothing logged leads there.
model::Position Reached(const model::Run& run) { return run.axes.To(PlanOf(run).axis(), SpanOf(run).Last()); }

bool StopsShortOfPlan(const model::Run& run) {
  constexpr double kNearlyAll = 0.98;
  const model::Position plan = PlanOf(run);
  const model::Position reached = Reached(run);
  return plan.known() && reached.known() &&
         static_cast<double>(reached.value()) < kNearlyAll * static_cast<double>(plan.value());
}

// " of 1000 planned", behind a position of the run.
std::string PlanText(const model::Run& run) {
  if (!StopsShortOfPlan(run)) return {};
  const model::Position plan = PlanOf(run);
  const std::string reached =
      model::MainAxis(run) == plan.axis() ? std::string() : ", about " + PositionText(Reached(run));
  return fmt::format("{} of {} planned", reached, plan.value());
}

// A message about the end of the program, however mild: somebody pressed Ctrl-C.
bool SaysWhyItEnds(const model::RunReport& run) {
  return std::any_of(run.findings.begin(), run.findings.end(), [](const model::Finding& finding) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(finding);
    return row != nullptr && row->id == "log/interrupted";
  });
}

// A log that stops short is no finding: the run may be going on. But it has to be said.
std::string SilentEnd(const model::Run& run) {
  const model::Position last = SpanOf(run).Last();
  if (StopsShortOfPlan(run))
    return fmt::format(
        "the log stops at {}{} and gives no reason: still running, or stopped from outside (time limit, kill, lost "
        "machine)",
        PositionText(last), PlanText(run));
  const bool no_end = std::any_of(run.events.begin(), run.events.end(), [&](const model::Event& event) {
    return event.name == model::kNoEndEvent && std::is_gteq(run.axes.Compare(event.at, last));
  });
  return no_end ? fmt::format("the record stops at {} without an end: still running, or killed", PositionText(last))
                : std::string();
}

// "loss 3.2 -> 1.1", from the first metric of progress that was logged; empty when there is none.
std::string ProgressText(const model::Run& run) {
  for (const std::string_view metric : kProgressMetrics) {
    const model::Series* series = run.Find(metric);
    if (series == nullptr || series->empty()) continue;
    const std::string last = FormatNumber(series->values.back());
    if (series->size() == 1) return fmt::format("{} {}", metric, last);
    return fmt::format("{} {} -> {}", metric, FormatNumber(series->values.front()), last);
  }
  return {};
}

std::string HealthyHeadline(const model::Run& run) {
  const std::string progress = ProgressText(run);
  const JudgedOn judged = JudgedOnOf(run);
  const std::string few = judged.few ? fmt::format(", but {} are few", CountOf(judged.points, "point")) : std::string();
  const std::string covered =
      fmt::format("no problems found in {}{}{}", RangeText(SpanOf(run).Range()), PlanText(run), few);
  return progress.empty() ? covered : fmt::format("{} ({})", covered, progress);
}

// Without a diagnosis the worst finding speaks; notes of severity info leave a run healthy.
Verdict UndiagnosedVerdict(const model::RunReport& run) {
  Verdict verdict;
  if (!run.findings.empty() && WorstOf(run) > model::Severity::kInfo) {
    verdict.headline = HeadlineText(run.findings.front());
    const catalogue::FindingRow* row = catalogue::FindFinding(run.findings.front().id);
    if (row != nullptr) AddLine(verdict.lines, LineKind::kMeans, std::string(row->why));
  } else {
    verdict.state = WasJudged(run) ? State::kHealthy : State::kUnknown;
    verdict.headline = verdict.state == State::kHealthy ? HealthyHeadline(run.run) : UnknownHeadline(run);
  }
  if (verdict.state == State::kHealthy) {
    if (!SaysWhyItEnds(run)) AddLine(verdict.lines, LineKind::kEnds, SilentEnd(run.run));
    AddLine(verdict.lines, LineKind::kJudgedOn, FewPointsText(run.run));
  }
  AddLine(verdict.lines, LineKind::kNotChecked, NotCheckedText(run));
  return verdict;
}

// The first damaged file of the run and the place, and how many more there are.
std::string DamageText(const model::Run& run) {
  const auto is_damaged = [](const model::Source& source) { return source.state == model::SourceState::kPartial; };
  const auto first = std::find_if(run.sources.begin(), run.sources.end(), is_damaged);
  if (first == run.sources.end()) return {};
  const auto more = std::count_if(first + 1, run.sources.end(), is_damaged);
  const std::string others = more == 0 ? std::string() : fmt::format(" (and {} more)", more);
  return fmt::format("{}: {}{}", OneLine(first->path), OneLine(NoteText(*first)), others);
}

}  // namespace

std::string_view Name(State state) {
  constexpr std::array<std::string_view, kStateCount> kNames = {"healthy", "unknown", "warning", "failing"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view Label(LineKind kind) {
  constexpr std::array<std::string_view, 13> kLabels = {"cause",       "decide",  "change", "do",   "restart",
                                                        "cost",        "because", "means",  "ends", "judged on",
                                                        "not checked", "damaged", "beside"};
  return kLabels[static_cast<std::size_t>(kind)];
}

bool IsAction(LineKind kind) {
  return kind == LineKind::kChange || kind == LineKind::kDo || kind == LineKind::kRestart;
}

std::string_view Verdict::Find(LineKind kind) const {
  const auto at = std::find_if(lines.begin(), lines.end(), [&](const VerdictLine& line) { return line.kind == kind; });
  return at == lines.end() ? std::string_view() : std::string_view(at->text);
}

std::vector<VerdictLine> LinesOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  std::vector<VerdictLine> lines;
  const bool undecided = diagnosis.cause == kUndecided;
  AddLine(lines, LineKind::kCause, CauseLine(run, diagnosis));
  if (undecided) AddLine(lines, LineKind::kDecide, OneLine(NextText(diagnosis)));
  if (!diagnosis.remedies.empty()) {
    const model::Remedy& first = diagnosis.remedies.front();
    const bool is_deed = first.setting.empty() || (!first.code.empty() && ProposedText(first).empty());
    AddLine(lines, is_deed ? LineKind::kDo : LineKind::kChange, ChangeText(first));
  } else {
    AddLine(lines, LineKind::kDo, FixOf(run, diagnosis));
  }
  const std::string skip = OneLine(SkipText(diagnosis));
  const std::string restart = OneLine(RestartText(diagnosis));
  AddLine(lines, LineKind::kRestart,
          skip.empty() || restart.empty() ? restart : fmt::format("{}; leave out {}", restart, skip));
  AddLine(lines, LineKind::kCost, CostText(diagnosis.cost));
  AddLine(lines, LineKind::kBecause, ReasonLine(run, diagnosis));
  // Behind the lines to act on: the cause that is named comes first.
  if (!undecided) AddLine(lines, LineKind::kDecide, OneLine(DecideText(diagnosis)));
  return lines;
}

std::string HeadlineOf(const model::RunReport& run, const model::Diagnosis& diagnosis) {
  const model::Finding* finding = HeadlineFinding(run, diagnosis);
  return finding == nullptr ? SummaryHeadline(diagnosis) : HeadlineText(*finding);
}

Verdict VerdictOf(const model::RunReport& run) {
  Verdict verdict = run.diagnoses.empty() ? UndiagnosedVerdict(run) : Verdict();
  if (!run.diagnoses.empty()) {
    verdict.headline = HeadlineOf(run, run.diagnoses.front());
    verdict.lines = LinesOf(run, run.diagnoses.front());
  }
  if (run.baseline) AddLine(verdict.lines, LineKind::kBaseline, BaselineLine(*run.baseline));
  AddLine(verdict.lines, LineKind::kDamaged, DamageText(run.run));
  const model::Severity worst = WorstOf(run);
  if (worst >= model::Severity::kError) verdict.state = State::kFailing;
  if (worst == model::Severity::kWarning || (worst == model::Severity::kInfo && !run.diagnoses.empty()))
    verdict.state = State::kWarning;
  return verdict;
}

bool HasReasons(const model::Diagnosis& diagnosis) {
  return !diagnosis.supporting.empty() || !diagnosis.opposing.empty() || !MissingTexts(diagnosis).empty();
}

std::vector<const model::Series*> KeySeries(const model::RunReport& run, std::size_t most) {
  std::vector<const model::Series*> key;
  const auto add = [&](std::string_view metric) {
    const model::Series* series = run.run.Find(metric);
    const bool drawn = std::find(key.begin(), key.end(), series) != key.end();
    if (series != nullptr && series->size() > 1 && !drawn && key.size() < most) key.push_back(series);
  };
  const bool rl = run.run.Find("reward") != nullptr;
  add(rl ? "reward" : "loss");
  if (!rl) add("grad_norm");
  if (!run.diagnoses.empty()) {
    for (const model::Finding* finding : FindingsOf(run, run.diagnoses.front())) add(finding->signal);
  }
  if (rl) add("grad_norm");
  if (key.empty()) add("eval_loss");
  return key;
}

model::Severity WorstOf(const model::RunReport& run) {
  model::Severity worst = model::Severity::kInfo;
  for (const model::Finding& finding : run.findings) worst = std::max(worst, finding.severity);
  return worst;
}

std::vector<std::size_t> WorstFirst(const model::Report& report) {
  struct Key {
    State state;
    model::Severity worst;
  };
  std::vector<Key> keys;
  keys.reserve(report.runs.size());
  for (const model::RunReport& run : report.runs) keys.push_back({VerdictOf(run).state, WorstOf(run)});
  std::vector<std::size_t> order(report.runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (keys[a].state != keys[b].state) return keys[a].state > keys[b].state;
    return keys[a].worst > keys[b].worst;
  });
  return order;
}

}  // namespace vigil::report
