#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "json_samples.h"
#include "report/report.h"

namespace vigil::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(JsonLines, AreRecognisedByTheirMetrics) {
  EXPECT_EQ(Recognised("{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n"), "jsonl");
  EXPECT_EQ(Recognised("{\"iter\": 1, \"my_metric\": 2.5}\n"), "jsonl") << "steps make metrics of unknown names";
  EXPECT_EQ(Recognised("{\"epoch\": 1, \"val_loss\": 2.5}\n"), "jsonl");
  EXPECT_EQ(Recognised("{\"step\":1,\"data\":{\"actor/pg_loss\":0.5}}\n"), "jsonl");
  EXPECT_EQ(Recognised("\xEF\xBB\xBF\n{\"step\": 1, \"loss\": NaN}"), "jsonl");
}

TEST(JsonLines, OfDataSetsAndTranscriptsAreNotMetrics) {
  EXPECT_EQ(Recognised("{\"text\": \"a story\", \"id\": 1}\n{\"text\": \"another\", \"id\": 2}\n"), "none");
  EXPECT_EQ(Recognised("{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n"), "none");
  const std::string completion = "{\"step\": 1, \"reward\": 0.5, \"completion\": \"" + std::string(600, 'x') + "\"}\n";
  EXPECT_EQ(Recognised(completion + completion), "none") << "completions, one row each, have many rewards per step";
  EXPECT_EQ(Recognised("not json\nat all\n"), "none");
}

TEST(JsonLines, WithABrokenFirstLineAreReadBehindIt) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "{\"a\":";
  std::string text = deep + "1" + std::string(100'000, '}') + "\n";
  for (int step = 0; step < 48; ++step) text += fmt::format("{{\"step\": {}, \"loss\": 2.5}}\n", step);
  const std::string_view head = std::string_view(text).substr(0, std::size_t{64} << 10U);
  const ingest::Format* const format = Recognise({"deep.jsonl", head, text.size()});
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->id, "jsonl");
  const auto part = ingest::ReadBytes("deep.jsonl", text, *format);
  ASSERT_TRUE(part) << part.error().Text();
  EXPECT_EQ(SeriesOf(*part, "loss").size(), 48U);
  EXPECT_EQ(part->sources.front().state, model::SourceState::kPartial);
  EXPECT_THAT(report::NoteText(part->sources.front()), HasSubstr("line 1"));
}

// An object over several lines is broken line by line: that its columns stand further down must not matter.
TEST(JsonLines, AreTheSameInPiecesWhereAnObjectIsOverSeveralLines) {
  const std::string text = "{\"loss\": 2,\n\"step\": 5}\n{\"loss\": 1}\n{\"loss\": 0.5}\n";
  const ingest::Format& format = FormatCalled("jsonl");
  const auto whole = ingest::ReadBytes("a.jsonl", text, format);
  const auto pieces = ingest::ReadBytes("a.jsonl", text, format, 1);
  ASSERT_EQ(whole.has_value(), pieces.has_value());
  ASSERT_EQ(whole->series.size(), pieces->series.size());
  for (std::size_t i = 0; i < whole->series.size(); ++i) EXPECT_EQ(whole->series[i].steps, pieces->series[i].steps);
}

TEST(JsonLines, GiveTheFingerprintsOfTheDataOfAStep) {
  const model::Run part = Read("jsonl",
                               "{\"step\": 1, \"loss\": 2.5, \"batch\": \"fc104704eedb063c\"}\n"
                               "{\"step\": 2, \"loss\": 2.5, \"batch\": \"12e4567890123456\", \"rank\": 3}\n"
                               "{\"step\": 3, \"loss\": 2.5, \"batch\": 17}\n");
  EXPECT_THAT(part.batches.steps, ElementsAre(model::StepAt(1), model::StepAt(2)));
  EXPECT_THAT(part.batches.hashes, ElementsAre(0xfc104704eedb063cU, 0x12e4567890123456U));
  EXPECT_THAT(part.batches.ranks, ElementsAre(-1, 3));
  EXPECT_THAT(SeriesOf(part, "batch").values, ElementsAre(17)) << "a number is a count of batches";
}

