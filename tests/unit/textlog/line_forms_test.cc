// Forms of lines that homemade loops of many authors share: the lines are made up here, and stand for no program.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "log_support.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;
using testing::Pair;

double LossAt(int i) { return 2.0 / i + (i % 3) * 0.01; }

std::string Lines(const std::function<std::string(int i)>& line, int count = 6) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += line(i) + "\n";
  return text;
}

std::size_t PointsOfSignal(const model::Run& run, std::string_view signal) {
  const model::Series* const series = run.Find(signal);
  return series == nullptr ? 0 : series->size();
}

// ---- signs around values

TEST(ReadWhatIsThere, APerCentBeforeTheSideOfACellIsNoBar) {
  std::string text = "\u2503 Epoch \u2503 Train loss \u2503 Acc   \u2503 Seconds \u2503\n";
  text += Lines([](int i) {
    return fmt::format("\u2502 {}     \u2502 {:.5f}    \u2502 {:.2f}% \u2502 0.2{}    \u2502", i, LossAt(i), 3.0 * i,
                       i % 3);
  });
  const model::Run run = ReadLog(text);
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kEpoch);
  EXPECT_EQ(PointsOfSignal(run, "accuracy"), 6U);
}

TEST(ReadWhatIsThere, ARateBehindItsNumberIsNoPartOfTheNextName) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("step {} Batch (t): 0.00{}, 22599.4/s LR: 0.003 Loss: {:.4f} ({:.4f})", i, 2 + i % 2, LossAt(i),
                       LossAt(i));
  }));
  EXPECT_EQ(PointsOfSignal(run, "lr"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "step_time_s"), 6U);
}

// ---- places

TEST(ReadWhatIsThere, ADotBehindAnEpochEndsASentence) {
  const model::Run run = ReadLog(Lines([](int i) { return fmt::format("Epoch {}. Loss: {:.4f}", i, LossAt(i)); }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kEpoch);
  EXPECT_EQ(run.Find("loss")->steps[5], 6);
}

TEST(ReadWhatIsThere, AnEpochWithItsFractionIsStillCountedInLines) {
  const model::Run run = ReadLog(Lines([](int i) { return fmt::format("Epoch 0.{} Loss: {:.4f}", i, LossAt(i)); }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kRow);
}

TEST(ReadWhatIsThere, AWholeWordJoinedToItsCountIsAPlace) {
  const model::Run run = ReadLog(
      Lines([](int i) { return fmt::format("Epoch{}, Training loss {:.3f}, Validation loss 0.7", 5 * i, LossAt(i)); }));
  ASSERT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kEpoch);
  EXPECT_EQ(run.Find("loss")->steps[1], 10);
}

TEST(ReadWhatIsThere, ARangeOfBatchesStandsForItsEnd) {
  const model::Run run = ReadLog(Lines(
      [](int i) {
        return fmt::format(" Epoch[ 2 of 9]-Chunk 1 Minibatch[{:4}-{:4}]: loss = {:.5f} * 640", 200 * i - 199, 200 * i,
                           LossAt(i));
      },
      9));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 9U);
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800));
}

TEST(ReadWhatIsThere, OfThreeCountsTheLastOneRises) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("At iteration {}/{}/{}, mean loss={:.4f}%, skipped=0", 70 + i / 3, 300 * i, 310 * i, LossAt(i));
  }));
  EXPECT_THAT(StepsOf(run, "mean loss"), ElementsAre(310, 620, 930, 1240, 1550, 1860));
}

TEST(ReadWhatIsThere, ADateWithSlashesIsNoCount) {
  const model::Run run = ReadLog(
      Lines([](int i) { return fmt::format("2031/04/1{} 09:15:0{} step {} loss {:.4f}", i, i, 50 * i, LossAt(i)); }));
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(50, 100, 150, 200, 250, 300));
}

TEST(ReadWhatIsThere, TheBestEpochIsThatOfAnotherLine) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("step {} train loss {:.4f} val loss 0.{} best epoch: {}", 10 * i, LossAt(i), 60 - i, i / 2);
  }));
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kStep);
  EXPECT_THAT(StepsOf(run, "train loss"), ElementsAre(10, 20, 30, 40, 50, 60));
}

