// Formats of nobody, learned from their repetition: lines are made up here, and stand for no program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "formats/formats.h"
#include "log_support.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;

// Twenty lines that `line` makes of a step and a loss that falls with noise.
std::string Lines(const std::function<std::string(int step, double loss)>& line) {
  std::string text = "some banner of a program 3.1\n";
  for (int i = 1; i <= 20; ++i) text += line(10 * i, 3.0 / i + (i % 3) * 0.05 + 0.2) + "\n";
  return text;
}

std::size_t PointsOfSignal(const model::Run& run, std::string_view signal) {
  const model::Series* const series = run.Find(signal);
  return series == nullptr ? 0 : series->size();
}

TEST(ReadWhatIsThere, DigitsBehindSignsAreValues) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("#{:06d} > obj={:.4f} gn={:.3f} dt=0.0{} rss={}M", step, loss, loss / 2, step % 7 + 1,
                       700 + step);
  }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "grad_norm"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "step_time_s"), 20U);
  ASSERT_NE(run.Find("host_memory"), nullptr);
  EXPECT_NEAR(run.Find("host_memory")->values[0], 710.0 / 1024, 1e-9);
  EXPECT_EQ(run.Find("loss")->steps[1], 20);
}

TEST(ReadWhatIsThere, SignsOfOtherAlphabetsSetNamesAndValuesApart) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("\u00bb {} \u00b7 loss \u2192 {:.4f} \u00b7 lr \u2192 1e-3", step, loss);
  }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "lr"), 20U);
}

TEST(ReadWhatIsThere, MarkedUpNamesAreNames) {
  const model::Run run = ReadLog(
      Lines([](int step, double loss) { return fmt::format("- step {}: **loss** {:.4f} **lr** 0.001", step, loss); }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "lr"), 20U);
}

TEST(ReadWhatIsThere, WordsThatCountAreStepsAlsoShortOnes) {
  for (const char* word : {"itr", "iter_num", "num_steps", "upd", "t", "minibatch", "step_no"}) {
    const model::Run run =
        ReadLog(Lines([&](int step, double loss) { return fmt::format("{}: {} loss: {:.4f}", word, step, loss); }));
    ASSERT_EQ(PointsOfSignal(run, "loss"), 20U) << word;
    EXPECT_EQ(run.Find("loss")->steps[0], 10) << word;
  }
  const model::Run bare =
      ReadLog(Lines([](int step, double loss) { return fmt::format("it {}  nll: {:.4f}", step, loss); }));
  EXPECT_EQ(PointsOfSignal(bare, "loss"), 20U);
}

TEST(ReadWhatIsThere, UnitsBehindValuesAreBroughtToTheirMetric) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("step {} loss {:.4f} accuracy: 25.0% step_time: 40ms host_mem=1536MB", step, loss);
  }));
  ASSERT_NE(run.Find("accuracy"), nullptr);
  EXPECT_DOUBLE_EQ(run.Find("accuracy")->values[0], 0.25);
  EXPECT_DOUBLE_EQ(run.Find("step_time_s")->values[0], 0.04);
  EXPECT_DOUBLE_EQ(run.Find("host_memory")->values[0], 1.5);
}

TEST(ReadWhatIsThere, CountsWrittenOntoTheirWordsArePlaces) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("[host] 1epoch:train:{}-{}batch: loss={:.4f}", step - 9, step, loss);
  }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(run.Find("loss")->steps[0], 10);
}

TEST(ReadWhatIsThere, PartsOfEpochsAreCountedByLine) {
  const model::Run run =
      ReadLog(Lines([](int step, double loss) { return fmt::format("epoch={:.4f} loss={:.4f}", step / 64.0, loss); }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kRow);
}

TEST(ReadWhatIsThere, ValuesBelowALineWithTheStepBelongToIt) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("=== step {} ===\nloss: {:.4f}\nlr: 0.001\neval_loss: 2.5", step, loss);
  }));
  EXPECT_THAT(StepsOf(run, "loss").front(), 10);
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "lr"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 20U);
}

TEST(ReadWhatIsThere, ScoresBetweenTwoStepsAreOfTheFirst) {
  for (const char* score :
       {"Test set: Average loss: 0.5120, Accuracy: 9831/10000 (98%)", "validation loss = 0.512",
        "2026-01-02 03:04:05,678 INFO - Validation xent: 0.512", "val loss 0.512 | val accuracy 0.9831"}) {
    const model::Run run = ReadLog(
        Lines([&](int step, double loss) { return fmt::format("step {} loss {:.4f}\n{}", step, loss, score); }));
    ASSERT_EQ(PointsOfSignal(run, "eval_loss"), 20U) << score;
    EXPECT_EQ(run.Find("eval_loss")->steps[0], 10) << score;
    EXPECT_DOUBLE_EQ(run.Find("eval_loss")->values[0], 0.512) << score;
    EXPECT_EQ(PointsOfSignal(run, "loss"), 20U) << score;
    const model::Series* const share = run.Find("eval_accuracy");
    EXPECT_TRUE(share == nullptr || share->values[0] == 0.9831) << score;
  }
}

