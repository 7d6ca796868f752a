// Lines of trainers that have no profile of their own: their loss is found, at the right steps.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/formats.h"
#include "ingest/ingest.h"
#include "log_support.h"
#include "report/report.h"
#include "tabular/loss_parts.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;

struct Style {
  std::string_view trainer;
  std::string_view line;  // {0}: the step, {1}: the loss, {2}: seconds of the time
  std::string_view signal = "loss";
  std::int64_t factor = 1;  // steps between two numbers of the line
};

// As these programs print them.
const Style kStyles[] = {
    {"a date with slashes", "2026/11/14 10:00:{2:02d} step {0} loss {1}"},
    {"HF examples", "11/14/2026 10:00:{2:02d} - INFO - __main__ - step {0} loss {1}"},
    {"detectron2",
     "[11/14 10:00:{2:02d} d2.utils.events]:  eta: 1 day, 2:03:04  iter: {0}  total_loss: {1}  loss_cls: 0.5  time: "
     "0.31  "
     "lr: 0.0002  max_mem: 7000M"},
    {"detectron2 without logger", "[11/14 10:00:{2:02d}] iter: {0}  loss: {1}  lr: 0.02"},
    {"mmengine, epochs",
     "2026/11/14 10:00:{2:02d} - mmengine - INFO - Epoch(train)  [1][{0}/7330]  lr: 2.0000e-02  eta: 1:00:00  time: "
     "0.31  "
     "memory: 7000  loss: {1}  loss_cls: 0.3"},
    {"mmengine, iterations",
     "11/14 10:00:{2:02d} - mmengine - INFO - Iter(train) [{0:6d}/160000]  lr: 1.0000e-02  eta: 1 day, 2:03:04  loss: "
     "{1}"},
    {"mmdet 2",
     "2026-11-14 10:00:{2:02d},123 - mmdet - INFO - Epoch [1][{0}/7330]\tlr: 2.000e-02, eta: 1:00:00, loss: {1}"},
    {"timm",
     "Train: 0 [{0:>4d}/1251 (  4%)]  Loss: {1} (6.95)  Time: 0.512s,  500.0/s  LR: 1.000e-06  Data: 0.012 (0.1)"},
    {"torchvision", "Epoch: [0]  [{0:5d}/1251]  eta: 0:10:00  lr: 0.1  img/s: 500.1  loss: {1} (6.95)  time: 0.51"},
    {"PyTorch's ImageNet example",
     "Epoch: [0][{0:5d}/5005]\tTime  0.5 ( 0.7)\tData  0.01 ( 0.1)\tLoss {1} (6.9)\tAcc@1   0.0"},
    {"TensorFlow's Estimator", "INFO:tensorflow:loss = {1}, step = {0} (3.123 sec)"},
    {"MaxText", "completed step: {0}, seconds: 1.234, TFLOP/s/device: 101.2, Tokens/s/device: 2031.1, loss: {1}"},
    {"OpenNMT",
     "[2026-11-14 10:00:{2:02d},123 INFO] Step {0}/100000; acc:   5.31; ppl: 3021.12; xent: {1}; lr: 0.00012"},
    {"Caffe", "I1114 10:00:{2:02d}.123 1234 solver.cpp:218] Iteration {0} (5.1 iter/s, 3.9s/20 iters), loss = {1}"},
    {"darknet", " {0}: {1}, {1} avg loss, 0.001000 rate, 3.123 seconds, 640 images, 10.1 hours left"},
    {"PaddleOCR", "[2026/11/14 10:00:{2:02d}] ppocr INFO: epoch: [1/500], global_step: {0}, lr: 0.000010, loss: {1}"},
    {"MXNet", "INFO:root:Epoch[0] Batch [{0}]\tSpeed: 1200.12 samples/sec\taccuracy=0.12\tloss={1}"},
    {"CLU's metric writer",
     "I1114 10:00:{2:02d}.1 140 logging_writer.py:48] [{0}] accuracy=0.5, learning_rate=0.01, loss={1}"},
    {"NVIDIA's BERT",
     "DLL 2026-11-14 10:00:{2:02d}.12 - Training Epoch: 0 Training Iteration: {0}  average_loss : {1}  lr : 0.1"},
    {"NeMo",
     "Training epoch 0, iteration {0}/999 | lr: 1.5e-07 | global_step: {0} | reduced_train_loss: {1} | "
     "consumed_samples: 8"},
    {"fairseq",
     "2026-11-14 10:00:{2:02d} | INFO | train_inner | epoch 001:    {0} / 3964 loss={1}, ppl=8, wps=20000, "
     "num_updates={0}, "
     "lr=1e-4, gnorm=1.1, wall=30"},
    {"metaseq",
     "2026-11-14 10:00:{2:02d} | INFO | train_inner | {{\"epoch\": 1, \"actv_norm\": \"0\", \"loss\": \"{1}\", "
     "\"num_updates\": "
     "\"{0}\", \"lr\": \"1e-05\", \"gnorm\": \"0.5\"}}"},
    {"DiT", "[2026-11-14 10:00:{2:02d}] (step={0:07d}) Train Loss: {1}, Train Steps/Sec: 3.12"},
    {"a number in brackets", "[{0:05d}] Loss={1} PSNR=31.2"},
    {"a number between bars", "E0 | {0} | loss 3.1 -> {1} (avg 2.0)"},
    {"words with capitals", "Batch {0} of 1000 - Train Loss {1}"},
    {"Python's logging", "INFO:root:Epoch 0, batch {0}: cross_entropy={1} acc=0.5"},
    {"a sentence", "At iteration {0} we saw a loss of {1}"},
    {"a loss before the bar", "loss: {1}: 5%|#  | {0}/700000 [00:{2:02d}<10:00, 4.2it/s]"},
    {"XGBoost", "[{0}]\ttrain-logloss:{1}\teval-logloss:0.69"},
    {"XGBoost, an evaluation set", "[{0}]\tvalidation_0-logloss:{1}", "eval_loss"},
    {"LightGBM", "[{0}]\ttraining's binary_logloss: {1}\tvalid_1's auc: 0.9"},
    {"LightGBM, an evaluation set", "[{0}]\tvalid_0's binary_logloss: {1}\tvalid_0's auc: 0.9", "eval_loss"},
    {"CatBoost", "{0}:\tlearn: {1}\ttest: 0.33\tbest: 0.33 (9)\ttotal: 51ms\tremaining: 51.1s"},
    {"Marian",
     "[2026-11-14 10:00:{2:02d}] Ep. 1 : Up. {0} : Sen. 40,000 : Cost {1} : Time 12.30s : 4567.89 words/s : gNorm 1.2"},
    {"Marian, label counts",
     "[2026-11-14 10:00:{2:02d}] Ep. 1 : Up. {0} : Sen. 40,000 : Cost {1} * 12,345 @ 1,234 after 1,234,567 : Time 1.3s "
     ": "
     "4567.89 words/s : L.r. 3.0000e-04"},
    {"Marian, validation", "[2026-11-14 10:00:{2:02d}] [valid] Ep. 1 : Up. {0} : cross-entropy : {1} : new best",
     "eval_loss"},
    {"PyTorch's DCGAN example", "[0/5][{0}/1583]\tLoss_D: {1}\tLoss_G: 4.2\tD(x): 0.9\tD(G(z)): 0.5 / 0.1",
     "discriminator_loss"},
    {"PyTorch's first tutorial", "[1, {0:5d}] loss: {1}"},
    {"JAX arrays", "step {0} loss Array({1}, dtype=float32) accuracy Array(0.5, dtype=float32, weak_type=True)"},
    {"JAX arrays of old", "step: {0}, train loss: DeviceArray({1}, dtype=float32)"},
    {"TensorFlow's tensors", "Step {0}: loss = tf.Tensor({1}, shape=(), dtype=float32)"},
    {"torch's tensors", "step {0} train loss tensor([{1}], device='cuda:0', grad_fn=<NllLossBackward0>)"},
    {"the loss before the step", "Loss after iteration {0}: {1}"},
    {"the cost before the step", "Cost after iteration {0}: {1}"},
    {"Keras' guide", "Training loss (for one batch) at step {0}: {1}"},
    {"TensorFlow's word2vec", "Average loss at step  {0} :  {1}"},
    {"letters joined to their counts", "E0 B{0} loss {1}"},
    {"short words joined to their counts", "[ep1 it{0}] loss={1} lr=0.1"},
    {"CleanRL", "global_step={0}, episodic_return=[{1}]", "reward"},
};

