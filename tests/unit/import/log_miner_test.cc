// Lines of trainers that have no profile of their own: their loss is found, at the right steps.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log_support.h"

namespace vigil::import::log {
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
  const model::Run run = ReadLog(text);
  const model::Series* loss = run.Find("loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->raw, "box_loss+cls_loss+dfl_loss");
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
  const Format* format = Recognise({"train.log", text, text.size()});
  ASSERT_NE(format, nullptr);
  EXPECT_EQ(format->id, "log-text");
}

}  // namespace
}  // namespace vigil::import::log
