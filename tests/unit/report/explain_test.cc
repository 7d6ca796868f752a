#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "catalogue/figures.h"
#include "parsed.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::report {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Page(std::string_view id) {
  const auto text = ExplainText(id, {});
  EXPECT_TRUE(text) << id;
  return text ? *text : std::string();
}

TEST(Explain, HasAPageForEveryIdInTextAndJson) {
  for (const std::string& id : catalogue::AllIds()) {
    EXPECT_THAT(Page(id), HasSubstr(id));
    const auto json = ExplainJson(id);
    ASSERT_TRUE(json) << id;
    EXPECT_EQ(Parsed(*json).Text("/pages/0/id"), id);
  }
}

TEST(Explain, SaysHowOftenAFindingIsRightAndDrawsARealCase) {
  const std::string page = Page("loss/spike");
  EXPECT_THAT(page, AllOf(HasSubstr("false alarms: "), HasSubstr("found on "), HasSubstr("median delay: ")));
  EXPECT_THAT(page, AllOf(HasSubstr("A real case"), HasSubstr("tests/fixtures/"), HasSubstr("▲")));
}

TEST(Explain, SaysWhenTheCasesAreTooFewForARate) {
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    const catalogue::FindingFigures* figures = catalogue::FiguresOfFinding(row.id);
    if (!row.needs.empty()) continue;  // nothing that is read yet can show it
    if (figures == nullptr || figures->expected == 0 || figures->expected >= catalogue::kFewestForARate) continue;
    EXPECT_THAT(Page(row.id), HasSubstr("too few")) << row.id;
  }
}

TEST(Explain, SaysHowOftenACauseIsNamedRightlyAndWrongly) {
  EXPECT_THAT(Page("lr-too-high"),
              AllOf(HasSubstr("named first on "), HasSubstr("wrong on "), HasSubstr("A real case")));
}

TEST(Explain, SaysThatNoRunShowsIt) {
  EXPECT_EQ(catalogue::ExampleOf("data/length-outlier"), nullptr);
  EXPECT_THAT(Page("data/length-outlier"), HasSubstr("no run in tests/fixtures shows it"));
}

TEST(Explain, DrawsTheCaseInPlainAscii) {
  TextOptions options;
  options.unicode = false;
  const auto page = ExplainText("loss/spike", options);
  ASSERT_TRUE(page);
  EXPECT_THAT(*page, AllOf(HasSubstr("A real case"), HasSubstr("^")));
  for (const char c : *page) EXPECT_LT(static_cast<unsigned char>(c), 128);
}

TEST(Explain, GivesTheCaseAsNumbersInJson) {
  const auto json = ExplainJson("loss/spike");
  ASSERT_TRUE(json);
  EXPECT_EQ(Parsed(*json).Text("/pages/0/example/metric"), "loss");
}

TEST(Figures, AreOfIdsThatExist) {
  for (const catalogue::CauseRow& row : catalogue::Causes()) {
    const catalogue::CauseFigures* figures = catalogue::FiguresOfCause(row.id);
    if (figures == nullptr) continue;
    EXPECT_LE(figures->first + figures->other_first + figures->rival, figures->labelled) << row.id;
  }
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    const catalogue::ExampleRow* example = catalogue::ExampleOf(row.id);
    if (example == nullptr) continue;
    EXPECT_EQ(example->steps.size(), example->values.size()) << row.id;
    EXPECT_NE(catalogue::FindSignal(example->metric), nullptr) << row.id;
  }
}

void ExpectToFit(const std::string& text, std::size_t width) {
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
}

TEST(Explain, FitsTheWidth) {
  TextOptions options;
  options.width = 50;
  for (const std::string& id : catalogue::AllIds()) {
    const auto page = ExplainText(id, options);
    ASSERT_TRUE(page) << id;
    ExpectToFit(*page, 50);
  }
  ExpectToFit(ListText(options), 50);
}

TEST(Explain, GivesForAFindingWhenItFiresWhyAndItsThresholds) {
  const catalogue::FindingRow* row = catalogue::FindFinding("loss/spike");
  const std::string page = Page("loss/spike");
  EXPECT_THAT(page, AllOf(HasSubstr("severity warning"), HasSubstr("Fires when"), HasSubstr("Why it matters"),
                          HasSubstr("origin: "), HasSubstr("grad_norm (gradient norm")));
  for (const catalogue::ThresholdRow& threshold : row->thresholds)
    EXPECT_THAT(page, HasSubstr(std::string(threshold.name) + " = " + FormatNumber(threshold.value)));
}