TEST(Miner, ReadsTheLinesOfTrainersThatNobodyNamed) {
  for (const Style& style : kStyles) {
    std::string text;
    for (int i = 1; i <= 6; ++i) text += fmt::format(fmt::runtime(style.line), i * 10, 3.0 - i * 0.25, i) + "\n";
    const model::Run run = ReadLog(text);
    const model::Series* series = run.Find(style.signal);
    ASSERT_NE(series, nullptr) << style.trainer;
    EXPECT_THAT(series->steps, ElementsAre(10, 20, 30, 40, 50, 60)) << style.trainer;
    EXPECT_THAT(series->values, ElementsAre(2.75, 2.5, 2.25, 2.0, 1.75, 1.5)) << style.trainer;
    EXPECT_EQ(Describe(ReadLog(text, 0, false)), Describe(run)) << style.trainer;
  }
}

TEST(Miner, ReadsANanInAnyOfTheseLines) {
  for (const Style& style : kStyles) {
    if (style.trainer == "darknet") continue;  // its name stands behind the number
    std::string text;
    for (int i = 1; i <= 6; ++i) text += fmt::format(fmt::runtime(style.line), i * 10, 3.0 - i * 0.25, i) + "\n";
    text += fmt::format(fmt::runtime(style.line), 70, "nan", 7) + "\n";
    const model::Run run = ReadLog(text);
    const model::Series* series = run.Find(style.signal);
    ASSERT_NE(series, nullptr) << style.trainer;
    ASSERT_EQ(series->size(), 7U) << style.trainer;
    EXPECT_TRUE(std::isnan(series->values.back())) << style.trainer;
  }
}

