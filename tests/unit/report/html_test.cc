#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/base.h"
#include "golden.h"
#include "parsed.h"
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

Parsed DataOf(const std::string& page) { return Parsed(Between(page, kDataStart, "</script>")); }

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
  EXPECT_EQ(DataOf(page).Size("/runs"), 1U);
}

TEST(RenderHtml, HandsTheScriptEveryRunAndPlotOfThePage) {
  const std::string page = RenderHtml(samples::Several(), "0.0.0");
  const Parsed data = DataOf(page);
  const std::size_t runs = data.Size("/runs");
  ASSERT_EQ(runs, Count(page, "<section class=\"run\""));
  std::size_t plots = 0;
  for (std::size_t i = 0; i < runs; ++i) plots += data.Size("/runs/" + std::to_string(i) + "/plots");
  EXPECT_EQ(plots, Count(page, "<svg class=\"plot\""));
}

TEST(RenderHtml, MarksNanInThePlotAndKeepsItInTheData) {
  const std::string page = RenderHtml(samples::One(samples::UndecidedRun()), "0.0.0");
  EXPECT_EQ(Count(page, "<rect class=\"bad\""), 1U);
  const Parsed data = DataOf(page);
  ASSERT_EQ(data.Size("/runs/0/plots/0/0/values"), 9U);
  EXPECT_EQ(data.Text("/runs/0/plots/0/0/values/5"), "nan");
  EXPECT_EQ(data.Number("/runs/0/plots/0/0/steps/5"), 60);
}

TEST(RenderHtml, CountsEachPlotInItsOwnAxis) {
  model::RunReport run = samples::DivergedRun();
  run.run.series[3].axis = model::Axis::kEpoch;  // eval_loss
  const std::string page = RenderHtml(samples::One(run), "0.0.0");
  EXPECT_THAT(page, HasSubstr("aria-label=\"training loss over steps"));
  const Parsed data = DataOf(page);
  ASSERT_EQ(data.Size("/runs/0/axes"), data.Size("/runs/0/plots"));
  EXPECT_EQ(data.Text("/runs/0/axes/0/word"), "step");
  EXPECT_EQ(data.Size("/runs/0/plots/0"), 1U) << "curves on two axes do not share a plot";
  EXPECT_THAT(page, HasSubstr(" over epochs"));
}

TEST(RenderHtml, PutsTheRewardFirstInRl) {
  const std::string page = RenderHtml(samples::One(samples::RlRun()), "0.0.0");
  EXPECT_LT(page.find("<b>mean reward</b>"), page.find("<b>policy entropy</b>"));
  EXPECT_EQ(Count(page, "<b>mean reward</b>"), 1U);
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
  const Parsed data = DataOf(page);
  const std::size_t points = data.Size("/runs/0/plots/0/0/steps");
  EXPECT_LE(points, 2002U);
  bool spike = false;
  bool nan = false;
  for (std::size_t i = 0; i < points; ++i) {
    const double step = data.Number("/runs/0/plots/0/0/steps/" + std::to_string(i));
    const auto value = data.At("/runs/0/plots/0/0/values/" + std::to_string(i));
    spike = spike || (step == 654'321 && value.is_number() && double(value) == 50);
    nan = nan || (step == 300'000 && value.is_string());
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
