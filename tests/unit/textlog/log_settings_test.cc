// Settings that logs state in other ways than the repr of arguments: commands, configs as JSON, overrides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hyperparams/hyperparams.h"
#include "identify/identify.h"
#include "log_support.h"
#include "textlog/command_line.h"

namespace vigil::textlog {
namespace {

using testing::ElementsAre;

std::string FactOf(const model::Run& run, std::string_view key) {
  const model::Fact* const fact = run.FindFact(key);
  return fact == nullptr ? "-" : fact->value;
}

model::Run FinishedLog(std::string_view text) {
  model::Run run = ReadLog(text);
  identify::Classify(run);
  return run;
}

constexpr std::string_view kSteps = "step: 1 loss: 2.5 grad_norm: 1.0\nstep: 2 loss: 2.4 grad_norm: 1.0\n";

TEST(LogSettings, AreTakenFromTheCommandThatStartedTheRun) {
  const model::Run run = ReadLog(
      "+ torchrun --nproc_per_node 8 --nnodes=2 train.py --learning_rate 1e-4 --per_device_train_batch_size 4 --bf16 "
      "True --max_steps=1000 --warmup_steps '10' --gradient_checkpointing\n" +
      std::string(kSteps));
  EXPECT_EQ(FactOf(run, "lr"), "1e-4");
  EXPECT_EQ(FactOf(run, "batch_size"), "4");
  EXPECT_EQ(FactOf(run, "bf16"), "True");
  EXPECT_EQ(FactOf(run, "max_steps"), "1000");
  EXPECT_EQ(FactOf(run, "warmup_steps"), "10");
  EXPECT_EQ(FactOf(run, "world_size"), "16");
  EXPECT_EQ(run.FindFact("lr")->place.line, 1U);
}

TEST(LogSettings, AreTakenFromACommandOverSeveralLines) {
  const model::Run run = ReadLog("$ python3 train.py \\\n    --lr 3e-4 \\\n    --max_grad_norm 1.0 \\\n    --fp16\n" +
                                 std::string(kSteps));
  EXPECT_EQ(FactOf(run, "lr"), "3e-4");
  EXPECT_EQ(FactOf(run, "max_grad_norm"), "1.0");
  EXPECT_EQ(FactOf(run, "fp16"), "true");
  EXPECT_EQ(PointsOf(run, "loss").size(), 2U);
}

TEST(LogSettings, AreTakenFromOverridesOfHydra) {
  const model::Run run = ReadLog(
      "Executing: python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=1024 "
      "actor_rollout_ref.actor.optim.lr=1e-6 trainer.total_training_steps=500\n");
  EXPECT_EQ(FactOf(run, "lr"), "1e-6");
  EXPECT_EQ(FactOf(run, "global_batch_size"), "1024");
  EXPECT_EQ(FactOf(run, "batch_size"), "-");
}

TEST(LogSettings, AreNotTakenFromSentencesAboutCommands) {
  for (const std::string_view line :
       {"usage: python train.py --lr LR", "Run `python train.py --lr 1` to start",
        "For example: torchrun train.py --lr 1", "Killed python", "the python snake --lr 1 of steps"})
    EXPECT_EQ(FactOf(ReadLog(std::string(line) + "\n" + std::string(kSteps)), "lr"), "-") << line;
}

TEST(LogSettings, KeepTheMessageBesideACommand) {
  const model::Run run = ReadLog("run.sh: line 3:  2423 Killed                  python train.py --lr 1e-4\n");
  EXPECT_EQ(FactOf(run, "lr"), "1e-4");
  EXPECT_EQ(EventsOf(run, model::EventKind::kSignature).size(), 1U);
}

TEST(LogSettings, AreTakenFromDeepSpeedsConfig) {
  const model::Run run = ReadLog(
      "[2023-04-28 06:59:46,878] [INFO] [config.py:964:print]   train_batch_size ............. 256\n"
      "[2023-04-28 06:59:46,878] [INFO] [config.py:964:print]   train_micro_batch_size_per_gpu  4\n"
      "[2023-04-28 06:59:46,878] [INFO] [config.py:955:print_user_config]   json = {\n"
      "    \"train_batch_size\": 256, \n"
      "    \"train_micro_batch_size_per_gpu\": 4, \n"
      "    \"optimizer\": {\"params\": {\"lr\": 0.001}}, \n"
      "    \"fp16\": {\n        \"enabled\": true\n    }\n"
      "}\n" +
      std::string(kSteps));
  EXPECT_EQ(FactOf(run, "global_batch_size"), "256");
  EXPECT_EQ(FactOf(run, "batch_size"), "4");
  EXPECT_EQ(FactOf(run, "fp16"), "true");
  EXPECT_EQ(FactOf(run, "lr"), "0.001");
  EXPECT_EQ(PointsOf(run, "loss").size(), 2U);
}

TEST(LogSettings, AreTakenFromAxolotlsConfig) {
  const model::Run run = FinishedLog(
      "[2025-05-19 17:03:46,240] [INFO] [axolotl.cli] config:\n{\n  \"base_model\": \"x\",\n  \"learning_rate\": "
      "0.0002,\n  \"chat_template\": \"{% if x %}{\",\n  \"micro_batch_size\": 2,\n  \"adapter\": \"lora\",\n  "
      "\"lora_r\": 16,\n  \"sequence_len\": 2048\n}\n"
      "{'loss': 1.2, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': 0.1}\n"
      "{'loss': 1.1, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': 0.2}\n");
  EXPECT_EQ(FactOf(run, "lr"), "0.0002");
  EXPECT_EQ(FactOf(run, "adapter"), "lora");
  EXPECT_EQ(FactOf(run, "lora_rank"), "16");
  EXPECT_EQ(FactOf(run, "sequence_length"), "2048");
  EXPECT_EQ(run.method.name, "lora");
  EXPECT_EQ(PointsOf(run, "loss").size(), 2U);
}

TEST(LogSettings, GoOnBehindAConfigThatWasCutOff) {
  const model::Run run =
      ReadLog("config:\n{\n  \"learning_rate\": 0.0002,\n{\"step\": 1, \"loss\": 2.5}\n{\"step\": 2, \"loss\": 2.4}\n");
  EXPECT_EQ(PointsOf(run, "loss").size(), 2U);
}

TEST(LogSettings, AreTakenFromNanoGptsOverrides) {
  const model::Run run = ReadLog(
      "Overriding config with config/train_shakespeare.py:\n# train a small model\nlearning_rate = 1e-3 # with baby "
      "networks\nmax_iters = 5000\n\nOverriding: learning_rate = 0.002\nnumber of parameters: 10.65M\n"
      "iter 0: loss 4.2, time 123.45ms, mfu -100.00%\niter 10: loss 3.2, time 123.45ms, mfu 41.20%\n");
  EXPECT_EQ(FactOf(run, "lr"), "0.002");
  EXPECT_EQ(FactOf(run, "max_steps"), "5000");
  EXPECT_EQ(PointsOf(run, "loss").size(), 2U);
}

TEST(LogSettings, DistinguishAnAdapterFromTheRankThatItWouldHave) {
  const model::Run run = FinishedLog(
      "ModelConfig(model_name_or_path='x', torch_dtype='bfloat16', use_peft=False, lora_r=16, lora_alpha=32)\n"
      "SFTConfig(per_device_train_batch_size=4, learning_rate=2e-05, max_length=4096, bf16=True)\n"
      "{'loss': 2.0, 'learning_rate': 1e-05, 'mean_token_accuracy': 0.7, 'epoch': 0.1}\n"
      "{'loss': 1.9, 'learning_rate': 1e-05, 'mean_token_accuracy': 0.7, 'epoch': 0.2}\n");
  EXPECT_EQ(FactOf(run, "adapter"), "False");
  EXPECT_EQ(FactOf(run, "lora_rank"), "16");
  EXPECT_EQ(FactOf(run, "sequence_length"), "4096");
  EXPECT_EQ(run.method.name, "sft");
}

TEST(SplitWords, FollowsTheShell) {
  std::vector<std::string> words;
  SplitWords("a  'b c' --d=\"e f\" '' g", words);
  EXPECT_THAT(words, ElementsAre("a", "b c", "--d=e f", "", "g"));
}

TEST(CommandHyperparameters, KnowOptionsFlagsAndOverrides) {
  std::vector<std::string> pairs;
  for (const hyperparams::Hyperparameter& setting :
       hyperparams::CommandHyperparameters({"train.py", "--a", "1", "--b=2", "--c", "--d", "+e.f=3", "--g"}, 7))
    pairs.push_back(setting.path + "=" + setting.value);
  EXPECT_THAT(pairs, ElementsAre("a=1", "b=2", "c=true", "d=true", "e.f=3", "g=true"));
}

}  // namespace
}  // namespace vigil::textlog
