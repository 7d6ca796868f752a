#include "catalogue/catalogue.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "catalogue/advice.h"
#include "catalogue/checklist.h"
#include "catalogue/config_rules.h"

namespace vigil::catalogue {
namespace {

#include "catalogue/rows.inc"

template <class Row>
const Row* FindById(std::span<const Row> rows, std::string_view id) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.id == id; });
  return at == rows.end() ? nullptr : &*at;
}

template <class Row>
void AppendIds(std::span<const Row> rows, std::vector<std::string>& ids) {
  for (const Row& row : rows) ids.emplace_back(row.id);
}

}  // namespace

std::span<const SignalRow> Signals() { return kSignalRows; }
std::span<const NamePartRow> NameParts() { return kNamePartRows; }
std::span<const FactRow> Facts() { return kFactRows; }
std::span<const FindingRow> Findings() { return kFindingRows; }
std::span<const EvidenceRow> EvidenceTests() { return kEvidenceRows; }
std::span<const MeasureRow> Measures() { return kMeasureRows; }
std::span<const FittedRow> Fitted() { return kFittedRows; }
std::span<const CauseRow> Causes() { return kCauseRows; }
std::span<const PairRow> Pairs() { return kPairRows; }
std::span<const RemedyRow> Remedies() { return kRemedyRows; }
std::span<const LaunchRow> Launches() { return kLaunchRows; }
std::span<const NextRow> NextCommands() { return kNextRows; }
std::span<const EnablerRow> Enablers() { return kEnablerRows; }
std::span<const ConfigRuleRow> ConfigRules() { return kConfigRuleRows; }
std::span<const ConfigKeysRow> ConfigKeys() { return kConfigKeysRows; }
std::span<const ChecklistRow> Checklist() { return kChecklistRows; }
std::span<const SignatureRow> Signatures() { return kSignatureRows; }

const FindingRow* FindFinding(std::string_view id) { return FindById(Findings(), id); }
const CauseRow* FindCause(std::string_view id) { return FindById(Causes(), id); }
const RemedyRow* FindRemedy(std::string_view id) { return FindById(Remedies(), id); }
const LaunchRow* FindLaunch(std::string_view framework) { return FindById(Launches(), framework); }
const NextRow* FindNextCommand(std::string_view id) { return FindById(NextCommands(), id); }
const RemedySetting* FindRemedySetting(const RemedyRow& row, std::string_view framework) {
  const auto at = std::find_if(row.settings.begin(), row.settings.end(),
                               [&](const RemedySetting& setting) { return setting.framework == framework; });
  return at == row.settings.end() ? nullptr : &*at;
}
const PairRow* FindPair(std::string_view a, std::string_view b) {
  std::string id(std::min(a, b));
  return FindById(Pairs(), id.append("+").append(std::max(a, b)));
}
const EvidenceRow* FindEvidence(std::string_view id) { return FindById(EvidenceTests(), id); }
const ConfigRuleRow* FindConfigRule(std::string_view id) { return FindById(ConfigRules(), id); }
const ConfigKeysRow* FindConfigKeys(std::string_view framework) { return FindById(ConfigKeys(), framework); }
bool HasConfigTrait(std::string_view framework, std::string_view trait) {
  const ConfigKeysRow* row = FindConfigKeys(framework);
  return row != nullptr && std::find(row->traits.begin(), row->traits.end(), trait) != row->traits.end();
}
model::Severity SeverityIn(const ConfigRuleRow& rule, std::string_view method) {
  const auto at = std::find_if(rule.by_method.begin(), rule.by_method.end(),
                               [&](const MethodSeverity& each) { return each.method == method; });
  return at == rule.by_method.end() ? rule.severity : at->severity;
}
const ChecklistRow* FindChecklistItem(std::string_view id) { return FindById(Checklist(), id); }
const SignatureRow* FindSignature(std::string_view id) { return FindById(Signatures(), id); }
const SignatureRow* SignatureOf(const model::Finding& finding) {
  return FindSignature(finding.signature.empty() ? finding.id : finding.signature);
}
const SignalRow* FindSignal(std::string_view id) { return FindById(Signals(), id); }

std::vector<std::string> AllIds() {
  std::vector<std::string> ids;
  AppendIds(Findings(), ids);
  AppendIds(ConfigRules(), ids);
  AppendIds(Signatures(), ids);
  AppendIds(Causes(), ids);
  AppendIds(EvidenceTests(), ids);
  AppendIds(Measures(), ids);
  AppendIds(Remedies(), ids);
  AppendIds(Signals(), ids);
  AppendIds(Checklist(), ids);
  return ids;
}

}  // namespace vigil::catalogue
