#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "log_support.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// A line that names its step, and what it must give.
struct Shape {
  std::string_view name;
  std::string_view line;
  std::int64_t step;
  std::map<std::string, double> values;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

class LineShape : public testing::TestWithParam<Shape> {};

TEST_P(LineShape, IsReadWithItsStep) {
  const model::Run run = ReadLog(std::string(GetParam().line) + "\n");
  std::map<std::string, double> values;
  for (const model::Series& series : run.series) {
    ASSERT_EQ(series.size(), 1U) << series.raw;
    EXPECT_EQ(series.steps[0], GetParam().step) << series.raw;
    values[series.raw] = series.values[0];
  }
  ASSERT_EQ(values.size(), GetParam().values.size()) << testing::PrintToString(values);
  for (const auto& [name, wanted] : GetParam().values) {
    ASSERT_TRUE(values.contains(name)) << name << " not in " << testing::PrintToString(values);
    if (std::isnan(wanted)) {
      EXPECT_TRUE(std::isnan(values[name])) << name;
    } else {
      EXPECT_DOUBLE_EQ(values[name], wanted) << name;
    }
  }
}

const Shape kShapes[] = {
    {"Pipes",
     "step 120 | loss 2.3145 | grad_norm 0.81 | lr 3.0e-04 | 9577 tok/s",
     120,
     {{"loss", 2.3145}, {"grad_norm", 0.81}, {"lr", 3.0e-4}, {"tok/s", 9577}}},
    {"NanoGpt",
     "iter 100: loss 3.1234, time 123.45ms, mfu 41.20%",
     100,
     {{"loss", 3.1234}, {"time (ms)", 0.12345}, {"mfu", 41.20}}},
    {"NanoGptEvaluation",
     "step 1000: train loss 2.1234, val loss 2.3456",
     1000,
     {{"train loss", 2.1234}, {"val loss", 2.3456}}},
    {"Equals",
     "[train] iter=7 loss=4.27097 gnorm=0.9356 lr=2.100e-03 dt=6.3ms",
     7,
     {{"loss", 4.27097}, {"gnorm", 0.9356}, {"lr", 2.1e-3}, {"dt", 0.0063}}},
    {"Colons", "step: 5, loss: 1.5, learning_rate: 0.01", 5, {{"loss", 1.5}, {"learning_rate", 0.01}}},
    {"CountOfTotal",
     "step:120/1000 train_loss:3.2001 train_time:5000ms step_avg:41.6ms",
     120,
     {{"train_loss", 3.2001}, {"train_time", 5000}, {"step_avg", 41.6}}},
    {"LeadingCount",
     "14/20000 train_loss: 5.5630 train_time: 0.0m tok/s: 8731753",
     14,
     {{"train_loss", 5.563}, {"train_time", 0}, {"tok/s", 8731753}}},
    {"LeadingCountOfAnEvaluation",
     "0/20000 val_loss: 9.0104 val_bpb: 3.4882",
     0,
     {{"val_loss", 9.0104}, {"val_bpb", 3.4882}}},
    {"TorchTitan",
     "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - \x1b[31mstep: 14  \x1b[32mloss:  3.24405  grad_norm:  "
     "0.8319  memory:  9.46GiB(64.99%)  tps: 7,282  tflops: 0.52  mfu: 0.17%\x1b[39m",
     14,
     {{"loss", 3.24405}, {"grad_norm", 0.8319}, {"memory", 9.46}, {"tps", 7282}, {"tflops", 0.52}, {"mfu", 0.17}}},
    {"TorchTitanValidation",
     "validate step: 100  loss: 3.1234  tps: 900",
     100,
     {{"val/loss", 3.1234}, {"val/tps", 900}}},
    {"Megatron",
     " [2026-08-22 15:22:22.123456] iteration     5426/  250000 | consumed samples:        43408 | elapsed time per "
     "iteration (ms): 4247.9 | learning rate: 2.999000E-04 | lm loss: 6.800840E+00 | loss scale: 1.0 | grad norm: "
     "0.812 "
     "| number of skipped iterations:   0 | number of nan iterations:   0 |",
     5426,
     {{"consumed samples", 43408},
      {"elapsed time per iteration (ms)", 4.2479},
      {"learning rate", 2.999e-4},
      {"lm loss", 6.80084},
      {"loss scale", 1},
      {"grad norm", 0.812},
      {"number of skipped iterations", 0},
      {"number of nan iterations", 0}}},
    {"MegatronThatHidesANanLoss",
     " iteration     5427/  250000 | learning rate: 2.999E-04 | loss scale: 1.0 | grad norm: nan | number of skipped "
     "iterations:   0 | number of nan iterations:   0 |",
     5427,
     {{"learning rate", 2.999e-4},
      {"loss scale", 1},
      {"grad norm", kNan},
      {"lm loss", kNan},
      {"number of skipped iterations", 0},
      {"number of nan iterations", 0}}},
    {"MegatronThatSkippedTheStep",
     " iteration     1/  250000 | learning rate: 0.000E+00 | loss scale: 4096.0 | number of skipped iterations:   1 | "
     "number of nan iterations:   0 |",
     1,
     {{"learning rate", 0},
      {"loss scale", 4096},
      {"number of skipped iterations", 1},
      {"number of nan iterations", 0}}},
    {"MegatronValidation",
     " validation loss at iteration 1000 | lm loss value: 2.345678E+00 | lm loss PPL: 1.044E+01 | ",
     1000,
     {{"lm loss validation", 2.345678}, {"val/lm loss PPL", 10.44}}},
    {"NeoX",
     " samples/sec: 853.348 | iteration        9/     512 | learning rate: 9.000E-05 | lm_loss: 9.852654E+00 |",
     9,
     {{"samples/sec", 853.348}, {"learning rate", 9e-5}, {"lm_loss", 9.852654}}},
    {"LlmC",
     "step   12/100 | loss 7.123456 (+1.23z)| norm 6.4321 (-0.20z)| lr 3.00e-04 | 12.34 ms | 41.2% bf16 MFU | 123456 "
     "tok/s",
     12,
     {{"loss", 7.123456}, {"norm", 6.4321}, {"lr", 3e-4}, {"ms", 0.01234}, {"tok/s", 123456}}},
    {"LlmCFile", "s:120 trl:4.5000 lr:0.000300 norm:1.25", 120, {{"trl", 4.5}, {"lr", 3e-4}, {"norm", 1.25}}},
    {"NanoChat",
     "step 00010/21400 (0.05%) | loss: 9.123456 | lrm: 1.00 | dt: 123.45ms | tok/sec: 1,048,576 | mfu: 45.00",
     10,
     {{"loss", 9.123456}, {"lrm", 1}, {"dt", 0.12345}, {"tok/sec", 1048576}, {"mfu", 45}}},
    {"KempnerForge",
     "[rank 0] INFO     [step 1000] loss=2.3400 | lr=3.00e-04 | grad_norm=1.250 | tok/s=125,000 | mfu=52.3% | "
     "mem=71.2/80GB",
     1000,
     {{"loss", 2.34}, {"lr", 3e-4}, {"grad_norm", 1.25}, {"tok/s", 125000}, {"mfu", 52.3}, {"mem", 71.2}}},
    {"Verl",
     "\x1b[36m(TaskRunner pid=87031)\x1b[0m step:19 - critic/vf_loss:nan - actor/pg_loss:-0.013 - actor/lr(1e-4):0.100",
     19,
     {{"critic/vf_loss", kNan}, {"actor/pg_loss", -0.013}, {"actor/lr", 0.1 * 1e-4}}},
    {"DeepSpeed",
     "[2023-04-28 06:59:46,878] [INFO] [logging.py:96:log_dist] [Rank 0] step=510, skipped=8, lr=[9.65e-06, 9.6e-06]",
     510,
     {{"skipped", 8}, {"lr", 9.65e-6}}},
    {"DeepSpeedChat",
     "epoch: 0|step: 9|ppo_ep: 1|act_loss: 0.2998|cri_loss: 0.16589",
     9,
     {{"ppo_ep", 1}, {"act_loss", 0.2998}, {"cri_loss", 0.16589}}},
    {"MaxText",
     "completed step: 9, seconds: 5.667, TFLOP/s/device: 134.924, loss: 10.374",
     9,
     {{"seconds", 5.667}, {"TFLOP/s/device", 134.924}, {"loss", 10.374}}},
    {"PythonReprs", "step 3 loss tensor(2.5, device='cuda:0') lr np.float64(0.5)", 3, {{"loss", 2.5}, {"lr", 0.5}}},
    {"NonFinite",
     "step 4 | loss nan | grad_norm inf | lr -inf",
     4,
     {{"loss", kNan}, {"grad_norm", kInf}, {"lr", -kInf}}},
    {"CountWithinEpoch",
     "Epoch:[1/1](200/39695), loss: 7.0754, lr: 0.00049997, epoch_time: 95.0min",
     200,
     {{"loss", 7.0754}, {"lr", 0.00049997}, {"epoch_time", 95}}},
    {"CountWithinSecondEpoch",
     "Epoch [2][658/742]  lr: 5.000e-05, eta: 2:15:01, time: 0.396, loss: nan",
     742 + 658,
     {{"lr", 5e-5}, {"time", 0.396}, {"loss", kNan}}},
    {"Srun", "3: step 8 loss 1.25", 8, {{"loss", 1.25}}},
    {"DictWithStep", "{'step': 12, 'loss': 2.5, 'lr': 1e-4}", 12, {{"loss", 2.5}, {"lr", 1e-4}}},
    {"JsonWithStep", R"({"global_step": 12, "train/loss": 2.5})", 12, {{"train/loss", 2.5}}},
    {"DictBehindAStep",
     "INFO 08-13 19:25:45 ppo_trainer.py:547] Global step 12: {'policy_loss': 0.5, 'kl': 0.01}",
     12,
     {{"policy_loss", 0.5}, {"kl", 0.01}}},
};

INSTANTIATE_TEST_SUITE_P(LogLines, LineShape, testing::ValuesIn(kShapes),
                         [](const auto& param) { return std::string(param.param.name); });

TEST(LogLines, LabelsOtherRanksThanTheFirst) {
  const model::Run run = ReadLog("[rank0]: step 1 loss 2.0\n[rank3]: step 1 loss 2.5\n");
  ASSERT_EQ(run.series.size(), 2U);
  EXPECT_THAT(run.series[0].labels, IsEmpty());
  EXPECT_THAT(run.series[1].labels, ElementsAre(std::pair<std::string, std::string>("rank", "3")));
  EXPECT_EQ(run.ranks, 4);
}

TEST(LogLines, KeepALineOnceThatSeveralRanksPrint) {
  const model::Run run = ReadLog("step 1 loss 2.0\nstep 1 loss 2.1\nstep 2 loss 1.9\nstep 2 loss 1.8\n");
  EXPECT_THAT(PointsOf(run, "loss"), ElementsAre(std::pair(1, 2.0), std::pair(2, 1.9)));
}

TEST(LogLines, OpenASegmentWhereStepsGoBack) {
  const model::Run run = ReadLog("step 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\nstep 2 loss 2\nstep 3 loss 1.5\n");
  const model::Series* loss = FindRaw(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_THAT(loss->segment_starts, ElementsAre(0, 3));
}

TEST(LogLines, CountStepsThroughEpochsThatBeginAgain) {
  const model::Run run = ReadLog(
      "Epoch 1, step 10, loss: 3.0\nEpoch 1, step 20, loss: 2.5\nEpoch 2, step 10, loss: 2.2\nEpoch 2, step 20, loss: "
      "2\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(10, 20, 40, 50));
}

TEST(LogLines, CountStepsOfKerasBarsThroughEpochs) {
  const model::Run run = ReadLog(
      "Epoch 1/2\n"
      " 256/1000 [==>......] - ETA: 57s - loss: 0.6828 - accuracy: 0.5469\n"
      "1000/1000 [=========] - 48s 5ms/step - loss: 0.6 - accuracy: 0.9 - val_loss: 0.5546 - val_accuracy: 0.7014\n"
      "Epoch 2/2\n"
      " 256/1000 [==>......] - ETA: 22s - loss: 0.5 - accuracy: 0.61\n");
  EXPECT_THAT(PointsOf(run, "loss"), ElementsAre(std::pair(256, 0.6828), std::pair(1000, 0.6), std::pair(1256, 0.5)));
  EXPECT_THAT(PointsOf(run, "val_loss"), ElementsAre(std::pair(1000, 0.5546)));
}

TEST(LogLines, UseTheEpochWhereThereIsNoStep) {
  const model::Run run = ReadLog("Epoch 1/3 - loss: 0.5 - val_loss: 0.6\nEpoch 2/3 - loss: 0.4 - val_loss: 0.55\n");
  const model::Series* loss = FindRaw(run, "loss");
  ASSERT_NE(loss, nullptr);
  EXPECT_EQ(loss->axis, model::Axis::kEpoch);
  EXPECT_THAT(loss->steps, ElementsAre(1, 2));
}

TEST(LogLines, ReadABlockBelowItsStep) {
  const model::Run run = ReadLog(
      "2024-08-06 10:00:05.520 host:0  olmo.train:908  INFO    [step=2/739328,epoch=0]\n"
      "    optim/total_grad_norm=0.0002\n"
      "    train/CrossEntropyLoss=1.7872662283480167e-06\n"
      "    throughput/device/tokens_per_second=26,668\n"
      "2024-08-06 10:00:06 something else = 5\n");
  EXPECT_THAT(PointsOf(run, "train/CrossEntropyLoss"), ElementsAre(std::pair(2, 1.7872662283480167e-06)));
  EXPECT_THAT(PointsOf(run, "throughput/device/tokens_per_second"), ElementsAre(std::pair(2, 26668.0)));
  EXPECT_EQ(run.planned_steps, model::StepAt(739328));
}

TEST(LogLines, AreNotFoundInProseSettingsOrSource) {
  constexpr std::string_view kText =
      "At step 100 the loss was about 2.3 or so\n"
      "warmup_steps: 20, lr: 0.1, max_steps: 500\n"
      "TrainingArguments(learning_rate=5e-05, max_steps=100, loss=3)\n"
      "    for step in range(100): loss = model(x) / 4.0\n"
      "    if step % 100 == 0: loss = 0.5\n"
      "{'lr': 0.001, 'batch_size': 32, 'dropout': 0.1}\n"
      "Loss function: cross entropy, reduction 2\n"
      "Training starts at step 1\n"
      "{\"log\": \"step:1 train_loss:6.9 step:2 train_loss:6.8\"}\n";
  const model::Run run = ReadLog(kText);
  EXPECT_THAT(run.series, IsEmpty());
}

TEST(LogLines, LeaveOutANumberThatTheEndOfTheFileCuts) {
  const model::Run run = ReadLog("step 1 loss 2.0 lr 0.5\nstep 2 loss 12.5 lr 0.");
  EXPECT_THAT(PointsOf(run, "loss"), ElementsAre(std::pair(1, 2.0), std::pair(2, 12.5)));
  EXPECT_THAT(PointsOf(run, "lr"), ElementsAre(std::pair(1, 0.5)));
}

TEST(LogLines, TakeJsonWithObjectsInsideBehindALoggersWords) {
  const model::Run run = ReadLog(
      "2026-11-14 03:00:00 INFO metrics {\"step\": 0, \"train\": {\"loss\": 8.5, \"lr\": 1e-05}}\n"
      "2026-11-14 03:00:01 INFO metrics {\"step\": 1, \"train\": {\"loss\": 8.25, \"lr\": 2e-05}}\n");
  EXPECT_THAT(PointsOf(run, "train/loss"), ElementsAre(std::pair(0, 8.5), std::pair(1, 8.25)));
  EXPECT_THAT(ReadLog("INFO args {\"optimizer\": {\"lr\": 0.1, \"loss\": 1}}\n").series, IsEmpty()) << "settings";
}

TEST(LogLines, AreReadInsideDockersObjects) {
  const model::Run run = ReadLog(
      "{\"log\": \"step 0: train loss 8.5515, val loss 8.5815\\n\", \"stream\": \"stdout\", \"time\": \"2026\"}\n"
      "{\"log\":\"iter 0: loss 8.5515, time 252.57ms, mfu -100.00%\\n\",\"stream\":\"stdout\",\"time\":\"2026\"}\n"
      "{\"log\":\"iter 1: loss nan, time 251.86ms, mfu -100.00%\\n\",\"stream\":\"stdout\",\"time\":\"2026\"}\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(0, 1));
  EXPECT_THAT(StepsOf(run, "val loss"), ElementsAre(0));
}

TEST(LogLines, TakeTheLastNumberOfAFileWithoutALineFeedWhenItHasAllItsDigits) {
  const std::string before = "step 1 loss 2.5314\nstep 2 loss 2.5002\nstep 3 loss 2.4718\n";
  EXPECT_EQ(PointsOf(ReadLog(before + "step 4 loss 2.4011"), "loss").size(), 4);
  EXPECT_EQ(PointsOf(ReadLog(before + "step 4 loss 2.40"), "loss").size(), 3);
  EXPECT_EQ(PointsOf(ReadLog(before + "step 4 loss 2"), "loss").size(), 3);
  for (const char* none : {"nan", "inf", "-inf"})
    EXPECT_EQ(PointsOf(ReadLog(before + "step 4 loss " + none), "loss").size(), 4) << none;
  const std::string rates = "step 1 loss 2.5 lr 3.00e-05\nstep 2 loss 2.5 lr 2.90e-05\n";
  EXPECT_EQ(PointsOf(ReadLog(rates + "step 3 loss 2.5 lr 2.80e-05"), "lr").size(), 3);
  for (const char* cut : {"2.8", "2.80e-", "2.80e-0"})
    EXPECT_EQ(PointsOf(ReadLog(rates + "step 3 loss 2.5 lr " + cut), "lr").size(), 2) << cut;
  EXPECT_EQ(StepsOf(ReadLog("loss 2.5 step 10\nloss 2.5 step 20\nloss 2.5 step 3"), "loss").size(), 2);
}

TEST(LogLines, TakeBarsWithNumbersBehindThemAtTheirCount) {
  const model::Run run = ReadLog(
      "\rEpoch 1:  50%|##   | 1/2 [00:01<00:01,  1.00it/s, loss=2.50, v_num=0]"
      "\rEpoch 1: 100%|#####| 2/2 [00:02<00:00,  1.00it/s, loss=2.25, v_num=0]\n"
      "\rValidation:  50%|##   | 1/2 [00:01<00:01,  1.00it/s, loss=9.0]"
      "\rEpoch 2:  50%|##   | 1/2 [00:01<00:01,  1.00it/s, loss=2.00, v_num=0]\n");
  EXPECT_THAT(PointsOf(run, "loss"), ElementsAre(std::pair(1, 2.5), std::pair(2, 2.25), std::pair(3, 2.0)));
}

TEST(LogLines, GiveTheLossScaleOfSkippedSteps) {
  const model::Run run = ReadLog(
      "step 5 loss 2.0\n"
      "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
      "step 7 loss 2.0\n"
      "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32768, reducing to 16384\n");
  EXPECT_THAT(PointsOf(run, "loss_scale"),
              ElementsAre(std::pair(5, 65536.0), std::pair(6, 32768.0), std::pair(7, 16384.0)));
  EXPECT_THAT(PointsOf(run, "skipped_steps"), ElementsAre(std::pair(6, 1.0), std::pair(7, 2.0)));
  EXPECT_THAT(EventsOf(run, model::EventKind::kSignature), IsEmpty());
}

TEST(LogFacts, AreTakenFromTheReprOfArguments) {
  const model::Run run = ReadLog(
      "TrainingArguments(\n_n_gpu=1,\nlearning_rate=5e-05,\nmax_grad_norm=1.0,\nlr_scheduler_type=SchedulerType.LINEAR,"
      "\n"
      "output_dir='out',\n)\nstep 1 loss 2\n");
  ASSERT_NE(run.FindFact("lr"), nullptr);
  EXPECT_EQ(run.FindFact("lr")->value, "5e-05");
  EXPECT_EQ(run.FindFact("max_grad_norm")->value, "1.0");
  EXPECT_EQ(run.FindFact("output_dir")->value, "out");
  EXPECT_EQ(StepsOf(run, "loss").size(), 1U);
}

TEST(LogFacts, AreTakenFromAnnouncements) {
  const model::Run run = ReadLog(
      "***** Running training *****\n  Num examples = 5,000\n  Num Epochs = 3\n"
      "  Instantaneous batch size per device = 8\n  Gradient Accumulation steps = 4\n  Total optimization steps = "
      "873\n");
  EXPECT_EQ(run.FactNumber("max_steps"), 873);
  EXPECT_EQ(run.FactNumber("epochs"), 3);
  EXPECT_EQ(run.FactNumber("batch_size"), 8);
  EXPECT_EQ(run.FactNumber("accumulation"), 4);
  EXPECT_EQ(run.planned_steps, model::StepAt(873));
}

TEST(LogFacts, AreTakenFromOneLineDumpsAndDottedLists) {
  const model::Run run = ReadLog(
      "config: lr=0.003 schedule=cosine\nNamespace(weight_decay=0.1, name='a')\n"
      "  clip_grad ....................................... 1.0\n");
  EXPECT_EQ(run.FactNumber("lr"), 0.003);
  EXPECT_EQ(run.FactNumber("weight_decay"), 0.1);
  EXPECT_EQ(run.FactNumber("max_grad_norm"), 1.0);
}

}  // namespace
}  // namespace vigil::textlog
