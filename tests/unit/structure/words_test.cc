// Words that doc/glossary.md puts out of use become fewer, never more. tools/words.py finds them, and lists them by
// file for whoever wants to replace some.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/base.h"
#include "support/shell.h"
#include "tree.h"

namespace vigil::structure {
namespace {

// How many a module may still hold: what it held when it was counted last. Lower the number with the words, never raise
// it. What is not named here may hold none; modules taken out of src/import share its number.
const std::map<std::string, int>& Allowances() {
  static const std::map<std::string, int> allowances = {
      {"doc/guide", 2},     {"src/base", 0},     {"src/catalogue", 41}, {"src/codec", 0},    {"src/detect", 77},
      {"src/diagnose", 64}, {"src/guard", 0},    {"src/gym", 0},        {"src/import", 364}, {"src/journal", 0},
      {"src/model", 10},    {"src/platform", 0}, {"src/record", 0},     {"src/report", 51},  {"src/stats", 0},
  };
  return allowances;
}

// src/<module> of a module without a number of its own, which came out of src/import.
std::string AccountOf(const std::string& module) {
  const bool named = Allowances().contains(module);
  return named || !module.starts_with("src/") ? module : "src/import";
}

std::map<std::string, int> Count() {
  std::map<std::string, int> counts;
  const auto run = testing_support::RunShell(
      "/usr/bin/python3 " + testing_support::QuoteForShell(InTree("tools/words.py").string()) + " --count");
  for (const std::string_view line : Split(run.output, '\n')) {
    const auto cells = Split(line, '\t');
    if (cells.size() == 2) counts[AccountOf(std::string(cells[0]))] += static_cast<int>(*ParseInteger(cells[1]));
  }
  return counts;
}

TEST(Words, ThatAreOutBecomeFewer) {
  const std::map<std::string, int> counts = Count();
  EXPECT_GT(counts.size(), 5U) << "tools/words.py did not run";
  for (const auto& [module, count] : counts) {
    const auto allowance = Allowances().find(module);
    const int most = allowance == Allowances().end() ? 0 : allowance->second;
    EXPECT_LE(count, most) << module << ": words that doc/glossary.md puts out of use; `tools/words.py " << module
                           << "` lists them";
  }
}

TEST(Words, ThatAreOutAreNotInHelp) {
  const std::string help = testing_support::RunVigil(VIGIL_PROGRAM, "--help 2>&1").output;
  const auto run = testing_support::RunShell("cd " + testing_support::QuoteForShell(VIGIL_SOURCE_DIR) +
                                             " && for command in '' diagnose watch gym explain; do " +
                                             testing_support::QuoteForShell(VIGIL_PROGRAM) +
                                             " $command --help; done 2>&1 | /usr/bin/python3 tools/words.py -");
  EXPECT_THAT(help, testing::HasSubstr("diagnose"));
  EXPECT_EQ(run.output, "");
}

}  // namespace
}  // namespace vigil::structure