TEST(JsonLines, GiveASeriesForEachKeyWithStepAndLine) {
  const model::Run part =
      Read("jsonl", "{\"step\": 1, \"loss\": 2.5}\n\n{\"step\": 2, \"loss\": 2.25, \"lr\": 0.1}\r\n");
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(1, 2));
  EXPECT_THAT(SeriesOf(part, "loss").lines, ElementsAre(1, 3));
  EXPECT_THAT(SeriesOf(part, "lr").lines, ElementsAre(3));
  EXPECT_EQ(part.series.size(), 2U) << "the step is no series of its own";
}

TEST(JsonLines, FindTheStepUnderItsManyNames) {
  for (const char* key : {"step", "global_step", "current_steps", "iteration", "iter", "_step", "train/global_step",
                          "trainer/global_step"}) {
    const model::Run part = Read("jsonl", fmt::format("{{\"loss\": 1.5, \"{}\": 40}}\n", key));
    EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(40)) << key;
    EXPECT_EQ(SeriesOf(part, "loss").axis, model::Axis::kStep);
  }
  const model::Run both = Read("jsonl", "{\"_step\": 7, \"train/global_step\": 700, \"train/loss\": 1.5}\n");
  EXPECT_THAT(SeriesOf(both, "loss").steps, ElementsAre(700)) << "_step counts calls of log";
}

TEST(JsonLines, WithoutAnyStepAreCountedByWholeEpochsOrByRows) {
  const model::Run epochs = Read("jsonl", "{\"epoch\": 1, \"loss\": 3}\n{\"epoch\": 2, \"loss\": 2}\n");
  EXPECT_THAT(SeriesOf(epochs, "loss").steps, ElementsAre(1, 2));
  EXPECT_EQ(SeriesOf(epochs, "loss").axis, model::Axis::kEpoch);
  const model::Run rows = Read("jsonl", "{\"epoch\": 0.5, \"loss\": 3}\n{\"epoch\": 1.0, \"loss\": 2}\n");
  EXPECT_THAT(SeriesOf(rows, "loss").steps, ElementsAre(0, 1));
  EXPECT_EQ(SeriesOf(rows, "loss").axis, model::Axis::kRow);
  EXPECT_THAT(SeriesOf(rows, "epoch").values, ElementsAre(0.5, 1.0));
}

TEST(JsonLines, TakeAFirstLineWithoutAStepAsSettings) {
  const model::Run part = Read("jsonl", "{\"learning_rate\": 0.001, \"batch_size\": 8}\n{\"step\": 1, \"loss\": 2}\n");
  EXPECT_EQ(FactOf(part, "lr"), "0.001");
  EXPECT_EQ(part.Find("lr"), nullptr);
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(2));
}

TEST(JsonLines, LeaveOutAFirstRowOfMetricsThatHasNoStepTheyCanPlace) {
  const model::Run part = Read("jsonl", "{\"step\": 1e300, \"loss\": 9}\n{\"step\": 1, \"loss\": 2}\n");
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(2));
  EXPECT_THAT(part.facts, IsEmpty());
  EXPECT_EQ(report::NoteText(part.sources.front()), "1 row before the first step left out");
}

TEST(JsonLines, PlaceARowWithoutAStepAtTheStepBefore) {
  const model::Run part = Read("jsonl", "{\"step\": 5, \"loss\": 2}\n{\"eval_loss\": 3}\n{\"step\": 6, \"loss\": 1}\n");
  EXPECT_THAT(SeriesOf(part, "eval_loss").steps, ElementsAre(5));
}

