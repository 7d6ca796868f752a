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

TEST(ReadWhatIsThere, EpisodesAndFramesCountWhereARewardIsTheGoal) {
  const model::Run episodes = ReadLog(Lines([](int step, double loss) {
    return fmt::format("Episode {}\tLast reward: {:.2f}\tAverage reward: {:.2f}", step, 1 / loss, 10 / loss);
  }));
  EXPECT_EQ(PointsOfSignal(episodes, "reward"), 20U);
  EXPECT_EQ(StepsOf(episodes, "Average reward").front(), 10);
  const model::Run frames = ReadLog(Lines([](int step, double loss) {
    return fmt::format("frame {}: mean reward {:.3f}, eps 0.95, loss {:.0f}.00000", step, 10 / loss, loss * 1e7);
  }));
  EXPECT_EQ(PointsOfSignal(frames, "reward"), 20U);
  EXPECT_EQ(PointsOfSignal(frames, "loss"), 20U) << "a large loss without a fraction is one, too";
  EXPECT_EQ(StepsOf(frames, "loss").back(), 200);
}

TEST(ReadWhatIsThere, ABarThatClosesWithItsShareIsABar) {
  std::string text;
  for (int i = 1; i <= 10; ++i) {
    text += fmt::format("\rloss={:.4f} |\u2588\u258c      | {}/100 [{}%] in 0.2s (46.6/s, eta: 8s) ", -0.1 * i, 10 * i,
                        10 * i);
    if (i == 5) text += "\non 50: val loss=-0.7680 dice=0.8052\n";
  }
  const model::Run run = ReadLog(text + "\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 30, 40, 50, 60, 70, 80, 90, 100));
  EXPECT_THAT(StepsOf(run, "val loss"), ElementsAre(50));
}

TEST(ReadWhatIsThere, DurationsAndSharesAroundACountAreNoValues) {
  const model::Run run =
      ReadLog(Lines([](int step, double loss) {
                return fmt::format("0m {}s (- 1m 3s) ({} {}%) {:.4f}", step / 10, step, step / 2, loss);
              }).substr(sizeof("some banner of a program 3.1\n") - 1));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 20U);
  EXPECT_EQ(run.Find("loss")->steps[1], 20);
}

TEST(ReadWhatIsThere, AShortWordThatIsAllOfItsPartCountsSteps) {
  const model::Run run = ReadLog(Lines([](int step, double loss) {
    return fmt::format(
        "2026-11-16 22:20:03.350 | INFO     | train:say:74 - it {:5d} | loss {:.4f} | gnorm {:.2f} | 1.7 ms", step,
        loss, loss / 2);
  }));
  EXPECT_EQ(StepsOf(run, "loss").front(), 10);
  EXPECT_EQ(PointsOfSignal(run, "grad_norm"), 20U);
}

TEST(ReadWhatIsThere, ASectionOfALineIsOfItsSplit) {
  const model::Run run = ReadLog(
      "[host] (trainer:762) INFO: 1epoch:train:41-50batch: loss=1.5, train_time=0.01\n"
      "[host] (trainer:762) INFO: 1epoch results: [train] loss=1.9, time=0.4 seconds, [valid] cer=0.3, loss=0.6\n"
      "[host] (trainer:762) INFO: 2epoch:train:41-50batch: loss=1.2, train_time=0.01\n"
      "[host] (trainer:762) INFO: 2epoch results: [train] loss=1.4, time=0.4 seconds, [valid] cer=0.2, loss=0.5\n");
  EXPECT_THAT(PointsOf(run, "val/loss"), ElementsAre(std::pair(1, 0.6), std::pair(2, 0.5)));
  EXPECT_THAT(StepsOf(run, "val/cer"), ElementsAre(1, 2));
  EXPECT_EQ(FindRaw(run, "trainer"), nullptr) << "the line of a program";
}

TEST(ReadWhatIsThere, AWordBehindTheEpochHeadsAnEvaluation) {
  const model::Run run = ReadLog(
      "step: 10/40 loss: 1.5 lr: 0.1\nepoch 1 val: loss: 0.64 acc: 0.9\nstep: 20/40 loss: 1.2 lr: 0.1\n"
      "Epoch 2, validation: loss=0.59, over 8000.00 frames. \n");
  EXPECT_THAT(PointsOf(run, "val/loss"), ElementsAre(std::pair(1, 0.64), std::pair(2, 0.59)));
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20));
}

