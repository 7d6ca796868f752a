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

constexpr std::string_view kState = R"({
  "best_global_step": null,
  "best_metric": 1.25,
  "best_model_checkpoint": "out\\checkpoint-20",
  "epoch": 1.0,
  "eval_steps": 500,
  "global_step": 30,
  "is_local_process_zero": true,
  "log_history": [
    {
      "epoch": 0.33,
      "grad_norm": 0.5,
      "learning_rate": 0.0002,
      "loss": 2.5,
      "step": 10
    },
    {
      "epoch": 0.33,
      "eval_loss": 2.25,
      "eval_runtime": 1.5,
      "step": 10
    },
    {
      "epoch": 0.66,
      "grad_norm": NaN,
      "learning_rate": 0.0001,
      "loss": 0.0,
      "step": 20
    },
    {
      "epoch": 1.0,
      "grad_norm": Infinity,
      "learning_rate": 0.0,
      "loss": "nan",
      "step": 30
    },
    {
      "epoch": 1.0,
      "step": 30,
      "total_flos": 8838746078085120.0,
      "train_loss": 1.625,
      "train_runtime": 12.5,
      "train_samples_per_second": 3.2
    }
  ],
  "logging_steps": 10,
  "max_steps": 300,
  "num_train_epochs": 2,
  "save_steps": 20,
  "stateful_callbacks": {
    "TrainerControl": {"args": {"should_log": false}, "attributes": {}}
  },
  "train_batch_size": 4,
  "trial_name": null
}
)";

TEST(TrainerState, IsRecognisedByItsHistory) {
  EXPECT_EQ(Recognised(kState), "trainer-state");
  EXPECT_EQ(Recognised(R"({"log_history": []})"), "trainer-state");
  EXPECT_EQ(Recognised(R"([{"loss": 1.5, "step": 1}, {"loss": 1.25, "step": 2}])"), "trainer-state");
  EXPECT_EQ(Recognised(R"({"history": [{"loss": 1.5, "epoch": 1}]})"), "trainer-state");
}

TEST(TrainerState, CallsRowsThatAnybodyMayHaveWrittenJsonRows) {
  for (const char* rows : {R"([{"loss": 1.5, "step": 1}, {"loss": 1.25, "step": 2}])",
                           R"({"history": [{"loss": 1.5, "step": 1}, {"loss": 1.25, "step": 2}]})"}) {
    const model::Run part = Read("trainer-state", rows);
    EXPECT_EQ(part.sources.front().format, "json-rows") << rows;
    EXPECT_EQ(part.framework, "") << rows;
  }
  const model::Run own = Read("trainer-state", R"({"log_history": [{"loss": 1.5, "step": 1}]})");
  EXPECT_EQ(own.sources.front().format, "trainer-state");
  EXPECT_EQ(own.framework, "hf-trainer");
}

TEST(TrainerState, IsNotSeenInOtherJson) {
  EXPECT_EQ(Recognised(R"([{"text": "a story", "label": 1}])"), "none");
  EXPECT_EQ(Recognised(R"([{"prompt": "2 + 2", "completion": "4", "id": 7}])"), "none");
  EXPECT_EQ(Recognised(R"({"log_history": "none kept"})"), "none");
  EXPECT_EQ(Recognised(R"({"traceEvents": [{"ph": "X", "ts": 1, "dur": 2, "name": "aten::add"}]})"), "none");
}

TEST(TrainerState, GivesTrainAndEvalSeriesWithTheirSteps) {
  const model::Run part = Read("trainer-state", kState);
  EXPECT_THAT(SeriesOf(part, "loss").steps, ElementsAre(10, 20, 30));
  EXPECT_THAT(SeriesOf(part, "lr").values, ElementsAre(0.0002, 0.0001, 0.0));
  EXPECT_THAT(SeriesOf(part, "eval_loss").steps, ElementsAre(10));
  EXPECT_THAT(SeriesOf(part, "eval_loss").values, ElementsAre(2.25));
  EXPECT_EQ(part.framework, "hf-trainer");
  EXPECT_EQ(report::NoteText(part.sources.front()), "");
}

