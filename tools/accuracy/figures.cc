#include "accuracy/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"
#include "catalogue/figures.h"
#include "report/report.h"
#include "report/thin.h"

namespace vigil::accuracy {
namespace {

constexpr std::string_view kHead =
    "# Written by `make accuracy` from the labelled runs of tests/fixtures. Not to be edited.\n";

bool Contains(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// ---- what a run can show

// About as many points as a plot in text has columns.
constexpr std::size_t kMostPoints = 80;
constexpr std::size_t kFewestPoints = 8;

const model::Series* SeriesOf(const model::Run& run, const model::Finding& finding) {
  const auto same = std::find_if(run.series.begin(), run.series.end(), [&](const model::Series& series) {
    return series.signal == finding.signal && series.labels == finding.labels;
  });
  return same == run.series.end() ? run.Find(finding.signal) : &*same;
}

std::optional<Example> Draw(const std::string& id, const model::Run& run, const model::Finding& finding, int worth) {
  const model::Series* series = finding.signal.empty() ? nullptr : SeriesOf(run, finding);
  if (series == nullptr || series->size() < kFewestPoints) return std::nullopt;
  Example example{id, series->signal, std::string(model::Name(series->axis)), model::kNoValue, worth, {}, {}};
  const model::Position at = run.axes.To(series->axis, finding.first);
  if (at.known()) example.at = static_cast<double>(at.value());
  for (const std::size_t index : report::Thin(*series, kMostPoints)) {
    example.steps.push_back(series->steps[index]);
    example.values.push_back(series->values[index]);
  }
  // A curve of its own beginning, and one that is long enough to have a course, shows more.
  example.worth += (series->size() >= 40 ? 2 : 0) + (std::isnan(example.at) ? 0 : 1);
  return example;
}

void AddExamples(const model::RunReport& run, const Case& labelled, std::vector<Example>& out) {
  std::set<std::string> drawn;
  for (const model::Finding& finding : run.findings) {
    if (finding.severity < model::Severity::kWarning || !drawn.insert(finding.id).second) continue;
    const int worth = (Contains(labelled.expectation.ids, finding.id) ? 8 : 0) +
                      (finding.severity >= model::Severity::kError ? 1 : 0);
    if (auto example = Draw(finding.id, run.run, finding, worth)) out.push_back(std::move(*example));
  }
  if (run.diagnoses.empty() || !Contains(labelled.causes, run.diagnoses.front().cause)) return;
  for (const std::uint32_t index : run.diagnoses.front().findings) {
    auto example = Draw(run.diagnoses.front().cause, run.run, run.findings[index], 8);
    if (!example) continue;
    out.push_back(std::move(*example));
    return;
  }
}

// ---- counting

// Runs in which the finding could be seen: those that logged what it judges, have text for a message to stand in, or
// state settings for a rule.
bool CanShow(const Observed& run, std::string_view id) {
  if (catalogue::FindSignature(id) != nullptr) return run.has_log;
  if (catalogue::FindConfigRule(id) != nullptr) return run.has_settings;
  const catalogue::FindingRow* row = catalogue::FindFinding(id);
  if (row == nullptr || row->signals.empty()) return true;
  const auto is_logged = [&](std::string_view metric) { return Contains(run.metrics, metric); };
  return is_logged(row->signals.front()) || std::any_of(row->also.begin(), row->also.end(), is_logged);
}

struct FindingCounts {
  std::int64_t healthy_runs = 0;
  std::int64_t healthy_points = 0;
  std::int64_t errors = 0;
  std::int64_t warnings = 0;
  std::int64_t expected = 0;
  std::int64_t found = 0;
  std::int64_t stood_in = 0;
  std::vector<std::int64_t> delays = {};
};

// A known message may stand for a finding of another name.
bool Is(const model::Finding& finding, std::string_view id) { return finding.id == id || finding.signature == id; }

const model::Finding* FirstOf(const Outcome& outcome, std::string_view id) {
  const auto at = std::find_if(outcome.findings.begin(), outcome.findings.end(),
                               [&](const model::Finding& finding) { return Is(finding, id); });
  return at == outcome.findings.end() ? nullptr : &*at;
}

bool IsError(const Outcome& outcome, std::string_view id) {
  return std::any_of(outcome.findings.begin(), outcome.findings.end(), [&](const model::Finding& finding) {
    return Is(finding, id) && finding.severity >= model::Severity::kError;
  });
}

void CountFaulty(const Outcome& outcome, std::string_view id, FindingCounts& counts) {
  if (!Contains(outcome.labelled.expectation.ids, id)) return;
  ++counts.expected;
  const model::Finding* found = FirstOf(outcome, id);
  if (found == nullptr) {
    counts.stood_in += outcome.expected_found ? 1 : 0;
    return;
  }
  ++counts.found;
  if (outcome.labelled.onset_step >= 0 && found->first.known())
    counts.delays.push_back(found->first.value() - outcome.labelled.onset_step);
}

FindingCounts CountFinding(std::string_view id, const std::vector<ObservedList>& lists) {
  FindingCounts counts;
  for (const ObservedList& list : lists) {
    for (const Observed& run : list.runs) {
      const Outcome& outcome = run.outcome;
      if (outcome.faulty()) CountFaulty(outcome, id, counts);
      if (!outcome.healthy() || !outcome.read || !CanShow(run, id)) continue;
      ++counts.healthy_runs;
      counts.healthy_points += outcome.steps;
      const bool is_error = IsError(outcome, id);
      counts.errors += is_error ? 1 : 0;
      counts.warnings += !is_error && FirstOf(outcome, id) != nullptr ? 1 : 0;
    }
  }
  return counts;
}

struct CauseCounts {
  std::int64_t labelled = 0;
  std::int64_t first = 0;
  std::int64_t other_first = 0;
  std::int64_t rival = 0;
  std::int64_t wrong = 0;
  std::int64_t wrong_healthy = 0;
};

CauseCounts CountCause(std::string_view id, const std::vector<ObservedList>& lists) {
  CauseCounts counts;
  for (const ObservedList& list : lists) {
    for (const Observed& run : list.runs) {
      const Outcome& outcome = run.outcome;
      const bool is_first = outcome.cause == id;
      if (outcome.healthy()) counts.wrong_healthy += is_first ? 1 : 0;
      if (!outcome.cause_labelled()) continue;
      const bool is_right = Contains(outcome.labelled.causes, id);
      counts.wrong += is_first && !is_right ? 1 : 0;
      if (!is_right) continue;
      ++counts.labelled;
      counts.first += is_first ? 1 : 0;
      counts.other_first += !is_first && outcome.cause_right() ? 1 : 0;
      counts.rival += !is_first && !outcome.cause_right() && Contains(outcome.rivals, id) ? 1 : 0;
    }
  }
  return counts;
}

// ---- the files

// Every row that code stands behind, and what labels want beside them.
std::set<std::string> IdsSeen(const std::vector<ObservedList>& lists) {
  std::set<std::string> ids;
  for (const ObservedList& list : lists) {
    for (const Observed& run : list.runs) {
      for (const model::Finding& finding : run.outcome.findings) {
        ids.insert(finding.id);
        if (!finding.signature.empty()) ids.insert(finding.signature);
      }
      for (const std::string& id : run.outcome.labelled.expectation.ids) {
        if (!id.ends_with("/*")) ids.insert(id);
      }
    }
  }
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.needs.empty()) ids.emplace(row.id);
  }
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) ids.emplace(row.id);
  for (const catalogue::ConfigRuleRow& row : catalogue::ConfigRules()) ids.emplace(row.id);
  return ids;
}

