#include "report/catalogue_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/checklist.h"
#include "catalogue/config_rules.h"
#include "report/figures_page.h"
#include "report/measure_page.h"
#include "report/page_parts.h"

namespace vigil::report {
namespace {

using catalogue::Words;

bool Holds(Words words, std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); }

// ---- which rows speak of which

// A table of the causes that `wanted` picks.
template <class Wanted>
void AddCauses(CataloguePage& page, std::string_view heading, Wanted wanted) {
  std::vector<std::vector<Cell>> rows;
  for (const catalogue::CauseRow& cause : catalogue::Causes()) {
    if (wanted(cause)) rows.push_back({Said(cause.id), Said(cause.title)});
  }
  AddTable(page, "causes", heading, {"cause", "title"}, std::move(rows));
}

// With what to do first about each.
void AddExplainingCauses(CataloguePage& page) {
  std::vector<std::vector<Cell>> rows;
  for (const catalogue::CauseRow& cause : catalogue::Causes()) {
    if (!Holds(cause.explains, page.id)) continue;
    const catalogue::RemedyRow* remedy = cause.remedies.empty() ? nullptr : catalogue::FindRemedy(cause.remedies[0]);
    rows.push_back({Said(cause.id), Said(cause.title), Said(remedy == nullptr ? cause.next : remedy->title)});
  }
  AddTable(page, "causes", "Causes that explain it", {"cause", "title", "do first"}, std::move(rows));
}

// What distinguishes the causes of one finding, where a pair of them has a sentence.
void AddWhatDecides(CataloguePage& page) {
  std::vector<std::vector<Cell>> rows;
  for (const catalogue::PairRow& pair : catalogue::Pairs()) {
    const bool both = std::all_of(pair.causes.begin(), pair.causes.end(), [&](std::string_view id) {
      const catalogue::CauseRow* cause = catalogue::FindCause(id);
      return cause != nullptr && Holds(cause->explains, page.id);
    });
    if (both) rows.push_back({Said(pair.causes[0]), Said(pair.causes[1]), Said(pair.tell_apart)});
  }
  AddTable(page, "tell_apart", "How to tell them apart", {"cause", "or", "what decides"}, std::move(rows));
}

// The causes that this one is mistaken for.
void AddPairs(CataloguePage& page) {
  std::vector<std::vector<Cell>> rows;
  for (const catalogue::PairRow& pair : catalogue::Pairs()) {
    if (!Holds(pair.causes, page.id)) continue;
    rows.push_back({Said(pair.causes[0] == page.id ? pair.causes[1] : pair.causes[0]), Said(pair.tell_apart)});
  }
  AddTable(page, "tell_apart", "How to tell it from others", {"cause", "what decides"}, std::move(rows));
}

// What the command that a diagnosis ends with can show.
void AddOutcomes(CataloguePage& page) {
  const catalogue::NextRow* next = catalogue::FindNextCommand(page.id);
  if (next == nullptr) return;
  std::vector<std::vector<Cell>> rows;
  for (const catalogue::OutcomeRow& outcome : next->outcomes)
    rows.push_back({Said(outcome.seen), Said(outcome.means), Said(Join(Listed(outcome.causes), ", "))});
  AddTable(page, "outcomes", "What the next run decides", {"seen", "means", "speaks for"}, std::move(rows));
}

// ---- one builder per kind

CataloguePage PageOf(const catalogue::FindingRow& row) {
  CataloguePage page = NewPage("finding", row.id, row.title);
  AddText(page, "severity", "Severity", model::Name(row.severity));
  AddText(page, "family", "Family", model::Name(row.family));
  AddText(page, "fires_when", "Fires when", row.fires_when);
  AddText(page, "why", "Why it matters", row.why);
  AddText(page, "needs", "What would open it", row.needs);
  std::vector<std::vector<Cell>> thresholds;
  for (const catalogue::ThresholdRow& threshold : row.thresholds)
    thresholds.push_back(
        {Said(threshold.name), Counted(threshold.value), Said(threshold.meaning), Said(threshold.origin)});
  AddTable(page, "thresholds", "Thresholds", {"name", "value", "meaning", "origin"}, std::move(thresholds));
  if (row.needs.empty()) AddFindingFigures(page);
  AddExplainingCauses(page);
  AddWhatDecides(page);
  std::vector<std::string> signals;
  for (const std::string_view signal : row.signals) signals.push_back(HowLogged(signal));
  AddList(page, "signals", "Looks at (the first is judged)", std::move(signals));
  if (row.detector.empty() && row.needs.empty())
    AddText(page, "source", "Comes from", "a config rule, a message in a log, or a later stage; not from a series");
  if (row.needs.empty()) AddExample(page);
  return page;
}

CataloguePage PageOf(const catalogue::CauseRow& row) {
  CataloguePage page = NewPage("cause", row.id, row.title);
  AddText(page, "family", "Family", model::Name(row.family));
  AddText(page, "explanation", "What happens", row.explanation);
  AddList(page, "explains", "Explains", Listed(row.explains));
  std::vector<std::vector<Cell>> evidence;
  for (const catalogue::EvidenceWeight& weight : row.evidence) {
    const catalogue::EvidenceRow* test = catalogue::FindEvidence(weight.evidence);
    evidence.push_back({Said(weight.evidence), Said(test == nullptr ? weight.evidence : test->says),
                        Said(WeightText(weight.if_true)), Said(WeightText(weight.if_false))});
  }
  AddTable(page, "evidence", "Evidence", {"id", "observation", "if it holds", "if not"}, std::move(evidence));
  AddText(page, "next", "To be sure", row.next);
  AddPairs(page);
  std::vector<std::vector<Cell>> remedies;
  for (const std::string_view id : row.remedies) {
    const catalogue::RemedyRow* remedy = catalogue::FindRemedy(id);
    remedies.push_back({Said(id), Said(remedy == nullptr ? id : remedy->title)});
  }
  AddTable(page, "remedies", "Remedies, fast to invasive", {"remedy", "title"}, std::move(remedies));
  AddOutcomes(page);
  AddCauseFigures(page);
  AddExample(page);
  return page;
}

CataloguePage PageOf(const catalogue::EvidenceRow& row) {
  CataloguePage page = NewPage("evidence", row.id, row.says);
  AddText(page, "needs", "Needs", row.needs);
  std::vector<std::vector<Cell>> causes;
  for (const catalogue::CauseRow& cause : catalogue::Causes()) {
    for (const catalogue::EvidenceWeight& weight : cause.evidence) {
      if (weight.evidence == row.id)
        causes.push_back({Said(cause.id), Said(WeightText(weight.if_true)), Said(WeightText(weight.if_false))});
    }
  }
  AddTable(page, "causes", "Moves these causes", {"cause", "if it holds", "if not"}, std::move(causes));
  return page;
}

CataloguePage PageOf(const catalogue::RemedyRow& row) {
  CataloguePage page = NewPage("remedy", row.id, row.title);
  AddText(page, "text", "What to do", row.text);
  AddText(page, "reason", "Why it helps", row.reason);
  AddText(page, "effect", "What should be seen then", row.effect);
  AddList(page, "when", "Offered when", Listed(row.when));
  AddText(page, "fact", "Changes the setting", row.fact);
  std::vector<std::vector<Cell>> settings;
  for (const catalogue::RemedySetting& setting : row.settings)
    settings.push_back({Said(setting.framework == "*" ? "any" : setting.framework), Said(setting.setting),
                        Said(setting.file), Said(setting.code)});
  AddTable(page, "settings", "In the words of each framework", {"framework", "setting", "where", "code"},
           std::move(settings));
  AddCauses(page, "Helps against", [&](const catalogue::CauseRow& cause) { return Holds(cause.remedies, page.id); });
  return page;
}

CataloguePage PageOf(const catalogue::ConfigRuleRow& row) {
  CataloguePage page = NewPage("config rule", row.id, row.title);
  AddText(page, "severity", "Severity", model::Name(row.severity));
  AddText(page, "when", "When", row.when);
  AddText(page, "set", "Set", row.set);
  std::vector<std::vector<Cell>> methods;
  for (const catalogue::MethodSeverity& each : row.by_method)
    methods.push_back({Said(each.method), Said(model::Name(each.severity))});
  AddTable(page, "by_method", "Severity by training method", {"method", "severity"}, std::move(methods));
  AddText(page, "judged", "Judged",
          row.scope == "both" ? "before a run (vigil preflight) and on what a run stated (vigil diagnose)"
                              : "before a run (vigil preflight)");
  AddText(page, "origin", "Origin", row.origin);
  AddFindingFigures(page);
  AddExplainingCauses(page);
  return page;
}

std::string_view RoleText(std::string_view role) {
  if (role == "cascade") return "set off by the failure of another process: look for the first error elsewhere";
  if (role == "teardown") return "said while everything shuts down: the error came before";
  return "may be the first error";
}

CataloguePage PageOf(const catalogue::SignatureRow& row) {
  CataloguePage page = NewPage("signature", row.id, row.title);
  AddText(page, "severity", "Severity", model::Name(row.severity));
  AddText(page, "family", "Family", model::Name(row.family));
  AddText(page, "explanation", "What it means", row.explanation);
  AddText(page, "fix", "What to do", row.fix);
  AddText(page, "link", "Read more", row.link);
  AddText(page, "role", "Role", RoleText(row.role));
  AddText(page, "cause", "Cause", row.cause);
  AddText(page, "finding", "Counts also as", row.finding);
  AddFindingFigures(page);
  AddList(page, "patterns", "Recognised by (any of)", Listed(row.patterns));
  return page;
}

CataloguePage PageOf(const catalogue::SignalRow& row) {
  constexpr std::array<std::string_view, 3> kBetter = {"neither way", "lower", "higher"};
  CataloguePage page = NewPage("signal", row.id, row.title);
  AddText(page, "unit", "Unit", row.unit);
  AddText(page, "better", "Better", kBetter[static_cast<std::size_t>(row.better)]);
  if (!row.label.empty())
    AddText(page, "label", "Label", fmt::format("what stands for * in a name is kept as the label {}", row.label));
  std::vector<std::string> names = Listed(row.aliases);
  for (const catalogue::ScaledName& name : row.scaled)
    names.push_back(fmt::format("{} (times {})", name.name, FormatNumber(name.factor)));
  AddList(page, "aliases", "Names it is logged under", std::move(names));
  std::vector<std::vector<Cell>> findings;
  for (const catalogue::FindingRow& finding : catalogue::Findings()) {
    if (Holds(finding.signals, row.id)) findings.push_back({Said(finding.id), Said(finding.title)});
  }
  AddTable(page, "findings", "Findings that look at it", {"finding", "title"}, std::move(findings));
  return page;
}

CataloguePage PageOf(const catalogue::ChecklistRow& row) {
  CataloguePage page = NewPage("checklist item", row.id, row.title);
  AddText(page, "stage", "Stage", row.stage);
  AddText(page, "why", "Why it matters", row.why);
  AddText(page, "how", "What to do", row.how);
  return page;
}

CataloguePage PageOf(const catalogue::MeasureRow& row) { return PageOfMeasure(row); }

template <class Rows>
std::vector<CataloguePage> PagesFrom(Rows rows, std::string_view id) {
  std::vector<CataloguePage> pages;
  for (const auto& row : rows) {
    if (id.empty() || row.id == id) pages.push_back(PageOf(row));
  }
  return pages;
}

constexpr std::array<PageKind, 9> kKinds = {{
    {"finding", "findings", "Something observed in a run: a symptom with its steps and values.",
     [](std::string_view id) { return PagesFrom(catalogue::Findings(), id); }},
    {"cause", "causes", "A reason that findings and evidence support or refute.",
     [](std::string_view id) { return PagesFrom(catalogue::Causes(), id); }},
    {"evidence", "evidence", "A question about a run that code answers with yes, no or unknown.",
     [](std::string_view id) { return PagesFrom(catalogue::EvidenceTests(), id); }},
    {"remedy", "remedies", "A change to make, in the words of the framework found.",
     [](std::string_view id) { return PagesFrom(catalogue::Remedies(), id); }},
    {"config rule", "config-rules", "A setting or combination of settings known to be bad.",
     [](std::string_view id) { return PagesFrom(catalogue::ConfigRules(), id); }},
    {"signature", "signatures", "An error message that is known, and what it means.",
     [](std::string_view id) { return PagesFrom(catalogue::Signatures(), id); }},
    {"signal", "signals", "A number that runs log, and the names that trainers give it.",
     [](std::string_view id) { return PagesFrom(catalogue::Signals(), id); }},
    {"measure", "measures", "A number that says how a run went, in levels with fitted weights for each cause.",
     [](std::string_view id) { return PagesFrom(catalogue::Measures(), id); }},
    {"checklist item", "checklist", "Something to have checked before a training that fails is called understood.",
     [](std::string_view id) { return PagesFrom(catalogue::Checklist(), id); }},
}};

}  // namespace

std::span<const PageKind> PageKinds() { return kKinds; }

std::vector<CataloguePage> PagesOf(std::string_view id) {
  std::vector<CataloguePage> found;
  if (id.empty()) return found;
  for (const PageKind& kind : kKinds) {
    for (CataloguePage& page : kind.pages(id)) found.push_back(std::move(page));
  }
  if (!found.empty()) return found;
  if (const auto meaning = catalogue::Interpret(id)) found.push_back(PageOf(*catalogue::FindSignal(meaning->signal)));
  return found;
}

}  // namespace vigil::report