TEST(TrainerState, KeepsNonFiniteNumbersBareAndQuotedAndTheZeroOfTheFilter) {
  const model::Run part = Read("trainer-state", kState);
  const auto& grad_norm = SeriesOf(part, "grad_norm").values;
  ASSERT_EQ(grad_norm.size(), 3U);
  EXPECT_TRUE(std::isnan(grad_norm[1]));
  EXPECT_EQ(grad_norm[2], INFINITY);
  const auto& loss = SeriesOf(part, "loss").values;
  EXPECT_EQ(loss[1], 0.0) << "what the trainer wrote; detectors judge it beside the gradient norm";
  EXPECT_TRUE(std::isnan(loss[2]));
}

TEST(TrainerState, KeepsTheMeanLossOfTheWholeRunOutOfTheLoss) {
  const model::Run part = Read("trainer-state", kState);
  EXPECT_EQ(SeriesOf(part, "loss").size(), 3U);
  for (const model::Series& series : part.series) EXPECT_NE(series.raw, "train_loss");
  EXPECT_EQ(FactOf(part, "train_loss"), "1.625");
  EXPECT_EQ(FactOf(part, "train_runtime"), "12.5");
}

TEST(TrainerState, KeepsTrainLossWhereItIsTheLossOfEveryRow) {
  const model::Run part = Read("trainer-state", R"([{"train_loss": 2.0, "step": 1}, {"train_loss": 1.0, "step": 2}])");
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(2.0, 1.0));
}

TEST(TrainerState, StatesTheSettings) {
  const model::Run part = Read("trainer-state", kState);
  EXPECT_EQ(part.planned_steps, model::StepAt(300));
  EXPECT_EQ(FactOf(part, "max_steps"), "300");
  EXPECT_EQ(FactOf(part, "logging_steps"), "10");
  EXPECT_EQ(FactOf(part, "save_steps"), "20");
  EXPECT_EQ(FactOf(part, "epochs"), "2");
  EXPECT_EQ(FactOf(part, "batch_size"), "4");
  EXPECT_EQ(FactOf(part, "global_step"), "30");
  EXPECT_EQ(FactOf(part, "best_model_checkpoint"), "out\\checkpoint-20");
  EXPECT_EQ(FactOf(part, "nan_filter"), "none") << "only where it is stated";
}

TEST(TrainerState, SaysInWhichLineAValueStands) {
  const model::Run part = Read("trainer-state", kState);
  EXPECT_THAT(SeriesOf(part, "loss").lines, ElementsAre(14, 27, 34));
}

TEST(TrainerState, InACheckpointFolderIsAPlaceToRestartFrom) {
  const model::Run part = Read("trainer-state", kState, "out/checkpoint-30/trainer_state.json");
  ASSERT_EQ(part.events.size(), 2U);
  EXPECT_EQ(part.events[1].kind, model::EventKind::kCheckpoint);
  EXPECT_EQ(part.events[1].at.value(), 30);
  EXPECT_EQ(part.events[1].text, "out/checkpoint-30");
  EXPECT_EQ(Read("trainer-state", kState, "out/trainer_state.json").events.size(), 1U);
}

TEST(TrainerState, WithASummaryShowsThatTheRunFinished) {
  const model::Run part = Read("trainer-state", kState);
  ASSERT_EQ(part.events.size(), 1U);
  EXPECT_EQ(part.events[0].kind, model::EventKind::kExit);
  EXPECT_EQ(part.events[0].name, "finished");
  EXPECT_EQ(part.events[0].at.value(), 30);
  EXPECT_THAT(Read("trainer-state", R"([{"loss": 1, "step": 1}])").events, IsEmpty());
}

