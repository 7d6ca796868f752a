#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include <fstream>
#include <limits>
#include <set>

#include "base/base.h"
#include "golden.h"
#include "report/report.h"
#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

rapidjson::Document Parsed(const model::Report& report) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(RenderJson(report, "1.2.3").c_str());
  EXPECT_FALSE(document.HasParseError());
  return document;
}

template <class Value>
std::vector<std::string> Keys(const Value& object) {
  std::vector<std::string> keys;
  for (const auto& member : object.GetObject()) keys.emplace_back(member.name.GetString());
  return keys;
}

TEST(RenderJson, WritesADivergence) {
  ExpectGolden("diverged.json", RenderJson(samples::One(samples::DivergedRun()), "1.2.3"));
}

TEST(RenderJson, WritesSeveralRunsInTheOrderGiven) {
  ExpectGolden("several.json", RenderJson(samples::Several(), "1.2.3"));
}

TEST(RenderJson, HasTheKeysOfTheSchemaAndNoOthers) {
  const rapidjson::Document json = Parsed(samples::One(samples::DivergedRun()));
  EXPECT_THAT(Keys(json), ElementsAre("schema", "version", "runs", "unread"));
  const auto& run = json["runs"][0];
  EXPECT_THAT(Keys(run), ElementsAre("name", "sources", "framework", "regime", "steps", "ranks", "signals", "findings",
                                     "diagnoses", "coverage"));
  EXPECT_THAT(Keys(run["sources"][0]), ElementsAre("path", "format", "state", "note"));
  EXPECT_THAT(Keys(run["regime"]), ElementsAre("name", "confidence"));
  EXPECT_THAT(Keys(run["steps"]), ElementsAre("first", "last", "logged"));
  EXPECT_THAT(Keys(run["signals"][0]), ElementsAre("name", "raw", "unit", "points", "labels"));
  EXPECT_THAT(Keys(run["findings"][0]), ElementsAre("id", "family", "severity", "signal", "first_step", "last_step",
                                                    "ranks", "message", "evidence"));
  EXPECT_THAT(Keys(run["findings"][0]["evidence"][0]), ElementsAre("text", "step", "value", "path", "line"));
  EXPECT_THAT(Keys(run["diagnoses"][0]),
              ElementsAre("cause", "family", "confidence", "summary", "first_step", "last_step", "findings", "for",
                          "against", "missing", "next", "remedies"));
  EXPECT_THAT(Keys(run["diagnoses"][0]["remedies"][0]),
              ElementsAre("id", "text", "framework", "file", "setting", "current", "proposed"));
  EXPECT_THAT(Keys(run["coverage"][0]), ElementsAre("family", "state", "reason", "enable"));
}

void CollectKeys(const rapidjson::Value& value, std::set<std::string>& keys) {
  if (value.IsArray()) {
    for (const auto& item : value.GetArray()) CollectKeys(item, keys);
  } else if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      keys.insert(member.name.GetString());
      CollectKeys(member.value, keys);
    }
  }
}

TEST(RenderJson, HasEveryKeyDescribedInItsDocument) {
  std::ifstream file(std::string(VIGIL_SOURCE_DIR) + "/doc/formats/diagnosis-json.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  ASSERT_FALSE(document.empty());
  std::set<std::string> keys;
  CollectKeys(Parsed(samples::Several()), keys);
  for (const std::string& key : keys) {
    const bool described =
        document.find("`" + key + "`") != std::string::npos || document.find("{" + key + ",") != std::string::npos ||
        document.find(", " + key + ",") != std::string::npos || document.find(", " + key + "}") != std::string::npos;
    EXPECT_TRUE(described) << key;
  }
}

TEST(RenderJson, IsOneShapeWhenNothingWasRead) {
  model::Report report;
  report.unread = {{"missing.log", "no such file"}};
  const rapidjson::Document json = Parsed(report);
  EXPECT_EQ(json["runs"].Size(), 0U);
  EXPECT_STREQ(json["unread"][0]["reason"].GetString(), "no such file");
}

TEST(RenderJson, WritesNullForWhatIsUnknown) {
  const rapidjson::Document json = Parsed(samples::One(samples::UndecidedRun()));
  const auto& run = json["runs"][0];
  EXPECT_TRUE(run["framework"].IsNull());
  EXPECT_TRUE(run["signals"][0]["unit"].IsNull());
  const rapidjson::Document empty = Parsed(samples::One(samples::EmptyRun()));
  EXPECT_TRUE(empty["runs"][0]["steps"]["first"].IsNull());
  EXPECT_EQ(empty["runs"][0]["steps"]["logged"].GetInt(), 0);
}

TEST(RenderJson, WritesNonFiniteValuesAsStrings) {
  model::RunReport run = samples::DivergedRun();
  run.findings[0].evidence[0].value = std::numeric_limits<double>::infinity();
  EXPECT_STREQ(Parsed(samples::One(run))["runs"][0]["findings"][0]["evidence"][0]["value"].GetString(), "inf");
  run.findings[0].evidence[0].value = -std::numeric_limits<double>::infinity();
  EXPECT_STREQ(Parsed(samples::One(run))["runs"][0]["findings"][0]["evidence"][0]["value"].GetString(), "-inf");
}

TEST(RenderJson, IsValidWhateverTheNames) {
  const model::RunReport run = samples::HostileRun();
  const rapidjson::Document json = Parsed(samples::One(run));
  EXPECT_EQ(json["runs"][0]["name"].GetString(), ValidUtf8(run.run.name));
  // An index that points nowhere names no finding.
  EXPECT_EQ(json["runs"][0]["diagnoses"][0]["findings"].Size(), 1U);
}

}  // namespace
}  // namespace vigil::report
