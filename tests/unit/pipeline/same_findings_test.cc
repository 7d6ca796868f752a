// One training, read in three ways: watched while it goes, by its journal afterwards, and by its log. The findings are
// the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "catalogue/catalogue.h"
#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "support/paths.h"
#include "support/shell.h"

namespace vigil {
namespace {

namespace fs = std::filesystem;
using testing_support::QuoteForShell;
using testing_support::RunShell;

// A fault of the gym, and what is to be found of it in every source.
struct Case {
  const char* fault;
  const char* arguments;
  const char* in_journals;  // an id that the journals of all ranks must give; empty: a busy machine may hide it
  const char* in_log;       // one that the log must give; empty: also where a log of the first rank cannot show it
  bool same_in_log;         // both give the same ids at the same steps
};

constexpr const char* kSmall = "--width 32 --context 32";

constexpr Case kCases[] = {
    {"non-finite-input", kSmall, "loss/non-finite", "loss/non-finite", true},
    {"bit-flip", kSmall, "loss/non-finite", "loss/non-finite", true},
    {"layer-log-zero", kSmall, "loss/non-finite", "loss/non-finite", true},
    {"token-out-of-range", kSmall, "data/token-out-of-range", "data/token-out-of-range", true},
    {"no-clipping", kSmall, "grad/spike", "grad/spike", true},
    {"resume-without-optimizer", kSmall, "lr/schedule-break", "lr/schedule-break", true},
    {"dead-rank", kSmall, "hang/dead-rank", "hang/dead-rank", false},
    {"hang-rank", kSmall, "hang/missing-rank", "log/collective-timeout", false},
    {"straggler-rank", "--width 64 --context 64 --strength 4", "", "", false},
    {"slow-data", "--width 32 --context 32 --strength 3", "", "", false},
    {"host-memory-leak", "--width 32 --context 32 --strength 8", "memory/leak", "", false},
};

// Ids with their first steps.
using Findings = std::map<std::string, std::int64_t>;

// Times of a busy machine and the memory of a process under a sanitizer belong to no fault: they are no subject where a
// journal, which knows them exactly, is held against a log.
bool IsOfTraining(const std::string& id) { return !id.starts_with("throughput/") && !id.starts_with("memory/"); }

Findings Afterwards(const std::vector<std::string>& paths) {
  Findings findings;
  for (const model::RunReport& run : pipeline::DiagnosePaths(paths, catalogue::Thresholds()).report.runs) {
    for (const model::Finding& finding : run.findings) {
      if (finding.severity >= model::Severity::kWarning) findings.try_emplace(finding.id, finding.first.value());
    }
  }
  return findings;
}

std::vector<std::string> JournalsIn(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".vigil") paths.push_back(entry.path().string());
  }
  return paths;
}

Findings Only(Findings findings, bool (*wanted)(const std::string&)) {
  std::erase_if(findings, [&](const auto& finding) { return !wanted(finding.first); });
  return findings;
}

std::vector<std::string> IdsOf(const Findings& findings) {
  std::vector<std::string> ids;
  for (const auto& finding : findings) ids.push_back(finding.first);
  return ids;
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
    if (id.empty()) continue;
    findings.erase(id);
    if (FieldOf(line, "state") == "raised")
      findings.emplace(id, ParseInteger(FieldOf(line, "first_step")).value_or(model::kNoStep));
  }
  return findings;
}

class SameFindings : public testing::TestWithParam<Case> {};

TEST_P(SameFindings, LiveFromTheJournalsAndFromTheLog) {
  const Case& fault = GetParam();
  const fs::path folder = fs::temp_directory_path() / ("vigil_same_" + std::to_string(::getpid()));
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string run = (folder / "run").string();
  const std::string program = QuoteForShell(testing_support::kProgram);
  const std::string train = program + " gym -q --layers 2 --heads 2 --steps 150 --onset 80 --threads 1 --timeout 1 " +
                            "--journal " + fault.arguments + " --fault " + fault.fault + " --out " + QuoteForShell(run);
  std::string journals;  // of all ranks and starts there may be; none is there yet
  for (const char* name : {"/rank-0.vigil", "/rank-1.vigil", "/rank-0.2.vigil"})
    journals += QuoteForShell(run + name) + " ";
  const auto watched = RunShell("( " + train + " 2>/dev/null ) & " + program + " watch " + journals +
                                " --interval 0.05 --until-idle 4 --json 2>/dev/null; wait");
  const Findings live = Live(watched.output);
  const Findings from_journals = Afterwards(JournalsIn(run));
  const Findings from_log = Afterwards({run + "/train.log"});
  fs::remove_all(folder);
  EXPECT_TRUE(*fault.in_journals == '\0' || from_journals.contains(fault.in_journals))
      << testing::PrintToString(IdsOf(from_journals));
  EXPECT_TRUE(*fault.in_log == '\0' || from_log.contains(fault.in_log)) << testing::PrintToString(IdsOf(from_log));
  // Where a slope begins is seen better from behind: of times and memory the ids are the same, of the rest the steps
  // too.
  EXPECT_EQ(IdsOf(live), IdsOf(from_journals)) << watched.output;
  EXPECT_EQ(Only(live, IsOfTraining), Only(from_journals, IsOfTraining)) << watched.output;
  if (!fault.same_in_log) return;
  ASSERT_EQ(IdsOf(Only(from_log, IsOfTraining)), IdsOf(Only(from_journals, IsOfTraining)));
  // An error of a log stands behind the last step that it printed.
  for (const auto& [id, step] : Only(from_journals, IsOfTraining))
    EXPECT_NEAR(static_cast<double>(from_log.at(id)), static_cast<double>(step), 1) << id;
}

INSTANTIATE_TEST_SUITE_P(Faults, SameFindings, testing::ValuesIn(kCases), [](const auto& fault) {
  std::string name = fault.param.fault;
  std::erase(name, '-');
  return name;
});

}  // namespace
}  // namespace vigil