TEST(TrainerState, ReadsRewardsByFunctionAndLeavesOutWhatIsNoNumber) {
  const model::Run part = Read("trainer-state", R"({"log_history": [
    {"rewards/accuracy/mean": 0.25, "kl": 0.01, "completions/mean_length": 120.5, "note": "text", "tags": ["a", 1],
     "flag": true, "nested": {"entropy": 0.5}, "reward": null, "step": 1}]})");
  const model::Series& reward = SeriesOf(part, "reward_of");
  EXPECT_EQ(model::FindLabel(reward.labels, "reward"), "accuracy");
  EXPECT_EQ(SeriesOf(part, "completion_length").values.front(), 120.5);
  EXPECT_EQ(part.Find("reward"), nullptr);
  EXPECT_EQ(part.series.size(), 4U);
}

TEST(TrainerState, KeepsWhatARestartOverwroteAsASegment) {
  const model::Run part = Read("trainer-state", R"([{"loss": 3, "step": 10}, {"loss": 2, "step": 20},
      {"loss": 2.5, "step": 15}, {"loss": 2.25, "step": 20}])");
  EXPECT_THAT(SeriesOf(part, "loss").segment_starts, ElementsAre(0, 2));
}

TEST(TrainerState, ReadsInPiecesOfAnySize) {
  const std::string whole = Describe(Read("trainer-state", kState));
  for (std::size_t piece = 1; piece < kState.size(); piece += piece < 64 ? 1 : 37) {
    const auto part = ingest::ReadBytes("file", kState, FormatCalled("trainer-state"), piece);
    ASSERT_TRUE(part) << piece;
    EXPECT_EQ(Describe(*part), whole) << piece;
  }
}

TEST(TrainerState, CutAnywhereKeepsTheEntriesBeforeTheCut) {
  std::size_t points = 0;
  for (std::size_t cut = 0; cut < kState.size() - 2; ++cut) {
    const auto part = ingest::ReadBytes("file", kState.substr(0, cut), FormatCalled("trainer-state"));
    if (!part) continue;
    EXPECT_EQ(part->sources.front().state, model::SourceState::kPartial) << cut;
    const model::Series* const loss = part->Find("loss");
    const std::size_t now = loss == nullptr ? 0 : loss->size();
    EXPECT_GE(now, points) << cut;
    points = now;
  }
  EXPECT_EQ(points, 3U);
}

TEST(TrainerState, ReportsDamageWithItsPlace) {
  const model::Run part = Read("trainer-state", "{\"log_history\": [\n {\"loss\": 1, \"step\": 1},\n {\"loss\": }]}");
  EXPECT_EQ(part.sources.front().state, model::SourceState::kPartial);
  EXPECT_EQ(report::NoteText(part.sources.front()), "line 3 (byte 53): expected a value");
  EXPECT_THAT(SeriesOf(part, "loss").values, ElementsAre(1));
}

TEST(TrainerState, RefusesEndlessNestingWithAMessage) {
  const std::string deep = "{\"log_history\": " + std::string(100'000, '[');
  EXPECT_THAT(ErrorOf("trainer-state", deep), HasSubstr("nested deeper than 512 levels"));
}

TEST(TrainerState, WithoutAnyEntryIsAnErrorThatSaysSo) {
  EXPECT_THAT(ErrorOf("trainer-state", R"({"log_history": []})"), HasSubstr("without any value"));
  EXPECT_THAT(ErrorOf("trainer-state", "7"), HasSubstr("expected an object or a list"));
}

TEST(TrainerState, ReadsEveryFileOfOtherPeoplesRuns) {
  const std::filesystem::path corpus = CorpusFolder("hf_trainer_state");
  if (corpus.empty()) GTEST_SKIP() << "not run: corpus absent";
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const auto part = ReadFile(entry.path().string());
    ASSERT_TRUE(part) << part.error().Text();
    EXPECT_EQ(part->sources.front().format, "trainer-state");
    EXPECT_EQ(part->sources.front().state, model::SourceState::kRead) << report::NoteText(part->sources.front());
    EXPECT_GE(SeriesOf(*part, "loss").size(), 30U) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 10);
}

}  // namespace
}  // namespace vigil::formats
