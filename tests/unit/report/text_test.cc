#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/base.h"
#include "catalogue/advice.h"
#include "catalogue/catalogue.h"
#include "catalogue/says.h"
#include "golden.h"
#include "report/report.h"
#include "samples.h"

namespace vigil::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> LinesOfText(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) lines.emplace_back(line);
  return lines;
}

TextOptions Ascii() {
  TextOptions options;
  options.unicode = false;
  return options;
}

TEST(RenderText, ShowsADivergence) {
  ExpectGolden("diverged.txt", RenderText(samples::One(samples::DivergedRun()), {}));
}
TEST(RenderText, ShowsADivergenceInAscii) {
  ExpectGolden("diverged-ascii.txt", RenderText(samples::One(samples::DivergedRun()), Ascii()));
}
TEST(RenderText, ShowsAHiddenNan) {
  ExpectGolden("hidden-nan.txt", RenderText(samples::One(samples::HiddenNanRun()), {}));
}
TEST(RenderText, ShowsAHealthyRun) { ExpectGolden("healthy.txt", RenderText(samples::One(samples::HealthyRun()), {})); }
TEST(RenderText, SaysWhatWouldDecide) {
  ExpectGolden("undecided.txt", RenderText(samples::One(samples::UndecidedRun()), {}));
}
TEST(RenderText, ShowsARewardWhereThereIsNoLoss) {
  ExpectGolden("rl.txt", RenderText(samples::One(samples::RlRun()), {}));
}
TEST(RenderText, ShowsARestart) {
  ExpectGolden("restarted.txt", RenderText(samples::One(samples::RestartedRun()), {}));
}
TEST(RenderText, ShowsOnlyNan) { ExpectGolden("all-nan.txt", RenderText(samples::One(samples::AllNanRun()), {})); }
TEST(RenderText, ShowsAConstant) { ExpectGolden("constant.txt", RenderText(samples::One(samples::ConstantRun()), {})); }
TEST(RenderText, PutsTheWorstOfSeveralRunsFirst) { ExpectGolden("several.txt", RenderText(samples::Several(), {})); }

TEST(RenderText, ShowsEverythingWhenVerbose) {
  TextOptions options;
  options.verbose = true;
  ExpectGolden("diverged-verbose.txt", RenderText(samples::One(samples::DivergedRun()), options));
}

TEST(RenderText, IsBriefWhenAsked) {
  TextOptions options;
  options.brief = true;
  ExpectGolden("several-brief.txt", RenderText(samples::Several(), options));
}

TEST(RenderText, DoesNotCallARunHealthyThatCouldNotBeJudged) {
  EXPECT_THAT(RenderText(samples::One(samples::OnePointRun()), {}), HasSubstr("only one point"));
  const std::string nothing = RenderText(samples::One(samples::EmptyRun()), {});
  EXPECT_THAT(nothing, HasSubstr("no metrics were read"));
  EXPECT_THAT(nothing, Not(HasSubstr("✓")));
}

TEST(RenderText, SaysWhatAFindingMeansWhereThereIsNoDiagnosis) {
  model::RunReport run = samples::AllNanRun();
  run.findings[0].id = "loss/non-finite";
  EXPECT_THAT(RenderText(samples::One(run), {}), HasSubstr("  means    "));
}

TEST(RenderText, SaysWhatToDoAboutAKnownMessageAndWhereItStands) {
  ASSERT_FALSE(catalogue::Signatures().empty());
  const catalogue::SignatureRow& row = catalogue::Signatures().front();
  model::RunReport run = samples::UndecidedRun();
  run.findings[0].id = row.id;
  run.findings[0].says = samples::Said("it ended at step 3", {samples::Step(3)});
  run.diagnoses[0].cause = "sample";
  run.diagnoses[0].supporting.resize(1);
  run.diagnoses[0].supporting[0].says = run.findings[0].says;
  run.diagnoses[0].supporting[0].at = samples::Step(3);
  run.diagnoses[0].supporting[0].path = "train.log";
  run.diagnoses[0].supporting[0].line = 25;
  const std::string text = RenderText(samples::One(run), {});
  EXPECT_THAT(text, HasSubstr("because  train.log:25"));
  EXPECT_THAT(text, HasSubstr("  do       " + std::string(row.fix.substr(0, 20))));
}

TEST(RenderText, RepeatsTheHeadlineRatherThanGivingNoReason) {
  model::RunReport run = samples::DivergedRun();
  run.diagnoses[0].supporting.resize(1);
  run.diagnoses[0].supporting[0].says = run.findings[0].says;
  run.diagnoses[0].supporting[0].path.clear();
  EXPECT_THAT(RenderText(samples::One(run), {}),
              HasSubstr("  because  the loss rose from 1.1 to 9.5 from step 405 on"));
}

