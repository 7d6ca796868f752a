#include "report/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <set>

#include "base/base.h"
#include "catalogue/says.h"
#include "golden.h"
#include "model/baseline.h"
#include "parsed.h"
#include "report/report.h"
#include "samples.h"
#include "support/paths.h"

namespace vigil::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

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

TEST(RenderJson, HasTheKeysOfABaselineAndOfTheChecklistAndNoOthers) {
  model::RunReport run = samples::DivergedRun();
  model::Baseline baseline;
  baseline.name = "good";
  baseline.metrics.resize(2);
  baseline.metrics[0].signal = "loss";
  baseline.metrics[0].standing = model::Standing::kWorse;
  baseline.metrics[0].value = std::numeric_limits<double>::quiet_NaN();
  baseline.metrics[0].reference = 1.5;
  baseline.metrics[1].reason = says::BaselineNotLogged{};
  baseline.settings.push_back({"lr", "0.1", "0.001"});
  run.baseline = std::make_shared<const model::Baseline>(baseline);
  run.checklist.resize(1);
  run.checklist[0].id = "checklist/seed";
  run.checklist[0].reason = says::ChecklistSeedNotDone{};
  const Parsed json(Json(samples::One(run)));
  EXPECT_THAT(Keys(json.At("/runs/0/baseline")), ElementsAre("name", "metrics", "settings", "new_findings",
                                                             "missing_findings", "remarks", "remarks_says"));
  EXPECT_THAT(Keys(json.At("/runs/0/baseline/metrics/0")),
              ElementsAre("metric", "labels", "aspect", "standing", "value", "reference", "noise", "first_step",
                          "last_step", "axis", "reason", "reason_says"));
  EXPECT_EQ(json.Text("/runs/0/baseline/metrics/0/value"), "nan");
  EXPECT_TRUE(json.At("/runs/0/baseline/metrics/0/noise").is_null());
  EXPECT_EQ(json.Text("/runs/0/baseline/metrics/1/reason"), "the reference did not log it");
  EXPECT_THAT(Keys(json.At("/runs/0/baseline/settings/0")), ElementsAre("setting", "value", "reference"));
  EXPECT_THAT(Keys(json.At("/runs/0/checklist/0")),
              ElementsAre("id", "stage", "title", "state", "reason", "reason_says", "path", "line", "how", "command",
                          "change"));
}

TEST(RenderJson, HasTheKeysOfTheSchemaAndNoOthers) {
  const Parsed json(Json(samples::One(samples::DivergedRun())));
  EXPECT_THAT(Keys(json.root()), ElementsAre("schema", "version", "runs", "unread", "fixes"));
  EXPECT_THAT(Keys(json.At("/runs/0")),
              ElementsAre("name", "sources", "framework", "regime", "steps", "ranks", "signals", "findings", "headline",
                          "verdict", "judged_on", "diagnoses", "coverage", "baseline", "checklist"));
  EXPECT_THAT(Keys(json.At("/runs/0/sources/0")), ElementsAre("path", "format", "state", "note", "note_says"));
  EXPECT_THAT(Keys(json.At("/runs/0/regime")), ElementsAre("name", "confidence"));
  EXPECT_THAT(Keys(json.At("/runs/0/steps")), ElementsAre("first", "last", "logged", "axis"));
  EXPECT_THAT(Keys(json.At("/runs/0/verdict")), ElementsAre("state", "cause", "confidence", "change", "restart"));
  EXPECT_THAT(Keys(json.At("/runs/0/signals/0")), ElementsAre("name", "raw", "unit", "points", "labels", "axis"));
  EXPECT_THAT(Keys(json.At("/runs/0/findings/0")),
              ElementsAre("id", "family", "severity", "signal", "signature", "first_step", "last_step", "axis", "ranks",
                          "message", "says", "evidence"));
  EXPECT_THAT(Keys(json.At("/runs/0/findings/0/evidence/0")),
              ElementsAre("text", "step", "value", "path", "line", "axis", "says"));
  EXPECT_THAT(Keys(json.At("/runs/0/findings/0/says")), ElementsAre("id", "arguments"));
  EXPECT_THAT(
      Keys(json.At("/runs/0/diagnoses/0")),
      ElementsAre("cause", "family", "confidence", "rivals", "summary", "summary_says", "first_step", "last_step",
                  "axis", "findings", "for", "against", "missing", "missing_says", "next", "next_says", "restart",
                  "restart_says", "skip", "skip_says", "restart_command", "remedies", "cost", "next_command"));
  EXPECT_THAT(Keys(json.At("/runs/0/diagnoses/0/rivals/0")),
              ElementsAre("cause", "confidence", "tell_apart", "tell_apart_says"));
  EXPECT_THAT(Keys(json.At("/runs/0/diagnoses/0/remedies/0")),
              ElementsAre("id", "title", "kind", "text", "framework", "file", "setting", "current", "proposed", "also",
                          "code", "reason", "reason_says", "effect", "effect_says"));
  EXPECT_THAT(Keys(json.At("/runs/0/coverage/0")),
              ElementsAre("family", "state", "reason", "enable", "reason_says", "enable_says", "closed"));
}