TEST(ReadWhatIsThere, DictionariesOnceAnEpochStandAtTheirEpochs) {
  const model::Run run =
      ReadLog(Lines([](int i) { return fmt::format("{{'Epoch': {}, 'Avg Epoch Loss': '{:.4f}'}}", i, LossAt(i)); }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kEpoch);
  EXPECT_EQ(run.Find("loss")->steps[5], 6);
  const model::Run twice = ReadLog(
      Lines([](int i) { return fmt::format("{{'epoch': {}, 'loss': {:.4f}, 'lr': 0.1}}", (i + 1) / 2, LossAt(i)); }));
  ASSERT_EQ(PointsOfSignal(twice, "loss"), 6U);
  EXPECT_EQ(twice.Find("loss")->axis, model::Axis::kRow);
}

TEST(ReadWhatIsThere, AnAccuracyBesideALossWithoutAPlaceIsReadWithIt) {
  const model::Run run =
      ReadLog(Lines([](int i) { return fmt::format("loss: {:.4f}\t accuracy: 0.9{}", LossAt(i) + 0.0001, i); }, 9));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 9U);
  EXPECT_EQ(PointsOfSignal(run, "accuracy"), 9U);
}

// ---- times

TEST(ReadWhatIsThere, HowLongItTookIsNotTheStep) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Epoch {}/40\n - {}s - loss: {:.4f} - acc: 0.{} - val_loss: 0.9 - val_acc: 0.4", i, 25 + i % 4,
                       LossAt(i), 50 + i);
  }));
  for (const char* signal : {"loss", "accuracy", "eval_loss", "eval_accuracy"}) {
    ASSERT_EQ(PointsOfSignal(run, signal), 6U) << signal;
    EXPECT_EQ(run.Find(signal)->axis, model::Axis::kEpoch) << signal;
    EXPECT_EQ(run.Find(signal)->steps[5], 6) << signal;
  }
}

TEST(ReadWhatIsThere, AMessageAboutAnEpochIsNotItsHeader) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Epoch {}/40\nEpoch 0000{}: val_loss did not improve\n{}s - loss: {:.4f} - val_loss: 0.9", i,
                       i - 1, 50 + i % 5, LossAt(i));
  }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->steps[5], 6);
}

TEST(ReadWhatIsThere, AHeaderMayHoldTheTimeOfItsEpoch) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format(
        "Epoch: 0{} | Time: 1m {}s\n\tTrain Loss: {:.3f} | Train PPL: {:.3f}\n\t Val. Loss: 4.{} |  "
        "Val. PPL: 88.6",
        i, 20 + i, LossAt(i), 3 * LossAt(i), 50 - i);
  }));
  for (const char* signal : {"loss", "perplexity", "eval_loss", "eval_perplexity"}) {
    ASSERT_EQ(PointsOfSignal(run, signal), 6U) << signal;
    EXPECT_EQ(run.Find(signal)->axis, model::Axis::kEpoch) << signal;
  }
  const model::Run named = ReadLog(Lines([](int i) {
    return fmt::format("Epoch {}, training time = 4.{} sec\n         validation accuracy = 0.9{}", i, i, i);
  }));
  ASSERT_EQ(PointsOfSignal(named, "eval_accuracy"), 6U);
  EXPECT_EQ(named.Find("eval_accuracy")->steps[5], 6);
}

TEST(ReadWhatIsThere, ALineThatTwoHandlersWriteIsOneLine) {
  const model::Run run = ReadLog(Lines([](int i) {
    const std::string one = fmt::format("Epoch {}/6:\nTrain Loss: {:.6f}\nValid Loss: 0.9{}\n", i, LossAt(i), i);
    return one + one;
  }));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kEpoch);
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
}

// ---- names

TEST(ReadWhatIsThere, AVerbIsNoPartOfAName) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Epoch 1, Step {}, avg loss so far is {:.5f}\nEpoch {}, val loss is 0.0{}.", 25 * i, LossAt(i),
                       i, 50 - i);
  }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
  EXPECT_TRUE(ReadLog("step 10: Loss is nan, stopping training\n").series.empty());
}

