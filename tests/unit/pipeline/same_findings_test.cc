// One training, told three ways: watched while it goes, by its journal afterwards, and by its log. The findings are the
// same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "catalogue/catalogue.h"
#include "import/import.h"
#include "support/shell.h"
#include "vigil/pipeline.h"

namespace vigil {
namespace {

namespace fs = std::filesystem;
using testing_support::QuoteForShell;
using testing_support::RunShell;

// Ids with their first steps. Times of a busy machine are no subject here, nor is the memory of a process under a
// sanitizer, which the journal knows and the log does not.
using Findings = std::map<std::string, std::int64_t>;

bool IsCompared(const std::string& id) { return !id.starts_with("throughput/") && !id.starts_with("memory/"); }

Findings Afterwards(const std::string& path) {
  Findings findings;
  for (const model::RunReport& run : app::DiagnosePaths({path}, catalogue::Settings()).report.runs) {
    for (const model::Finding& finding : run.findings) {
      if (finding.severity >= model::Severity::kWarning && IsCompared(finding.id))
        findings.try_emplace(finding.id, finding.first_step);
    }
  }
  return findings;
}

std::string FieldOf(std::string_view line, const std::string& name) {
  const std::string lead = "\"" + name + "\":";
  const std::size_t at = line.find(lead);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + lead.size());
  if (rest.starts_with('"')) rest.remove_prefix(1);
  return std::string(rest.substr(0, rest.find_first_of("\",}")));
}

// What stood when the watching ended: raised and not cleared.
Findings Live(const std::string& alarms) {
  Findings findings;
  for (const std::string_view line : Split(alarms, '\n')) {
    const std::string id = FieldOf(line, "id");
    if (id.empty() || !IsCompared(id)) continue;
    findings.erase(id);
    if (FieldOf(line, "state") == "raised")
      findings.emplace(id, ParseInteger(FieldOf(line, "first_step")).value_or(model::kNoStep));
  }
  return findings;
}

class SameFindings : public testing::TestWithParam<const char*> {};

TEST_P(SameFindings, LiveFromTheJournalAndFromTheLog) {
  const fs::path folder = fs::temp_directory_path() / ("vigil_same_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string run = (folder / "run").string();
  const std::string program = QuoteForShell(VIGIL_PROGRAM);
  const std::string train = program + " gym -q --layers 2 --width 32 --heads 2 --context 32 --steps 150 --onset 80 " +
                            "--threads 1 --timeout 3 --journal --fault " + GetParam() + " --out " + QuoteForShell(run);
  const auto live =
      RunShell("( " + train + " 2>/dev/null ) & " + program + " watch " + QuoteForShell(run + "/rank-0.vigil") +
               " --interval 0.05 --until-idle 6 --json 2>/dev/null; wait");
  const Findings from_journal = Afterwards(run + "/rank-0.vigil");
  const Findings from_log = Afterwards(run + "/train.log");
  fs::remove_all(folder);
  EXPECT_FALSE(from_journal.empty()) << GetParam();
  EXPECT_EQ(Live(live.output), from_journal) << live.output;
  // An error of a log stands behind the last step that it printed.
  ASSERT_EQ(from_log.size(), from_journal.size());
  for (const auto& [id, step] : from_journal) {
    ASSERT_TRUE(from_log.contains(id)) << id;
    EXPECT_NEAR(static_cast<double>(from_log.at(id)), static_cast<double>(step), 1) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, SameFindings,
                         testing::Values("non-finite-input", "bit-flip", "layer-log-zero", "token-out-of-range",
                                         "no-clipping"),
                         [](const auto& fault) {
                           std::string name = fault.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace vigil
