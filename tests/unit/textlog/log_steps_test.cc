// Which step a dictionary line of HF Trainer belongs to.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <cmath>
#include <filesystem>

#include "log_support.h"
#include "platform/files.h"
#include "report/report.h"
#include "support/paths.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;

std::string Bar(int count, int total) {
  return fmt::format("\r{:3}%|###  | {}/{} [00:01<00:02,  9.00it/s]", count * 100 / total, count, total);
}
// tqdm.write: the bar is wiped, the line written, the bar drawn again.
std::string Written(const std::string& line, int count, int total) {
  return "\r                        \r" + line + "\n" + Bar(count, total);
}
std::string Row(double loss, double epoch) {
  return fmt::format("{{'loss': '{}', 'grad_norm': '0.5', 'learning_rate': '1e-4', 'epoch': '{}'}}", loss, epoch);
}

TEST(DictSteps, AreTheCountOfTheBarDrawnBehindTheLine) {
  // The display lags: it still shows 0 when step 1 is logged, and 12 when step 20 is.
  const model::Run run = ReadLog(Bar(0, 100) + Written(Row(3, 0.01), 1, 100) + Bar(7, 100) + Bar(12, 100) +
                                 Written(Row(2, 0.2), 20, 100) + Bar(31, 100) + Written(Row(1, 0.4), 40, 100));
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(1, 20, 40));
  EXPECT_EQ(run.planned_steps, model::StepAt(100));
}

TEST(DictSteps, AreTheCountBeforeALineThatWasPrintedPlainly) {
  const model::Run run = ReadLog(Bar(5, 50) + "\n" + Row(3, 0.1) + Bar(6, 50) + Bar(10, 50) + "\n" + Row(2, 0.2) +
                                 "\n" + Bar(11, 50) + "\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(5, 10));
}

TEST(DictSteps, AreTheCountBehindTheLineWhereTheBarFollowsIt) {
  for (const bool starts_with_bar : {false, true}) {
    std::string text = starts_with_bar ? Bar(0, 1000) + "\n" : std::string();
    for (int step = 10; step <= 100; step += 10)
      text += Row(2, std::round(step / 333.3 * 100) / 100) + "\n" + Bar(step, 1000) + "\n";
    EXPECT_THAT(StepsOf(ReadLog(text), "loss"), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 90, 100));
  }
}

TEST(DictSteps, DoNotFollowTheBarsOfEvaluations) {
  std::string text = Bar(0, 300);
  for (int step = 10; step <= 40; step += 10) {
    text += Written(Row(2, step / 100.0), step, 300) + "\n" + Bar(0, 3) + Bar(2, 3) + Bar(3, 3);
    text +=
        Written(fmt::format("{{'eval_loss': '1.5', 'eval_runtime': '0.02', 'epoch': '{}'}}", step / 100.0), step, 300);
  }
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30, 40));
  EXPECT_THAT(StepsOf(run, "eval_loss"), ElementsAre(10, 20, 30, 40));
  EXPECT_EQ(run.planned_steps, model::StepAt(300));
}

TEST(DictSteps, FollowTheTrainingThatComesAfterAnEvaluation) {
  const model::Run run =
      ReadLog(Bar(0, 5) + Bar(5, 5) + "\n" + Bar(0, 80) + Written(Row(3, 0.1), 10, 80) + Written(Row(2, 0.2), 20, 80));
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20));
  EXPECT_EQ(run.planned_steps, model::StepAt(80));
}

TEST(DictSteps, AreCountedWhenStandardOutputWasBuffered) {
  std::string text;
  for (int step = 0; step <= 1000; ++step) text += Bar(step, 1000);
  text += "\n";
  for (int row = 1; row <= 10; ++row) text += Row(3.0 / row, row / 10.0) + "\n";
  text +=
      "{'eval_loss': 1.5, 'epoch': 1.0}\n{'train_runtime': 10.0, 'train_samples_per_second': 1.0, "
      "'train_steps_per_second': 100.0, 'train_loss': 0.3, 'epoch': 1.0}\n";
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(100, 200, 300, 400, 500, 600, 700, 800, 900, 1000));
  EXPECT_THAT(StepsOf(run, "eval_loss"), ElementsAre(1000));
  EXPECT_THAT(StepsOf(run, "train_loss"), ElementsAre()) << "the summary is no point of the loss";
}

TEST(DictSteps, AreCountedWithinHeapsOfBufferedLines) {
  std::string text;
  int row = 0;
  for (int heap = 0; heap < 3; ++heap) {
    for (int step = heap * 50 + 1; step <= heap * 50 + 50; ++step) text += Bar(step, 160);
    text += "\n";
    for (int i = 0; i < 5; ++i, ++row) text += Row(2, (row + 1) / 16.0) + "\n";
  }
  text += Bar(151, 160) + Bar(160, 160);  // killed before the last lines were flushed
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150));
}