TEST(Miner, ReadsLinesOfNothingButNumbers) {
  for (const std::string_view style : {"{}: {}", "{} {}", "{},{}", "{}\t{}", "| {} | {} |", "{}/900 {}", "({}) [{}]",
                                       "{} - {}", "{} tensor({}, device='cuda:0', grad_fn=<NllLossBackward0>)"}) {
    std::string text = "Using device cuda:0\n";
    for (int i = 0; i < 12; ++i)
      text += fmt::format(fmt::runtime(style), i * 20, i < 9 ? fmt::format("{:.3f}", 3 - i * 0.25) : "nan") + "\n";
    const model::Run run = ReadLog(text);
    const model::Series* loss = run.Find("loss");
    ASSERT_NE(loss, nullptr) << style;
    EXPECT_EQ(loss->raw, "column 2") << style;
    ASSERT_EQ(loss->size(), 12U) << style;
    EXPECT_EQ(loss->steps.back(), 220) << style;
    EXPECT_EQ(loss->values[8], 1) << style;
    EXPECT_EQ(loss->lines[8], 10U) << style;
    EXPECT_TRUE(std::isnan(loss->values.back())) << style;
    EXPECT_THAT(report::NoteText(run.sources.front()), testing::HasSubstr("taken for the loss")) << style;
    EXPECT_EQ(Describe(ReadLog(text, 0, false)), Describe(run)) << style;
    EXPECT_EQ(Describe(ReadLog(text, 7)), Describe(run)) << style;
  }
}

TEST(Miner, TakesNumbersForALossOnlyWhereTheyGoLikeOne) {
  std::string rising;
  std::string uneven;
  std::string counts;
  std::string times;
  for (int i = 0; i < 20; ++i) {
    rising += fmt::format("{} {:.2f}\n", i, 1 + i * 0.1);
    uneven += fmt::format("{} {:.2f}\n", i * i, 3 - i * 0.1);
    counts += fmt::format("{} {}\n", i, 100 - i);
    times += fmt::format("{:02d}:{:02d} {:.2f}\n", i, i, 3 - i * 0.1);
  }
  EXPECT_EQ(ReadLog(rising).Find("loss"), nullptr);
  EXPECT_EQ(StepsOf(ReadLog(rising), "column 2").size(), 20U);
  for (const std::string& text : {uneven, counts, times}) EXPECT_TRUE(ReadLog(text).series.empty()) << text;
  EXPECT_TRUE(ReadLog("step 1 loss 2.5\n" + rising).Find("column 2") == nullptr) << "the lines with names are the log";
  EXPECT_EQ(formats::Recognise({"table.txt", uneven, uneven.size()}), nullptr);
}

