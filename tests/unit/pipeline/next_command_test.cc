// The command that a diagnosis ends with, over every labelled run of the repository: it exists, its options exist, and
// its outcomes mean something for the causes of that diagnosis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "pipeline/pipeline.h"
#include "report/texts.h"
#include "support/paths.h"
#include "support/shell.h"

namespace vigil::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Fixtures() { return std::string(testing_support::kSourceDir) + "/tests/fixtures/"; }

std::vector<std::string> LabelledRuns() {
  std::vector<std::string> paths;
  for (const std::string list : {"", "gym/", "frameworks/", "fresh/"}) {
    std::ifstream file(Fixtures() + list + "LABELS.tsv");
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) paths.push_back(Fixtures() + list + line.substr(0, line.find('\t')));
  }
  return paths;
}

std::vector<model::RunReport> DiagnosedIn(const std::string& path) {
  std::vector<model::RunReport> reports;
  for (model::Run& run : ImportPaths({path}).runs)
    reports.push_back(DiagnoseRun(std::move(run), catalogue::Thresholds()));
  return reports;
}

std::vector<std::string> WordsOf(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Words before the program set its environment.
std::vector<std::string> WithoutEnvironment(std::vector<std::string> words) {
  while (!words.empty() && words.front().find('=') != std::string::npos) words.erase(words.begin());
  return words;
}

const std::string& HelpOf(const std::string& subcommand) {
  static std::map<std::string, std::string> helps;
  std::string& help = helps[subcommand];
  if (help.empty()) help = testing_support::RunVigil(testing_support::kProgram, subcommand + " --help").output;
  return help;
}

void ExpectCommandOfVigil(const std::vector<std::string>& words) {
  ASSERT_GE(words.size(), 3U);
  EXPECT_THAT(HelpOf(""), HasSubstr("  " + words[1] + " ")) << "no such subcommand";
  EXPECT_NE(words[1], "watch") << "a finished run writes nothing more";
  for (const std::string& word : words) {
    EXPECT_TRUE(!word.starts_with("--") || HelpOf(words[1]).find(word) != std::string::npos) << word;
  }
  const std::vector<std::string> ids = catalogue::AllIds();
  EXPECT_TRUE(words[1] != "explain" || std::find(ids.begin(), ids.end(), words[2]) != ids.end()) << words[2];
}

// What starts a training: the run's own command line, or that of a framework.
std::set<std::string> StartersOf(const model::Run& run) {
  std::set<std::string> programs;
  for (const catalogue::LaunchRow& row : catalogue::Launches()) {
    if (!row.command.empty()) programs.insert(WordsOf(std::string(row.command)).front());
  }
  if (const model::Fact* own = run.FindFact("command_line"))
    programs.insert(WithoutEnvironment(WordsOf(own->value)).front());
  return programs;
}

bool SpeaksOf(const std::vector<report::NextOutcome>& outcomes, const std::string& cause) {
  return std::any_of(outcomes.begin(), outcomes.end(), [&](const report::NextOutcome& outcome) {
    return std::find(outcome.causes.begin(), outcome.causes.end(), cause) != outcome.causes.end();
  });
}

void ExpectOutcomes(const model::Diagnosis& diagnosis) {
  const std::vector<report::NextOutcome> outcomes = report::NextOutcomes(diagnosis);
  EXPECT_GE(outcomes.size(), 2U);
  for (const report::NextOutcome& outcome : outcomes) EXPECT_THAT(outcome.causes, Not(IsEmpty())) << outcome.seen;
  EXPECT_TRUE(catalogue::FindCause(diagnosis.cause) == nullptr || SpeaksOf(outcomes, diagnosis.cause));
  for (const model::Rival& rival : diagnosis.rivals)
    EXPECT_TRUE(rival.tell_apart.empty() || SpeaksOf(outcomes, rival.cause)) << "rival " << rival.cause;
}

void ExpectNextCommand(const model::Run& run, const model::Diagnosis& diagnosis) {
  const std::vector<std::string> words = WithoutEnvironment(WordsOf(diagnosis.next_command.command));
  ASSERT_THAT(words, Not(IsEmpty())) << diagnosis.cause;
  if (words.front() == "vigil") {
    ExpectCommandOfVigil(words);
  } else {
    EXPECT_THAT(StartersOf(run), Contains(words.front()));
  }
  ExpectOutcomes(diagnosis);
}

TEST(NextCommandOfEveryLabelledRun, ExistsAndItsOutcomesSpeakOfTheCauses) {
  std::size_t diagnoses = 0;
  for (const std::string& path : LabelledRuns()) {
    for (const model::RunReport& report : DiagnosedIn(path)) {
      for (const model::Diagnosis& diagnosis : report.diagnoses) {
        SCOPED_TRACE(path + ": " + diagnosis.cause + ": " + diagnosis.next_command.command);
        ExpectNextCommand(report.run, diagnosis);
        ++diagnoses;
      }
    }
  }
  EXPECT_GT(diagnoses, 400U);
}

}  // namespace
}  // namespace vigil::pipeline
