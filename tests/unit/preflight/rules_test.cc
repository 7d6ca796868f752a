// Each rule both ways: a config that breaks it, and the nearest one that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "plan_maker.h"

namespace vigil::preflight {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAxolotl =
    "base_model: org/model\ndatasets:\n  - path: a.jsonl\n    type: alpaca\nmicro_batch_size: 2\n"
    "gradient_accumulation_steps: 4\nnum_epochs: 1\nlearning_rate: 0.00002\n";
constexpr const char* kTrainer =
    "model_name_or_path: org/model\noutput_dir: out\nper_device_train_batch_size: 2\nlearning_rate: 0.00002\n"
    "num_train_epochs: 1\n";
constexpr const char* kTitan =
    "[job]\ndump_folder = \"out\"\n[model]\nname = \"llama3\"\n[optimizer]\nlr = 3e-4\n"
    "[training]\nlocal_batch_size = 8\nseq_len = 2048\nsteps = 1000\n";

struct Case {
  const char* rule;
  const char* base;
  const char* broken;  // behind the base
  const char* sound;
};

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  std::string name = std::string(info.param.rule) + "_" + std::to_string(info.index);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

class Rule : public testing::TestWithParam<Case> {};

TEST_P(Rule, IsBrokenByTheOneAndNotByTheOther) {
  const Case& each = GetParam();
  const bool toml = std::string_view(each.base).starts_with("[job]");
  const char* name = toml ? "config.toml" : "config.yaml";
  const std::string id = "config/" + std::string(each.rule);
  EXPECT_THAT(IdsOf({{name, std::string(each.base) + each.broken}}), Contains(id));
  EXPECT_THAT(IdsOf({{name, std::string(each.base) + each.sound}}), Not(Contains(id)));
}

INSTANTIATE_TEST_SUITE_P(
    Strategy, Rule,
    testing::Values(
        Case{"best-model-strategy", kTrainer,
             "load_best_model_at_end: true\neval_strategy: steps\nsave_strategy: epoch\n",
             "load_best_model_at_end: true\neval_strategy: steps\nsave_strategy: steps\n"},
        Case{"best-model-strategy", kTrainer, "load_best_model_at_end: true\n", "load_best_model_at_end: false\n"},
        Case{"best-model-steps", kTrainer,
             "load_best_model_at_end: true\neval_strategy: steps\nsave_strategy: steps\nsave_steps: 150\neval_steps: "
             "100\n",
             "load_best_model_at_end: true\neval_strategy: steps\nsave_strategy: steps\nsave_steps: 200\neval_steps: "
             "100\n"},
        Case{"eval-without-data", kAxolotl, "val_set_size: 0.0\nevals_per_epoch: 2\n",
             "val_set_size: 0.1\nevals_per_epoch: 2\n"},
        Case{"eval-without-data", kAxolotl, "val_set_size: 0\neval_steps: 20\n",
             "val_set_size: 0\neval_steps: 20\ntest_datasets:\n  - path: b.jsonl\n"},
        Case{"exclusive-settings", kAxolotl, "evals_per_epoch: 2\neval_steps: 50\n", "evals_per_epoch: 2\n"},
        Case{"steps-and-epochs", kTrainer, "max_steps: 100\n", "max_steps: -1\n"},
        Case{"one-checkpoint", kTrainer, "save_total_limit: 1\n", "save_total_limit: 2\n"},
        Case{"checkpoint-cadence", kTrainer, "max_steps: 100\nsave_steps: 500\n", "max_steps: 1000\nsave_steps: 500\n"},
        Case{"checkpoint-cadence", kTrainer, "max_steps: 10000\nsave_steps: 10\n",
             "max_steps: 10000\nsave_steps: 10\nsave_total_limit: 3\n"},
        Case{"logging-off", kTrainer, "logging_strategy: \"no\"\n", "logging_strategy: steps\n"},
        Case{"logging-off", kTrainer, "max_steps: 100\nlogging_steps: 500\n", "max_steps: 100\nlogging_steps: 10\n"},
        Case{"no-tracker", kTrainer, "report_to: none\n", "report_to: wandb\n"},
        Case{"no-determinism", kTitan, "[debug]\ndeterministic = true\n", "[debug]\ndeterministic = true\nseed = 1\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    PrecisionAndSchedule, Rule,
    testing::Values(
        Case{"two-precisions", kTrainer, "fp16: true\nbf16: true\n", "fp16: false\nbf16: true\n"},
        Case{"reentrant-default", kAxolotl, "gradient_checkpointing: true\n",
             "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n"},
        Case{"cache-with-checkpointing", kTrainer, "gradient_checkpointing: true\nuse_cache: true\n",
             "gradient_checkpointing: true\nuse_cache: false\n"},
        Case{"two-warmups", kTrainer, "warmup_steps: 10\nwarmup_ratio: 0.1\n", "warmup_steps: 0\nwarmup_ratio: 0.1\n"},
        Case{"warmup-longer", kTrainer, "max_steps: 100\nwarmup_steps: 100\n", "max_steps: 100\nwarmup_steps: 10\n"},
        Case{"warmup-ignored", kTrainer, "lr_scheduler_type: constant\nwarmup_ratio: 0.1\n",
             "lr_scheduler_type: constant_with_warmup\nwarmup_ratio: 0.1\n"},
        Case{"no-warmup", kTrainer, "max_steps: 1000\nwarmup_steps: 0\n", "max_steps: 1000\nwarmup_steps: 50\n"},
        Case{"no-clipping", kTrainer, "max_grad_norm: 0\n", "max_grad_norm: 1.0\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Distributed, Rule,
    testing::Values(
        Case{"deepspeed-and-fsdp", kAxolotl, "deepspeed: ds.json\nfsdp:\n  - full_shard\n", "deepspeed: ds.json\n"},
        Case{"fsdp1", kAxolotl, "fsdp:\n  - full_shard\nfsdp_version: 1\n", "fsdp:\n  - full_shard\nfsdp_version: 2\n"},
        Case{"fsdp-versions-mixed", kAxolotl, "fsdp_version: 2\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n",
             "fsdp_version: 2\nfsdp_config:\n  reshard_after_forward: true\n"},
        Case{"fsdp-async-prefetch", kAxolotl, "fsdp:\n  - full_shard\nasync_prefetch: true\n",
             "fsdp:\n  - full_shard\nasync_prefetch: false\n"},
        Case{"8bit-optimizer-sharded", kAxolotl, "fsdp:\n  - full_shard\noptimizer: adamw_bnb_8bit\n",
             "fsdp:\n  - full_shard\noptimizer: adamw_torch_fused\n"},
        Case{"pipeline-microbatches", kTitan,
             "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_microbatch_size = 3\n",
             "[parallelism]\npipeline_parallel_degree = 4\npipeline_parallel_microbatch_size = 2\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    AdaptersAndData, Rule,
    testing::Values(Case{"lora-no-targets", kAxolotl, "adapter: lora\nlora_r: 8\n",
                         "adapter: lora\nlora_r: 8\nlora_target_linear: true\n"},
                    Case{"lora-scale", kAxolotl, "adapter: lora\nlora_r: 8\nlora_alpha: 512\n",
                         "adapter: lora\nlora_r: 8\nlora_alpha: 16\n"},
                    Case{"quantized-without-adapter", kAxolotl, "load_in_4bit: true\n",
                         "load_in_4bit: true\nadapter: qlora\n"},
                    Case{"two-quantizations", kAxolotl, "adapter: qlora\nload_in_4bit: true\nload_in_8bit: true\n",
                         "adapter: qlora\nload_in_4bit: true\nload_in_8bit: false\n"},
                    Case{"qlora-not-quantized", kAxolotl, "adapter: qlora\nload_in_4bit: false\n",
                         "adapter: qlora\nload_in_4bit: true\n"},
                    Case{"weight-decay-high", kAxolotl, "adapter: lora\nweight_decay: 0.2\n",
                         "adapter: lora\nweight_decay: 0.01\n"},
                    Case{"packing-without-flash", kAxolotl, "sample_packing: true\nattn_implementation: eager\n",
                         "sample_packing: true\nattn_implementation: flash_attention_2\n"},
                    Case{"packing-without-flash", kAxolotl, "sample_packing: true\n",
                         "sample_packing: true\nflash_attention: true\n"},
                    Case{"packing-small-eval", kAxolotl, "sample_packing: true\nval_set_size: 0.01\n",
                         "sample_packing: true\nval_set_size: 0.01\neval_sample_packing: false\n"},
                    Case{"packing-by-length", kAxolotl, "sample_packing: true\ngroup_by_length: true\n",
                         "sample_packing: true\ngroup_by_length: false\n"},
                    Case{"no-eval", kAxolotl, "val_set_size: 0\n", "val_set_size: 0.05\n"},
                    Case{"nan-hidden", kTrainer, "logging_nan_inf_filter: true\n", "logging_nan_inf_filter: false\n"},
                    Case{"no-checkpoint-state", kTrainer, "save_only_model: true\n", "save_only_model: false\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Values, Rule,
    testing::Values(
        Case{"value-impossible", kTrainer, "weight_decay: -0.1\n", "weight_decay: 0.1\n"},
        Case{"value-impossible", kTrainer, "gradient_accumulation_steps: 0\n", "gradient_accumulation_steps: 1\n"},
        Case{"value-impossible", kTrainer, "adam_beta2: 1.0\n", "adam_beta2: 0.95\n"},
        Case{"value-impossible", kTrainer, "warmup_ratio: 5\n", "warmup_ratio: 0.05\n"},
        Case{"value-impossible", kTrainer, "label_smoothing_factor: 1.5\n", "label_smoothing_factor: 0.1\n"},
        Case{"value-unusual", kTrainer, "weight_decay: 10\n", "weight_decay: 0.1\n"},
        Case{"value-unusual", kTrainer, "max_grad_norm: 1.0e-6\n", "max_grad_norm: 0.5\n"},
        Case{"value-unusual", kTrainer, "label_smoothing_factor: 0.9\n", "label_smoothing_factor: 0.1\n"},
        Case{"value-unusual", kTrainer, "adam_beta2: 0.5\n", "adam_beta2: 0.99\n"},
        Case{"value-unusual", kTrainer, "num_generations: 4\ntemperature: 0\n",
             "num_generations: 4\ntemperature: 1.0\n"}),
    NameOf);

INSTANTIATE_TEST_SUITE_P(
    Text, Rule,
    testing::Values(Case{"number-as-text", kTrainer, "adam_epsilon: 1e-8\n", "adam_epsilon: 1.0e-8\n"},
                    Case{"word-as-truth", kTrainer, "save_strategy: no\n", "save_strategy: 'no'\n"},
                    Case{"wrong-type", kTrainer, "max_steps: many\n", "max_steps: 10\n"},
                    Case{"wrong-type", kTrainer, "gradient_accumulation_steps: 2.5\n",
                         "gradient_accumulation_steps: 2\n"},
                    Case{"wrong-type", kTrainer, "load_best_model_at_end: maybe\n", "load_best_model_at_end: false\n"},
                    Case{"unknown-key", kAxolotl, "gradient_checkpointng: true\n", "my_own_field: 1\n"},
                    Case{"unknown-key", kTitan, "[checkpoint]\nintervall = 5\n", "[checkpoint]\ninterval = 5\n"},
                    Case{"duplicate-key", kTrainer, "seed: 1\nseed: 2\n", "seed: 1\n"},
                    Case{"broken-file", kTrainer, "list: [1, 2\n", "list: [1, 2]\n"}),
    NameOf);

// ---- rules that need several files, ranks or the memory of a device

constexpr const char* kZero3 =
    R"({"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": false}})";

TEST(Together, NonReentrantCheckpointingWithZero3) {
  const std::string text =
      std::string(kTrainer) + "gradient_checkpointing: true\ngradient_checkpointing_kwargs:\n  use_reentrant: false\n";
  EXPECT_THAT(IdsOf({{"train.yaml", text}, {"ds.json", kZero3}}), Contains("config/reentrant-needed"));
  EXPECT_THAT(IdsOf({{"train.yaml", text}}), Not(Contains("config/reentrant-needed")));
}

TEST(Together, PrecisionOfTheTrainerAndOfDeepspeed) {
  const std::string text = std::string(kTrainer) + "bf16: true\n";
  const char* fp16 = R"({"zero_optimization": {"stage": 2}, "fp16": {"enabled": true}})";
  const char* left = R"({"zero_optimization": {"stage": 2}, "fp16": {"enabled": "auto"}})";
  EXPECT_THAT(IdsOf({{"train.yaml", text}, {"ds.json", fp16}}), Contains("config/precision-differs"));
  EXPECT_THAT(IdsOf({{"train.yaml", text}, {"ds.json", left}}), Not(Contains("config/precision-differs")));
}

TEST(Together, ValuesThatContradictDeepspeed) {
  const char* other = R"({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 8})";
  const char* same = R"({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 2})";
  const auto found = Findings({{"train.yaml", kTrainer}, {"ds.json", other}});
  const auto at = std::find_if(found.begin(), found.end(), [](const model::ConfigBreach& breach) {
    return breach.finding.id == "config/deepspeed-differs";
  });
  ASSERT_NE(at, found.end());
  EXPECT_EQ(at->finding.severity, model::Severity::kError);
  EXPECT_EQ(at->finding.evidence[0].path, "ds.json");
  EXPECT_EQ(at->finding.evidence[1].path, "train.yaml");
  EXPECT_EQ(at->finding.evidence[1].line, 3U);
  EXPECT_EQ(at->fix.proposed, "auto");
  EXPECT_THAT(IdsOf({{"train.yaml", kTrainer}, {"ds.json", same}}), Not(Contains("config/deepspeed-differs")));
}

TEST(Together, TheBatchOfDeepspeedIsTheProduct) {
  const char* config =
      R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})";
  EXPECT_THAT(IdsOf({{"ds.json", config}}, {.ranks = 4}), Contains("config/effective-batch"));
  EXPECT_THAT(IdsOf({{"ds.json", config}}, {.ranks = 8}), Not(Contains("config/effective-batch")));
  EXPECT_THAT(IdsOf({{"ds.json", config}}), Not(Contains("config/effective-batch")));
}

TEST(Together, WhatARunWroteDownIsComparedWithItsConfig) {
  const auto config = configfile::Parse("t.yaml", kTrainer, configfile::Notation::kYaml);
  const auto ran = configfile::Parse("args.json", R"({"learning_rate": 0.0002, "per_device_train_batch_size": 2})",
                                     configfile::Notation::kJson);
  Group group;
  group.training = &config;
  group.ran = &ran;
  const model::PlannedRun run = Check(group, {}, {});
  std::vector<std::string> settings;
  for (const model::ConfigBreach& breach : run.breaches) {
    if (breach.finding.id == "config/files-disagree") settings.push_back(breach.fix.setting);
  }
  EXPECT_THAT(settings, testing::ElementsAre("learning_rate"));
}

TEST(Ranks, DeepspeedOnOneAndDegreesThatDoNotMultiply) {
  EXPECT_THAT(IdsOf({{"train.yaml", kTrainer}, {"ds.json", kZero3}}, {.ranks = 1}),
              Contains("config/deepspeed-single-gpu"));
  EXPECT_THAT(IdsOf({{"train.yaml", kTrainer}, {"ds.json", kZero3}}, {.ranks = 8}),
              Not(Contains("config/deepspeed-single-gpu")));
  const std::string titan = std::string(kTitan) + "[parallelism]\ntensor_parallel_degree = 3\n";
  EXPECT_THAT(IdsOf({{"t.toml", titan}}, {.ranks = 8}), Contains("config/parallel-degrees"));
  EXPECT_THAT(IdsOf({{"t.toml", titan}}, {.ranks = 6}), Not(Contains("config/parallel-degrees")));
}

TEST(Grpo, TheGenerationBatchIsAMultipleOfTheGenerations) {
  const std::string text = std::string(kTrainer) + "num_generations: 8\ngradient_accumulation_steps: 3\n";
  const auto severity = [&](std::optional<double> ranks, const std::string& more) {
    for (const model::ConfigBreach& breach : Findings({{"grpo.yaml", text + more}}, {.ranks = ranks})) {
      if (breach.finding.id == "config/generations-indivisible")
        return std::string(model::Name(breach.finding.severity));
    }
    return std::string("none");
  };
  EXPECT_EQ(severity(2, ""), "error");
  EXPECT_EQ(severity(std::nullopt, ""), "warning");
  EXPECT_EQ(severity(4, ""), "none");
  EXPECT_EQ(severity(2, "steps_per_generation: 4\n"), "none");
  EXPECT_EQ(severity(2, "generation_batch_size: 20\n"), "error");
}

TEST(Model, SequencesParametersAndLogits) {
  const char* model =
      R"({"model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "num_hidden_layers": 32,
          "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "max_position_embeddings": 8192})";
  const std::string text = std::string(kAxolotl) + "sequence_len: 16384\nbf16: true\n";
  const auto ids = IdsOf({{"train.yaml", text}, {"config.json", model}}, {.device_bytes = 16e9});
  EXPECT_THAT(ids, Contains("config/sequence-beyond-model"));
  EXPECT_THAT(ids, Contains("config/logits-too-large"));
  const auto fine =
      IdsOf({{"train.yaml", std::string(kAxolotl) + "sequence_len: 2048\nbf16: true\n"}, {"config.json", model}},
            {.device_bytes = 80e9});
  EXPECT_THAT(fine, Not(Contains("config/sequence-beyond-model")));
  EXPECT_THAT(fine, Not(Contains("config/logits-too-large")));
  // 8.03 billion in the model's card, norms among them.
  EXPECT_NEAR(ValueNamed({{"train.yaml", text}, {"config.json", model}}, "parameters"), 8.03e9, 0.01e9);
}

TEST(Model, ATokenizerWithoutPadTokenOrWithMoreIdsThanTheModel) {
  const char* model = R"({"model_type": "llama", "vocab_size": 1000, "hidden_size": 64})";
  const char* tokenizer = R"({"tokenizer_class": "T", "added_tokens_decoder": {"1000": {"content": "<x>"}}})";
  const char* sound =
      R"({"tokenizer_class": "T", "pad_token": "<p>", "added_tokens_decoder": {"999": {"content": "<x>"}}})";
  const auto ids = IdsOf({{"t.yaml", kTrainer}, {"config.json", model}, {"tokenizer_config.json", tokenizer}});
  EXPECT_THAT(ids, Contains("config/no-pad-token"));
  EXPECT_THAT(ids, Contains("config/vocab-mismatch"));
  const auto fine = IdsOf({{"t.yaml", kTrainer}, {"config.json", model}, {"tokenizer_config.json", sound}});
  EXPECT_THAT(fine, Not(Contains("config/no-pad-token")));
  EXPECT_THAT(fine, Not(Contains("config/vocab-mismatch")));
}

TEST(Model, DimensionsThatAreNoMultiple) {
  const char* odd = R"({"model_type": "gpt2", "vocab_size": 50257, "n_embd": 768})";
  const char* even = R"({"model_type": "gpt2", "vocab_size": 50304, "n_embd": 768})";
  EXPECT_THAT(IdsOf({{"t.yaml", kTrainer}, {"config.json", odd}}), Contains("config/dims-not-multiple"));
  EXPECT_THAT(IdsOf({{"t.yaml", kTrainer}, {"config.json", even}}), Not(Contains("config/dims-not-multiple")));
}

TEST(Method, GivesTheRangeOfTheRateAndTheSeverity) {
  const std::string lora = std::string(kAxolotl) + "adapter: lora\n";
  EXPECT_THAT(IdsOf({{"c.yaml", lora}}), Contains("config/lr-band"));
  EXPECT_THAT(IdsOf({{"c.yaml", kAxolotl}}), Not(Contains("config/lr-band")));
  const auto severity = [&](const std::string& text, const char* name) {
    for (const model::ConfigBreach& breach : Findings({{name, text}})) {
      if (breach.finding.id == "config/no-clipping") return breach.finding.severity;
    }
    return model::Severity::kFatal;
  };
  EXPECT_EQ(severity(std::string(kAxolotl) + "max_grad_norm: 0\n", "c.yaml"), model::Severity::kInfo);
  EXPECT_EQ(severity(std::string(kTitan) + "max_norm = 0\n", "c.toml"), model::Severity::kWarning);
}

}  // namespace
}  // namespace vigil::preflight