TEST(Miner, ReadsOnWhereLinesWithoutWordsAreFewAmongOthers) {
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += fmt::format("[{}]\ttrain-rmse:{:.4f}\teval-rmse:0.5\n", i, 3 - i * 1e-4);
    text += "[10:00:00] INFO: pruning of the trees and more words of that kind, to fill the line\n";
  }
  const model::Run run = ReadLog(text);
  EXPECT_EQ(StepsOf(run, "train-rmse").size(), 5000U);
  EXPECT_EQ(Describe(ReadLog(text, 0, false)), Describe(run));
}

TEST(Miner, KeepsARealLossBeforeACost) {
  std::string text;
  for (int i = 0; i < 5; ++i) text += fmt::format("step {} loss 2.5 cost 0.{}\n", i, i);
  const model::Run run = ReadLog(text);
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_EQ(run.Find("loss")->raw, "loss");
  ASSERT_NE(FindRaw(run, "cost"), nullptr);
  EXPECT_EQ(FindRaw(run, "cost")->signal, "cost");
}

TEST(Miner, CountsBracketsThroughTheEpochs) {
  std::string text;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int batch = 0; batch < 100; batch += 10)
      text += fmt::format("[{}/3][{}/100] Loss_D: 0.5 Loss_G: 4.25\n", epoch, batch);
  }
  EXPECT_EQ(StepsOf(ReadLog(text), "Loss_G").back(), 290);
  text.clear();
  for (int epoch = 1; epoch <= 2; ++epoch) {
    for (int batch = 2000; batch <= 12000; batch += 2000)
      text += fmt::format("[{}, {:5d}] loss: 2.153\n", epoch, batch);
  }
  const auto steps = StepsOf(ReadLog(text), "loss");
  ASSERT_EQ(steps.size(), 12U);
  EXPECT_EQ(steps.back(), 26000);
}

TEST(Miner, ReadsTheResultsOfRay) {
  std::string text;
  for (int i = 1; i <= 3; ++i)
    text += fmt::format(
        "Result for PPO_CartPole-v0_5a1f2_00000:\n  custom_metrics: {{}}\n  episode_reward_mean: {}.5\n  info:\n"
        "    learner:\n      default_policy:\n        total_loss: {}\n        vf_loss: 8.25\n      other:\n        "
        "total_loss: 99\n  date: 2026-11-14_10-00-00\n  training_iteration: {}\n  \n\n",
        20 + i, i == 3 ? "nan" : "8.5", i);
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOf(run, "episode_reward_mean"), (Points{{1, 21.5}, {2, 22.5}, {3, 23.5}}));
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->steps, ElementsAre(1, 2, 3));
  EXPECT_EQ(loss->values[1], 8.5);
  EXPECT_TRUE(std::isnan(loss->values[2]));
}

TEST(Miner, ReadsTablesWhoseNamesNobodyKnows) {
  std::string text = "Step (% Done)       Train Iter (time)    ETA (time)           Train Rays / Sec     Test PSNR\n" +
                     std::string(100, '-') + "\n";
  for (int i = 0; i < 4; ++i)
    text += fmt::format("{:<20}{:<21}{:<21}{:<21}{}\n", fmt::format("{} ({}.00%)", i * 10, i), "31.5 ms", "2 m, 5 s",
                        "131.5 K", i % 2 == 0 ? "" : "20.5");
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOf(run, "Train Rays / Sec"), (Points{{0, 131500}, {10, 131500}, {20, 131500}, {30, 131500}}));
  EXPECT_EQ(PointsOf(run, "Test PSNR"), (Points{{10, 20.5}, {30, 20.5}}));
  EXPECT_TRUE(PointsOf(run, "ETA (time)").empty());
  EXPECT_TRUE(ReadLog("Step  Action  Result\nfirst  load  fine\n1  2  3\n").series.empty());
}

