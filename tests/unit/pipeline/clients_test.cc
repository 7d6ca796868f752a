// Files that real clients wrote (gym/clients makes them): tensorboard, tensorboardX, torch's writer, W&B, Lightning,
// Accelerate. The scripts know the values, and so do these tests.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ingest/ingest.h"
#include "pipeline/pipeline.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::pipeline {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::NanSensitiveDoubleEq;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr int kSteps = 12;

std::string Fixtures() { return std::string(testing_support::kSourceDir) + "/tests/fixtures/"; }

// The only run below a folder.
model::Run RunIn(const std::string& folder) {
  Imported imported = ImportPaths({Fixtures() + folder});
  EXPECT_THAT(imported.runs, SizeIs(1)) << folder;
  EXPECT_THAT(imported.unread, IsEmpty()) << folder;
  return imported.runs.empty() ? model::Run() : std::move(imported.runs[0]);
}

const model::Series* Raw(const model::Run& run, std::string_view name, std::string_view statistic = {}) {
  const auto at = std::find_if(run.series.begin(), run.series.end(), [&](const model::Series& series) {
    return series.raw == name && model::FindLabel(series.labels, "statistic") == statistic;
  });
  return at == run.series.end() ? nullptr : &*at;
}

double LossAt(int step) { return 3.0 / (1 + 0.25 * step); }

void ExpectLoss(const model::Series* loss, int steps, double nan_at = -1, double relative = 1e-15) {
  ASSERT_NE(loss, nullptr);
  ASSERT_THAT(loss->values, SizeIs(steps));
  for (int i = 1; i <= steps; ++i) {
    const double value = loss->values[static_cast<std::size_t>(i) - 1];
    if (i == nan_at) {
      EXPECT_TRUE(std::isnan(value));
    } else {
      EXPECT_NEAR(value, LossAt(i), relative * LossAt(i)) << i;
    }
  }
}

std::string Fact(const model::Run& run, std::string_view key) {
  const model::Fact* const fact = run.FindFact(key);
  return fact == nullptr ? "" : fact->value;
}

// ---- TensorBoard

TEST(TensorboardClient, EveryTypeOfNumberIsRead) {
  const model::Run run = RunIn("clients/tensorboard/tensors");
  for (const char* type : {"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
                           "uint16", "uint32", "uint64"}) {
    const model::Series* const series = Raw(run, fmt::format("type/{}", type));
    ASSERT_NE(series, nullptr) << type;
    EXPECT_THAT(series->steps, ElementsAre(1, 2, 3)) << type;
    EXPECT_THAT(series->values, ElementsAre(1, 3, 2)) << type;
  }
  EXPECT_THAT(Raw(run, "type/bool")->values, ElementsAre(1, 0, 1));
  for (const char* tag : {"content/float", "content/double", "content/half", "content/int64"})
    EXPECT_THAT(Raw(run, tag)->values, ElementsAre(1, 3, 2)) << tag;
  EXPECT_THAT(Raw(run, "broken/nan")->values, Pointwise(NanSensitiveDoubleEq(), {1.0, std::nan(""), 2.0}));
  EXPECT_THAT(Raw(run, "broken/inf")->values, ElementsAre(1, HUGE_VAL, 2));
  EXPECT_EQ(Raw(run, "other/vector"), nullptr) << "three numbers are no scalar";
}

TEST(TensorboardClient, SettingsTextAndHistogramsAreRead) {
  const model::Run run = RunIn("clients/tensorboard/hparams");
  EXPECT_EQ(run.FactNumber("lr"), 0.0003);
  EXPECT_EQ(run.FactNumber("max_steps"), 12);
  EXPECT_EQ(Fact(run, "bf16"), "true");
  EXPECT_EQ(run.FactNumber("weight_decay"), 0.1) << "of a table in Markdown";
  EXPECT_EQ(run.FactNumber("warmup_steps"), 50);
  EXPECT_THAT(run.events, Contains(Field(&model::Event::text, HasSubstr("second try, with a shorter warm-up"))));
  // Five below 1, ten between 1 and 2, five above: the middle is 1.5, at the second step twice that.
  ASSERT_NE(Raw(run, "histogram/weights", "p50"), nullptr);
  EXPECT_THAT(Raw(run, "histogram/weights", "p50")->values, ElementsAre(DoubleEq(1.5), DoubleEq(3)));
  EXPECT_THAT(Raw(run, "histogram/weights", "max")->values, ElementsAre(3, 6));
}

