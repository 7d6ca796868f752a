// Rows name code, and the code is there; formats are fuzzed.
#include <gtest/gtest.h>

#include <algorithm>

#include "catalogue/catalogue.h"
#include "detect/detect.h"
#include "diagnose/diagnose.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "tree.h"

namespace vigil::structure {
namespace {

bool IsEmptyOrIn(std::string_view name, const std::vector<std::string_view>& names) {
  return name.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Rows, EveryDetectorNamedByAFindingHasCode) {
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    const bool named = !row.detector.empty();
    EXPECT_TRUE(!named || detect::FindFactory(row.detector) != nullptr) << row.id << ": " << row.detector;
  }
  EXPECT_EQ(detect::FindFactory("NoSuchDetector"), nullptr);
}

TEST(Rows, EveryEvidenceTestHasCode) {
  for (const catalogue::EvidenceRow& row : catalogue::EvidenceTests()) {
    EXPECT_FALSE(row.test.empty()) << row.id;
    EXPECT_TRUE(IsEmptyOrIn(row.test, diagnose::EvidenceTestNames())) << row.id << ": " << row.test;
  }
}

TEST(Rows, EveryProposalOfARemedyHasCode) {
  for (const catalogue::RemedyRow& row : catalogue::Remedies()) {
    EXPECT_TRUE(IsEmptyOrIn(row.proposal, diagnose::ProposalNames())) << row.id << ": " << row.proposal;
  }
}

TEST(Rows, EveryCheckOfAConfigRuleHasCode) {
  for (const catalogue::ConfigRuleRow& row : catalogue::ConfigRules()) {
    EXPECT_TRUE(IsEmptyOrIn(row.check, diagnose::ConfigCheckNames())) << row.id << ": " << row.check;
  }
}

// A target names the formats it reads: fuzz/log.cc has "log" in it.
TEST(Formats, EveryReaderHasAFuzzTargetWithACorpus) {
  for (const ingest::Format& format : formats::Formats()) {
    bool fuzzed = false;
    for (const auto& target : FilesBelow("fuzz", {".cc"})) {
      const auto corpus = InTree("fuzz/corpus") / target.stem();
      const bool names = ReadText(InTree(target)).find("\"" + std::string(format.id) + "\"") != std::string::npos;
      fuzzed |= names && std::filesystem::exists(corpus) && !std::filesystem::is_empty(corpus);
    }
    EXPECT_TRUE(fuzzed) << format.id;
  }
}

}  // namespace
}  // namespace vigil::structure
