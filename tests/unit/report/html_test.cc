#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>

#include "base/base.h"
#include "golden.h"
#include "report/report.h"
#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kDataStart = "<script type=\"application/json\" id=\"vigil-data\">";

std::size_t Count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The text between the first `from` and the next `to`.
std::string Between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t start = text.find(from);
  if (start == std::string_view::npos) return {};
  const std::size_t begin = start + from.size();
  return std::string(text.substr(begin, text.find(to, begin) - begin));
}

// The page without the constant style and script: what a change of the report changes.
std::string Body(const std::string& page) { return Between(page, "</style>", "<script>"); }

rapidjson::Document DataOf(const std::string& page) {
  rapidjson::Document data;
  data.Parse(Between(page, kDataStart, "</script>").c_str());
  return data;
}

TEST(RenderHtml, ShowsWhatIsUndecided) {
  ExpectGolden("undecided.html", Body(RenderHtml(samples::One(samples::UndecidedRun()), "0.0.0")));
}

TEST(RenderHtml, PutsTheVerdictOnTop) {
  const std::string page = RenderHtml(samples::One(samples::DivergedRun()), "0.0.0");
  const std::size_t verdict = page.find("the loss rose from 1.1 to 9.5");
  EXPECT_LT(verdict, page.find("<svg"));
  EXPECT_LT(page.find("learning_rate: 0.003 -&gt; 0.001"), page.find("<svg"));
  EXPECT_LT(page.find("checkpoint-300"), page.find("<svg"));
}

TEST(RenderHtml, LoadsNothing) {
  model::Report report = samples::Several();
  report.runs.push_back(samples::HostileRun());
  const std::string page = RenderHtml(report, "0.0.0");
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* loader : {"http:", "https:", "<link", "<img", "@import", "url(", "<iframe"})
    EXPECT_THAT(page, Not(HasSubstr(loader))) << loader;
}

TEST(RenderHtml, LetsNoNameInjectMarkup) {
  const std::string page = RenderHtml(samples::One(samples::HostileRun()), "0.0.0");
  EXPECT_EQ(Count(page, "<script"), 2U);
  EXPECT_EQ(Count(page, "</script"), 2U);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_EQ(page, ValidUtf8(page));
  EXPECT_FALSE(DataOf(page).HasParseError());
}

TEST(RenderHtml, HandsTheScriptEveryRunAndPlotOfThePage) {
  const std::string page = RenderHtml(samples::Several(), "0.0.0");
  const rapidjson::Document data = DataOf(page);
  ASSERT_FALSE(data.HasParseError());
  ASSERT_EQ(data["runs"].Size(), Count(page, "<section class=\"run\""));
  std::size_t plots = 0;
  for (const auto& run : data["runs"].GetArray()) plots += run["plots"].Size();
  EXPECT_EQ(plots, Count(page, "<svg class=\"plot\""));
}

TEST(RenderHtml, MarksNanInThePlotAndKeepsItInTheData) {
  const std::string page = RenderHtml(samples::One(samples::UndecidedRun()), "0.0.0");
  EXPECT_EQ(Count(page, "<rect class=\"bad\""), 1U);
  const rapidjson::Document data = DataOf(page);
  const auto& curve = data["runs"][0]["plots"][0][0];
  ASSERT_EQ(curve["values"].Size(), 9U);
  EXPECT_STREQ(curve["values"][5].GetString(), "nan");
  EXPECT_EQ(curve["steps"][5].GetInt(), 60);
}

TEST(RenderHtml, BreaksTheLineAtARestart) {
  const std::string page = RenderHtml(samples::One(samples::RestartedRun()), "0.0.0");
  EXPECT_EQ(Count(Between(page, "<path class=\"line\" d=\"", "\""), "M"), 2U);
}

TEST(RenderHtml, ThinsAMillionPointsAndKeepsTheSpike) {
  model::RunReport run;
  run.run.name = "long";
  run.run.series.push_back(samples::LongSeries(1'000'000, 654'321, 300'000));
  const std::string page = RenderHtml(samples::One(std::move(run)), "0.0.0");
  EXPECT_LT(page.size(), 200'000U);
  const rapidjson::Document data = DataOf(page);
  const auto& curve = data["runs"][0]["plots"][0][0];
  EXPECT_LE(curve["steps"].Size(), 2002U);
  bool spike = false;
  bool nan = false;
  for (rapidjson::SizeType i = 0; i < curve["steps"].Size(); ++i) {
    spike = spike || (curve["steps"][i].GetInt() == 654'321 && curve["values"][i].GetDouble() == 50);
    nan = nan || (curve["steps"][i].GetInt() == 300'000 && curve["values"][i].IsString());
  }
  EXPECT_TRUE(spike);
  EXPECT_TRUE(nan);
}

TEST(RenderHtml, DrawsOddSeriesWithoutBadCoordinates) {
  model::Report report;
  report.runs = {samples::OnePointRun(), samples::AllNanRun(), samples::ConstantRun(), samples::EmptyRun(),
                 samples::RlRun()};
  const std::string page = Body(RenderHtml(report, "0.0.0"));
  for (const char* bad : {"\"nan\" y", "=\"nan", "=\"inf", "=\"-inf", "Mnan", "Lnan", "Minf"})
    EXPECT_THAT(page, Not(HasSubstr(bad))) << bad;
}

}  // namespace
}  // namespace vigil::report