TEST(ReadWhatIsThere, WhatOpensBeforeANameIsNoPartOfIt) {
  const model::Run run = ReadLog(Lines(
      [](int i) { return fmt::format("epoch {} training [duration: 44.{}s, train loss: {:.4f}]", i, i, LossAt(i)); }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(StepsOf(run, "duration").size(), 6U);
  EXPECT_EQ(FindRaw(run, "training [duration"), nullptr);
}

TEST(ReadWhatIsThere, TwoHalvesOfANameShareItsLastWord) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Epoch: 1/9 | Batch {}/900 | Gen/Dis Loss: {:.4f}/-0.02{}", 10 * i, LossAt(i), i);
  }));
  EXPECT_EQ(PointsOfSignal(run, "generator_loss"), 6U);
  ASSERT_EQ(PointsOfSignal(run, "discriminator_loss"), 6U);
  EXPECT_DOUBLE_EQ(run.Find("discriminator_loss")->values[2], -0.023);
  EXPECT_EQ(run.Find("loss"), nullptr);
}

TEST(ReadWhatIsThere, ScoresOfBothSplitsInOneLineBelongToTheLatestStep) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format(
        "Epoch: 1/9 | Batch: {}/900 | Loss: {:.4f}\nTraining accuracy: 9{}.25% | Validation accuracy: "
        "8{}.5%",
        100 * i, LossAt(i), i, i);
  }));
  ASSERT_EQ(PointsOfSignal(run, "accuracy"), 6U);
  ASSERT_EQ(PointsOfSignal(run, "eval_accuracy"), 6U);
  EXPECT_DOUBLE_EQ(run.Find("eval_accuracy")->values[1], 0.825);
  EXPECT_EQ(run.Find("eval_accuracy")->steps[1], 200);
}

TEST(ReadWhatIsThere, ANameWithoutASplitIsOfTheSplitOfTheFirst) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format(
        "*Epoch: 0{}/40 | Train. Acc.: 5{}.5% | Loss: {:.3f}\n*Epoch: 0{}/40 | Valid. Acc.: 4{}.5% | Loss: 1.2{}", i, i,
        LossAt(i), i, i, i);
  }));
  ASSERT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_DOUBLE_EQ(run.Find("eval_loss")->values[2], 1.23);
  EXPECT_NEAR(run.Find("loss")->values[2], LossAt(3), 1e-3);
}

TEST(ReadWhatIsThere, BehindAnEvaluationAloneANameWithoutASplitStaysOfTheTraining) {
  const model::Run run = ReadLog(
      Lines([](int i) { return fmt::format("Epoch: 0{}/40 | val_acc: 0.5{} | loss: {:.3f}", i, i, LossAt(i)); }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("eval_loss"), nullptr);
}

// ---- units

TEST(NamesByStemNamespaceAndUnit, TheTimeToGoIsNoLearningRate) {
  const model::Run run =
      ReadLog(Lines([](int i) { return fmt::format("step {} - ETA: {}s - loss: {:.4f}", 10 * i, 7 - i, LossAt(i)); }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(FindRaw(run, "ETA"), nullptr);
  const model::Run rate =
      ReadLog(Lines([](int i) { return fmt::format("step {} - eta: 0.00{} - loss: {:.4f}", 10 * i, i, LossAt(i)); }));
  EXPECT_NE(FindRaw(rate, "eta"), nullptr);
}

TEST(NamesByStemNamespaceAndUnit, TwoRatesOfOneUnitStandForTheFirst) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Step {}/9000; acc:  45.52; xent: {:.2f}; lr: 0.5; 149{}/115{} tok/s;     15 sec", 50 * i,
                       LossAt(i), 10 + i, 40 + i);
  }));
  ASSERT_EQ(PointsOfSignal(run, "tokens_per_s"), 6U);
  EXPECT_DOUBLE_EQ(run.Find("tokens_per_s")->values[0], 14911);
  EXPECT_EQ(run.Find("loss")->steps[0], 50);
}

TEST(NamesByStemNamespaceAndUnit, WhereTheNameSaysNothingTheUnitDoes) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("Training: Speed {}.5 samples/sec   Loss {:.4f}   Epoch: 0   Global Step: {}", 900 + i,
                       LossAt(i), 50 * i);
  }));
  ASSERT_EQ(PointsOfSignal(run, "samples_per_s"), 6U);
  EXPECT_DOUBLE_EQ(run.Find("samples_per_s")->values[0], 901.5);
  const model::Run steps = ReadLog(
      Lines([](int i) { return fmt::format("step {}: loss: {:.4f} - {}ms/step", 50 * i, LossAt(i), 190 + i); }));
  ASSERT_EQ(PointsOfSignal(steps, "step_time_s"), 6U);
  EXPECT_DOUBLE_EQ(steps.Find("step_time_s")->values[0], 0.191);
}

