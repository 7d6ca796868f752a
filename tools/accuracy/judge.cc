#include "accuracy/judge.h"

#include <algorithm>
#include <set>

#include "catalogue/catalogue.h"
#include "diagnose/diagnose.h"
#include "pipeline/pipeline.h"
#include "report/report.h"

namespace vigil::accuracy {
namespace {

bool Matches(const std::string& wanted, const std::string& id) {
  if (wanted.ends_with("/*")) return id.starts_with(wanted.substr(0, wanted.size() - 1));
  return wanted == id;
}

bool Answers(const Expectation& expectation, const model::Finding& finding) {
  const bool named = std::any_of(expectation.ids.begin(), expectation.ids.end(),
                                 [&](const std::string& wanted) { return Matches(wanted, finding.id); });
  return named && (expectation.ranks.empty() || expectation.ranks == finding.ranks);
}

bool Contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// The series with most points says how many logged steps were judged.
std::int64_t LoggedSteps(const model::Run& run) {
  std::size_t most = 0;
  for (const model::Series& series : run.series) most = std::max(most, series.size());
  return static_cast<std::int64_t>(most);
}

void JudgeFinding(const model::Finding& finding, Outcome& outcome) {
  if (finding.severity < model::Severity::kWarning) return;
  outcome.findings.push_back(finding);
  outcome.alarmed |= finding.severity >= model::Severity::kError;
  if (!outcome.faulty() || !Answers(outcome.labelled.expectation, finding)) return;
  outcome.expected_found = true;
  if (outcome.labelled.onset_step < 0 || !finding.first.known()) return;
  const std::int64_t delay = finding.first.value() - outcome.labelled.onset_step;
  outcome.delay_steps = outcome.delay_steps ? std::min(*outcome.delay_steps, delay) : delay;
}

}  // namespace

bool Outcome::cause_right() const { return cause_labelled() && Contains(labelled.causes, cause); }

bool Outcome::cause_in_pair() const {
  return cause_labelled() && !cause_right() && std::any_of(rivals.begin(), rivals.end(), [&](const std::string& rival) {
           return Contains(labelled.causes, rival);
         });
}

Outcome Judge(const Case& labelled, const model::Report& report) {
  Outcome outcome;
  outcome.labelled = labelled;
  outcome.read = !report.runs.empty();
  if (!outcome.read)
    outcome.reason = report.unread.empty() ? "no reader knows it" : report::WhyUnread(report.unread.front());
  std::set<std::string> formats;
  for (const model::RunReport& run : report.runs) {
    for (const model::Source& source : run.run.sources) formats.insert(source.format);
    for (const model::Finding& finding : run.findings) JudgeFinding(finding, outcome);
    outcome.steps += LoggedSteps(run.run);
    if (run.diagnoses.empty() || !outcome.cause.empty()) continue;
    outcome.cause = run.diagnoses.front().cause;
    for (const model::Rival& rival : run.diagnoses.front().rivals) outcome.rivals.push_back(rival.cause);
  }
  outcome.formats.assign(formats.begin(), formats.end());
  return outcome;
}

model::Report Examine(const std::string& path, const diagnose::FittedModel& model) {
  pipeline::Imported imported = pipeline::ImportPaths({path});
  model::Report report;
  report.unread = std::move(imported.unread);
  for (model::Run& run : imported.runs)
    report.runs.push_back(pipeline::DiagnoseRun(std::move(run), catalogue::Thresholds(), true, model));
  return report;
}

namespace {

void CountCause(const Outcome& outcome, Tally& tally) {
  if (!outcome.cause_labelled()) return;
  ++tally.cause_labelled;
  if (outcome.cause_right()) {
    ++tally.cause_right;
  } else if (outcome.cause.empty()) {
    ++tally.no_diagnosis;
  } else if (outcome.cause_in_pair()) {
    ++tally.cause_in_pair;
  } else {
    ++(outcome.cause == diagnose::kUnknownCause ? tally.undecided : tally.cause_wrong);
  }
}

}  // namespace

void Tally::Add(const Outcome& outcome, Unread unread_counts) {
  ++cases;
  if (!outcome.read) {
    ++unread;
    if (unread_counts == Unread::kApart) return;
  }
  if (outcome.faulty()) {
    ++faulty;
    found += outcome.expected_found ? 1 : 0;
    other_alarms += !outcome.expected_found && outcome.alarmed ? 1 : 0;
    CountCause(outcome, *this);
    if (outcome.delay_steps) delays.push_back(*outcome.delay_steps);
  } else if (outcome.healthy()) {
    ++healthy;
    false_alarms += outcome.alarmed ? 1 : 0;
    warned += !outcome.alarmed && !outcome.findings.empty() ? 1 : 0;
    healthy_steps += outcome.steps;
  } else {
    ++only_read;
  }
}

double Tally::Precision() const { return static_cast<double>(found) / (found + false_alarms + other_alarms); }

double Tally::Recall() const { return static_cast<double>(found) / faulty; }

std::optional<std::int64_t> Tally::MedianDelay() const {
  if (delays.empty()) return std::nullopt;
  std::vector<std::int64_t> sorted = delays;
  std::sort(sorted.begin(), sorted.end());
  return sorted[(sorted.size() - 1) / 2];
}

}  // namespace vigil::accuracy
