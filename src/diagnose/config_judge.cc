// Which rules are judged, and how severe a broken one is.
#include <algorithm>
#include <array>

#include "catalogue/config_rules.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"
#include "diagnose/diagnose.h"

namespace vigil::diagnose {
namespace {

constexpr std::array kFamilies = {RunChecks,         StrategyChecks, PrecisionChecks, ScheduleChecks,
                                  DistributedChecks, AdapterChecks,  MemoryChecks,    ValueChecks};

const NamedCheck* FindCheck(std::string_view name) {
  for (const auto& family : kFamilies) {
    for (const NamedCheck& named : family()) {
      if (named.name == name) return &named;
    }
  }
  return nullptr;
}

model::Evidence EvidenceOf(const RunView& run, const model::Fact& fact) {
  model::Evidence evidence;
  const model::Quote value = QuoteOf(run, fact);
  evidence.path = value.path;
  evidence.line = value.line;
  evidence.says = says::ConfigStated{.setting = NameOf(fact), .value = value};
  return evidence;
}

// Of a run that trained a setting is a risk, not a failure: the severity of a user's file never lifts it above a
// warning.
model::Severity SeverityOf(const catalogue::ConfigRuleRow& rule, const Breach& breach, const RunView& run,
                           const catalogue::Thresholds& thresholds, ConfigScope scope) {
  if (scope == ConfigScope::kRun) {
    const model::Severity own = thresholds.SeverityOf(rule.id, rule.severity);
    return breach.grave ? model::Severity::kWarning : std::min(own, model::Severity::kWarning);
  }
  const model::Severity usual = breach.severity ? *breach.severity : SeverityFor(rule, *run, {});
  return thresholds.SeverityOf(rule.id, breach.grave ? std::max(usual, model::Severity::kWarning) : usual);
}

model::Remedy FixOf(const catalogue::ConfigRuleRow& rule, const Breach& breach, const RunView& run) {
  model::Remedy fix;
  fix.id = rule.id;
  fix.framework = run->framework;
  fix.proposed = breach.proposed;
  if (breach.fact != nullptr) {
    fix.file = QuoteOf(run, *breach.fact).path;
    fix.setting = NameOf(*breach.fact);
    fix.current = breach.fact->value;
  }
  if (!breach.setting.empty() && breach.setting != fix.setting) {
    fix.setting = breach.setting;
    const model::Fact* current = FindSetting(run, breach.setting);
    fix.current = current == nullptr ? std::string() : current->value;
  }
  fix.proposed_in_words = catalogue::TextOf("rule", rule.id, "set");
  return fix;
}

model::ConfigBreach ToBreach(const catalogue::ConfigRuleRow& rule, const Breach& breach, const RunView& run,
                             model::Severity severity) {
  model::ConfigBreach broken;
  broken.finding.id = rule.id;
  broken.finding.family = model::Family::kSetup;
  broken.finding.severity = severity;
  broken.finding.says = breach.says;
  for (const model::Fact* fact : {breach.fact, breach.other}) {
    if (fact != nullptr) broken.finding.evidence.push_back(EvidenceOf(run, *fact));
  }
  broken.fix = FixOf(rule, breach, run);
  return broken;
}

}  // namespace

model::Severity SeverityFor(const catalogue::ConfigRuleRow& rule, const model::Run& run,
                            const catalogue::Thresholds& thresholds) {
  const bool known = run.method.confidence >= model::kMethodKnown;
  return thresholds.SeverityOf(rule.id, known ? catalogue::SeverityIn(rule, run.method.name) : rule.severity);
}

std::vector<model::ConfigBreach> JudgeConfig(const model::Run& run, const catalogue::Thresholds& thresholds,
                                             ConfigScope scope) {
  std::vector<model::ConfigBreach> broken;
  for (const catalogue::ConfigRuleRow& rule : catalogue::ConfigRules()) {
    if (scope == ConfigScope::kRun && rule.scope != "both") continue;
    const NamedCheck* check = FindCheck(rule.check);
    if (check == nullptr || !thresholds.Enabled(rule.id)) continue;
    for (const Breach& breach : check->Run(run))
      broken.push_back(ToBreach(rule, breach, run, SeverityOf(rule, breach, run, thresholds, scope)));
  }
  std::stable_sort(broken.begin(), broken.end(), [](const model::ConfigBreach& a, const model::ConfigBreach& b) {
    return a.finding.severity > b.finding.severity;
  });
  return broken;
}

std::vector<model::Finding> CheckConfig(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<model::Finding> findings;
  for (model::ConfigBreach& breach : JudgeConfig(run, thresholds, ConfigScope::kRun)) {
    // One setting is enough to find the place by.
    if (breach.finding.evidence.size() > 1) breach.finding.evidence.resize(1);
    findings.push_back(std::move(breach.finding));
  }
  return findings;
}

std::vector<std::string_view> ConfigCheckNames() {
  std::vector<std::string_view> names;
  for (const auto& family : kFamilies) {
    for (const NamedCheck& named : family()) names.push_back(named.name);
  }
  return names;
}

}  // namespace vigil::diagnose