TEST(JsonLines, JoinNestedKeysAndPassThroughTheWrapperOfVerl) {
  const model::Run part = Read("jsonl",
                               "{\"step\":1,\"data\":{\"actor/grad_norm\":0.5,\"critic/score/mean\":0.25}}\n"
                               "{\"step\":2,\"data\":{\"actor/grad_norm\":0.25,\"critic/score/mean\":0.5}}\n");
  EXPECT_THAT(SeriesOf(part, "grad_norm").values, ElementsAre(0.5, 0.25));
  EXPECT_THAT(SeriesOf(part, "reward").values, ElementsAre(0.25, 0.5));
  const model::Run nested = Read("jsonl", "{\"step\": 1, \"train\": {\"loss\": 2}, \"val\": {\"loss\": 3}}\n");
  EXPECT_THAT(SeriesOf(nested, "loss").values, ElementsAre(2));
  EXPECT_THAT(SeriesOf(nested, "eval_loss").values, ElementsAre(3));
  const model::Run deep = Read("jsonl", R"({"step": 1, "loss": 1, "a": {"b": {"c": {"d": {"e": 5}}}}})");
  EXPECT_EQ(deep.series.size(), 1U) << "what is nested too deep is left out";
}

TEST(JsonLines, KeepTheSameNameInDifferentOrderAndShape) {
  const model::Run part = Read("jsonl",
                               "{\"step\": 1, \"loss\": 1, \"lr\": 0.1}\n{\"lr\": 0.2, \"step\": 2, \"loss\": 2}\n"
                               "{ \"step\" : 3 ,\t\"loss\":3, \"lr\": 0.3}\n{\"step\": 4, \"loss\": 4, \"lr\": 0.4}\n");
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(SeriesOf(part, "lr").values, ElementsAre(0.1, 0.2, 0.3, 0.4));
}

TEST(JsonLines, GiveTheTimeWhenItLooksLikeOne) {
  const model::Run part = Read("jsonl", "{\"step\": 1, \"loss\": 2, \"_timestamp\": 1794725849.5}\n");
  EXPECT_THAT(SeriesOf(part, "loss").times, ElementsAre(1794725849.5));
  const model::Run milliseconds = Read("jsonl", "{\"step\": 1, \"loss\": 2, \"timestamp\": 1794725849500}\n");
  EXPECT_THAT(SeriesOf(milliseconds, "loss").times, ElementsAre(1794725849.5));
  const model::Run seconds = Read("jsonl", "{\"step\": 1, \"loss\": 2, \"time\": 0.35}\n");
  EXPECT_THAT(SeriesOf(seconds, "loss").times, IsEmpty());
  EXPECT_THAT(SeriesOf(seconds, "time").values, ElementsAre(0.35)) << "seconds per step, say";
}

TEST(JsonLines, SeparateTheRanks) {
  const model::Run part =
      Read("jsonl", "{\"step\": 1, \"rank\": 0, \"loss\": 2}\n{\"step\": 1, \"rank\": 1, \"loss\": 3}\n");
  ASSERT_EQ(part.series.size(), 2U);
  EXPECT_EQ(model::FindLabel(part.series[1].labels, "rank"), "1");
  EXPECT_EQ(part.ranks, 2);
}

TEST(JsonLines, TakeNumbersInQuotes) {
  const model::Run part =
      Read("jsonl", "{\"step\": 1, \"loss\": \"2.5\", \"grad_norm\": \"NaN\", \"name\": \"run 3\"}\n");
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(2.5));
  ASSERT_FALSE(SeriesOf(part, "grad_norm").empty());
  EXPECT_TRUE(std::isnan(SeriesOf(part, "grad_norm").values[0]));
  EXPECT_EQ(part.series.size(), 2U);
}

// ---- what null stands for

TEST(JsonLines, TakeNullForAHiddenNanWhereTheColumnHadNumbers) {
  std::string text;
  for (int step = 1; step <= 10; ++step)
    text += fmt::format("{{\"step\":{},\"loss\":{},\"lr\":0.1}}\n", step, step < 7 ? "1.5" : "null");
  const model::Run part = Read("jsonl", text);
  const auto& values = SeriesOf(part, "loss").values;
  ASSERT_EQ(values.size(), 10U);
  EXPECT_EQ(values[5], 1.5);
  for (std::size_t i = 6; i < 10; ++i) EXPECT_TRUE(std::isnan(values[i]));
}

