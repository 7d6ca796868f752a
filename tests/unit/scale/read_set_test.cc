#include "scale/read_set.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "pipeline/pipeline.h"
#include "scale/make_run.h"
#include "scale/parse.h"
#include "scale/render.h"
#include "scale/verdict.h"
#include "support/paths.h"
#include "support/shell.h"

namespace vigil::scale {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kSet = std::string(testing_support::kSourceDir) + "/tests/fixtures/scale";

constexpr std::string_view kLine =
    R"({"id":"0000002-f0","style":"loop","task":"image","family":"mlp","optimizer":"adam","odd":null,"twin":"0000002-h0",)"
    R"("settings":{"lr":0.001,"betas":[0.9,0.999]},"last_step":30,"crashed":true,)"
    R"("events":[{"step":30,"text":"Traceback:\n  \"x\"\n"}],)"
    R"("series":{"loss":{"first":10,"every":10,"values":[1.5,"NaN","-Infinity"]},)"
    R"("eval_loss":{"steps":[10,30],"values":[2,3]}},)"
    R"("label":{"class":"fatal","fault":"dead-relu","strength":5,"level":2,"levels":4,"onset":7,"recovered":0.25,)"
    R"("effect":null,"findings":["loss/plateau"],"causes":["dead-units","bad-init"],"split":69,"seen_in":[]}})";

TEST(StoredRuns, HaveSeriesEventsSettingsAndALabel) {
  const auto run = ParseRun(kLine);
  ASSERT_TRUE(run) << run.error().Text();
  EXPECT_EQ(run->record.id, "0000002-f0");
  EXPECT_EQ(run->record.odd, "");
  EXPECT_TRUE(run->record.crashed);
  EXPECT_EQ(run->settings, R"({"lr":0.001,"betas":[0.9,0.999]})");
  ASSERT_EQ(run->series.size(), 2U);
  EXPECT_THAT(run->series[0].steps, ElementsAre(10, 20, 30));
  EXPECT_TRUE(std::isnan(run->series[0].values[1]));
  EXPECT_EQ(run->series[0].values[2], -std::numeric_limits<double>::infinity());
  EXPECT_THAT(run->series[1].steps, ElementsAre(10, 30));
  ASSERT_EQ(run->events.size(), 1U);
  EXPECT_EQ(run->events[0].text, "Traceback:\n  \"x\"\n");
  const Label& label = run->record.label;
  EXPECT_EQ(label.kind, Class::kFatal);
  EXPECT_EQ(label.onset, 7);
  EXPECT_EQ(label.recovered, 0.25);
  EXPECT_FALSE(label.effect);
  EXPECT_THAT(label.causes, ElementsAre("dead-units", "bad-init"));
  EXPECT_TRUE(label.is_seen_in_known);
  EXPECT_THAT(label.seen_in, IsEmpty());
}

TEST(StoredRuns, KnowWhetherTheyWereComparedWithTheirTwin) {
  const auto run = ParseRun(R"({"id":"a","label":{"class":"weak","seen_in":null}})");
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->record.label.is_seen_in_known);
}

TEST(StoredRuns, AreRefusedWhereTheLineIsDamaged) {
  for (std::size_t size = 0; size + 1 < kLine.size(); ++size) EXPECT_FALSE(ParseRun(kLine.substr(0, size))) << size;
  EXPECT_FALSE(ParseRun(R"({"id":"a","label":{"class":"odd"}})"));
  EXPECT_FALSE(ParseRun(R"({"id":"a","series":{"loss":{"steps":[1],"values":[1,2]}}})"));
  EXPECT_FALSE(ParseRun(R"({"id":"","label":{"class":"weak"}})"));
}

TEST(RenderedRuns, HaveNumbersAndIndentsAsPythonWritesThem) {
  EXPECT_EQ(PythonNumber(3), "3.0");
  EXPECT_EQ(PythonNumber(1e-5), "1e-05");
  EXPECT_EQ(PythonNumber(123456), "123456.0");
  EXPECT_EQ(PythonNumber(std::nan("")), "NaN");
  EXPECT_EQ(IndentJson(R"({"a":[1,"x, {\"y\":1}"],"b":{},"c":{"d":null}})"),
            "{\n  \"a\": [\n    1,\n    \"x, {\\\"y\\\":1}\"\n  ],\n  \"b\": {},\n  \"c\": {\n    \"d\": null\n  }\n}");
}

TEST(Sets, AreReadFromAFolderInTheOrderOfTheFiles) {
  const auto records = ReadSet(kSet, {.threads = 2});
  ASSERT_TRUE(records) << records.error().Text();
  ASSERT_EQ(records->size(), 27U);
  EXPECT_EQ(records->front().id, "0000001-f1");
  for (std::size_t i = 1; i < records->size(); ++i) EXPECT_LT((*records)[i - 1].id, (*records)[i].id);
  // One crashed before its first step.
  for (const Record& record : *records) EXPECT_TRUE(!record.run.series.empty() || record.crashed) << record.id;
}

