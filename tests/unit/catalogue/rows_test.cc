// The rows are whole: each says what a person needs, and refers to what exists. References between rows are checked
// when the tables are generated; here stands what a table can only show as a whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"

namespace vigil::catalogue {
namespace {

TEST(Rows, EveryIdStandsOnceAmongAllThatCanBeExplained) {
  std::set<std::string> seen;
  for (const std::string& id : AllIds()) EXPECT_TRUE(seen.insert(id).second) << id;
  EXPECT_FALSE(seen.empty());
}

TEST(Rows, AreFoundByTheirIds) {
  for (const FindingRow& row : Findings()) EXPECT_EQ(FindFinding(row.id), &row);
  for (const CauseRow& row : Causes()) EXPECT_EQ(FindCause(row.id), &row);
  for (const RemedyRow& row : Remedies()) EXPECT_EQ(FindRemedy(row.id), &row);
  for (const EvidenceRow& row : EvidenceTests()) EXPECT_EQ(FindEvidence(row.id), &row);
  for (const SignatureRow& row : Signatures()) EXPECT_EQ(FindSignature(row.id), &row);
  for (const SignalRow& row : Signals()) EXPECT_EQ(FindSignal(row.id), &row);
  EXPECT_EQ(FindFinding("loss/nonsense"), nullptr);
}

TEST(Rows, ADetectorHasSomethingToWatch) {
  for (const FindingRow& row : Findings()) {
    EXPECT_TRUE(row.detector.empty() || !row.signals.empty()) << row.id;
  }
}

TEST(Rows, EveryThresholdSaysWhatItMeansAndWhereItComesFrom) {
  for (const FindingRow& row : Findings()) {
    for (const ThresholdRow& threshold : row.thresholds) {
      EXPECT_FALSE(threshold.meaning.empty()) << row.id << " " << threshold.name;
      EXPECT_FALSE(threshold.origin.empty()) << row.id << " " << threshold.name;
      EXPECT_TRUE(threshold.name != "severity" && threshold.name != "enabled")
          << row.id << ": a word of settings files";
    }
  }
}

TEST(Rows, EvidenceMovesTheCauseThatListsIt) {
  for (const CauseRow& row : Causes()) {
    for (const EvidenceWeight& weight : row.evidence) {
      EXPECT_TRUE(weight.if_true != 0 || weight.if_false != 0) << row.id << " " << weight.evidence;
      EXPECT_LE(weight.if_true * weight.if_false, 0)
          << row.id << " " << weight.evidence << ": both answers pull the same way";
    }
  }
}

TEST(Rows, EveryEvidenceTestIsUsedByACause) {
  std::set<std::string_view> used;
  for (const CauseRow& row : Causes()) {
    for (const EvidenceWeight& weight : row.evidence) used.insert(weight.evidence);
  }
  for (const EvidenceRow& row : EvidenceTests()) EXPECT_TRUE(used.contains(row.id)) << row.id;
}

TEST(Rows, EveryRemedyIsOfferedByACause) {
  std::set<std::string_view> offered;
  for (const CauseRow& row : Causes()) offered.insert(row.remedies.begin(), row.remedies.end());
  for (const RemedyRow& row : Remedies()) EXPECT_TRUE(offered.contains(row.id)) << row.id;
}

TEST(Rows, RulesAndSignaturesAreNamedByTheirKind) {
  for (const ConfigRuleRow& row : ConfigRules()) EXPECT_TRUE(row.id.starts_with("config/")) << row.id;
  for (const SignatureRow& row : Signatures()) EXPECT_TRUE(row.id.starts_with("log/")) << row.id;
}

TEST(Rows, ASignatureHasARole) {
  constexpr std::string_view kRoles[] = {"root", "cascade", "teardown"};
  for (const SignatureRow& row : Signatures()) {
    EXPECT_NE(std::find(std::begin(kRoles), std::end(kRoles), row.role), std::end(kRoles))
        << row.id << ": " << row.role;
    EXPECT_FALSE(row.patterns.empty()) << row.id;
  }
}

TEST(Rows, EnablersSayAPhraseThatHasAText) {
  EXPECT_FALSE(Enablers().empty());
  for (const EnablerRow& row : Enablers()) {
    const std::string_view text = FindTemplate(row.phrase);
    EXPECT_FALSE(text.empty()) << row.id << ": " << row.phrase;
    EXPECT_EQ(text.find('{'), std::string_view::npos) << row.id << ": nothing fills its places";
  }
}

}  // namespace
}  // namespace vigil::catalogue