TEST(JsonLines, TakeNullForAGapInAColumnThatIsOftenEmpty) {
  std::string text;
  for (int step = 1; step <= 40; ++step)
    text += fmt::format("{{\"step\":{},\"loss\":1.5,\"eval_loss\":{}}}\n", step, step % 10 == 0 ? "1.25" : "null");
  EXPECT_THAT(SeriesOf(Read("jsonl", text), "eval_loss").steps, ElementsAre(10, 20, 30, 40));
}

TEST(JsonLines, TakeNullForAGapInARowOfAnotherKind) {
  std::string text;
  for (int step = 1; step <= 40; ++step) {
    text += fmt::format("{{\"step\":{},\"loss\":1.5,\"eval_loss\":null}}\n", step);
    if (step % 10 == 0) text += fmt::format("{{\"step\":{},\"loss\":null,\"eval_loss\":1.25}}\n", step);
  }
  const model::Run part = Read("jsonl", text);
  EXPECT_EQ(SeriesOf(part, "loss").size(), 40U);
  for (const double value : SeriesOf(part, "loss").values) EXPECT_EQ(value, 1.5);
  EXPECT_THAT(SeriesOf(part, "eval_loss").values, ElementsAre(1.25, 1.25, 1.25, 1.25));
}

TEST(JsonLines, TakeNullForAGapWhereEvenTheLearningRateIsMissing) {
  std::string text;
  for (int step = 1; step <= 9; ++step) text += fmt::format("{{\"step\":{},\"loss\":1.5,\"lr\":0.1}}\n", step);
  text += "{\"step\":10,\"loss\":null,\"lr\":null}\n";
  EXPECT_EQ(SeriesOf(Read("jsonl", text), "loss").size(), 9U);
}

TEST(JsonLines, PlaceTheEndOfATableOfEpochsInEpochs) {
  std::string text;
  for (int epoch = 1; epoch <= 5; ++epoch) text += fmt::format("{{\"epoch\": {}, \"loss\": 2.5}}\n", epoch);
  text += "{\"epoch\": 5, \"train_runtime\": 12.5, \"train_samples_per_second\": 9.5, \"train_loss\": 2.5}\n";
  const model::Run part = Read("jsonl", text);
  ASSERT_EQ(SeriesOf(part, "loss").axis, model::Axis::kEpoch);
  ASSERT_EQ(part.events.size(), 1U);
  EXPECT_TRUE(model::SamePosition(part.events[0].at, model::EpochAt(5)));
}

// ---- LLaMA-Factory

TEST(JsonLines, OfLlamaFactoryKeepTheEvaluationAfterTheTrainingApart) {
  std::string text;
  for (int step = 10; step <= 50; step += 10) {
    text += fmt::format(
        "{{\"current_steps\": {}, \"total_steps\": 51, \"loss\": 2.5, \"eval_loss\": null, \"learning_rate\": 5e-05, "
        "\"epoch\": {}, \"percentage\": {}, \"elapsed_time\": \"0:00:10\", \"remaining_time\": \"0:00:33\"}}\n",
        step, step / 51.0, step * 2);
  }
  text +=
      "{\"current_steps\": 51, \"total_steps\": 51, \"loss\": null, \"eval_loss\": 2.25, \"learning_rate\": null}\n";
  text +=
      "{\"current_steps\": 51, \"total_steps\": 51, \"loss\": null, \"eval_loss\": null, \"learning_rate\": null}\n";
  text += "{\"current_steps\": 2, \"total_steps\": 2, \"loss\": null, \"eval_loss\": 2.25, \"learning_rate\": null}\n";
  const model::Run part = Read("jsonl", text);
  EXPECT_EQ(part.planned_steps, model::StepAt(51));
  EXPECT_EQ(SeriesOf(part, "loss").size(), 5U);
  EXPECT_THAT(SeriesOf(part, "eval_loss").steps, ElementsAre(51));
  EXPECT_EQ(SeriesOf(part, "loss").segment_starts.size(), 1U) << "no restart";
}