TEST(Explain, GivesForACauseItsEvidenceInWordsAndItsRemedies) {
  const std::string page = Page("lr-too-high");
  EXPECT_THAT(page, AllOf(HasSubstr("if it holds: good evidence for"), HasSubstr("rules it out"), HasSubstr("Remedies"),
                          HasSubstr("loss/divergence")));
}

TEST(Explain, GivesForAMeasureItsLevelsAndTheCausesThatTheFittedWeightsName) {
  const std::string page = Page("loss-fall");
  EXPECT_THAT(page, AllOf(HasSubstr("the loss fell by N% of its first value"), HasSubstr("unit percent"),
                          HasSubstr("below -300% - "), HasSubstr("99% or more - "), HasSubstr("fitted to runs"),
                          HasSubstr("opposite direction"), HasSubstr("Speaks most for"),
                          HasSubstr("Speaks most against"), HasSubstr("loss (training loss")));
  const auto json = ExplainJson("loss-fall");
  ASSERT_TRUE(json);
  EXPECT_EQ(Parsed(*json).Text("/pages/0/kind"), "measure");
  EXPECT_EQ(Parsed(*json).Text("/pages/0/levels/0/values"), "below -300%");
  const std::string cause = Parsed(*json).Text("/pages/0/speaks_for/0/cause");
  EXPECT_NE(catalogue::FindCause(cause), nullptr) << cause;
}

TEST(Explain, SaysOfAMeasureThatIsNoReasonThatItIsNotQuoted) {
  EXPECT_THAT(Page("loss-points"), HasSubstr("alone it means little"));
  EXPECT_THAT(Page("loss-fall"), Not(HasSubstr("alone it means little")));
  EXPECT_THAT(Page("is-reinforcement"), AllOf(HasSubstr("unit 0-or-1"), HasSubstr("- 0 - "), HasSubstr("- 1 - ")));
}

TEST(Explain, NamesTheCausesOfAFinding) { EXPECT_THAT(Page("loss/divergence"), HasSubstr("lr-too-high - ")); }

TEST(Explain, FindsASignalByAnyNameItIsLoggedUnder) {
  EXPECT_EQ(Page("train/grad_norm"), Page("grad_norm"));
  EXPECT_THAT(Page("rewards/accuracy/mean"), HasSubstr("reward_of"));
}

TEST(Explain, OffersTheNearestNamesForAnUnknownId) {
  const auto text = ExplainText("loss/spkie\x1b[2J", {});
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().Text(), AllOf(HasSubstr("did you mean"), HasSubstr("loss/spike"), Not(HasSubstr("\x1b"))));
}

TEST(Explain, ListsEveryId) {
  TextOptions wide;
  wide.width = 200;
  const std::string text = ListText(wide);
  const std::string json = ListJson();
  for (const std::string& id : catalogue::AllIds()) {
    EXPECT_THAT(text, HasSubstr("  " + id + " "));
    EXPECT_THAT(json, HasSubstr("\"id\": \"" + id + "\""));
  }
}

TEST(Reference, RefusesAKindThatIsNone) {
  const auto page = ReferenceMarkdown("finding");
  ASSERT_FALSE(page);
  EXPECT_THAT(page.error().Text(), HasSubstr("known: findings, causes"));
}

TEST(Reference, ThePagesInTheGuideAreThoseOfTheRows) {
  for (const std::string& kind : ReferenceKinds()) {
    const std::string path = std::string(testing_support::kSourceDir) + "/doc/guide/reference/" + kind + ".md";
    const auto page = ReferenceMarkdown(kind);
    ASSERT_TRUE(page);
    if (std::getenv("VIGIL_REWRITE") != nullptr) {
      std::ofstream(path, std::ios::binary) << *page;
      continue;
    }
    std::ifstream file(path, std::ios::binary);
    std::stringstream kept;
    kept << file.rdbuf();
    EXPECT_TRUE(kept.str() == *page) << path << " is not what the rows say; `make golden` rewrites it";
  }
}

}  // namespace
}  // namespace vigil::report