TEST(DictSteps, AreCountedByTheStatedIntervalWithoutABar) {
  const model::Run run = ReadLog("TrainingArguments(\nlogging_steps=25,\n)\n" + Row(3, 0.1) + "\n" + Row(2, 0.2) +
                                 "\n" + Row(1, 0.3) + "\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(25, 50, 75));
}

TEST(DictSteps, AreCountedFromTheSummaryWithoutABar) {
  const model::Run run = ReadLog(Row(3, 0.5) + "\n" + Row(2, 1) + "\n" + Row(1, 1.5) + "\n" + Row(1, 2) + "\n" +
                                 "{'train_runtime': 100.0, 'train_samples_per_second': 8.0, 'train_steps_per_second': "
                                 "0.41, 'train_loss': 2.0, 'epoch': 2.0}\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30, 40));
}

TEST(DictSteps, AreLineNumbersWhenNothingElseIsKnown) {
  const model::Run run = ReadLog(Row(3, 0.5) + "\n" + Row(2, 1) + "\n");
  const model::Series* loss = FindRaw(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->axis, model::Axis::kRow);
  EXPECT_THAT(loss->steps, ElementsAre(0, 1));
  EXPECT_THAT(report::NoteText(run.sources[0]), testing::HasSubstr("name no steps"));
}

TEST(DictSteps, AreCountedOnBehindAMillionRows) {
  ingest::PartBuilder builder("train.log", "log-text");
  const auto reader = OpenLogText(builder);
  constexpr int kRows = 1'000'200;
  std::string text;
  for (int row = 0; row < kRows; ++row) {
    text += row == kRows - 1 ? "{'loss': nan, 'epoch': 1.0}\n" : "{'loss': 2.5, 'epoch': 1.0}\n";
    if (text.size() > 400'000) text.erase(0, reader->Consume(text, false));
  }
  reader->Consume(text, true);
  const model::Run run = builder.Finish();
  const model::Series* loss = FindRaw(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->steps.back(), kRows - 1);
  EXPECT_TRUE(std::isnan(loss->values.back())) << "the last row is the one that matters";
  EXPECT_EQ(loss->segment_starts.size(), 1U);
  EXPECT_THAT(report::NoteText(run.sources[0]), testing::HasSubstr("counted on"));
}

TEST(DictSteps, AreReadOffTheEpochsWherePlanAndStepsAreStated) {
  // 873 steps in 3 epochs, logged every 20; epochs are printed with two digits.
  std::string text = "  Num Epochs = 3\n  Total optimization steps = 873\n";
  for (int step = 20; step <= 200; step += 20) text += Row(2, std::round(step / 2.91) / 100) + "\n";
  text += "{'eval_loss': 1.5, 'epoch': 0.69}\n";
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(20, 40, 60, 80, 100, 120, 140, 160, 180, 200));
  EXPECT_THAT(StepsOf(run, "eval_loss"), ElementsAre(201));
  EXPECT_EQ(FindRaw(run, "loss")->axis, model::Axis::kStep);
  EXPECT_EQ(report::NoteText(run.sources[0]), "");
}

TEST(DictSteps, DoNotFallBackWhereTheLogIsCutBehindALine) {
  // The display still shows 22 when step 30 is logged, and the bar that would say 30 is lost.
  const std::string start = Bar(0, 100) + Written(Row(3, 0.1), 10, 100) + Bar(12, 100) + Written(Row(2, 0.2), 20, 100);
  const std::string wiped = "\r                        \r";
  for (const std::string& end : {std::string(), std::string("\n"), std::string("\nKeyboardInterrupt\n")}) {
    const model::Run run = ReadLog(start + Bar(22, 100) + wiped + Row(1, 0.3) + end);
    EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30));
    EXPECT_THAT(FindRaw(run, "loss")->segment_starts, ElementsAre(0));
  }
  // Without a bar that moved at all since the line before.
  const model::Run stuck = ReadLog(start + wiped + Row(1, 0.3) + "\n");
  EXPECT_THAT(StepsOf(stuck, "loss"), ElementsAre(10, 20, 30));
  EXPECT_THAT(FindRaw(stuck, "loss")->segment_starts, ElementsAre(0));
}