TEST(ReadWhatIsThere, ScoresOnTheDevelopmentSetAreAnEvaluation) {
  const model::Run run = ReadLog("epoch 1 - iter 10/50 - loss 0.8 - lr: 0.1\nDEV : loss 0.194 - f1-score 0.97\n");
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 1U);
}

TEST(ReadWhatIsThere, AGroupInBracketsIsNamedOnce) {
  const model::Run run = ReadLog(
      "Epoch 1, batch 10, loss[loss=2.875, over 640.00 frames. ], tot_loss[loss=4.319, over 6400.00 frames. ], lr: "
      "1e-3\n"
      "Epoch 1, batch 20, loss[loss=2.75, over 640.00 frames. ], tot_loss[loss=4.2, over 6400.00 frames. ], lr: "
      "1e-3\n");
  EXPECT_THAT(PointsOf(run, "loss"), ElementsAre(std::pair(10, 2.875), std::pair(20, 2.75)));
  EXPECT_THAT(StepsOf(run, "tot_loss"), ElementsAre(10, 20));
}

TEST(ReadWhatIsThere, AnArrowIsNoPartOfAName) {
  const model::Run run = ReadLog("[5/150] train_loss -> 1.3705 (lr 0.001)\n[10/150] train_loss -> 1.25 (lr 0.001)\n");
  EXPECT_THAT(PointsOf(run, "train_loss"), ElementsAre(std::pair(5, 1.3705), std::pair(10, 1.25)));
}

TEST(ReadWhatIsThere, AnAsideThatRepeatsTheLossIsNoSecondOne) {
  const model::Run run = ReadLog(
      "Iteration 20, loss = 1.36\n    Train net output #0: loss = 1.36 (* 1 = 1.36 loss)\n"
      "Iteration 40, loss = 0.85\n    Train net output #0: loss = 0.85 (* 1 = 0.85 loss)\n");
  EXPECT_EQ(FindRaw(run, "loss)"), nullptr);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(20, 40));
}

TEST(ReadWhatIsThere, ScoresBelowTheHeaderOfAnEpochBelongToIt) {
  std::string text;
  for (int i = 1; i <= 4; ++i) {
    text += fmt::format("Epoch {}/4\nTrain metrics: Loss: {:.4f}\nValid metrics: Loss: {:.4f} - Acc: 0.8725\n", i,
                        1.5 / i, 1.25 / i);
  }
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "Loss"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(StepsOf(run, "val/Loss"), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(PointsOfSignal(run, "eval_accuracy"), 4U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kEpoch);
}

TEST(ReadWhatIsThere, ManyLinesOfOneEpochAreCounted) {
  std::string text;
  for (int i = 0; i < 24; ++i) {
    if (i % 8 == 0) text += fmt::format("Epoch {}/3\n", i / 8 + 1);
    text += fmt::format("loss: {:.4f}\n", 3.1 / (i + 1));
  }
  const model::Run run = ReadLog(text);
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_EQ(run.Find("loss")->size(), 24U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kRow);
}

TEST(ReadWhatIsThere, ACountedLineWithMoreNamesStandsAtItsOwnCount) {
  std::string text;
  for (int i = 1; i <= 20; ++i) {
    const std::string evaluation = i % 5 == 0 ? fmt::format("eval_loss={:.3f}, ", 4.0 / i) : "";
    text += fmt::format("INFO:absl:[{}] {}grad_norm=0.5, learning_rate=0.002, train_loss={:.3f}\n", 10 * i, evaluation,
                        3.0 / i);
  }
  const model::Run run = ReadLog(text);
  EXPECT_THAT(StepsOf(run, "eval_loss"), ElementsAre(50, 100, 150, 200));
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_EQ(run.Find("loss")->size(), 20U);
  EXPECT_EQ(run.Find("loss")->segment_starts.size(), 1U) << "no step goes back";
}

TEST(ReadWhatIsThere, ACellThatIsAListIsTheSumOfItsParts) {
  const model::Run run = ReadLog(
      "Step      Train loss              Test loss               Test metric\n"
      "0         [4.00e+01, 5.00e-01]    [4.50e+01, 5.00e-01]    [6.95e-01]\n"
      "100       [1.00e+00, 2.50e-01]    [9.00e-01, 2.50e-01]    [4.01e-01]\n");
  EXPECT_THAT(PointsOf(run, "Train loss"), ElementsAre(std::pair(0, 40.5), std::pair(100, 1.25)));
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 2U);
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
