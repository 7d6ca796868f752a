// Each promise of doc/guide/promises.md and each rule of doc/guide/rules.md names tests that exist.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tree.h"

namespace vigil::structure {
namespace {

// "Suite.Name" of every test below tests/unit, whatever macro it has.
std::set<std::string> TestNames() {
  static const std::regex test(R"(TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\))");
  std::set<std::string> names;
  for (const auto& path : FilesBelow("tests/unit", {".cc"})) {
    const std::string text = ReadText(InTree(path));
    for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at)
      names.insert((*at)[1].str() + "." + (*at)[2].str());
  }
  return names;
}

struct Promise {
  std::string text;
  std::vector<std::string> tests;
};

// The rows of the tables: the promise, and the names in the last column.
std::vector<Promise> PromisesIn(const std::string& document) {
  static const std::regex row(R"(\| (.+) \| (`.+`) \|)");
  static const std::regex name("`([^`]+)`");
  std::vector<Promise> promises;
  for (std::sregex_iterator at(document.begin(), document.end(), row), end; at != end; ++at) {
    Promise promise = {(*at)[1].str(), {}};
    const std::string names = (*at)[2].str();
    for (std::sregex_iterator found(names.begin(), names.end(), name); found != end; ++found)
      promise.tests.push_back((*found)[1].str());
    promises.push_back(std::move(promise));
  }
  return promises;
}

// Whether a name, as `ctest -R` takes it, is the beginning of that of a test.
bool Names(const std::set<std::string>& tests, const std::string& prefix) {
  const auto at = tests.lower_bound(prefix);
  return at != tests.end() && at->starts_with(prefix);
}

TEST(Promises, NameTestsThatExist) {
  const std::set<std::string> tests = TestNames();
  EXPECT_TRUE(tests.contains("Promises.NameTestsThatExist"));
  const auto promises = PromisesIn(ReadText(InTree("doc/guide/promises.md")));
  EXPECT_GE(promises.size(), 20U);
  for (const Promise& promise : promises) {
    EXPECT_FALSE(promise.tests.empty()) << promise.text;
    for (const std::string& name : promise.tests) EXPECT_TRUE(Names(tests, name)) << promise.text << ": " << name;
  }
}

// A rule is named after its test, or the other way round: whole names, so that nothing stands for it by chance.
TEST(RulesOfDiagnosis, NameTestsThatExist) {
  const std::set<std::string> tests = TestNames();
  const auto rules = PromisesIn(ReadText(InTree("doc/guide/rules.md")));
  EXPECT_GE(rules.size(), 60U);
  for (const Promise& rule : rules) {
    for (const std::string& name : rule.tests) EXPECT_TRUE(tests.contains(name)) << rule.text << ": " << name;
  }
}

// And no test of a rule is missing in the table.
TEST(RulesOfDiagnosis, ListEveryTestOfTheirFolder) {
  static const std::regex test(R"(TEST(?:_F)?\(\s*(\w+),\s*(\w+)\))");
  const std::string page = ReadText(InTree("doc/guide/rules.md"));
  for (const auto& path : FilesBelow("tests/unit/rules", {".cc"})) {
    const std::string text = ReadText(InTree(path));
    for (std::sregex_iterator at(text.begin(), text.end(), test), end; at != end; ++at) {
      const std::string name = (*at)[1].str() + "." + (*at)[2].str();
      EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
    }
  }
}

TEST(Promises, AreFoundInTheirTables) {
  const auto promises =
      PromisesIn("| promise | proved by |\n|---|---|\n| It holds | `A`, `B.C` |\n| No test | none |\n");
  ASSERT_EQ(promises.size(), 1U);
  EXPECT_THAT(promises[0].tests, testing::ElementsAre("A", "B.C"));
}

}  // namespace
}  // namespace vigil::structure