TEST(DictSteps, BehindWhichAnotherTrainingBeganAreThoseOfTheFirst) {
  const model::Run run = ReadLog(Bar(0, 100) + Written(Row(3, 0.1), 10, 100) + Written(Row(2, 0.2), 20, 100) +
                                 Bar(22, 100) + "\r                        \r" + Row(1, 0.3) + "\nKilled\n" +
                                 Bar(0, 100) + Written(Row(3, 0.1), 10, 100));
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30, 10));
}

TEST(DictSteps, BeginAgainWithAnotherStart) {
  const model::Run run = ReadLog(Bar(0, 100) + Written(Row(3, 0.1), 10, 100) + Written(Row(2, 0.2), 20, 100) +
                                 "\nKeyboardInterrupt\n" + Bar(0, 100) + Written(Row(3, 0.1), 10, 100));
  const model::Series* loss = FindRaw(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->steps, ElementsAre(10, 20, 10));
  EXPECT_THAT(loss->segment_starts, ElementsAre(0, 2));
}

TEST(DictSteps, GoOnWhereAResumedBarStands) {
  const model::Run run =
      ReadLog(Bar(0, 200) + Written(Row(2, 1.01), 101, 200) + Written(Row(2, 1.02), 102, 200) + "\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(101, 102));
}

TEST(DictLines, ReadNumbersStringsAndReprs) {
  const model::Run run =
      ReadLog(Bar(1, 9) +
              "{'loss': 2.5, 'grad_norm': 'nan', 'learning_rate': np.float64(1e-05), 'memory/max_active (GiB)': "
              "tensor(3.5, device='cuda:0'), 'note': 'x, y', 'list': [1, {'a': 2}], 'none': None, 'epoch': inf}\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{1, 2.5}}));
  EXPECT_TRUE(std::isnan(PointsOf(run, "grad_norm").at(0).second));
  EXPECT_EQ(PointsOf(run, "learning_rate"), (Points{{1, 1e-5}}));
  EXPECT_EQ(PointsOf(run, "memory/max_active (GiB)"), (Points{{1, 3.5}}));
  EXPECT_EQ(FindRaw(run, "note"), nullptr);
  EXPECT_EQ(FindRaw(run, "list"), nullptr);
}

TEST(DictLines, AreReadOutOfANotebookRunnersLog) {
  const model::Run run = ReadLog(
      "[{\"stream_name\":\"stderr\",\"time\":1.5,\"data\":\"\\r  1%|# | 5/500 [00:01\\u003c00:02, 3.1s/it]\"}\n"
      ",{\"stream_name\":\"stdout\",\"time\":2.5,\"data\":\"\\r       \\r{'loss': '0.5', 'epoch': '0.1'}\\r\\n\"}\n"
      ",{\"stream_name\":\"stderr\",\"time\":2.6,\"data\":\"\\r  1%|# | 5/500 [00:01\\u003c00:02, 3.1s/it]\"}\n]\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{5, 0.5}}));
}

// Real runs of HF Trainer and TRL, current and older releases: the log must give what the trainer's own state gives.
TEST(DictSteps, AgreeWithTheTrainersOwnStateOnEveryFixture) {
  namespace fs = std::filesystem;
  const fs::path runs = fs::path(testing_support::kSourceDir) / "tests/fixtures/runs";
  std::size_t compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(runs)) {
    if (entry.path().filename() != "trainer_state.json") continue;
    const fs::path log = entry.path().parent_path().parent_path() / "train.log";
    if (!fs::exists(log)) continue;
    const auto state = platform::ReadWholeFile(entry.path().string(), 1 << 26);
    const auto text = platform::ReadWholeFile(log.string(), 1 << 26);
    ASSERT_TRUE(state && text);
    const Points points = PointsOf(ReadLog(*text), "loss");
    // Keys are sorted, so an entry's loss stands before its step.
    re2::StringPiece rest(*state);
    static const re2::RE2 kEntry(R"re("loss": ([^,\n]+),\s+(?:"[^"]+": [^,\n]+,\s+)*?"step": (\d+))re");
    std::string value;
    std::int64_t step = 0;
    while (re2::RE2::FindAndConsume(&rest, kEntry, &value, &step)) {
      const double wanted = ParseNumber(value).value_or(-1);
      const bool found = std::any_of(points.begin(), points.end(), [&](const auto& point) {
        return point.first == step && (std::abs(point.second - wanted) <= 1e-3 * std::max(1.0, std::abs(wanted)) ||
                                       (std::isnan(wanted) && std::isnan(point.second)));
      });
      EXPECT_TRUE(found) << log << ": step " << step << " loss " << value;
      ++compared;
    }
  }
  EXPECT_GT(compared, 500U) << "no fixtures below " << runs;
}

}  // namespace
}  // namespace vigil::textlog
