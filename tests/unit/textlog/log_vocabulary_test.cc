// One line of each trainer as it is printed, and the signals that must come of it, in their units.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "log_support.h"

namespace vigil::textlog {
namespace {

struct Sample {
  std::string_view trainer;
  std::string_view text;
  std::map<std::string_view, double> signals;
};

// Twice the same line at two steps would say no more: one is enough, where the trainer names its step.
const std::array kSamples = {
    Sample{"HF Trainer",
           "{'loss': 2.31, 'grad_norm': 1.25, 'learning_rate': 5e-05, 'epoch': 0.1, 'step': 10}\n",
           {{"loss", 2.31}, {"grad_norm", 1.25}, {"lr", 5e-5}, {"epoch", 0.1}}},
    Sample{"HF Trainer, evaluation",
           "{'eval_loss': 1.5, 'eval_runtime': 3.1, 'eval_accuracy': 0.5, 'epoch': 0.1, 'step': 10}\n",
           {{"eval_loss", 1.5}, {"eval_accuracy", 0.5}}},
    Sample{"TRL SFT",
           "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'entropy': 1.25, 'num_tokens': 45000.0, "
           "'mean_token_accuracy': 0.75, 'epoch': 0.1, 'step': 10}\n",
           {{"loss", 1.5}, {"entropy", 1.25}, {"num_tokens", 45000}, {"accuracy", 0.75}}},
    Sample{"TRL GRPO",
           "{'loss': 0.0031, 'grad_norm': 0.446, 'learning_rate': 9.9e-07, 'num_tokens': 45000.0, "
           "'completions/mean_length': "
           "247.8, 'completions/min_length': 12.0, 'completions/max_length': 512.0, 'completions/clipped_ratio': 0.02, "
           "'completions/mean_terminated_length': 200.5, 'rewards/acc/mean': 0.219, 'rewards/acc/std': 0.35, 'reward': "
           "0.229, "
           "'reward_std': 0.35, 'frac_reward_zero_std': 0.1, 'kl': 0.001, 'entropy': 0.7, 'clip_ratio/low_mean': 0.01, "
           "'clip_ratio/high_mean': 0.02, 'clip_ratio/region_mean': 0.03, "
           "'sampling/sampling_logp_difference/mean': 0.04, 'sampling/importance_sampling_ratio/min': 0.5, "
           "'step_time': 3.5, "
           "'step': 10}\n",
           {{"loss", 0.0031},
            {"completion_length", 247.8},
            {"completion_length_min", 12},
            {"completion_length_max", 512},
            {"truncated_share", 0.02},
            {"terminated_length", 200.5},
            {"reward", 0.229},
            {"reward_of", 0.219},
            {"reward_std_of", 0.35},
            {"reward_std", 0.35},
            {"zero_std_share", 0.1},
            {"kl", 0.001},
            {"entropy", 0.7},
            {"clip_low", 0.01},
            {"clip_high", 0.02},
            {"clip_share", 0.03},
            {"sampling_gap", 0.04},
            {"importance_ratio_min", 0.5},
            {"step_time_s", 3.5}}},
    Sample{
        "TRL PPO",
        "{'eps': 1, 'objective/kl': 10.5, 'objective/entropy': 25.5, 'objective/non_score_reward': -0.5, "
        "'objective/rlhf_reward': 0.25, 'policy/approxkl_avg': 0.125, 'policy/clipfrac_avg': 0.0625, "
        "'loss/policy_avg': "
        "-0.03, 'loss/value_avg': 0.75, 'val/clipfrac_avg': 0.2, 'val/ratio': 0.968, 'lr': 2.06e-06, 'episode': 816, "
        "'epoch': 0.91, 'step': 10}\n",
        {{"kl", 10.5},
         {"entropy", 25.5},
         {"non_score_reward", -0.5},
         {"reward", 0.25},
         {"policy_kl", 0.125},
         {"clip_share", 0.0625},
         {"policy_loss", -0.03},
         {"value_loss", 0.75},
         {"value_clip_share", 0.2},
         {"importance_ratio_mean", 0.968},
         {"lr", 2.06e-6}}},
    Sample{
        "TRL DPO",
        "{'loss': 0.69, 'grad_norm': 2.5, 'learning_rate': 5e-07, 'rewards/chosen': 0.01, 'rewards/rejected': -0.02, "
        "'rewards/accuracies': 0.55, 'rewards/margins': 0.03, 'logps/chosen': -120.5, 'logps/rejected': -130.5, "
        "'logits/chosen': -1.5, 'logits/rejected': -1.75, 'epoch': 0.1, 'step': 10}\n",
        {{"loss", 0.69},
         {"preference_chosen", 0.01},
         {"preference_rejected", -0.02},
         {"preference_accuracy", 0.55},
         {"preference_margin", 0.03},
         {"preference_logp_chosen", -120.5},
         {"preference_logp_rejected", -130.5},
         {"preference_logits_chosen", -1.5},
         {"preference_logits_rejected", -1.75}}},
    Sample{"EBFT",
           "{'loss': 0.5, 'ebft/alignment': 0.75, 'ebft/diversity': 0.25, 'ebft/cfm_loss': 1.5, 'step': 10}\n",
           {{"ebft_alignment", 0.75}, {"ebft_diversity", 0.25}, {"ebft_cfm", 1.5}}},
    Sample{"axolotl",
           "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'memory/max_active (GiB)': 20.5, "
           "'memory/max_allocated "
           "(GiB)': 20.25, 'memory/device_reserved (GiB)': 22.5, 'tokens/train_per_sec_per_gpu': 1234.5, 'epoch': 0.1, "
           "'step': 10}\n",
           {{"loss", 1.5}, {"tokens_per_s", 1234.5}, {"mem_reserved", 22.5}}},
    Sample{"Megatron-LM",
           " [2026-08-22 15:22:22] iteration       10/  250000 | consumed samples:           80 | elapsed time per "
           "iteration "
           "(ms): 4000.0 | throughput per GPU (TFLOP/s/GPU): 398.5 | learning rate: 3.000000E-04 | global batch size:  "
           "   8 | "
           "lm loss: 6.500000E+00 | loss scale: 1.0 | grad norm: 0.500 | number of skipped iterations:   0 | number of "
           "nan "
           "iterations:   0 |\n",
           {{"loss", 6.5},
            {"step_time_s", 4},
            {"tflops", 398.5},
            {"lr", 3e-4},
            {"loss_scale", 1},
            {"grad_norm", 0.5},
            {"num_samples", 80},
            {"skipped_steps", 0},
            {"nan_steps", 0}}},
    Sample{
        "torchtitan",
        "[rank0]:[titan] 2026-05-22 18:51:59,123 - root - INFO - step: 10  loss:  8.0500  grad_norm:  1.2500  memory: "
        "9.46GiB(64.99%)  tps: 7,282  tflops: 42.50  mfu: 13.50%\n",
        {{"loss", 8.05}, {"grad_norm", 1.25}, {"tokens_per_s", 7282}, {"tflops", 42.5}, {"mfu", 13.5}}},
    Sample{"nanoGPT",
           "iter 10: loss 3.5, time 250.00ms, mfu 40.25%\n",
           {{"loss", 3.5}, {"step_time_s", 0.25}, {"mfu", 40.25}}},
    Sample{"nanochat",
           "step 00010/21400 (0.05%) | loss: 3.500000 | lrm: 1.00 | dt: 250.00ms | tok/sec: 1,048,576 | bf16_mfu: "
           "45.50 | total "
           "time: 0.10m\n",
           {{"loss", 3.5}, {"step_time_s", 0.25}, {"tokens_per_s", 1048576}}},
    Sample{"llm.c",
           "step   10/19560 | loss 3.500000 (+0.12z)| norm 1.2500 (+0.10z)| lr 6.00e-04 | 250.00 ms | 45.5% bf16 MFU | "
           "2100000 "
           "tok/s\n",
           {{"loss", 3.5}, {"grad_norm", 1.25}, {"lr", 6e-4}, {"tokens_per_s", 2100000}}},
    Sample{
        "OLMo",
        "2026-01-02 10:00:00.123 host:0 olmo.train:967 INFO [step=10/739328,epoch=0]\n    optim/total_grad_norm=1.25\n"
        "    optim/learning_rate_group0=0.0003\n    train/CrossEntropyLoss=3.5\n    "
        "throughput/device/tokens_per_second=1,234\n",
        {{"loss", 3.5}, {"grad_norm", 1.25}, {"lr", 3e-4}, {"tokens_per_s", 1234}}},
    Sample{"LLM-foundry",
           "[batch=10/4800]:\n\t Train time/batch: 9\n\t Train loss/train/total: 3.5000\n\t Train "
           "throughput/device/tokens_per_sec: 1234.5000\n\t Train lr-DecoupledAdamW/group0: 0.0003\n",
           {{"loss", 3.5}, {"lr", 3e-4}, {"tokens_per_s", 1234.5}}},
    Sample{"verl",
           "(TaskRunner pid=87031) step:10 - actor/entropy:0.45 - actor/pg_loss:-0.0125 - actor/pg_clipfrac:0.0625 - "
           "actor/ppo_kl:0.005 - actor/grad_norm:9.5 - actor/lr:1e-06 - critic/score/mean:0.594 - "
           "critic/rewards/mean:0.594 - "
           "critic/advantages/mean:-0.05 - response_length/mean:250.5 - response_length/max:512.0 - "
           "response_length/clip_ratio:0.125 - perf/throughput:1234.5 - timing_s/step:30.5\n",
           {{"entropy", 0.45},
            {"policy_loss", -0.0125},
            {"clip_share", 0.0625},
            {"policy_kl", 0.005},
            {"grad_norm", 9.5},
            {"lr", 1e-6},
            {"reward", 0.594},
            {"advantage", -0.05},
            {"completion_length", 250.5},
            {"completion_length_max", 512},
            {"truncated_share", 0.125},
            {"tokens_per_s", 1234.5},
            {"step_time_s", 30.5}}},
    Sample{"DeepSpeed",
           "step=10, skipped=2, lr=[0.0003], mom=[(0.9, 0.95)]\nsteps: 10 loss: 3.5 iter time (s): 0.25 samples/sec: "
           "32.0\n",
           {{"loss", 3.5}, {"samples_per_s", 32}}},
    Sample{"Lightning",
           "Epoch 0:  10%|#         | 10/100 [00:05<00:45,  2.00it/s, v_num=3, train_loss=2.5, lr=0.001]\n",
           {{"loss", 2.5}, {"lr", 0.001}}},
    Sample{"KempnerForge",
           "2026-01-02 10:00:00,123 - kempnerforge.training - INFO - [step 10] loss=3.5000 | lr=3.00e-04 | "
           "grad_norm=1.250 | "
           "tok/s=45,678 | mfu=45.5% | mem=20.5/80GB\n",
           {{"loss", 3.5}, {"lr", 3e-4}, {"grad_norm", 1.25}, {"tokens_per_s", 45678}, {"mfu", 45.5}}},
    Sample{"OpenRLHF",
           "Train epoch [1/1]:  10%|#         | 10/100 [00:05<00:45,  2.00s/it, act_loss=-0.0125, reward=0.5, "
           "return=0.25, "
           "gen_len=250, kl=0.001, act_lr=5e-7]\n",
           {{"policy_loss", -0.0125}, {"reward", 0.5}, {"completion_length", 250}, {"kl", 0.001}, {"lr", 5e-7}}},
};

// The last value of a signal, whatever its labels.
const model::Series* AnySeries(const model::Run& run, std::string_view signal) {
  for (const model::Series& series : run.series) {
    if (series.signal == signal) return &series;
  }
  return nullptr;
}

TEST(LogVocabulary, GivesTheSignalsOfEveryTrainersLineInTheirUnits) {
  for (const Sample& sample : kSamples) {
    const model::Run run = ReadLog(sample.text);
    for (const auto& [signal, value] : sample.signals) {
      const model::Series* series = AnySeries(run, signal);
      EXPECT_NE(series, nullptr) << sample.trainer << ": " << signal;
      if (series == nullptr) continue;
      EXPECT_NEAR(series->values.back(), value, 1e-9 * std::max(1.0, std::abs(value)))
          << sample.trainer << ": " << signal;
      if (series->axis == model::Axis::kStep) {
        EXPECT_EQ(series->steps.back(), 10) << sample.trainer << ": " << signal;
      }
    }
  }
}

TEST(LogVocabulary, KeepsNamesThatItDoesNotKnow) {
  const model::Run run = ReadLog("step 10 | loss 2.5 | my_own_score 0.75\n");
  ASSERT_NE(FindRaw(run, "my_own_score"), nullptr);
  EXPECT_EQ(FindRaw(run, "my_own_score")->signal, "my_own_score");
}

TEST(LogVocabulary, NamesTheRewardFunctionInALabel) {
  const model::Run run =
      ReadLog("{'loss': 0.1, 'rewards/format_check/mean': 0.5, 'rewards/math/mean': 0.25, 'step': 10}\n");
  std::map<std::string, double> rewards;
  for (const model::Series& series : run.series) {
    if (series.signal == "reward_of")
      rewards[std::string(model::FindLabel(series.labels, "reward"))] = series.values.back();
  }
  EXPECT_EQ(rewards, (std::map<std::string, double>{{"format_check", 0.5}, {"math", 0.25}}));
}

}  // namespace
}  // namespace vigil::textlog