std::int64_t MedianOf(std::vector<std::int64_t> delays) {
  if (delays.empty()) return 0;
  std::sort(delays.begin(), delays.end());
  return delays[(delays.size() - 1) / 2];
}

// A count of 0 is left out.
void AddCount(std::string& out, std::string_view name, std::int64_t count) {
  if (count != 0) fmt::format_to(std::back_inserter(out), "{} = {}\n", name, count);
}

std::string FindingFile(const std::vector<ObservedList>& lists) {
  std::string out(kHead);
  for (const std::string& id : IdsSeen(lists)) {
    const FindingCounts counts = CountFinding(id, lists);
    fmt::format_to(std::back_inserter(out), "\n[[finding]]\nid = \"{}\"\n", id);
    AddCount(out, "healthy_runs", counts.healthy_runs);
    AddCount(out, "healthy_points", counts.healthy_points);
    AddCount(out, "errors", counts.errors);
    AddCount(out, "warnings", counts.warnings);
    AddCount(out, "expected", counts.expected);
    AddCount(out, "found", counts.found);
    AddCount(out, "stood_in", counts.stood_in);
    AddCount(out, "dated", static_cast<std::int64_t>(counts.delays.size()));
    AddCount(out, "median_delay", MedianOf(counts.delays));
  }
  return out;
}

