#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "parsed.h"
#include "report/report.h"
#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::size_t CountOf(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Junit, FailsTheFamiliesThatHaveFindings) {
  const model::Report report = samples::One(samples::DivergedRun());
  const std::string xml = RenderJunit(report, model::Severity::kError);
  EXPECT_THAT(xml, StartsWith("<?xml version=\"1.0\""));
  EXPECT_EQ(CountOf(xml, "<testcase "), report.runs[0].coverage.size());
  EXPECT_GE(CountOf(xml, "<failure "), 1U);
  EXPECT_EQ(CountOf(RenderJunit(report, std::nullopt), "<failure "), 0U);
  EXPECT_EQ(CountOf(xml, "<testsuite "), CountOf(xml, "</testsuite>"));
}

TEST(Junit, SkipsWhatNothingWasLoggedFor) {
  model::Report report = samples::One(samples::HealthyRun());
  report.runs[0].coverage.resize(1);
  report.runs[0].coverage[0].state = model::CoverageState::kBlind;
  report.runs[0].coverage[0].reason = samples::Said("no memory was logged");
  EXPECT_THAT(RenderJunit(report, model::Severity::kError), HasSubstr("<skipped message=\"no memory was logged\"/>"));
}

TEST(Junit, NamesFilesThatCouldNotBeRead) {
  model::Report report = samples::One(samples::HealthyRun());
  report.unread = {{"a<b>.log", "cannot be \"opened\""}};
  EXPECT_THAT(RenderJunit(report, model::Severity::kError),
              AllOf(HasSubstr("a&lt;b&gt;.log"), HasSubstr("cannot be &quot;opened&quot;")));
}

TEST(Junit, LetsNoTextBreakOut) {
  const std::string xml = RenderJunit(samples::One(samples::HostileRun()), model::Severity::kInfo);
  for (const char c : xml) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
  EXPECT_THAT(xml, Not(HasSubstr("<script")));
}

TEST(Sarif, IsValidJsonWithAResultForEachFinding) {
  const model::Report report = samples::Several();
  std::size_t findings = 0;
  std::set<std::string> ids;
  for (const model::RunReport& run : report.runs) {
    findings += run.findings.size();
    for (const model::Finding& finding : run.findings) ids.insert(finding.id);
  }
  const Parsed parsed(RenderSarif(report, "1.2.3"));
  EXPECT_EQ(parsed.Text("/version"), "2.1.0");
  EXPECT_EQ(parsed.Size("/runs/0/results"), findings);
  EXPECT_EQ(parsed.Size("/runs/0/tool/driver/rules"), ids.size());
}

TEST(Sarif, WritesPathsAsUris) {
  EXPECT_EQ(UriOf("out/my run/a#b.log"), "out/my%20run/a%23b.log");
  EXPECT_EQ(UriOf("/data/x.log"), "file:///data/x.log");
}

TEST(OpenMetrics, EndsAndNamesEachSampleOnce) {
  const std::string text = RenderOpenMetrics(samples::Several());
  EXPECT_THAT(text, EndsWith("# EOF\n"));
  std::set<std::string> seen;
  std::string family;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.empty() || line == "# EOF") continue;
    if (line.starts_with("# TYPE ")) {
      family = std::string(line.substr(7, line.find(' ', 7) - 7));
      EXPECT_TRUE(seen.insert(family).second) << "all samples of a family stand together";
      continue;
    }
    if (line.starts_with("# HELP ")) continue;
    EXPECT_TRUE(line.starts_with(family + "{")) << line;
    EXPECT_TRUE(seen.insert(std::string(line.substr(0, line.rfind('}')))).second) << line;
    EXPECT_TRUE(ParseNumber(line.substr(line.rfind(' ') + 1)).has_value()) << line;
  }
}

// NaN is a value there: it never stands for one that is missing.
TEST(OpenMetrics, LeavesOutWhatIsNotKnown) {
  model::Report report;
  report.runs.push_back(samples::DivergedRun());
  model::RunReport& run = report.runs.front();
  model::Finding finding = run.findings.front();
  finding.id = "made/up";
  finding.first = {};
  run.findings.push_back(finding);
  model::Series hidden;
  hidden.signal = hidden.raw = "hidden";
  hidden.Append(1, model::kNoValue);
  run.run.series.push_back(hidden);
  const std::string text = RenderOpenMetrics(report);
  for (const std::string_view line : Split(text, '\n')) {
    const bool made_up = line.find("made/up") != std::string_view::npos;
    EXPECT_TRUE(!made_up || line.starts_with("vigil_finding_severity{")) << line;
  }
  EXPECT_THAT(text, HasSubstr("id=\"made/up\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("signal=\"hidden\"")));
}