TEST(Sets, ThatAreAbsentDamagedOrEmptyAreErrors) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "scale_damaged";
  std::filesystem::create_directories(folder);
  EXPECT_FALSE(ReadSet((folder / "absent").string()));
  EXPECT_FALSE(ReadSet(folder.string()));
  const std::filesystem::path whole = std::string(kSet) + "/runs-0-0.jsonl.xz";
  const std::filesystem::path cut = folder / "runs-0-0.jsonl.xz";
  std::filesystem::copy_file(whole, cut, std::filesystem::copy_options::overwrite_existing);
  std::filesystem::resize_file(cut, std::filesystem::file_size(whole) / 2);
  EXPECT_FALSE(ReadSet(folder.string()));
}

TEST(ParallelWork, IsDoneOnceForEach) {
  std::vector<int> done(1000);
  ForEachInParallel(done.size(), 4, [&](std::size_t i) { ++done[i]; });
  EXPECT_THAT(done, testing::Each(1));
}

// ---- the same as from files

std::string Describe(const model::Series& series) {
  std::string text = fmt::format("series {} {} {} axis {} {}\n", series.signal, series.raw, series.unit,
                                 static_cast<int>(series.axis), static_cast<int>(series.aggregation));
  for (const auto& [key, value] : series.labels) text += fmt::format("  {}={}\n", key, value);
  for (std::size_t i = 0; i < series.size(); ++i)
    text +=
        fmt::format("  {} {} line {}\n", series.steps[i], series.values[i], series.lines.empty() ? 0 : series.lines[i]);
  return text;
}

std::string Describe(const model::Run& run) {
  std::string text = fmt::format("framework {} method {} {}\n", run.framework, run.method.name, run.method.confidence);
  if (run.planned_steps) text += fmt::format("planned {}\n", run.Planned().value());
  for (const model::Series& series : run.series) text += Describe(series);
  for (const model::Fact& fact : run.facts)
    text += fmt::format("fact {}={} ({}) line {}\n", fact.key, fact.value, fact.raw_key, fact.place.line);
  for (const model::Event& event : run.events)
    text += fmt::format("event {} {} {} at {} line {}\n", static_cast<int>(event.kind), event.name, event.text,
                        event.at.known() ? event.at.value() : -1, event.place.line);
  for (const model::Source& source : run.sources)
    text += fmt::format("source {} {}\n", std::filesystem::path(source.path).filename().string(), source.format);
  return text;
}

std::string Describe(const std::vector<model::Run>& runs) {
  std::string text;
  for (const model::Run& run : runs) text += "run\n" + Describe(run);
  return text;
}

std::string Content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The set as gym/scale/render.py writes it.
std::filesystem::path RenderSet(const std::string& name) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  const auto rendered = testing_support::RunShell(
      "/usr/bin/python3 " +
      testing_support::QuoteForShell(std::string(testing_support::kSourceDir) + "/gym/scale/render.py") + " " +
      testing_support::QuoteForShell(kSet) + " --style jsonl --out " + testing_support::QuoteForShell(folder.string()) +
      " 2>&1");
  EXPECT_EQ(rendered.code, 0) << rendered.output;
  return folder;
}

TEST(Records, AreWhatThePipelineReadsFromRenderedFiles) {
  const std::filesystem::path folder = RenderSet("scale_records");
  const auto lines = ReadLines(kSet);
  ASSERT_TRUE(lines);
  for (const std::string& line : *lines) {
    auto stored = ParseRun(line);
    ASSERT_TRUE(stored);
    const std::string& id = stored->record.id;
    const std::filesystem::path run_folder = folder / id / "jsonl";
    for (const RenderedFile& file : RenderJsonLines(*stored)) EXPECT_EQ(file.text, Content(run_folder / file.name));
    const auto imported = pipeline::ImportPaths({run_folder.string()});
    EXPECT_EQ(Describe(MakeRuns(*stored)), Describe(imported.runs)) << id;
  }
}

TEST(Verdicts, AreThoseOfTheProgram) {
  const std::filesystem::path folder = RenderSet("scale_verdicts");
  const auto records = ReadSet(kSet);
  ASSERT_TRUE(records);
  const catalogue::Thresholds thresholds;
  for (const Record& record : *records) {
    Verdict said;
    for (const auto& run : pipeline::DiagnosePaths({(folder / record.id / "jsonl").string()}, thresholds).report.runs)
      AddReport(run, said);
    const Verdict verdict = Examine(record, thresholds);
    EXPECT_EQ(said.findings.size(), verdict.findings.size()) << record.id;
    ASSERT_EQ(said.causes.size(), verdict.causes.size()) << record.id;
    for (std::size_t i = 0; i < said.causes.size(); ++i) EXPECT_EQ(said.causes[i].cause, verdict.causes[i].cause);
  }
}

TEST(VerdictLines, SayWhatWasLabelledAndWhatWasFound) {
  Record record;
  record.id = "7-f0";
  record.label.kind = Class::kFatal;
  record.label.causes = {"lr-too-high"};
  Verdict verdict;
  verdict.findings.push_back({"loss/spike", model::Severity::kError, 12});
  verdict.findings.push_back({"config/lr-band", model::Severity::kWarning, -1});
  verdict.causes.push_back({"lr-too-high", 0.75, {"no-warmup"}});
  const std::string line = VerdictLine(record, verdict);
  EXPECT_THAT(line, testing::HasSubstr(R"("findings":[["loss/spike","error",12],["config/lr-band","warning",null]])"));
  EXPECT_THAT(line, testing::HasSubstr(R"("diagnoses":[["lr-too-high",0.750,["no-warmup"]]])"));
}

}  // namespace
}  // namespace vigil::scale
