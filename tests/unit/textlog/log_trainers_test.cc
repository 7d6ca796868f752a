// Logs in the shapes that trainers write, read without knowing whose they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log_support.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TrainerLogs, OfNemoAreReadByTheirPairs) {
  const model::Run run = ReadLog(
      "[NeMo W 2025-03-01 10:00:01 nemo_logging:361] deprecated\n"
      "Training epoch 0, iteration 0/9999 | lr: 1.5e-06 | global_step: 0 | reduced_train_loss: 11.04 | "
      "train_step_timing in s: 12.31\n"
      "Training epoch 0, iteration 1/9999 | lr: 3e-06 | global_step: 1 | reduced_train_loss: 11.02 | "
      "train_step_timing in s: 1.31\n"
      "Validation: iteration 1/50\n"
      "Training epoch 1, iteration 0/9999 | lr: 3e-06 | global_step: 10000 | reduced_train_loss: 9.5 | "
      "train_step_timing in s: 1.31\n");
  EXPECT_EQ(PointsOf(run, "reduced_train_loss"), (Points{{0, 11.04}, {1, 11.02}, {10000, 9.5}}));
  EXPECT_EQ(run.framework, "nemo");
}

TEST(TrainerLogs, OfNemosBarsTakeTheStepTheyState) {
  const model::Run run = ReadLog(
      "\rEpoch 0:   0%| | 3/100 [00:12<11:22:01,  4.10s/it, v_num=0, reduced_train_loss=10.90, global_step=2.000]"
      "\rEpoch 0:   0%| | 4/100 [00:16<11:22:01,  4.10s/it, v_num=0, reduced_train_loss=10.80, global_step=3.000]\n");
  EXPECT_EQ(PointsOf(run, "reduced_train_loss"), (Points{{2, 10.9}, {3, 10.8}}));
}

