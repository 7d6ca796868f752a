// Words that doc/glossary.md puts out of use are not used, but for the lines that its allow-list names. tools/words.py
// finds them, and lists them by file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/base.h"
#include "support/paths.h"
#include "support/shell.h"
#include "tree.h"

namespace vigil::structure {
namespace {

std::map<std::string, int> Count() {
  std::map<std::string, int> counts;
  const auto run = testing_support::RunShell(
      "/usr/bin/python3 " + testing_support::QuoteForShell(InTree("tools/words.py").string()) + " --count");
  for (const std::string_view line : Split(run.output, '\n')) {
    const auto cells = Split(line, '\t');
    if (cells.size() == 2) counts[std::string(cells[0])] = static_cast<int>(*ParseInteger(cells[1]));
  }
  return counts;
}

TEST(Words, ThatAreOutAreNotUsed) {
  const std::map<std::string, int> counts = Count();
  EXPECT_GT(counts.size(), 5U) << "tools/words.py did not run";
  for (const char* folder : {"src/report", "apps", "tools", "tests"}) {
    EXPECT_TRUE(counts.contains(folder)) << folder << " is not checked";
  }
  for (const auto& [module, count] : counts) {
    EXPECT_EQ(count, 0) << module << ": words that doc/glossary.md puts out of use; `tools/words.py " << module
                        << "` lists them";
  }
}

TEST(Words, ThatAreOutAreNotInHelp) {
  const std::string help = testing_support::RunVigil(testing_support::kProgram, "--help 2>&1").output;
  const auto run = testing_support::RunShell("cd " + testing_support::QuoteForShell(testing_support::kSourceDir) +
                                             " && for command in '' diagnose watch gym explain; do " +
                                             testing_support::QuoteForShell(testing_support::kProgram) +
                                             " $command --help; done 2>&1 | /usr/bin/python3 tools/words.py -");
  EXPECT_THAT(help, testing::HasSubstr("diagnose"));
  EXPECT_EQ(run.output, "");
}

}  // namespace
}  // namespace vigil::structure