TEST(TensorboardClient, TensorboardXWritesTheSame) {
  const model::Run run = RunIn("clients/tensorboard/x");
  ExpectLoss(run.Find("loss"), kSteps, -1, 1e-7);
  EXPECT_EQ(run.FactNumber("lr"), 0.0003);
  EXPECT_THAT(Raw(run, "histogram/layer0/weight", "min")->values, ElementsAre(-1));
}

TEST(TorchWriter, NumbersHistogramsTextAndSettingsAreRead) {
  const model::Run run = RunIn("clients/torch/run");
  ExpectLoss(run.Find("loss"), kSteps, -1, 1e-7);
  ExpectLoss(Raw(run, "train/precise"), kSteps);
  EXPECT_THAT(Raw(run, "train/lr")->values, SizeIs(kSteps));
  EXPECT_TRUE(std::isnan(run.Find("grad_norm")->values[8]));
  EXPECT_THAT(Raw(run, "type/bfloat16")->values, ElementsAre(1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0));
  EXPECT_THAT(Raw(run, "histogram/layer0/weight", "max")->values, ElementsAre(1, 12));
  EXPECT_NEAR(Raw(run, "histogram/layer0/weight", "p95")->values[1], 0.9 * 12, 0.3);
  EXPECT_EQ(run.FactNumber("lr"), 0.0003);
  EXPECT_EQ(run.FactNumber("weight_decay"), 0.1) << "add_hparams writes into a folder of its own";
  EXPECT_THAT(run.events, Contains(Field(&model::Event::text, HasSubstr("out of memory"))));
}

TEST(TorchWriter, CurvesOfOneChartAreKeptApart) {
  const model::Run run = RunIn("clients/torch/run");
  ASSERT_NE(Raw(run, "both/train"), nullptr);
  EXPECT_THAT(Raw(run, "both/train")->values, ElementsAre(1));
  EXPECT_THAT(Raw(run, "both/held_out")->values, ElementsAre(2));
}

TEST(TorchWriter, PointsWithoutStepsAreCounted) {
  const model::Run run = RunIn("clients/torch/no-steps");
  ExpectLoss(run.Find("loss"), kSteps, -1, 1e-7);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kRow);
  EXPECT_EQ(run.Find("loss")->steps.back(), kSteps - 1);
}

// ---- W&B

TEST(WandbClient, AFinishedRunIsReadWhole) {
  const model::Run run = RunIn("clients/wandb/finished");
  EXPECT_EQ(run.sources[0].state, model::SourceState::kRead);
  EXPECT_EQ(report::NoteText(run.sources[0]), "");
  ExpectLoss(run.Find("loss"), kSteps, 9);
  EXPECT_EQ(run.Find("loss")->raw, "train/loss") << "nested keys are joined";
  EXPECT_THAT(Raw(run, "train/grad/norm")->values, SizeIs(kSteps));
  EXPECT_THAT(run.Find("eval_loss")->values, ElementsAre(HUGE_VAL));
  EXPECT_THAT(Raw(run, "histogram/weights", "max")->values, ElementsAre(1, 12));
  EXPECT_THAT(Raw(run, "best")->values, ElementsAre(0.75)) << "of the summary alone";
  EXPECT_EQ(run.FactNumber("lr"), 0.0003);
  EXPECT_EQ(run.FactNumber("vocab_size"), 512);
  EXPECT_THAT(run.events, Contains(Field(&model::Event::text, HasSubstr("alert: loss is NaN: seen at step 9"))));
  EXPECT_THAT(run.events, Contains(Field(&model::Event::name, "finished")));
  const model::Series* const memory = Raw(run, "system/memory_percent");
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory->axis, model::Axis::kTime);
  EXPECT_GT(memory->size(), 3U);
}

TEST(WandbClient, ARunIsCalledWhatItsUserCalledIt) {
  const Imported imported = ImportPaths({Fixtures() + "clients/wandb"});
  std::vector<std::string> names;
  names.reserve(imported.runs.size());
  for (const model::Run& run : imported.runs) names.push_back(run.name);
  EXPECT_THAT(names, ElementsAre("failed", "finished", "killed", "own-axis"));
}

