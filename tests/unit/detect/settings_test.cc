#include "detect/settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/paths.h"

namespace vigil::detect {
namespace {

// Settings that the sources of detectors ask a run for. Batches are judged beside the detectors, and again at each
// look.
std::set<std::string> SettingsAskedFor() {
  std::set<std::string> asked;
  const std::regex call(R"((?:FindFact|FactNumber)\(([^)]*)\))");
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(testing_support::kSourceDir) + "/src/detect")) {
    if (file.path().extension() != ".cc" || file.path().filename() == "batches.cc") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator at(source.begin(), source.end(), call); at != std::sregex_iterator(); ++at)
      asked.insert((*at)[1]);
  }
  return asked;
}

TEST(SettingsOfDetectors, AreThoseThatTheirSourcesAskFor) {
  std::set<std::string> listed;
  for (const std::string_view key : kSettingsOfDetectors) listed.insert('"' + std::string(key) + '"');
  EXPECT_EQ(SettingsAskedFor(), listed);
}

TEST(SettingsOfDetectors, AreFewOfAll) {
  EXPECT_TRUE(IsReadByDetectors("warmup_steps"));
  EXPECT_FALSE(IsReadByDetectors("weight_decay"));
}

}  // namespace
}  // namespace vigil::detect