TEST(TrainerLogs, OfFairseqCountUpdatesAndKeepEpochsApart) {
  const model::Run run = ReadLog(
      "2024-01-05 10:01:00 | INFO | train_inner | epoch 001:    100 / 3964 loss=11.632, nll_loss=11.2, wps=31212.1, "
      "num_updates=100, lr=1.25e-05, gnorm=3.21, wall=30\n"
      "2024-01-05 10:02:00 | INFO | train_inner | epoch 001:    200 / 3964 loss=10.1, nll_loss=9.5, wps=31212.1, "
      "num_updates=200, lr=2.5e-05, gnorm=2.11, wall=53\n"
      "2024-01-05 10:03:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 8.5 | nll_loss 7.9 | ppl 238.1 "
      "| num_updates 3964\n"
      "2024-01-05 10:03:00 | INFO | train | epoch 001 | loss 9.2 | nll_loss 8.5 | num_updates 3964 | lr 0.0004955 | "
      "gnorm 1.8\n"
      "2024-01-05 10:04:00 | INFO | train_inner | epoch 002:     36 / 3964 loss=8.1, nll_loss=7.5, wps=31212.1, "
      "num_updates=4000, lr=0.0005, gnorm=1.11, wall=953\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{100, 11.632}, {200, 10.1}, {4000, 8.1}})) << "the epoch's mean is no point";
  EXPECT_EQ(PointsOf(run, "val/loss"), (Points{{3964, 8.5}}));
  EXPECT_EQ(PointsOf(run, "gnorm").size(), 3U);
}

TEST(TrainerLogs, OfMetaseqAreDictionariesBehindALogger) {
  const model::Run run = ReadLog(
      "2022-01-01 00:00:00 | INFO | train_inner | {\"epoch\": 1, \"loss\": \"10.2\", \"num_updates\": \"200\", \"lr\": "
      "\"6e-06\", \"gnorm\": \"1.9\", \"loss_scale\": \"4\"}\n"
      "2022-01-01 00:00:20 | INFO | train_inner | {\"epoch\": 1, \"loss\": \"10.0\", \"num_updates\": \"201\", \"lr\": "
      "\"6e-06\", \"gnorm\": \"1.8\", \"loss_scale\": \"4\"}\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{200, 10.2}, {201, 10.0}}));
}

TEST(TrainerLogs, OfKerasCountBatchesThroughEpochs) {
  const model::Run run = ReadLog(
      "Epoch 1/3\n"
      "\r  1/100 \u2501\u2501\u2501\u2501 1:01 623ms/step - accuracy: 0.1250 - loss: 2.3101"
      "\r100/100 \u2501\u2501\u2501\u2501 1s 5ms/step - accuracy: 0.5512 - loss: 1.2011 - val_loss: 0.8801\n"
      "Epoch 2/3\n"
      "\r100/100 \u2501\u2501\u2501\u2501 1s 5ms/step - accuracy: 0.7512 - loss: 0.8011 - val_loss: 0.7001\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{1, 2.3101}, {100, 1.2011}, {200, 0.8011}}));
  EXPECT_EQ(PointsOf(run, "val_loss"), (Points{{100, 0.8801}, {200, 0.7001}}));
}

TEST(TrainerLogs, OfYoloAreTablesWithABarBehindEachRow) {
  std::string text;
  for (int epoch = 1; epoch <= 2; ++epoch) {
    const std::string row = "       " + std::to_string(epoch) + "/3      2.45G      1." + std::to_string(9 - epoch) +
                            "12      2.812         33        640: ";
    text += "\n      Epoch    GPU_mem   box_loss   cls_loss  Instances       Size\n";
    text += "\r" + row + " 50%|#####     | 4/8 [00:03<00:00,  2.30it/s]";
    text += "\r" + row + "100%|##########| 8/8 [00:03<00:00,  2.30it/s]\n";
    text += "                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95): 100%|###| 4/4\n";
    text += "                   all        128        929      0.640      0.537      0.6" + std::to_string(epoch) +
            "      0.446\n";
  }
  const model::Run run = ReadLog(text);
  EXPECT_EQ(PointsOf(run, "box_loss"), (Points{{1, 1.812}, {2, 1.712}}));
  EXPECT_EQ(PointsOf(run, "val/mAP50"), (Points{{1, 0.61}, {2, 0.62}}));
  EXPECT_EQ(FindRaw(run, "box_loss")->axis, model::Axis::kEpoch);
}

TEST(TrainerLogs, OfStableBaselinesAreBoxes) {
  const model::Run run = ReadLog(
      "---------------------------------\n| rollout/           |          |\n|    ep_rew_mean     | 21.9     |\n"
      "| time/              |          |\n|    fps             | 1035     |\n|    total_timesteps | 2048     |\n"
      "---------------------------------\n"
      "-----------------------------------\n| time/              |            |\n|    total_timesteps | 4096       |\n"
      "| train/             |            |\n|    approx_kl       | 0.008      |\n"
      "-----------------------------------\n");
  EXPECT_EQ(PointsOf(run, "rollout/ep_rew_mean"), (Points{{2048, 21.9}}));
  EXPECT_EQ(PointsOf(run, "train/approx_kl"), (Points{{4096, 0.008}}));
}

TEST(TrainerLogs, WithARowOfNamesAreTables) {
  const model::Run spaced = ReadLog(
      "epoch  train_loss  valid_loss  accuracy  time\n0      0.512       0.480       0.81      00:12\n"
      "1      0.412       0.430       0.85      00:12\n");
  EXPECT_EQ(PointsOf(spaced, "train_loss"), (Points{{0, 0.512}, {1, 0.412}}));
  EXPECT_EQ(FindRaw(spaced, "time"), nullptr);
  const model::Run ruled = ReadLog(
      "E    #       LOSS TOK2VEC  LOSS NER  SCORE\n---  ------  ------------  --------  ------\n"
      "  0       0          0.00     45.61    0.00\n  0     200         12.10   1245.61    0.60\n");
  EXPECT_EQ(PointsOf(ruled, "LOSS NER"), (Points{{0, 45.61}, {200, 1245.61}}));
  const model::Run boxed =
      ReadLog("| step | loss | lr |\n|------|------|----|\n| 10 | 2.5 | 1e-4 |\n| 20 | nan | 1e-4 |\n");
  ASSERT_EQ(PointsOf(boxed, "loss").size(), 2U);
  EXPECT_EQ(PointsOf(boxed, "loss")[0], (std::pair<std::int64_t, double>(10, 2.5)));
}

TEST(TrainerLogs, WithARowOfNamesEndWithIt) {
  std::string text = "step  loss\n1     2.5\n";
  for (int i = 0; i < 100; ++i) text += "something else\n";
  text += "2     9.5\n";
  EXPECT_EQ(PointsOf(ReadLog(text), "loss"), (Points{{1, 2.5}}));
}

TEST(TrainerLogs, OfLlmFoundryAreBlocksOfNames) {
  const model::Run run = ReadLog(
      "[batch=1/4800]:\n         Train time/batch: 0\n         Train loss/train/total: 11.0321\n"
      "         Train lr-DecoupledAdamW/group0: 0.0001\n"
      "[batch=2/4800]:\n         Train time/batch: 1\n         Train loss/train/total: 10.9321\n"
      "         Train throughput/tokens_per_sec: 31,234.1\n"
      "[eval batch=1/50] Eval on eval data\n[eval batch=50/50] Eval on eval data:\n"
      "         Eval metrics/eval/LanguageCrossEntropy: 8.123\n");
  EXPECT_EQ(PointsOf(run, "loss/train/total"), (Points{{1, 11.0321}, {2, 10.9321}}));
  EXPECT_EQ(PointsOf(run, "throughput/tokens_per_sec"), (Points{{2, 31234.1}}));
  EXPECT_EQ(PointsOf(run, "val/metrics/eval/LanguageCrossEntropy"), (Points{{2, 8.123}}));
  EXPECT_EQ(run.planned_steps, model::StepAt(4800));
  EXPECT_EQ(run.framework, "llm-foundry");
}

TEST(TrainerLogs, OfLlmFoundryThatCountEpochsAreCountedThrough) {
  const model::Run run = ReadLog(
      "[epoch=1][batch=1/2]:\n\t Train loss/train/total: 8.5\n[epoch=1][batch=2/2]:\n\t Train loss/train/total: 8.25\n"
      "[Eval batch=1/5] Eval on eval data\n[Eval batch=5/5] Eval on eval data:\n"
      "\t Eval metrics/eval/LanguageCrossEntropy: 8.125\n"
      "[epoch=2][batch=1/2]:\n\t Train loss/train/total: 8\n");
  EXPECT_EQ(PointsOf(run, "loss/train/total"), (Points{{1, 8.5}, {2, 8.25}, {3, 8}}));
  EXPECT_EQ(PointsOf(run, "val/metrics/eval/LanguageCrossEntropy"), (Points{{2, 8.125}}));
}

TEST(TrainerLogs, OfAGuardThatSpeaksBeforeTheLineOfTheStepLoseNoLoss) {
  const model::Run run = ReadLog(
      "step 1 | loss 4.5 | grad_norm 0.5\nstep 2 | loss 4.25 | grad_norm 0.5\n"
      "guard: step 3: the gradient norm is nan; left out\nstep 3 | loss 4 | grad_norm nan\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{1, 4.5}, {2, 4.25}, {3, 4}}));
  ASSERT_EQ(run.events.size(), 1U);
  EXPECT_EQ(run.events[0].decision, model::kGuardSkipped);
  EXPECT_EQ(run.events[0].at.value(), 3) << "the step that it is about, not the one logged before";
}

TEST(TrainerLogs, OfOlmoCoreSplitAtTheLastEqualsSign) {
  const model::Run run = ReadLog(
      "2025-06-01T10:00:00Z\thost:0\tolmo_core.train:62\tINFO\t[step=10/1000,epoch=1,eta=01:23:00]\n"
      "    optim/LR (group 0)=4.0000E-05\n    train/CE loss=nan\n    throughput/total tokens=1.2B\n");
  EXPECT_EQ(PointsOf(run, "optim/LR (group 0)"), (Points{{10, 4e-5}}));
  EXPECT_EQ(PointsOf(run, "throughput/total tokens"), (Points{{10, 1.2e9}}));
  EXPECT_EQ(PointsOf(run, "train/CE loss").size(), 1U);
  EXPECT_EQ(run.framework, "olmo");
}

TEST(TrainerLogs, OfTorchtitanDistinguishTrainingFromValidationBehindTheLogger) {
  const model::Run run = ReadLog(
      "[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - step: 100  loss:  3.2  grad_norm:  0.8\n"
      "[rank0]:[titan] 2026-05-18 16:04:50,338 - root - INFO - validate step: 100  loss:  3.3  tps: 900\n");
  EXPECT_EQ(PointsOf(run, "loss"), (Points{{100, 3.2}}));
  EXPECT_EQ(PointsOf(run, "val/loss"), (Points{{100, 3.3}}));
  EXPECT_EQ(run.framework, "torchtitan");
}

TEST(TrainerLogs, OfFilesNamedAfterEvaluationAreNoEvaluations) {
  const model::Run run = ReadLog("[trainer/validate.py:12] step: 100 loss: 3.2\ntest_run step: 200 loss: 3.1\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(100, 200));
}

TEST(TrainerLogs, OfLlmcPutALoneScoreAtTheLatestStep) {
  const model::Run run = ReadLog(
      "step    1/100 | loss 11.009541 (+nanz)| norm 15.3241 (+nanz)| lr 4.29e-07 | 1234.56 ms | 41.2% bf16 MFU | "
      "424601 "
      "tok/s\nval loss 10.500000\nstep    2/100 | loss 10.909541 (+nanz)| norm 12.3241 (+nanz)| lr 8.29e-07 | 1230.56 "
      "ms | 41.3% bf16 MFU | 425601 tok/s\n");
  EXPECT_EQ(PointsOf(run, "val loss"), (Points{{1, 10.5}}));
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(1, 2));
}

TEST(TrainerLogs, OfMegatronGiveTimersAndMemoryOfTheLatestStep) {
  const model::Run run = ReadLog(
      " iteration       10/     100 | lm loss: 6.800840E+00 | grad norm: 0.812 |\n"
      "[Rank 0] (after 10 iterations) memory (MB) | allocated: 1024.0 | max allocated: 2048.0 | reserved: 3072.0 | max "
      "reserved: 4096.0\n"
      "(min, max) time across ranks (ms):\n"
      "    forward-backward ...............................: (123.45, 130.12)\n"
      "    optimizer ......................................: (5.10, 5.20)\n");
  EXPECT_EQ(PointsOf(run, "timers/forward-backward"), (Points{{10, 130.12}}));
  EXPECT_EQ(PointsOf(run, "timers/forward-backward/min"), (Points{{10, 123.45}}));
  EXPECT_EQ(PointsOf(run, "max allocated"), (Points{{10, 2.0}})) << "in GiB";
  EXPECT_EQ(run.FindFact("forward-backward"), nullptr);
  EXPECT_EQ(run.FindFact("optimizer"), nullptr);
}

TEST(TrainerLogs, CountBatchesOfEpochs) {
  const model::Run run =
      ReadLog("Epoch 1, Batch 100, Loss: 3.0\nEpoch 1, Batch 200, Loss: 2.5\nEpoch 2, Batch 100, Loss: 2.2\n");
  EXPECT_THAT(StepsOf(run, "Loss"), ElementsAre(100, 200, 400));
}

TEST(TrainerLogs, PreferStepsToBatches) {
  const model::Run run = ReadLog("batch 3 step 120 loss 2.5\nbatch 4 step 130 loss 2.4\n");
  EXPECT_THAT(StepsOf(run, "loss"), ElementsAre(120, 130));
}

TEST(Repetition, MakesSentencesBelievable) {
  std::string text;
  for (int step = 100; step <= 400; step += 100) {
    text += "[10:00:0" + std::to_string(step / 100) + "] After " + std::to_string(step) +
            " updates the training loss is 2." + std::to_string(step) + " and the learning rate is 0.0003.\n";
    const std::size_t believed = StepsOf(ReadLog(text), "training loss").size();
    EXPECT_EQ(believed, step < 300 ? 0U : static_cast<std::size_t>(step / 100)) << step;
  }
}

TEST(Repetition, MakesNamesThatNobodyKnowsBelievable) {
  const model::Run run =
      ReadLog("iter 10 recon 0.51 kld 0.31\niter 20 recon 0.41 kld 0.32\niter 30 recon 0.31 kld 0.33\n");
  EXPECT_EQ(PointsOf(run, "recon"), (Points{{10, 0.51}, {20, 0.41}, {30, 0.31}}));
}

TEST(Repetition, NeedsRisingStepsAndMeasurements) {
  EXPECT_THAT(ReadLog("step 3: took 0.5 units\nstep 2: took 0.5 units\nstep 1: took 0.5 units\n").series, IsEmpty());
  EXPECT_THAT(ReadLog("step 1 of 3: file 12\nstep 2 of 3: file 13\nstep 3 of 3: file 14\n").series, IsEmpty());
}

TEST(Ranks, AreReadFromBracketsAndFromMpirun) {
  const model::Run run = ReadLog(
      "[2025-05-19 17:03:46,240] [INFO] [axolotl.train:63] [PID:9] [RANK:1] step 1 loss 2.5\n"
      "[1,2]<stdout>: step 1 loss 2.6\n[rank 3] INFO [step 1] loss=2.7 | lr=3.00e-04\n");
  std::vector<std::string> ranks;
  for (const model::Series& series : run.series) ranks.emplace_back(model::FindLabel(series.labels, "rank"));
  EXPECT_THAT(ranks, testing::UnorderedElementsAre("1", "2", "3", "3"));
  EXPECT_EQ(run.ranks, 4);
}

TEST(Ranks, OfErrorsAreThoseInTheirLine) {
  const model::Run run = ReadLog(
      "[E ProcessGroupNCCL.cpp:474] [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1)\n");
  ASSERT_EQ(run.events.size(), 1U);
  EXPECT_EQ(run.events[0].rank, 5);
}

}  // namespace
}  // namespace vigil::textlog
