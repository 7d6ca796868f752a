#include <gtest/gtest.h>

#include "catalogue/catalogue.h"
#include "identify/identify.h"
#include "ingest/ingest.h"

namespace vigil::identify {
namespace {

using model::Aggregation;
using model::Clipping;

// A run with the given series, one point each at steps 10, 20, 30.
model::Run RunWith(std::initializer_list<std::string_view> names, std::string_view format = "jsonl",
                   double first = 2.5) {
  ingest::PartBuilder builder("run/file", std::string(format));
  for (const std::string_view name : names) {
    const auto series = builder.OpenSeries(name);
    for (std::int64_t step = 10; step <= 30; step += 10) builder.Add(series, step, step == 10 ? first : 1.5);
  }
  return std::move(builder.part());
}

model::Run Classified(model::Run run) {
  Classify(run);
  return run;
}

// As the reader of the trainer's own files gives it.
model::Run OfHfTrainer(model::Run run) {
  run.framework = "hf-trainer";
  return run;
}

model::Run WithFact(model::Run run, std::string key, std::string value, std::string raw_key = "") {
  run.facts.push_back({std::move(key), std::move(value), std::move(raw_key), {}});
  return run;
}

std::string MethodOf(const model::Run& run) {
  return run.method.confidence >= model::kMethodKnown ? run.method.name : "unknown";
}

TEST(Classify, FindsTheFrameworkByItsNames) {
  EXPECT_EQ(Classified(RunWith({"loss", "learning_rate", "epoch"}, "trainer-state")).framework, "hf-trainer");
  EXPECT_EQ(Classified(RunWith({"train/loss", "train/learning_rate", "train/grad_norm"}, "tfevents")).framework,
            "hf-trainer");
  EXPECT_EQ(Classified(RunWith({"loss", "mean_token_accuracy"}, "trainer-state")).framework, "trl");
  EXPECT_EQ(Classified(RunWith({"loss", "frac_reward_zero_std"}, "trainer-state")).framework, "trl");
  EXPECT_EQ(Classified(RunWith({"loss", "rewards/accuracy/mean"}, "trainer-state")).framework, "trl");
  EXPECT_EQ(Classified(RunWith({"actor/pg_loss", "critic/score/mean"})).framework, "verl");
  EXPECT_EQ(Classified(RunWith({"lm loss", "grad-norm"}, "tfevents")).framework, "megatron");
  EXPECT_EQ(Classified(RunWith({"loss"}, "csv")).framework, "");
}

TEST(Classify, DoesNotTakeTheFormatOfAFileForItsFramework) {
  EXPECT_EQ(Classified(RunWith({"step", "loss"}, "trainer-state")).framework, "");
  EXPECT_EQ(Classified(RunWith({"step", "loss"}, "json-rows")).framework, "");
}

TEST(Classify, GivesTheRunTheProfileOfItsFramework) {
  const model::FrameworkProfile hf = Classified(RunWith({"loss", "learning_rate", "epoch"})).profile;
  EXPECT_TRUE(hf.defaults_to_adam && hf.drops_non_finite && hf.takes_part_epochs && hf.trains_on_tokens);
  EXPECT_EQ(hf.default_clip_norm, 1);
  EXPECT_EQ(hf.settings_of, "") << "its settings are its own";
  const model::FrameworkProfile sft = Classified(RunWith({"loss", "mean_token_accuracy"})).profile;
  EXPECT_EQ(sft.settings_of, "hf-trainer");
  EXPECT_EQ(sft.settings_file, "SFTConfig");
}

TEST(Profile, OfAFrameworkBuiltOnAnotherTakesItsSettings) {
  EXPECT_EQ(ProfileOf("axolotl", {}).settings_of, "hf-trainer");
  EXPECT_EQ(ProfileOf("axolotl", {}).settings_file, "config");
  EXPECT_EQ(ProfileOf("trl", {"grpo", 0.9}).settings_file, "GRPOConfig");
  EXPECT_EQ(ProfileOf("trl", {"grpo", 0.3}).settings_file, "TrainingArguments") << "a guess names no class";
  EXPECT_EQ(ProfileOf("lightning", {}).bf16_value, "bf16-mixed");
}

TEST(Profile, OfAnUnknownFrameworkPromisesNothing) {
  const model::FrameworkProfile profile = ProfileOf("somebody's", {});
  EXPECT_FALSE(profile.defaults_to_adam || profile.drops_non_finite || profile.trains_on_tokens);
  EXPECT_EQ(profile.default_clip_norm, 0);
  EXPECT_EQ(profile.bf16_value, "True");
}

TEST(Classify, KeepsAFrameworkThatTheSourceNamed) {
  model::Run run = RunWith({"loss", "learning_rate", "epoch"});
  run.framework = "axolotl";
  EXPECT_EQ(Classified(run).framework, "axolotl");
}

TEST(Classify, DistinguishesTheMethodsOfReinforcementLearning) {
  EXPECT_EQ(MethodOf(Classified(RunWith({"reward", "frac_reward_zero_std", "kl"}))), "grpo");
  EXPECT_EQ(MethodOf(Classified(RunWith({"reward", "completions/mean_length"}))), "grpo");
  EXPECT_EQ(MethodOf(Classified(RunWith({"critic/score/mean", "response_length/mean", "critic/vf_loss"}))), "ppo");
  EXPECT_EQ(MethodOf(Classified(RunWith({"objective/kl", "objective/scores"}))), "ppo");
  EXPECT_EQ(MethodOf(Classified(RunWith({"loss", "rewards/margins", "rewards/accuracies"}))), "dpo");
}

TEST(Classify, DoesNotTakeAGameForALanguageModel) {
  EXPECT_EQ(MethodOf(Classified(RunWith({"rollout/ep_rew_mean", "train/value_loss", "train/loss"}))), "unknown");
}

TEST(Classify, RecognisesFineTuning) {
  EXPECT_EQ(MethodOf(Classified(RunWith({"loss", "mean_token_accuracy"}, "trainer-state"))), "sft");
  EXPECT_EQ(MethodOf(Classified(WithFact(RunWith({"loss"}), "adapter", "LORA"))), "lora");
  EXPECT_EQ(MethodOf(Classified(WithFact(RunWith({"loss"}), "adapter", "none"))), "unknown");
  EXPECT_EQ(MethodOf(Classified(WithFact(RunWith({"loss"}), "adapter", "full", "finetuning_type"))), "sft");
}

TEST(Classify, RecognisesPretrainingByTheFirstLossAndTheVocabulary) {
  EXPECT_EQ(MethodOf(Classified(WithFact(RunWith({"loss"}, "csv", 10.9), "vocab_size", "50257"))), "pretrain");
  EXPECT_EQ(MethodOf(Classified(RunWith({"lm loss"}, "tfevents", 10.9))), "pretrain");
  const model::Run guess = Classified(RunWith({"loss"}, "csv", 10.9));
  EXPECT_EQ(guess.method.name, "pretrain");
  EXPECT_LT(guess.method.confidence, model::kMethodKnown) << "a guess switches no fixed limit on";
}

TEST(Classify, LeavesAnUnknownMethodUnknown) {
  EXPECT_EQ(MethodOf(Classified(RunWith({"loss", "learning_rate", "epoch"}, "trainer-state"))), "unknown");
  EXPECT_EQ(MethodOf(Classified(RunWith({"box_loss", "mAP50"}, "csv"))), "unknown");
}

TEST(Classify, KnowsHowHfTrainerTakesItsValues) {
  const model::Run run = Classified(OfHfTrainer(RunWith({"loss", "grad_norm", "learning_rate", "eval_loss"})));
  EXPECT_EQ(run.Find("loss")->aggregation, Aggregation::kMean);
  EXPECT_EQ(run.Find("grad_norm")->aggregation, Aggregation::kInstant);
  EXPECT_EQ(run.Find("grad_norm")->clipping, Clipping::kBefore);
  EXPECT_EQ(run.Find("lr")->aggregation, Aggregation::kInstant);
  EXPECT_EQ(run.Find("eval_loss")->aggregation, Aggregation::kInstant);
  const model::Run trl = Classified(RunWith({"loss", "reward", "frac_reward_zero_std"}, "trainer-state"));
  EXPECT_EQ(trl.Find("reward")->aggregation, Aggregation::kMean);
}

TEST(Classify, TakesAValueOfEveryStepAsInstant) {
  ingest::PartBuilder builder("f", "trainer-state");
  for (std::int64_t step = 1; step < 9; ++step) builder.Add(builder.OpenSeries("loss"), step, 1.0);
  EXPECT_EQ(Classified(OfHfTrainer(std::move(builder.part()))).Find("loss")->aggregation, Aggregation::kInstant);
}

TEST(Classify, ClaimsNothingAboutOtherFrameworks) {
  const model::Run run = Classified(RunWith({"loss", "grad_norm"}, "csv"));
  EXPECT_EQ(run.Find("loss")->aggregation, Aggregation::kUnknown);
  EXPECT_EQ(run.Find("grad_norm")->clipping, Clipping::kUnknown);
}

TEST(Classify, TakesPlannedStepsFromTheSettings) {
  EXPECT_EQ(Classified(WithFact(RunWith({"loss"}), "max_steps", "500")).planned_steps, model::StepAt(500));
  EXPECT_FALSE(Classified(WithFact(RunWith({"loss"}), "max_steps", "-1")).planned_steps.has_value());
  EXPECT_FALSE(Classified(WithFact(RunWith({"loss"}), "max_steps", "many")).planned_steps.has_value());
}

TEST(Classify, DistinguishesNormsBeforeAndAfterClippingByTheirNames) {
  const model::Run run = Classified(RunWith({"loss", "grad_norm_before_clip", "grad_norm_after_clip",
                                             "clipped_grad_norm", "unclipped_grad_norm", "grad_norm"},
                                            "jsonl"));
  const auto clipping = [&](std::string_view raw) {
    for (const model::Series& series : run.series) {
      if (series.raw == raw) return series.clipping;
    }
    return Clipping::kUnknown;
  };
  EXPECT_EQ(clipping("grad_norm_before_clip"), Clipping::kBefore);
  EXPECT_EQ(clipping("unclipped_grad_norm"), Clipping::kBefore);
  EXPECT_EQ(clipping("grad_norm_after_clip"), Clipping::kAfter);
  EXPECT_EQ(clipping("clipped_grad_norm"), Clipping::kAfter);
}

TEST(Vocabulary, GivesUnitsAndMeaningsAsTheirProgramsMeanThem) {
  const auto flops = catalogue::Interpret("throughput/device/flops_per_sec");
  ASSERT_TRUE(flops);
  EXPECT_EQ(flops->signal, "tflops");
  EXPECT_DOUBLE_EQ(flops->scale * 4.1e14, 410);
  EXPECT_EQ(catalogue::Interpret("MaxMemAllocated")->signal, "mem_allocated");
  EXPECT_FALSE(catalogue::Interpret("perf/total_num_tokens")) << "of one step, not of all";
  EXPECT_EQ(catalogue::Interpret("rewards/accuracy_reward")->signal, "reward_of");
  EXPECT_EQ(catalogue::Interpret("rewards/accuracy_reward/mean")->signal, "reward_of");
  EXPECT_EQ(catalogue::Interpret("rewards/accuracy_reward/std")->signal, "reward_std_of");
  EXPECT_EQ(catalogue::Interpret("eval_rewards/accuracy_reward/mean")->signal, "eval_reward_of");
  EXPECT_NE(catalogue::Interpret("rewards/margins")->signal, "reward_of");
  EXPECT_FALSE(catalogue::Interpret("rewards/chosen") && catalogue::Interpret("rewards/chosen")->signal == "reward_of");
}

}  // namespace
}  // namespace vigil::identify
