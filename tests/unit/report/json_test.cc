#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "base/base.h"
#include "golden.h"
#include "parsed.h"
#include "report/report.h"
#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::ElementsAre;

std::string Json(const model::Report& report) { return RenderJson(report, "1.2.3"); }

std::vector<std::string> Keys(simdjson::dom::element element) {
  std::vector<std::string> keys;
  simdjson::dom::object object;
  EXPECT_EQ(element.get(object), simdjson::SUCCESS);
  for (const auto field : object) keys.emplace_back(field.key);
  return keys;
}

TEST(JsonWriter, WritesBothLayouts) {
  const auto write = [](JsonWriter json) {
    json.Open();
    json.Key("a");
    json.OpenList();
    json.Integer(-1);
    json.Number(0.1);
    json.OpenList();
    json.CloseList();
    json.CloseList();
    json.Key("b");
    json.Null();
    json.Close();
    return json.Take();
  };
  EXPECT_EQ(write(JsonWriter(JsonWriter::Layout::kDense)), R"({"a":[-1,0.1,[]],"b":null})");
  EXPECT_EQ(write(JsonWriter(JsonWriter::Layout::kPretty)),
            "{\n  \"a\": [\n    -1,\n    0.1,\n    []\n  ],\n  \"b\": null\n}");
}

TEST(JsonWriter, EscapesWhatJsonDoesNotAllow) {
  JsonWriter json(JsonWriter::Layout::kDense);
  json.Text("\"\\\n\x01\xff é");
  EXPECT_EQ(json.Take(), "\"\\\"\\\\\\u000a\\u0001\xEF\xBF\xBD é\"");
}

TEST(JsonWriter, WritesNumbersThatReadBackTheSame) {
  for (const double value : {0.1, 1e-300, 5e-324, 1.7976931348623157e308, -0.0, 123456789.125, 1e21, 1.0 / 3}) {
    JsonWriter json(JsonWriter::Layout::kDense);
    json.OpenList();
    json.Number(value);
    json.CloseList();
    EXPECT_EQ(Parsed(json.Take()).Number("/0"), value);
  }
}

TEST(RenderJson, WritesADivergence) { ExpectGolden("diverged.json", Json(samples::One(samples::DivergedRun()))); }

TEST(RenderJson, WritesSeveralRunsInTheOrderGiven) { ExpectGolden("several.json", Json(samples::Several())); }

TEST(RenderJson, HasTheKeysOfTheSchemaAndNoOthers) {
  const Parsed json(Json(samples::One(samples::DivergedRun())));
  EXPECT_THAT(Keys(json.root()), ElementsAre("schema", "version", "runs", "unread"));
  EXPECT_THAT(Keys(json.At("/runs/0")), ElementsAre("name", "sources", "framework", "regime", "steps", "ranks",
                                                    "signals", "findings", "diagnoses", "coverage"));
  EXPECT_THAT(Keys(json.At("/runs/0/sources/0")), ElementsAre("path", "format", "state", "note"));
  EXPECT_THAT(Keys(json.At("/runs/0/regime")), ElementsAre("name", "confidence"));
  EXPECT_THAT(Keys(json.At("/runs/0/steps")), ElementsAre("first", "last", "logged"));
  EXPECT_THAT(Keys(json.At("/runs/0/signals/0")), ElementsAre("name", "raw", "unit", "points", "labels"));
  EXPECT_THAT(Keys(json.At("/runs/0/findings/0")), ElementsAre("id", "family", "severity", "signal", "first_step",
                                                               "last_step", "ranks", "message", "evidence"));
  EXPECT_THAT(Keys(json.At("/runs/0/findings/0/evidence/0")), ElementsAre("text", "step", "value", "path", "line"));
  EXPECT_THAT(Keys(json.At("/runs/0/diagnoses/0")),
              ElementsAre("cause", "family", "confidence", "summary", "first_step", "last_step", "findings", "for",
                          "against", "missing", "next", "remedies"));
  EXPECT_THAT(Keys(json.At("/runs/0/diagnoses/0/remedies/0")),
              ElementsAre("id", "text", "framework", "file", "setting", "current", "proposed"));
  EXPECT_THAT(Keys(json.At("/runs/0/coverage/0")), ElementsAre("family", "state", "reason", "enable"));
}

// Every quoted word before a colon at the beginning of a line: the keys, as the layout writes them.
std::set<std::string> KeysOf(const std::string& json) {
  std::set<std::string> keys;
  for (const std::string_view line : Split(json, '\n')) {
    const std::string_view text = Trim(line);
    const std::size_t end = text.find("\": ");
    if (text.starts_with('"') && end != std::string_view::npos) keys.emplace(text.substr(1, end - 1));
  }
  return keys;
}

TEST(RenderJson, HasEveryKeyDescribedInItsDocument) {
  std::ifstream file(std::string(VIGIL_SOURCE_DIR) + "/doc/formats/diagnosis-json.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  const std::set<std::string> keys = KeysOf(Json(samples::Several()));
  ASSERT_GT(keys.size(), 40U);
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
  const Parsed json(Json(report));
  EXPECT_EQ(json.Size("/runs"), 0U);
  EXPECT_EQ(json.Text("/unread/0/reason"), "no such file");
}

TEST(RenderJson, WritesNullForWhatIsUnknown) {
  const Parsed json(Json(samples::One(samples::UndecidedRun())));
  EXPECT_TRUE(json.IsNull("/runs/0/framework"));
  EXPECT_TRUE(json.IsNull("/runs/0/signals/0/unit"));
  const Parsed empty(Json(samples::One(samples::EmptyRun())));
  EXPECT_TRUE(empty.IsNull("/runs/0/steps/first"));
  EXPECT_EQ(empty.Number("/runs/0/steps/logged"), 0);
}

TEST(RenderJson, WritesNonFiniteValuesAsStrings) {
  model::RunReport run = samples::DivergedRun();
  run.findings[0].evidence[0].value = std::numeric_limits<double>::infinity();
  EXPECT_EQ(Parsed(Json(samples::One(run))).Text("/runs/0/findings/0/evidence/0/value"), "inf");
  run.findings[0].evidence[0].value = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(Parsed(Json(samples::One(run))).Text("/runs/0/findings/0/evidence/0/value"), "-inf");
}

TEST(RenderJson, IsValidWhateverTheNames) {
  const model::RunReport run = samples::HostileRun();
  const Parsed json(Json(samples::One(run)));
  EXPECT_EQ(json.Text("/runs/0/name"), ValidUtf8(run.run.name));
  // An index that points nowhere names no finding.
  EXPECT_EQ(json.Size("/runs/0/diagnoses/0/findings"), 1U);
}

}  // namespace
}  // namespace vigil::report