model::RunReport RunOf(int points) {
  model::RunReport run = samples::HealthyRun();
  for (model::Series& series : run.run.series) series.Truncate(static_cast<std::size_t>(points));
  run.run.planned_steps.reset();
  return run;
}

TEST(NoProblemsFound, OnTenPointsSaysThatTenPointsAreFewAndWhatWouldBeNeeded) {
  const model::Report report = samples::One(RunOf(10));
  TextOptions options;
  options.width = 200;
  const std::string text = RenderText(report, options);
  EXPECT_THAT(text, HasSubstr("but 10 points are few"));
  EXPECT_THAT(text, HasSubstr("judged on"));
  EXPECT_THAT(text, HasSubstr("loss/plateau 50"));
  const Parsed json(Json(report));
  EXPECT_EQ(json.Text("/runs/0/verdict/state"), "healthy");
  EXPECT_EQ(json.Number("/runs/0/judged_on/points"), 10);
  EXPECT_THAT(Json(report), HasSubstr("\"few\": true"));
  EXPECT_THAT(RenderHtml(report, "0.0.0"), HasSubstr("10 points are few"));
  EXPECT_THAT(RenderHtml(report, "0.0.0"), HasSubstr("loss/plateau 50"));
}

TEST(NoProblemsFound, OnManyPointsSaysNothingOfThem) {
  const model::Report report = samples::One(RunOf(200));
  EXPECT_THAT(RenderText(report, {}), Not(HasSubstr("are few")));
  EXPECT_THAT(Json(report), HasSubstr("\"few\": false"));
}

TEST(WhatItCost, StandsInTheJsonAndInTheText) {
  model::Report report = samples::One(samples::DivergedRun());
  EXPECT_TRUE(Parsed(Json(report)).IsNull("/runs/0/diagnoses/0/cost"));
  report.runs[0].diagnoses[0].cost = {600, 0.5, 4, model::kNoValue};
  model::SetPrice(report, 2.5);
  const Parsed json(Json(report));
  EXPECT_EQ(json.Number("/runs/0/diagnoses/0/cost/steps"), 600);
  EXPECT_EQ(json.Number("/runs/0/diagnoses/0/cost/gpu_hours"), 4);
  EXPECT_EQ(json.Number("/runs/0/diagnoses/0/cost/money"), 10);
  const std::string text = RenderText(report, {});
  EXPECT_NE(text.find("600 steps, 0.5 hours, 4 GPU-hours (10.00)"), std::string::npos) << text;
}

TEST(RenderJson, WritesEveryTypeOfArgument) {
  model::RunReport run = samples::DivergedRun();
  run.findings[0].says = samples::Said(
      "x", {model::Quantity{0.5}, model::Quantity{12, model::Unit::kCount},
            model::Quantity{std::numeric_limits<double>::infinity(), model::Unit::kBytes}, samples::Epoch(3),
            model::PositionRange{samples::Step(3), samples::Step(9)}, model::Extent{model::Axis::kTokens, 1.5},
            model::Identifier{"lr"}, model::Identifiers{{"a"}, {"b"}}, model::Quote{"overflow", "a.log", 7},
            std::vector<model::Statement>{samples::Said("inner", {model::Quantity{2}})}, model::Position()});
  const Parsed json(Json(samples::One(run)));
  const std::string at = "/runs/0/findings/0/says/arguments/argument";
  EXPECT_EQ(json.Text("/runs/0/findings/0/says/id"), "x");
  EXPECT_EQ(json.Number(at + "0"), 0.5);
  EXPECT_EQ(json.Number(at + "1/value"), 12);
  EXPECT_EQ(json.Text(at + "1/unit"), "count");
  EXPECT_EQ(json.Text(at + "2/value"), "inf");
  EXPECT_EQ(json.Text(at + "3/axis"), "epoch");
  EXPECT_EQ(json.Number(at + "3/value"), 3);
  EXPECT_EQ(json.Text(at + "4/axis"), "step");
  EXPECT_EQ(json.Number(at + "4/first"), 3);
  EXPECT_EQ(json.Number(at + "4/last"), 9);
  EXPECT_EQ(json.Text(at + "5/axis"), "token");
  EXPECT_EQ(json.Number(at + "5/amount"), 1.5);
  EXPECT_EQ(json.Text(at + "6"), "lr");
  EXPECT_EQ(json.Text(at + "7/1"), "b");
  EXPECT_EQ(json.Text(at + "8/text"), "overflow");
  EXPECT_EQ(json.Text(at + "8/path"), "a.log");
  EXPECT_EQ(json.Number(at + "8/line"), 7);
  EXPECT_EQ(json.Number(at + "9/arguments/argument0"), 2);
  EXPECT_TRUE(json.IsNull(at + "10"));
}