TEST(ReadWhatIsThere, ABestScoreSoFarIsNoScoreOfTheStep) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("step {} loss {:.4f}\nBest val loss so far: 0.5\nval_loss improved from 0.6 to 0.5", step, loss);
  }));
  EXPECT_EQ(run.Find("eval_loss"), nullptr);
}

TEST(ReadWhatIsThere, BatchesOfAnEvaluationAreNoSteps) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format("step {} loss {:.4f}\nTest: [ 10/20]  Loss: 0.9000\nTest: [ 20/20]  Loss: 0.8000", step, loss);
  }));
  ASSERT_EQ(PointsOfSignal(run, "eval_loss"), 20U);
  EXPECT_EQ(run.Find("eval_loss")->steps[0], 10);
  EXPECT_DOUBLE_EQ(run.Find("eval_loss")->values[0], 0.8) << "the last line of an evaluation sums it up";
}

TEST(ReadWhatIsThere, ColumnsWithoutNamesAreKnownByHowTheyGo) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    const std::string score = step % 50 == 0 ? "0.75" : "-";
    return fmt::format("{} {:.4f} {:.2e} {}", step, loss, 1e-3 * (1 - step / 400.0), score);
  }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(PointsOfSignal(run, "lr"), 20U);
  EXPECT_EQ(StepsOf(run, "column 4").size(), 4U) << "a dash is no number";
}

TEST(ReadWhatIsThere, CellsOfATableStandBelowTheirNames) {
  const model::Run run = ReadLog(
      "epoch     train_loss  valid_loss  accuracy  time\n"
      "0         0.5929      0.4964                  00:03\n"
      "1         0.4219      0.3790                  00:03\n"
      "2         0.3233      0.3091                  00:03\n");
  EXPECT_THAT(PointsOf(run, "valid_loss"),
              ElementsAre(std::pair(0, 0.4964), std::pair(1, 0.379), std::pair(2, 0.3091)));
  EXPECT_EQ(run.Find("accuracy"), nullptr);
}

TEST(ReadWhatIsThere, ADictionaryOfSettingsIsNoRow) {
  const model::Run run = ReadLog(
      "{'task': 'x', 'lr': 0.01, 'epochs': 3.0, 'batch_size': 8, 'max_steps': 90, 'warmup_steps': 5, 'max_grad_norm': "
      "1.0, 'weight_decay': 0.1}\nstep 1 loss 2.5\n");
  EXPECT_EQ(run.Find("lr"), nullptr);
  EXPECT_EQ(run.FactNumber("batch_size"), 8);
}

TEST(ReadWhatIsThere, AFileThatIsAskedForIsNotRefusedForItsEnding) {
  constexpr std::string_view kText = "step 1 loss 2.5\nstep 2 loss 2.25\n";
  for (const char* name : {"notes.md", "notes.rst", "notes", "a.cfg", "a.dat"}) {
    const ingest::Format* const format = formats::Recognise({name, kText, kText.size(), true});
    ASSERT_NE(format, nullptr) << name;
    EXPECT_EQ(format->id, "log-text") << name;
  }
}

TEST(NonFiniteValuesAreValues, ALogOfNothingElseIsRead) {
  for (const char* spelled : {"nan", "NaN", "inf", "-inf", "-nan(ind)", "1.#QNAN", "1.#INF", "None", "N/A"}) {
    for (const char* form :
         {"step {0} loss={1} lr=0.1", "step: {0}, loss: {1}, lr: 0.1", "#{0:06d} > obj={1} gn={1} lr=0.1"}) {
      const model::Run run =
          ReadLog(Lines([&](int step, double) { return fmt::format(fmt::runtime(form), step, spelled); }));
      ASSERT_EQ(PointsOfSignal(run, "loss"), 20U) << spelled << " in " << form;
      EXPECT_FALSE(std::isfinite(run.Find("loss")->values[0])) << spelled;
    }
  }
}

TEST(NonFiniteValuesAreValues, ALossThatHasNoValueAtFirstIsNotNan) {
  std::string text;
  for (int i = 1; i <= 10; ++i) text += fmt::format("step {} loss=None lr=0.1\n", i);
  for (int i = 11; i <= 20; ++i) text += fmt::format("step {} loss=2.{} lr=0.1\n", i, i);
  const model::Run run = ReadLog(text);
  ASSERT_EQ(PointsOfSignal(run, "loss"), 10U);
  EXPECT_TRUE(std::isfinite(run.Find("loss")->values[0]));
}

TEST(NonFiniteValuesAreValues, ALineWithNanIsLikeOneWithANumber) {
  const model::Run run = ReadLog(
      "#01 > obj=2.1e+00 gn=1.0e-01\n#02 > obj=1.9e+00 gn=1.0e-01\n#03 > obj=nan gn=nan\n#04 > obj=nan gn=nan\n");
  ASSERT_EQ(PointsOfSignal(run, "loss"), 4U);
  EXPECT_TRUE(std::isnan(run.Find("loss")->values[2]));
}

}  // namespace
}  // namespace vigil::textlog