TEST(JsonLines, OfOtherPeoplesRunsAreReadWithoutRestartsOrNan) {
  const auto corpus = CorpusFolder("llamafactory_trainer_log");
  if (corpus.empty()) GTEST_SKIP() << "not run: corpus absent";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const auto part = ReadFile(entry.path().string());
    ASSERT_TRUE(part) << part.error().Text();
    const model::Series& loss = SeriesOf(*part, "loss");
    EXPECT_GE(loss.size(), 14U);
    EXPECT_EQ(loss.segment_starts.size(), 1U) << entry.path();
    for (const double value : loss.values) EXPECT_TRUE(std::isfinite(value)) << entry.path();
  }
}

// ---- bad input

TEST(JsonLines, CountBrokenLinesAndReportTheFirst) {
  const model::Run part =
      Read("jsonl", "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\"\nplain text\n{\"step\": 4, \"loss\": 1}\n");
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(1, 4));
  EXPECT_EQ(part.sources.front().state, model::SourceState::kPartial);
  EXPECT_EQ(report::NoteText(part.sources.front()),
            "line 2, column 19: the text ends inside the document (and 1 more broken lines)");
}

TEST(JsonLines, ReadTwoObjectsThatATornWriteLeftInOneLine) {
  const model::Run part = Read("jsonl", "{\"step\": 1, \"loss\": 2}{\"step\": 2, \"loss\": 1}\n");
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(1, 2));
}

TEST(JsonLines, CutAnywhereKeepTheLinesBefore) {
  const std::string text =
      "{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.25}\n{\"step\": 3, \"loss\": 2.125}\n";
  for (std::size_t cut = 26; cut < text.size(); ++cut) {
    const model::Run part = Read("jsonl", text.substr(0, cut));
    const auto& values = SeriesOf(part, "loss").values;
    ASSERT_GE(values.size(), 1U) << cut;
    const std::vector<double> whole = {2.5, 2.25, 2.125};
    EXPECT_TRUE(std::equal(values.begin(), values.end(), whole.begin())) << cut;
  }
}

TEST(JsonLines, ReadTheSameInPiecesOfAnySize) {
  std::string text = "garbage\n";
  for (int step = 1; step < 50; ++step) text += fmt::format("{{\"step\": {}, \"loss\": {}}}\n", step, 1.0 / step);
  text += "{\"step\": 99";
  const std::string whole = Describe(Read("jsonl", text));
  for (std::size_t piece = 1; piece < 200; ++piece) {
    const auto part = ingest::ReadBytes("file", text, FormatCalled("jsonl"), piece);
    ASSERT_TRUE(part);
    EXPECT_EQ(Describe(*part), whole) << piece;
  }
}

TEST(JsonLines, SkipALineThatIsTooLongWithoutKeepingIt) {
  ingest::PartBuilder builder("file", "jsonl");
  const auto reader = FormatCalled("jsonl").open(builder);
  const std::string first = "{\"step\": 1, \"loss\": 2}\n{\"text\": \"";
  EXPECT_EQ(reader->Consume(first, false), 23U);
  const std::string piece(std::size_t{17} << 20U, 'x');
  EXPECT_EQ(reader->Consume(piece, false), piece.size()) << "taken, so that the driver forgets it";
  for (int i = 0; i < 30; ++i) EXPECT_EQ(reader->Consume(piece, false), piece.size());
  const std::string rest = "\"}\n{\"step\": 2, \"loss\": 1}\n";
  EXPECT_EQ(reader->Consume(rest, true), rest.size());
  EXPECT_THAT(SeriesOf(builder.part(), "loss").values, ElementsAre(2, 1));
  EXPECT_EQ(report::NoteText(builder.part().sources.front()), "line 2: longer than 16.0 MiB, skipped");
  EXPECT_THAT(SeriesOf(builder.part(), "loss").lines, ElementsAre(1, 3));
}