TEST(RenderJson, CarriesTheArgumentsBesideTheSentence) {
  model::RunReport run = samples::DivergedRun();
  run.diagnoses[0].restart = says::RestartLastBefore{.checkpoint = "checkpoint-300", .bad = samples::Step(398)};
  const Parsed json(Json(samples::One(run)));
  const std::string at = "/runs/0/diagnoses/0/restart";
  EXPECT_EQ(json.Text(at), "checkpoint-300, the last before step 398");
  EXPECT_EQ(json.Text(at + "_says/arguments/checkpoint"), "checkpoint-300");
  EXPECT_EQ(json.Number(at + "_says/arguments/bad/value"), 398);
  EXPECT_EQ(json.Text("/runs/0/verdict/restart"), "checkpoint-300, the last before step 398");
}

TEST(RenderJson, NamesTheAxisOfEveryCount) {
  const Parsed json(Json(samples::One(samples::EpochRun())));
  EXPECT_EQ(json.Text("/runs/0/steps/axis"), "epoch");
  EXPECT_EQ(json.Text("/runs/0/signals/0/axis"), "epoch");
  EXPECT_EQ(json.Text("/runs/0/findings/0/axis"), "epoch");
  EXPECT_EQ(json.Number("/runs/0/findings/0/first_step"), 57);
  EXPECT_EQ(json.Text("/runs/0/diagnoses/0/axis"), "epoch");
  EXPECT_EQ(json.Text("/runs/0/diagnoses/0/for/0/axis"), "epoch");
}

TEST(RenderJson, MakesASummaryOfThePartsWhereThereIsNone) {
  const Parsed json(Json(samples::One(samples::EpochRun())));
  EXPECT_EQ(json.Text("/runs/0/diagnoses/0/summary"), "sample-lr-too-high: the gradient norm climbed");
  EXPECT_TRUE(json.IsNull("/runs/0/diagnoses/0/summary_says"));
}

TEST(RenderJson, SaysTheVerdictInAFewFields) {
  const Parsed failing(Json(samples::One(samples::DivergedRun())));
  EXPECT_EQ(failing.Text("/runs/0/headline"), "the loss rose from 1.1 to 9.5 from step 405 on");
  EXPECT_EQ(failing.Text("/runs/0/verdict/state"), "failing");
  EXPECT_EQ(failing.Text("/runs/0/verdict/cause"), "sample-lr-too-high");
  EXPECT_EQ(failing.Text("/runs/0/verdict/change"), "learning_rate: 0.003 -> 0.001 (TrainingArguments)");
  EXPECT_EQ(failing.Text("/runs/0/diagnoses/0/rivals/0/cause"), "sample-no-warmup");
  EXPECT_EQ(failing.Number("/runs/0/diagnoses/0/rivals/0/confidence"), 0.123);
  EXPECT_EQ(failing.Text("/runs/0/diagnoses/0/rivals/0/tell_apart"), "the first steps would decide");
  const Parsed healthy(Json(samples::One(samples::HealthyRun())));
  EXPECT_EQ(healthy.Text("/runs/0/verdict/state"), "healthy");
  EXPECT_TRUE(healthy.IsNull("/runs/0/verdict/cause"));
  EXPECT_TRUE(healthy.IsNull("/runs/0/verdict/confidence"));
  EXPECT_TRUE(healthy.IsNull("/runs/0/verdict/change"));
}

// The keys of all objects, but for the names of arguments: those are the templates' own.
void AddKeys(simdjson::dom::element element, std::set<std::string>& keys, bool named_by_template = false) {
  if (simdjson::dom::array items; element.get(items) == simdjson::SUCCESS) {
    for (const auto item : items) AddKeys(item, keys);
  }
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) return;
  for (const auto field : object) {
    if (!named_by_template) keys.emplace(field.key);
    AddKeys(field.value, keys, field.key == "arguments");
  }
}

TEST(RenderJson, HasEveryKeyDescribedInItsDocument) {
  std::ifstream file(std::string(testing_support::kSourceDir) + "/doc/formats/diagnosis-json.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  std::set<std::string> keys;
  AddKeys(Parsed(Json(samples::Several())).root(), keys);
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