TEST(NamesByStemNamespaceAndUnit, ANameWithASlashBehindAValueIsNoUnit) {
  const model::Run run = ReadLog(Lines([](int i) {
    return fmt::format("step {} train/loss {:.4f} train/acc 0.5{} eval/loss 0.{}", 10 * i, LossAt(i), i, 60 + i);
  }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "accuracy"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
}

TEST(NamesByStemNamespaceAndUnit, AUnitOfPhysicsNamesNothing) {
  const model::Run run = ReadLog(Lines(
      [](int i) { return fmt::format("step {} loss {:.4f} force {}.5 eV/A rate {} MB/s", 10 * i, LossAt(i), i, i); }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_NE(FindRaw(run, "force"), nullptr);
  EXPECT_EQ(FindRaw(run, "eV/A"), nullptr);
  EXPECT_EQ(FindRaw(run, "MB/s"), nullptr);
}

// ---- what is no loss

TEST(ReadWhatIsThere, AScoreThatFallsIsNoLoss) {
  const model::Run run =
      ReadLog(Lines([](int i) { return fmt::format("TRY {}\nScore {:.2f}", i, 100 * LossAt(i)); }, 20));
  EXPECT_EQ(run.Find("loss"), nullptr);
}

TEST(ReadWhatIsThere, ASentenceWithTwoNumbersIsNoLoss) {
  const model::Run run = ReadLog(Lines(
      [](int i) {
        return fmt::format("what is left of it when {} of these things are taken away: {:.4f}", 250 * i, LossAt(i));
      },
      20));
  EXPECT_EQ(run.Find("loss"), nullptr);
}

TEST(ReadWhatIsThere, WordsAboveNumbersNameThem) {
  std::string text = "   year  month  size  value  spare\n";
  for (int i = 1; i <= 20; ++i) text += fmt::format("{}  1990  {}  3.25  {:.3f}  1.5\n", i, i % 12, LossAt(i));
  const model::Run run = ReadLog(text);
  EXPECT_EQ(run.Find("loss"), nullptr);
  EXPECT_EQ(run.Find("lr"), nullptr);
  std::string known = "banner\n";
  for (int i = 1; i <= 20; ++i) known += fmt::format("{}  {:.3f}  1e-3\n", i, LossAt(i));
  EXPECT_NE(ReadLog(known).Find("loss"), nullptr);
}

TEST(ReadWhatIsThere, JoinedNamesOfAHeaderStandOneSpaceApart) {
  std::string text = "#  step    err_val   err_trn  err_a_val err_a_trn err_b_val  lr\n";
  for (int i = 1; i <= 9; ++i)
    text += fmt::format("   {}    8.3e-0{}   8.2e-0{}   1.5e-01   1.6e-01   1.7e-01   1.0e-03\n", 100 * i, i, i);
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOf(run, "err_val").size(), 9U);
  EXPECT_THAT(PointsOf(run, "err_b_val").front(), Pair(100, 0.17));
  EXPECT_EQ(PointsOfSignal(run, "lr"), 9U);
}

// ---- one metric a line

TEST(ReadWhatIsThere, BulletsBelowAHeaderStandAtItsStepAndSplit) {
  std::string text;
  for (int i = 1; i <= 6; ++i) {
    text += fmt::format(" > EPOCH: {}/6\n\n > TRAINING (2024-01-01 10:00:0{})\n", i, i);
    text += fmt::format("\n   --> STEP: 24/25 -- GLOBAL_STEP: {}\n", 25 * i);
    text += fmt::format("     | > loss: {:.5f}  ({:.5f})\n     | > grad_norm: 1.2  (1.3)\n", LossAt(i), LossAt(i));
    text += fmt::format("     | > current_lr: 0.0001\n\n > EVALUATION\n\n  --> EVAL PERFORMANCE\n");
    text += fmt::format("     | > avg_loss: {:.5f} (+0.1)\n\n", 3 * LossAt(i));
  }
  const model::Run run = ReadLog(text);
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(run.Find("loss")->axis, model::Axis::kStep);
  EXPECT_EQ(run.Find("loss")->steps[5], 150);
  EXPECT_EQ(PointsOfSignal(run, "grad_norm"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "lr"), 6U);
  ASSERT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
  EXPECT_NEAR(run.Find("eval_loss")->values[5], 3 * LossAt(6), 1e-4);
}

TEST(ReadWhatIsThere, BulletsBeforeAnyStepAreSettingsAndNotMetrics) {
  const model::Run run = ReadLog("Settings\n - loss: 1\n - lr: 0.1\n" +
                                 Lines([](int i) { return fmt::format("step {} loss {:.4f}", i, LossAt(i)); }));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "lr"), 0U);
}

TEST(ReadWhatIsThere, ATableMayHaveTheSplitsAsItsColumns) {
  std::string text;
  for (int i = 0; i < 6; ++i) {
    const std::string prefix = fmt::format("2024-01-01 10:0{}:30,124 - INFO - tool.console_logger - ", i);
    text += fmt::format("2024-01-01 10:0{}:00,123 - INFO - tool.trainer - Epoch {}/5\n", i, i);
    text += prefix + "                       Training |  Validation\n";
    text += prefix + fmt::format("accuracy           |     0.{}  |     0.{}\n", 4 + i % 3, 3 + i % 3);
    text += prefix + "peak_memory_MB     |  1000.0  |       N/A\n";
    text += prefix + fmt::format("loss               |     {:.3f}  |     {:.3f}\n", LossAt(i + 1), 2 * LossAt(i + 1));
  }
  const model::Run run = ReadLog(text);
  ASSERT_EQ(PointsOfSignal(run, "loss"), 6U);
  ASSERT_EQ(PointsOfSignal(run, "eval_loss"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "accuracy"), 6U);
  EXPECT_EQ(PointsOfSignal(run, "eval_accuracy"), 6U);
  EXPECT_EQ(run.Find("eval_loss")->axis, model::Axis::kEpoch);
}

// ---- counts

TEST(ReadWhatIsThere, ACountThatOpensTheLinesIsNoRank) {
  const model::Run run =
      ReadLog(Lines([](int i) { return fmt::format("{}: loss {:.4f} lr 0.001", i, LossAt(i)); }, 12));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 12U);
  EXPECT_EQ(run.Find("loss")->steps[11], 12);
}