TEST(JsonLines, RefuseEndlessNestingAndGoOn) {
  const std::string deep = "{\"a\": " + std::string(100'000, '[') + "\n{\"step\": 1, \"loss\": 2}\n";
  const model::Run part = Read("jsonl", deep);
  EXPECT_THAT(report::NoteText(part.sources.front()), HasSubstr("line 1, column 518: nested deeper than 512 levels"));
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(2));
}

TEST(JsonLines, AreRecognisedBehindAnUnusableFirstLine) {
  EXPECT_EQ(Recognised("{\"step\": 1, \"loss\": 2, \"x\": \"" + std::string(70'000, 'y')), "jsonl");
  std::string deep;
  for (int i = 0; i < 20'000; ++i) deep += "{\"a\":";
  EXPECT_EQ(Recognised(deep), "jsonl");
  EXPECT_EQ(Recognised("{\"text\": \"" + std::string(70'000, 'y')), "none") << "a data set";
}

TEST(JsonLines, NameTheMetricInAValue) {
  const model::Run part = Read("jsonl",
                               "{\"event\": \"metric\", \"name\": \"loss\", \"value\": 2.5, \"step\": 0}\n"
                               "{\"event\": \"metric\", \"name\": \"lr\", \"value\": 0.1, \"step\": 0}\n"
                               "{\"event\": \"metric\", \"name\": \"loss\", \"value\": NaN, \"step\": 1}\n");
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(0, 1));
  EXPECT_EQ(SeriesOf(part, "loss").signal, "loss");
  EXPECT_THAT(SeriesOf(part, "lr").values, ElementsAre(0.1));
  const model::Run plain = Read("jsonl", "{\"step\": 1, \"name\": \"first\", \"loss\": 2.5}\n");
  EXPECT_THAT(SeriesOf(plain, "loss").values, ElementsAre(2.5));
}

TEST(JsonLines, MayEachBeAnArrayOfRows) {
  const std::string text =
      "[{\"metric\": \"train\", \"variant\": \"loss\", \"iter\": 0, \"value\": 8.5, \"timestamp\": 1}]\n"
      "[{\"metric\": \"train\", \"variant\": \"loss\", \"iter\": 1, \"value\": 8.25, \"timestamp\": 1}, "
      "{\"metric\": \"train\", \"variant\": \"loss\", \"iter\": 2, \"value\": 8, \"timestamp\": 1}]\n";
  EXPECT_EQ(Recognised(text), "jsonl");
  const model::Run part = Read("jsonl", text);
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(0, 1, 2));
  EXPECT_EQ(report::NoteText(part.sources.front()), "");
}

TEST(JsonLines, LimitTheNumberOfDifferentKeys) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += fmt::format("{{\"step\": {}, \"key{}\": 1}}\n", i, i);
  const model::Run part = Read("jsonl", text);
  EXPECT_LT(part.series.size(), 20'001U);
  EXPECT_THAT(report::NoteText(part.sources.front()), HasSubstr("more than 20,000 different keys"));
}

TEST(JsonLines, KeepTheFirstOfValuesThatRepeatAStep) {
  const model::Run part =
      Read("jsonl", "{\"step\": 1, \"loss\": 2}\n{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": 1}\n");
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(2, 1));
  EXPECT_THAT(report::NoteText(part.sources.front()), HasSubstr("1 value at a repeated step left out"));
}

TEST(JsonLines, WithNothingButBrokenLinesAreAnError) {
  EXPECT_THAT(ErrorOf("jsonl", "{\"a\n{\"b\n"), HasSubstr("line 1"));
}

}  // namespace
}  // namespace vigil::formats
