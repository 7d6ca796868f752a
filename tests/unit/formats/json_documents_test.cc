// Metrics by name and settings in JSON documents.
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

constexpr std::string_view kGolden = R"({
    "lm loss": {"start_step": 1, "end_step": 4, "step_interval": 1,
        "values": {"1": "nan", "2": 10.5, "3": 10.25, "4": "nan"}},
    "num-zeros": {"start_step": 1, "end_step": 4, "step_interval": 1,
        "values": {"1": "nan", "2": 579.0, "3": 600.0, "4": 1.0}}})";

TEST(MetricJson, ReadsMegatronsGoldenValues) {
  EXPECT_EQ(Recognised(kGolden), "metric-json");
  const model::Run part = Read("metric-json", kGolden);
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(2, 3, 4)) << "NaN before the beginning is filling";
  ASSERT_GT(SeriesOf(part, "loss").size(), 2U);
  EXPECT_TRUE(std::isnan(SeriesOf(part, "loss").values[2])) << "NaN after it is not";
  EXPECT_THAT(SeriesOf(part, "num-zeros").values, ElementsAre(579, 600, 1));
  EXPECT_EQ(part.series.size(), 2U);
}

TEST(MetricJson, ANullInAListHasItsPlace) {
  const model::Run part =
      Read("metric-json",
           R"({"step": [10, 20, 30, 40, 50, 60], "train_loss": [5, 4, 3, 2, null, null], "lr": [1, 1, 1, 1, 1, 1]})");
  ASSERT_NE(part.Find("loss"), nullptr);
  EXPECT_THAT(part.Find("loss")->steps, ElementsAre(10, 20, 30, 40, 50, 60));
  EXPECT_TRUE(std::isnan(part.Find("loss")->values.back()));
}

TEST(MetricJson, ReadsListsOfStepsAndValuesSideBySide) {
  constexpr std::string_view kLists = R"({
    "train.loss": {"steps": [10, 20, 30], "timestamps": ["2026-11-16T22:18:15", "", ""], "values": [NaN, 2.5, 2.25]},
    "val.acc": {"steps": [30], "timestamps": [""], "values": [0.5]}})";
  EXPECT_EQ(Recognised(kLists), "metric-json");
  const model::Run part = Read("metric-json", kLists);
  ASSERT_NE(part.Find("loss"), nullptr);
  EXPECT_THAT(part.Find("loss")->steps, ElementsAre(10, 20, 30));
  EXPECT_TRUE(std::isnan(part.Find("loss")->values.front())) << "what is listed was measured";
  ASSERT_NE(part.Find("eval_accuracy"), nullptr);
  EXPECT_THAT(part.Find("eval_accuracy")->steps, ElementsAre(30));
}

TEST(MetricJson, ReadsListsAndStepsByName) {
  EXPECT_EQ(Recognised(R"({"loss": [3, 2, 1], "val_loss": [3.5]})"), "metric-json");
  EXPECT_EQ(Recognised(R"({"loss": [3, 2, 1], "val_loss": [3.5, 2.5, 2.25]})"), "keras-history") << "one per epoch";
  const model::Run lists = Read("metric-json", R"({"loss": [3, 2, NaN], "val_loss": [3.5, 2.5, [9], 2.25]})");
  EXPECT_EQ(SeriesOf(lists, "loss").axis, model::Axis::kRow);
  EXPECT_THAT(SeriesOf(lists, "loss").steps, ElementsAre(0, 1, 2));
  EXPECT_THAT(SeriesOf(lists, "eval_loss").values, ElementsAre(3.5, 2.5, 2.25));
  const model::Run steps = Read("metric-json", R"({"loss": {"10": 3, "20": 2, "note": 7}})");
  EXPECT_THAT(SeriesOf(steps, "loss").steps, ElementsAre(10, 20));
}

TEST(MetricJson, IsNotSeenInConfigurations) {
  EXPECT_EQ(Recognised(R"({"hidden_sizes": [1, 2, 3], "betas": [0.9, 0.999, 0.1]})"), "none");
  EXPECT_NE(Recognised(R"({"loss": 1.5})"), "metric-json");
}

TEST(MetricJson, ReadsInPiecesAndUpToDamage) {
  const std::string whole = Describe(Read("metric-json", kGolden));
  for (std::size_t piece = 1; piece < 90; ++piece) {
    const auto part = ingest::ReadBytes("file", kGolden, FormatCalled("metric-json"), piece);
    ASSERT_TRUE(part);
    EXPECT_EQ(Describe(*part), whole) << piece;
  }
  const model::Run cut = Read("metric-json", kGolden.substr(0, 145));
  EXPECT_EQ(cut.sources.front().state, model::SourceState::kPartial);
  EXPECT_THAT(report::NoteText(cut.sources.front()), HasSubstr("line 4 (byte 145): the text ends inside the document"));
  EXPECT_GE(SeriesOf(cut, "loss").size(), 1U);
}

TEST(MetricJson, OfOtherPeoplesRunsIsRead) {
  const auto corpus = CorpusFolder("megatron_golden_curve");
  if (corpus.empty()) GTEST_SKIP() << "not run: corpus absent";
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const auto part = ReadFile(entry.path().string());
    ASSERT_TRUE(part) << part.error().Text();
    const model::Series& loss = SeriesOf(*part, "loss");
    EXPECT_GE(loss.size(), 20U);
    for (const double value : loss.values) EXPECT_TRUE(std::isfinite(value)) << entry.path();
  }
}

TEST(ConfigJson, StatesTheAdapter) {
  const std::string_view text = R"({"peft_type": "LORA", "r": 16, "lora_alpha": 32, "target_modules": ["q", "v"]})";
  EXPECT_EQ(Recognised(text), "config-json");
  EXPECT_EQ(FactOf(Read("config-json", text), "adapter"), "LORA");
}

TEST(ConfigJson, TakesFromAModelOnlyItsVocabulary) {
  const std::string_view text =
      R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "temperature": 0.7, "vocab_size": 50257})";
  EXPECT_EQ(Recognised(text), "config-json");
  const model::Run part = Read("config-json", text);
  EXPECT_EQ(FactOf(part, "vocab_size"), "50257");
  EXPECT_EQ(FactOf(part, "temperature"), "none") << "of the model's generation, not of the training";
}

TEST(ConfigJson, StatesTrainingArgumentsWithTheirLine) {
  const std::string_view text =
      "{\"learning_rate\": 5e-05,\n \"warmup_steps\": 100,\n \"fp16\": true, \"output_dir\": \"out\", "
      "\"max_grad_norm\": 1.0, \"lr_scheduler_type\": \"cosine\"}";
  EXPECT_EQ(Recognised(text), "config-json");
  const model::Run part = Read("config-json", text);
  EXPECT_EQ(FactOf(part, "lr"), "5e-05");
  EXPECT_EQ(FactOf(part, "fp16"), "true");
  EXPECT_EQ(FactOf(part, "lr_schedule"), "cosine");
  EXPECT_EQ(part.FindFact("warmup_steps")->place.line, 2U);
  EXPECT_EQ(FactOf(part, "output_dir"), "none");
}

TEST(ConfigJson, IsNotSeenInOtherObjects) {
  EXPECT_EQ(Recognised(R"({"version": 3, "name": "vigil"})"), "none");
  EXPECT_EQ(Recognised(R"({"do_sample": true, "temperature": 0.7, "max_new_tokens": 20})"), "none");
}

}  // namespace
}  // namespace vigil::formats