std::string CauseFile(const std::vector<ObservedList>& lists) {
  std::string out(kHead);
  for (const catalogue::CauseRow& row : catalogue::Causes()) {
    const CauseCounts counts = CountCause(row.id, lists);
    if (counts.labelled + counts.wrong + counts.wrong_healthy == 0) continue;
    fmt::format_to(std::back_inserter(out), "\n[[cause]]\nid = \"{}\"\n", row.id);
    AddCount(out, "labelled", counts.labelled);
    AddCount(out, "first", counts.first);
    AddCount(out, "other_first", counts.other_first);
    AddCount(out, "rival", counts.rival);
    AddCount(out, "wrong", counts.wrong);
    AddCount(out, "wrong_healthy", counts.wrong_healthy);
  }
  return out;
}

// Of equal ones the first of the lists.
struct Shown {
  const Example* example = nullptr;
  std::string run;
  std::string fault;
};

std::map<std::string, Shown> BestExamples(const std::vector<ObservedList>& lists) {
  std::map<std::string, Shown> best;
  for (const ObservedList& list : lists) {
    for (const Observed& run : list.runs) {
      for (const Example& example : run.examples) {
        Shown& shown = best[example.id];
        if (shown.example == nullptr || example.worth > shown.example->worth)
          shown = {&example, list.prefix + run.outcome.labelled.path, run.outcome.labelled.label};
      }
    }
  }
  return best;
}

std::string ExampleFile(const std::vector<ObservedList>& lists) {
  std::string out(kHead);
  for (const auto& [id, shown] : BestExamples(lists)) {
    const auto at = std::back_inserter(out);
    const Example& example = *shown.example;
    fmt::format_to(at, "\n[[example]]\nid = \"{}\"\nrun = \"{}\"\nfault = \"{}\"\nmetric = \"{}\"\naxis = \"{}\"\n", id,
                   shown.run, shown.fault, example.metric, example.axis);
    if (!std::isnan(example.at)) fmt::format_to(at, "at = {}\n", static_cast<std::int64_t>(example.at));
    std::vector<std::string> values;
    values.reserve(example.values.size());
    for (const double value : example.values) values.push_back(FormatNumber(value));
    fmt::format_to(at, "steps = [{}]\nvalues = [{}]\n", fmt::join(example.steps, ", "), fmt::join(values, ", "));
  }
  return out;
}

}  // namespace

Observed Observe(const Case& labelled, const std::string& path) {
  const model::Report report = Examine(path);
  Observed observed;
  observed.outcome = Judge(labelled, report);
  std::set<std::string> metrics;
  for (const model::RunReport& run : report.runs) {
    for (const model::Series& series : run.run.series) metrics.insert(series.signal);
    observed.has_log |= std::any_of(run.run.sources.begin(), run.run.sources.end(),
                                    [](const model::Source& source) { return source.has_messages; });
    observed.has_settings |= !run.run.facts.empty();
    AddExamples(run, labelled, observed.examples);
  }
  observed.metrics.assign(metrics.begin(), metrics.end());
  return observed;
}

std::string FigureFile(std::string_view name, const std::vector<ObservedList>& lists) {
  if (name == kFigureFiles[0]) return FindingFile(lists);
  return name == kFigureFiles[1] ? CauseFile(lists) : ExampleFile(lists);
}

}  // namespace vigil::accuracy