TEST(ReadWhatIsThere, LabelsThatComeAgainAreRanks) {
  std::string text;
  for (int i = 1; i <= 6; ++i) {
    for (int rank = 0; rank < 2; ++rank) text += fmt::format("{}: step {} loss {:.4f}\n", rank, i, LossAt(i));
  }
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOfSignal(run, "loss"), 6U);
}

TEST(ReadWhatIsThere, NamesMayStandBehindTheirNumbers) {
  const model::Run run = ReadLog(Lines(
      [](int i) {
        return fmt::format("{}: {:.6f}, {:.6f} avg, 0.001000 rate, 0.06{} seconds, {} images", i, LossAt(i), LossAt(i),
                           i % 10, 32 * i);
      },
      16));
  ASSERT_EQ(PointsOfSignal(run, "loss"), 16U);
  EXPECT_EQ(run.Find("loss")->steps[15], 16);
}

TEST(ReadWhatIsThere, ACountMayStandBetweenANameAndItsValue) {
  std::string text;
  for (int i = 0; i < 24; ++i) {
    text += fmt::format("Train loss {} {:.6f} Grad Norm 0.5{} 0.07s/it\n", i, LossAt(i + 1), i % 10);
    if (i % 8 == 7) text += fmt::format("Validation loss {}: {:.6f}\n", i, LossAt(i + 1));
  }
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOfSignal(run, "loss"), 24U);
  EXPECT_EQ(PointsOfSignal(run, "grad_norm"), 24U);
  EXPECT_EQ(PointsOfSignal(run, "eval_loss"), 3U);
}

TEST(ReadWhatIsThere, TuplesOfEpochBatchAndLossCountByTheirOrder) {
  const model::Run run =
      ReadLog(Lines([](int i) { return fmt::format("({}, {}, {:.5f})", i / 3, 10 * (i % 3), LossAt(i)); }, 24));
  EXPECT_EQ(PointsOfSignal(run, "loss"), 24U);
}

}  // namespace
}  // namespace vigil::textlog
