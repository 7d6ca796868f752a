// The rows of causes, evidence, remedies and config rules, and the code they name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"
#include "diagnose/diagnose.h"
#include "preflight/preflight.h"

namespace vigil::diagnose {
namespace {

using catalogue::CauseRow;
using catalogue::RemedyRow;

std::set<std::string_view> ToSet(const std::vector<std::string_view>& names) { return {names.begin(), names.end()}; }

TEST(DiagnoseRows, EveryEvidenceRowHasItsTestAndEveryTestItsRow) {
  std::set<std::string_view> named;
  for (const catalogue::EvidenceRow& row : catalogue::EvidenceTests()) named.insert(row.test);
  EXPECT_EQ(named, ToSet(EvidenceTestNames()));
}

TEST(DiagnoseRows, EveryProposalOfARemedyHasCodeAndIsUsed) {
  std::set<std::string_view> named;
  for (const RemedyRow& row : catalogue::Remedies()) {
    if (!row.proposal.empty()) named.insert(row.proposal);
  }
  EXPECT_EQ(named, ToSet(ProposalNames()));
}

TEST(DiagnoseRows, EveryConfigCheckHasCodeAndIsUsed) {
  std::set<std::string_view> named;
  for (const catalogue::ConfigRuleRow& row : catalogue::ConfigRules()) {
    named.insert(row.check);
  }
  // What only the text of a file shows is checked before it becomes a run.
  for (const std::string_view text : preflight::TextCheckNames()) EXPECT_EQ(named.erase(text), 1U) << text;
  EXPECT_EQ(named, ToSet(ConfigCheckNames()));
}

TEST(DiagnoseRows, EveryQuestionIsAskedForSomeCause) {
  std::set<std::string_view> asked;
  for (const CauseRow& cause : catalogue::Causes()) {
    for (const auto& weight : cause.evidence) asked.insert(weight.evidence);
  }
  for (const catalogue::EvidenceRow& row : catalogue::EvidenceTests()) EXPECT_TRUE(asked.contains(row.id)) << row.id;
}

TEST(DiagnoseRows, EveryRemedyBelongsToSomeCause) {
  std::set<std::string_view> used;
  for (const CauseRow& cause : catalogue::Causes()) used.insert(cause.remedies.begin(), cause.remedies.end());
  for (const RemedyRow& row : catalogue::Remedies()) EXPECT_TRUE(used.contains(row.id)) << row.id;
}

TEST(DiagnoseRows, NoCauseIsLikelyBeforeAnyEvidence) {
  for (const CauseRow& cause : catalogue::Causes()) EXPECT_LT(cause.prior, 0) << cause.id;
}

TEST(DiagnoseRows, NoCauseAsksAQuestionTwice) {
  for (const CauseRow& cause : catalogue::Causes()) {
    std::set<std::string_view> asked;
    for (const auto& weight : cause.evidence)
      EXPECT_TRUE(asked.insert(weight.evidence).second) << cause.id << " " << weight.evidence;
  }
}

TEST(DiagnoseRows, EveryErrorOfADetectorHasACauseThatExplainsIt) {
  for (const catalogue::FindingRow& finding : catalogue::Findings()) {
    if (finding.detector.empty() || finding.severity < model::Severity::kError) continue;
    const bool explained =
        std::any_of(catalogue::Causes().begin(), catalogue::Causes().end(), [&](const CauseRow& cause) {
          return std::find(cause.explains.begin(), cause.explains.end(), finding.id) != cause.explains.end();
        });
    EXPECT_TRUE(explained) << finding.id;
  }
}

// Of a run that trained, a setting is a risk and no failure. Before the run it may be an error: `vigil preflight`.
TEST(DiagnoseRows, NoConfigRuleIsAnErrorOfARunThatTrained) {
  for (const catalogue::ConfigRuleRow& row : catalogue::ConfigRules()) {
    if (row.scope != "both") continue;
    EXPECT_LE(row.severity, model::Severity::kWarning) << row.id;
  }
}

}  // namespace
}  // namespace vigil::diagnose