TEST(RenderText, NamesTheLossWhereItGoesBadWithTheGradient) {
  model::RunReport run = samples::HiddenNanRun();
  std::swap(run.findings[0], run.findings[1]);
  EXPECT_THAT(RenderText(samples::One(run), {}), HasSubstr("nan-hidden  NaN loss at step 212"));
}

TEST(RenderText, NotesDamagedFilesEvenWhenBrief) {
  TextOptions options;
  options.brief = true;
  model::RunReport run = samples::HealthyRun();
  run.run.sources[0].state = model::SourceState::kPartial;
  run.run.sources[0].notes = {says::DamageErrorInLine{.line = 254, .message = "the text ends inside the document"}};
  EXPECT_THAT(RenderText(samples::One(run), options),
              HasSubstr("  damaged  ok/trainer_state.json: line 254: the text ends inside the document"));
}

TEST(RenderText, SaysTheSameObservationOnce) {
  model::RunReport run = samples::DivergedRun();
  auto& supporting = run.diagnoses[0].supporting;
  supporting.push_back(supporting.back());
  EXPECT_EQ(RenderText(samples::One(run), {}), RenderText(samples::One(samples::DivergedRun()), {}));
}

TEST(RenderText, PutsNothingBeforeTheLinesToActOn) {
  const std::vector<std::string> lines = LinesOfText(RenderText(samples::One(samples::DivergedRun()), {}));
  ASSERT_GT(lines.size(), 5U);
  EXPECT_THAT(lines[0], HasSubstr("step 405"));
  EXPECT_THAT(lines[1], HasSubstr("cause    sample-lr-too-high (confidence 86%)"));
  EXPECT_THAT(lines[2], HasSubstr("change   learning_rate: 0.003 -> 0.001 (TrainingArguments)"));
  EXPECT_THAT(lines[3], HasSubstr("restart  checkpoint-300"));
  EXPECT_THAT(lines[4], HasSubstr("because  grad_norm climbed"));
}

TEST(RenderText, CountsInTheAxisOfTheRun) {
  TextOptions options;
  options.verbose = true;
  const std::string text = RenderText(samples::One(samples::EpochRun()), options);
  EXPECT_THAT(text, HasSubstr("the loss turned up (epochs 57-60)"));
  EXPECT_THAT(text, HasSubstr("sample/divergence, epochs 57-60"));
  EXPECT_THAT(text, HasSubstr("the gradient norm climbed (epoch 56)"));
  EXPECT_THAT(text, HasSubstr(" epoch 1 "));  // under the plot
  EXPECT_THAT(text, HasSubstr("▲1"));
  EXPECT_THAT(text, Not(HasSubstr("step 5")));
}

TEST(RenderText, ComparesAPlanInStepsOnlyWithSteps) {
  model::RunReport run = samples::EpochRun();
  run.findings.clear();
  run.diagnoses.clear();
  EXPECT_THAT(RenderText(samples::One(run), {}), HasSubstr("no problems found in epochs 1-60 (loss"));
  run.run.axes.Learn(model::Axis::kEpoch, model::Axis::kStep, {{0, 0}, {60, 6000}});
  EXPECT_THAT(RenderText(samples::One(run), {}),
              HasSubstr("no problems found in epochs 1-60, about step 6000 of 100000"));
}

TEST(RenderText, NamesRivalsAndWhatWouldDecide) {
  model::RunReport run = samples::DivergedRun();
  run.diagnoses[0].rivals.push_back({"sample-bad-data", 0.05, samples::Said("the batch alone would decide")});
  TextOptions options;
  options.width = 200;
  const std::string text = RenderText(samples::One(run), options);
  EXPECT_THAT(text, HasSubstr("cause    sample-lr-too-high (confidence 86%), or: sample-no-warmup (12%), or: "
                              "sample-bad-data (5%)"));
  EXPECT_THAT(text, HasSubstr("  decide   the first steps would decide\n"));
  EXPECT_THAT(text, HasSubstr("not excluded: sample-no-warmup (sample-no-warmup, 12%)\n"));
  EXPECT_THAT(text, HasSubstr("not excluded: sample-bad-data (sample-bad-data, 5%): the batch alone would decide\n"));
}

TEST(RenderText, NamesARivalOfAnUndecidedCauseOnce) {
  model::RunReport run = samples::UndecidedRun();
  run.diagnoses[0].summary = samples::Said("between sample-a and others", {model::Identifier{"sample-a"}});
  run.diagnoses[0].rivals = {{"sample-a", 0.3, samples::Said("a would decide")},
                             {"sample-b", 0.2, samples::Said("b would decide")}};
  const std::string text = RenderText(samples::One(run), {});
  EXPECT_THAT(text, HasSubstr("  cause    between sample-a and others\n"));
  EXPECT_THAT(text, Not(HasSubstr("not excluded: sample-a")));
  EXPECT_THAT(text, HasSubstr("not excluded: sample-b (sample-b, 20%): b would decide"));
}

