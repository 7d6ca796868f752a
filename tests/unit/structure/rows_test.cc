// Rows name code, and the code is there; formats are fuzzed.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/checklist.h"
#include "catalogue/config_rules.h"
#include "detect/detect.h"
#include "diagnose/checklist.h"
#include "diagnose/diagnose.h"
#include "formats/formats.h"
#include "ingest/ingest.h"
#include "preflight/preflight.h"
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
  std::vector<std::string_view> names = diagnose::ConfigCheckNames();
  for (const std::string_view name : preflight::TextCheckNames()) names.push_back(name);
  for (const catalogue::ConfigRuleRow& row : catalogue::ConfigRules()) {
    EXPECT_FALSE(row.check.empty()) << row.id;
    EXPECT_TRUE(IsEmptyOrIn(row.check, names)) << row.id << ": " << row.check;
    EXPECT_FALSE(row.origin.empty()) << row.id;
    EXPECT_TRUE(row.scope == "both" || row.scope == "config") << row.id << ": " << row.scope;
  }
}

TEST(Rows, EveryItemOfTheChecklistHasCodeAndALineInTheGuide) {
  const std::string guide = ReadText(InTree("doc/guide/checklist.md"));
  std::size_t last = 0;
  for (const catalogue::ChecklistRow& row : catalogue::Checklist()) {
    EXPECT_FALSE(row.test.empty()) << row.id;
    EXPECT_TRUE(IsEmptyOrIn(row.test, diagnose::ChecklistTestNames())) << row.id << ": " << row.test;
    const std::string line =
        "| " + std::string(row.stage) + " | `" + std::string(row.id) + "` | " + std::string(row.title) + " |\n";
    const std::size_t at = guide.find(line);
    EXPECT_NE(at, std::string::npos) << "doc/guide/checklist.md lacks " << line;
    EXPECT_GT(at, last) << row.id << " stands in another order";
    last = at;
  }
}

// What decides between causes is set by hand, and the reasons stand in one place.
TEST(HandSetNumbers, OfTheDecisionAreListedWithTheirReason) {
  static const std::regex constant(R"(constexpr (?:double|std::size_t) (k[A-Z]\w*) = )");
  const std::string page = ReadText(InTree("doc/decisions/0009-hand-set-numbers.md"));
  std::set<std::string> found;
  for (const char* file : {"score.cc", "score_fitted.cc", "score_fitted.h", "diagnose.cc", "diagnose.h", "review.cc"}) {
    const std::string text = ReadText(InTree(std::string("src/diagnose/") + file));
    for (std::sregex_iterator at(text.begin(), text.end(), constant), end; at != end; ++at)
      found.insert((*at)[1].str());
  }
  EXPECT_GE(found.size(), 30U);
  for (const std::string& name : found)
    EXPECT_NE(page.find("| `" + name + "` | "), std::string::npos)
        << name << " has no reason in " << "0009-hand-set-numbers.md";
}

// A row of `_open` waits for its code; one that has it stands with the others.
TEST(OpenRows, SayWhatWouldOpenThemAndAreNoneOfThoseWithCode) {
  std::set<std::string> decided;
  for (const char* kind : {"findings", "causes"}) {
    static const std::regex id(R"re(id = "([^"]+)")re");
    const std::string rows = ReadText(InTree(std::string("src/catalogue/rows/") + kind + ".toml"));
    for (std::sregex_iterator at(rows.begin(), rows.end(), id), end; at != end; ++at) decided.insert((*at)[1].str());
    const std::string open = ReadText(InTree(std::string("src/catalogue/rows/") + kind + "_open.toml"));
    for (std::sregex_iterator at(open.begin(), open.end(), id), end; at != end; ++at)
      EXPECT_FALSE(decided.contains((*at)[1].str())) << (*at)[1].str() << " has its code, and is open too";
  }
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    const bool open = !decided.contains(std::string(row.id));
    EXPECT_EQ(open, !row.needs.empty()) << row.id << ": what is open says what it needs, and nothing else does";
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