TEST(WandbClient, AKilledRunIsReadUpToItsLastBlock) {
  const model::Run run = RunIn("clients/wandb/killed");
  const model::Series* const loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  ExpectLoss(loss, static_cast<int>(loss->size()));
  EXPECT_GT(loss->size(), 200U);
  EXPECT_EQ(loss->steps[9], 100);
  EXPECT_THAT(report::NoteText(run.sources[0]), HasSubstr("killed"));
  EXPECT_THAT(run.events, IsEmpty()) << "nothing says how it ended";
}

TEST(WandbClient, AFailedRunsTracebackIsFoundInItsConsole) {
  const model::Run run = RunIn("clients/wandb/failed");
  ExpectLoss(run.Find("loss"), kSteps);
  const auto error = std::find_if(run.events.begin(), run.events.end(),
                                  [](const model::Event& event) { return event.kind == model::EventKind::kException; });
  ASSERT_NE(error, run.events.end());
  EXPECT_EQ(error->name, "RuntimeError");
  EXPECT_THAT(error->text, HasSubstr("illegal memory access"));
  EXPECT_THAT(run.events, Contains(testing::ResultOf(report::EventText, "the run ended with exit code 1")));
}

TEST(WandbClient, ADeclaredAxisCounts) {
  const model::Run run = RunIn("clients/wandb/own-axis");
  ExpectLoss(run.Find("loss"), kSteps);
  EXPECT_EQ(run.Find("loss")->steps.front(), 100);
  EXPECT_EQ(run.Find("loss")->steps.back(), 1200);
  EXPECT_THAT(run.Find("eval_loss")->steps, ElementsAre(400, 800, 1200));
  EXPECT_EQ(Raw(run, "updates"), nullptr) << "an axis is no series";
}

// ---- trainers

TEST(LightningClient, CsvAndEventFileOfOneRunAreOne) {
  const model::Run run = RunIn("runs/lightning/healthy-both-s5");
  EXPECT_THAT(run.sources, SizeIs(3)) << "event file, table, settings";
  const model::Series* const loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->values, SizeIs(40)) << "200 steps, every fifth, counted once";
  EXPECT_EQ(loss->segment_starts.size(), 1U);
  EXPECT_THAT(run.Find("eval_loss")->values, SizeIs(2));
  EXPECT_EQ(run.FactNumber("vocab_size"), 96);
}

TEST(AccelerateClient, SettingsInFoldersOfTheirOwnBelongToTheRun) {
  const model::Run run = RunIn("runs/accelerate/healthy-s7");
  EXPECT_THAT(run.Find("loss")->values, SizeIs(150));
  EXPECT_EQ(run.FactNumber("lr"), 0.003);
  EXPECT_EQ(run.FactNumber("max_steps"), 150);
}

TEST(DeepSpeedClient, TheTablesOfItsMonitorBelongToTheRunAboveThem) {
  const model::Run run = RunIn("runs/deepspeed/healthy-s12");
  EXPECT_THAT(run.sources, SizeIs(3)) << "log, event file, a table of one metric";
  EXPECT_THAT(run.Find("loss")->values, SizeIs(120));
  EXPECT_EQ(run.Find("lr")->axis, model::Axis::kSamples);
  EXPECT_EQ(run.Find("lr")->steps.front(), 16) << "the batch";
}

TEST(TorchtitanClient, LogAndEventFileAreOneRun) {
  const model::Run run = RunIn("clients/torchtitan");
  EXPECT_THAT(run.sources, SizeIs(2));
  EXPECT_EQ(run.framework, "torchtitan");
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_THAT(run.Find("loss")->values, SizeIs(24));
  EXPECT_LT(run.Find("loss")->values.back(), 4);
  ASSERT_NE(run.Find("eval_loss"), nullptr);
  EXPECT_THAT(run.Find("eval_loss")->values, SizeIs(4));
  EXPECT_THAT(run.Find("grad_norm")->values, SizeIs(24));
}

TEST(AxolotlClient, SettingsLogEventFileAndStateAreOneRun) {
  const model::Run run = RunIn("clients/axolotl");
  EXPECT_THAT(run.sources, SizeIs(4));
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_THAT(run.Find("loss")->values, SizeIs(16));
  EXPECT_THAT(run.Find("eval_loss")->steps, SizeIs(2));
}

}  // namespace
}  // namespace vigil::pipeline