TEST(RenderText, ShowsWhereAQuoteStands) {
  model::RunReport run = samples::DivergedRun();
  model::Evidence quoted;
  quoted.says = samples::Said("the log says so", {model::Quote{"overflow", "node1.log", 77}});
  run.diagnoses[0].supporting = {quoted};
  EXPECT_THAT(RenderText(samples::One(run), {}), HasSubstr("the log says so (node1.log:77)"));
}

TEST(RenderText, TakesTheTextOfARemedyFromItsRow) {
  const catalogue::RemedyRow& row = catalogue::Remedies().front();
  model::RunReport run = samples::DivergedRun();
  run.diagnoses[0].remedies = {{std::string(row.id), "", "", "", "", ""}};
  TextOptions options;
  options.width = 400;
  EXPECT_THAT(RenderText(samples::One(run), options), HasSubstr(std::string(row.text)));
}

TEST(RenderText, FitsEveryWidth) {
  for (const int width : {40, 57, 80, 123, 200}) {
    for (const bool unicode : {true, false}) {
      TextOptions options;
      options.width = width;
      options.unicode = unicode;
      options.verbose = true;
      model::Report report = samples::Several();
      report.runs.push_back(samples::HostileRun());
      for (const std::string& line : LinesOfText(RenderText(report, options)))
        EXPECT_LE(DisplayWidth(line), static_cast<std::size_t>(width)) << line;
    }
  }
}

TEST(RenderText, IsPlainAsciiWhenAsked) {
  model::Report report = samples::Several();
  report.runs.push_back(samples::HostileRun());
  TextOptions options = Ascii();
  options.verbose = true;
  for (const char c : RenderText(report, options))
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~')) << static_cast<int>(c);
}

TEST(RenderText, LetsNothingOfTheInputReachTheTerminalRaw) {
  TextOptions options;
  options.verbose = true;
  const std::string text = RenderText(samples::One(samples::HostileRun()), options);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
  EXPECT_THAT(text, Not(HasSubstr("\u202E")));
  EXPECT_THAT(text, Not(HasSubstr("\u200B")));
  EXPECT_EQ(text, ValidUtf8(text));
}

TEST(RenderText, CutsTextsThatAreDumps) {
  model::RunReport run = samples::DivergedRun();
  run.findings[0].says = samples::Said(std::string(1999, 'a') + "日" + std::string(10'000'000, 'b'));
  run.run.name = std::string(10'000'000, 'c');
  const std::string text = RenderText(samples::One(run), {});
  EXPECT_LT(text.size(), 20'000U);
  EXPECT_THAT(text, HasSubstr("aaa..."));
  EXPECT_EQ(text, ValidUtf8(text));
  EXPECT_THAT(text, Not(HasSubstr("\xEF\xBF\xBD")));
}

TEST(RenderText, UsesColoursOnlyWhenAsked) {
  TextOptions options;
  EXPECT_THAT(RenderText(samples::Several(), options), Not(HasSubstr("\x1b")));
  options.colour = true;
  EXPECT_THAT(RenderText(samples::Several(), options), HasSubstr("\x1b[1;31m✗\x1b[0m"));
}

TEST(RenderText, KeepsASpikeOfOnePointAmongTenMillion) {
  model::RunReport run;
  run.run.name = "long";
  run.run.series.push_back(samples::LongSeries(10'000'000, 6'543'210, 3'000'000));
  const std::string text = RenderText(samples::One(std::move(run)), {});
  EXPECT_THAT(text, HasSubstr("50 ┤"));
  EXPECT_THAT(text, HasSubstr("× = nan or inf"));
}

TEST(RenderText, SurvivesStepsAndValuesAtTheEndsOfTheirRange) {
  model::RunReport run;
  run.run.name = "extreme";
  model::Series series;
  series.signal = series.raw = "loss";
  series.Append(std::numeric_limits<std::int64_t>::min(), -1.7e308);
  series.Append(0, 5e-324);
  series.Append(std::numeric_limits<std::int64_t>::max(), 1.7e308);
  run.run.series.push_back(series);
  for (double& value : series.values.Mutable()) value = std::abs(value);
  series.signal = series.raw = "grad_norm";
  run.run.series.push_back(series);
  EXPECT_THAT(RenderText(samples::One(std::move(run)), {}), HasSubstr("1.7e+308"));
}

}  // namespace
}  // namespace vigil::report
