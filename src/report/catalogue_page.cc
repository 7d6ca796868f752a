#include "report/catalogue_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"
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

void AddExplainingCauses(CataloguePage& page) {
  AddCauses(page, "Causes that explain it",
            [&](const catalogue::CauseRow& cause) { return Holds(cause.explains, page.id); });
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
  AddExplainingCauses(page);
  std::vector<std::string> signals;
  for (const std::string_view signal : row.signals) signals.push_back(HowLogged(signal));
  AddList(page, "signals", "Looks at (the first is judged)", std::move(signals));
  if (row.detector.empty() && row.needs.empty())
    AddText(page, "source", "Comes from", "a config rule, a message in a log, or a later stage; not from a series");
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
  std::vector<std::vector<Cell>> remedies;
  for (const std::string_view id : row.remedies) {
    const catalogue::RemedyRow* remedy = catalogue::FindRemedy(id);
    remedies.push_back({Said(id), Said(remedy == nullptr ? id : remedy->title)});
  }
  AddTable(page, "remedies", "Remedies, fast to invasive", {"remedy", "title"}, std::move(remedies));
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

CataloguePage PageOf(const catalogue::MeasureRow& row) { return PageOfMeasure(row); }

template <class Rows>
std::vector<CataloguePage> PagesFrom(Rows rows) {
  std::vector<CataloguePage> pages;
  for (const auto& row : rows) pages.push_back(PageOf(row));
  return pages;
}

constexpr std::array<PageKind, 8> kKinds = {{
    {"finding", "findings", "Something observed in a run: a symptom with its steps and values.",
     [] { return PagesFrom(catalogue::Findings()); }},
    {"cause", "causes", "A reason that findings and evidence support or refute.",
     [] { return PagesFrom(catalogue::Causes()); }},
    {"evidence", "evidence", "A question about a run that code answers with yes, no or unknown.",
     [] { return PagesFrom(catalogue::EvidenceTests()); }},
    {"remedy", "remedies", "A change to make, in the words of the framework found.",
     [] { return PagesFrom(catalogue::Remedies()); }},
    {"config rule", "config-rules", "A setting or combination of settings known to be bad.",
     [] { return PagesFrom(catalogue::ConfigRules()); }},
    {"signature", "signatures", "An error message that is known, and what it means.",
     [] { return PagesFrom(catalogue::Signatures()); }},
    {"signal", "signals", "A number that runs log, and the names that trainers give it.",
     [] { return PagesFrom(catalogue::Signals()); }},
    {"measure", "measures", "A number that says how a run went, in levels with fitted weights for each cause.",
     [] { return PagesFrom(catalogue::Measures()); }},
}};

}  // namespace

std::span<const PageKind> PageKinds() { return kKinds; }

std::vector<CataloguePage> PagesOf(std::string_view id) {
  std::vector<CataloguePage> found;
  for (const PageKind& kind : kKinds) {
    for (CataloguePage& page : kind.pages()) {
      if (page.id == id) found.push_back(std::move(page));
    }
  }
  if (!found.empty()) return found;
  if (const auto meaning = catalogue::Interpret(id)) found.push_back(PageOf(*catalogue::FindSignal(meaning->signal)));
  return found;
}

}  // namespace vigil::report