TEST(Miner, CountsLinesThatSayNothingButTheirLoss) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += fmt::format("loss tensor({}, device='cuda:0', grad_fn=<NllLossBackward0>)\n", i < 15 ? "2.5" : "nan");
  const model::Run run = ReadLog(text);
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->size(), 20U);
  EXPECT_EQ(loss->axis, model::Axis::kRow);
  EXPECT_TRUE(std::isnan(loss->values[15]));
  EXPECT_EQ(loss->lines[15], 16U);
}

TEST(Miner, PrefersLinesThatSayTheirStepToThoseThatDoNot) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += fmt::format("loss: 2.5\nstep {} | train_loss 2.25\n", i);
  const model::Run run = ReadLog(text);
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_EQ(run.Find("loss")->raw, "train_loss");
  EXPECT_EQ(FindRaw(run, "loss"), nullptr);
}

TEST(Miner, AddsUpTheLossesOfADetector) {
  std::string text = "      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size\n";
  for (int i = 1; i <= 3; ++i)
    text += fmt::format(
        "      {}/50      7.1G      2.25      3.25      {}        123        640: 100%|##########| 500/500 "
        "[01:01<00:00,  8.11it/s]\n",
        i, i);
  model::Run run = ReadLog(text);
  tabular::SumLossParts(run);
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->raw, "box_loss+cls_loss+dfl_loss");
  EXPECT_THAT(loss->sum_of, ElementsAre("box_loss", "cls_loss", "dfl_loss"));
  EXPECT_THAT(loss->values, ElementsAre(6.5, 7.5, 8.5));
}

TEST(Miner, KeepsTheLossesOfAdversariesApart) {
  std::string text;
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int batch = 0; batch < 10; ++batch)
      text += fmt::format("[Epoch {}/20] [Batch {}/10] [D loss: 0.67{}] [G loss: 1.58]\n", epoch, batch, batch);
  }
  const model::Run run = ReadLog(text);
  EXPECT_EQ(run.Find("loss"), nullptr);
  const auto steps = StepsOf(run, "D loss");
  ASSERT_EQ(steps.size(), 30U);
  EXPECT_EQ(steps.back(), 29) << "counted through the epochs";
}

TEST(Miner, KnowsTheRunningMeansOfKeras) {
  std::string text;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    text += fmt::format("Epoch {}/2\n", epoch);
    for (int i = 1; i < 4; ++i)
      text += fmt::format("\r{}/1000 [===>....] - ETA: 10s - loss: 2.{} - accuracy: 0.5", i * 100, i);
    text += "\r1000/1000 [====] - 10s 10ms/step - loss: 2.05 - accuracy: 0.5 - val_loss: 2.1\n";
  }
  const model::Run run = ReadLog(text);
  ASSERT_NE(run.Find("loss"), nullptr);
  EXPECT_EQ(run.Find("loss")->aggregation, model::Aggregation::kRunningMean);
  EXPECT_EQ(run.Find("eval_loss")->aggregation, model::Aggregation::kUnknown);
  EXPECT_EQ(run.Find("loss")->steps.back(), 2000);
}

TEST(Miner, ReadsBoxesWithoutSections) {
  std::string text;
  for (int i = 1; i <= 3; ++i)
    text += fmt::format(
        "----------------------\n| grad_norm | 0.5    |\n| loss      | {}.5   |\n| step      | {}     |\n"
        "----------------------\n",
        i, i * 10);
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{10, 1.5}, {20, 2.5}, {30, 3.5}}));
  EXPECT_EQ(PointsOf(run, "grad_norm"), (Points{{10, 0.5}, {20, 0.5}, {30, 0.5}}));
}

TEST(Miner, ReadsOnBehindAHoleOfZeros) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += fmt::format("step {} | loss 2.5\n", i);
  text += std::string(4096, '\0');
  for (int i = 10; i < 20; ++i) text += fmt::format("step {} | loss 2.5\n", i);
  EXPECT_EQ(StepsOf(ReadLog(text), "loss").size(), 20U);
  const ingest::Format* format = formats::Recognise({"train.log", text, text.size()});
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->id, "log-text");
}

}  // namespace
}  // namespace vigil::textlog