TEST(OpenMetrics, NamesTheAxisOfAPosition) {
  const std::string text = RenderOpenMetrics(samples::One(samples::EpochRun()));
  EXPECT_THAT(text, HasSubstr("vigil_run_last_step{run=\"by-epochs\",axis=\"epoch\"} 60\n"));
  EXPECT_THAT(text, HasSubstr("signal=\"loss\",axis=\"epoch\"} 57\n"));
}

TEST(Exports, CountInTheAxisOfTheRun) {
  const model::Report report = samples::One(samples::EpochRun());
  EXPECT_THAT(RenderJunit(report, model::Severity::kError), HasSubstr("the loss turned up (epochs 57-60)"));
  EXPECT_THAT(RenderSarif(report, "1"), HasSubstr("the loss turned up (epochs 57-60)"));
  EXPECT_THAT(RenderEvents(report.runs[0], 1.7e9), HasSubstr("|epochs 57-60|"));
  EXPECT_THAT(RenderWhat({report.runs[0].run}, {}, {}), HasSubstr("2 metrics, epochs 1-60"));
}

TEST(OpenMetrics, NamesEachSeriesOfASignal) {
  model::Report report;
  report.runs.push_back(samples::DivergedRun());
  for (const char* raw : {"grad_norm", "grad_norm_after_clip"}) {
    model::Series series;
    series.signal = "grad_norm";
    series.raw = raw;
    series.Append(1, raw[9] == '_' ? 1.0 : 40.0);
    report.runs.front().run.series.push_back(series);
  }
  const std::string text = RenderOpenMetrics(report);
  EXPECT_THAT(text, HasSubstr("signal=\"grad_norm\",raw=\"grad_norm_after_clip\"} 1\n"));
}

TEST(Events, AreReadBackByTheReaderOfEventFiles) {
  const model::RunReport run = samples::DivergedRun();
  const std::string bytes = RenderEvents(run, 1.7e9);
  const ingest::Format* const format = formats::Recognise({"events.out.tfevents.1.x.vigil", bytes, bytes.size()});
  ASSERT_NE(format, nullptr);
  ASSERT_EQ(format->id, "tfevents");
  const auto part = ingest::ReadBytes("events", bytes, *format);
  ASSERT_TRUE(part) << part.error().Text();
  EXPECT_EQ(part->sources.front().state, model::SourceState::kRead) << report::NoteText(part->sources.front());
  std::set<std::string> stepped;
  for (const model::Finding& finding : run.findings) {
    if (finding.first.known()) stepped.insert("vigil/" + finding.id);
  }
  ASSERT_FALSE(stepped.empty());
  std::set<std::string> read;
  for (const model::Series& series : part->series) read.insert(series.raw);
  EXPECT_EQ(read, stepped);
}

TEST(What, ListsRunsAndWhatWasLeft) {
  const model::Run run = samples::DivergedRun().run;
  const std::string text = RenderWhat({run}, {{"b.log", "empty file"}}, {{"model.safetensors", "weights"}});
  EXPECT_THAT(text, AllOf(HasSubstr(run.name), HasSubstr(run.sources[0].path), HasSubstr("b.log: empty file"),
                          HasSubstr("model.safetensors: weights")));
  const Parsed parsed(RenderWhatJson({run}, {{"b.log", "empty file"}}, {{"model.safetensors", "weights"}}, "1"));
  EXPECT_EQ(parsed.Text("/schema"), "vigil.what/1");
  EXPECT_EQ(parsed.Text("/ignored/0/reason"), "weights");
  EXPECT_EQ(parsed.Size("/runs/0/sources"), run.sources.size());
}

TEST(What, CountsFilesByReasonWhereTheyAreMany) {
  std::vector<model::Unread> ignored;
  for (int i = 0; i < 100; ++i) ignored.push_back({fmt::format("model-{}.safetensors", i), "weights"});
  EXPECT_THAT(RenderWhat({}, {}, ignored), HasSubstr("100 x weights"));
}

}  // namespace
}  // namespace vigil::report
