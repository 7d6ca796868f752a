#include "identify/frameworks.h"

#include <algorithm>

namespace vigil::identify {
namespace {

// Names that only TRL's trainers log.
constexpr std::array kTrl = {Sign{.signal = "zero_std_share"},           Sign{.signal = "reward_of"},
                             Sign{.signal = "preference_margin"},        Sign{.raw_prefix = "completions/"},
                             Sign{.raw_prefix = "train/completions/"},   Sign{.raw = {"mean_token_accuracy"}},
                             Sign{.raw = {"train/mean_token_accuracy"}}, Sign{.raw = {"objective/kl"}}};
// HF Trainer names `grad_norm` and `learning_rate`, in event files below `train/`.
constexpr std::array kHfTrainer = {Sign{.raw = {"train/learning_rate", "train/grad_norm"}},
                                   Sign{.raw = {"train/learning_rate", "train/epoch"}},
                                   Sign{.raw = {"loss", "learning_rate", "epoch"}}};
constexpr std::array kVerl = {Sign{.raw_prefix = "actor/pg_loss"}, Sign{.raw_prefix = "critic/score/"}};
constexpr std::array kTorchtitan = {Sign{.raw_prefix = "loss_metrics/"}};
constexpr std::array kNemo = {Sign{.raw_prefix = "reduced_train_loss"}};
constexpr std::array kMegatron = {Sign{.raw_prefix = "lm loss"}};
constexpr std::array kStableBaselines = {Sign{.raw_prefix = "rollout/ep_"}};
constexpr std::array kOlmo = {Sign{.raw_prefix = "train/CE loss"}, Sign{.raw_prefix = "train/CrossEntropyLoss"}};

// TRL's config classes take every setting of TrainingArguments.
constexpr std::array kTrlClasses = {ConfigClass{"grpo", "GRPOConfig"}, ConfigClass{"sft", "SFTConfig"},
                                    ConfigClass{"lora", "SFTConfig"}, ConfigClass{"dpo", "DPOConfig"}};

constexpr std::string_view kHfTrainerId = "hf-trainer";

// The row with the defaults and habits of HF Trainer added, for the trainer itself and for those built on it.
constexpr Framework LikeHfTrainer(Framework row) {
  row.is_built_on_hf = true;
  row.trains_on_tokens = true;
  row.defaults_to_adam = true;
  row.drops_non_finite = true;  // logging_nan_inf_filter
  row.takes_part_epochs = true;
  row.default_clip_norm = 1;
  if (row.id == kHfTrainerId) return row;
  row.settings_of = kHfTrainerId;
  if (row.settings_file.empty()) row.settings_file = "config";
  return row;
}

constexpr std::array kFrameworks = {
    LikeHfTrainer({.id = "trl",
                   .signs = kTrl,
                   .logs_means = true,
                   .token_accuracy_is_sft = true,
                   .settings_file = "TrainingArguments",
                   .config_classes = kTrlClasses}),
    LikeHfTrainer({.id = kHfTrainerId, .signs = kHfTrainer, .is_base = true}),
    Framework{.id = "verl", .signs = kVerl},
    Framework{.id = "torchtitan", .signs = kTorchtitan, .is_pretrainer = true, .norm_before_clip = true},
    Framework{.id = "nemo", .signs = kNemo, .is_pretrainer = true},
    Framework{.id = "megatron",
              .signs = kMegatron,
              .is_pretrainer = true,
              .norm_before_clip = true,
              .trains_on_tokens = true},
    Framework{.id = "stable-baselines3", .signs = kStableBaselines},
    Framework{.id = "olmo", .signs = kOlmo, .is_pretrainer = true, .norm_before_clip = true},
    Framework{.id = "torch", .is_base = true, .has_user_loop = true, .bf16_value = "torch.bfloat16"},
    Framework{.id = "lightning", .has_user_loop = true, .bf16_value = "bf16-mixed"},
    LikeHfTrainer({.id = "axolotl"}),
    LikeHfTrainer({.id = "llama-factory"}),
    LikeHfTrainer({.id = "ms-swift"}),
    Framework{.id = "nanogpt", .is_pretrainer = true},
    Framework{.id = "llm.c", .is_pretrainer = true},
    Framework{.id = "nanochat", .norm_before_clip = true},
    Framework{.id = "kempnerforge", .norm_before_clip = true},
    Framework{.id = "llm-foundry", .norm_before_clip = true},
};
constexpr Framework kUnknown = {};

}  // namespace

std::span<const Framework> Frameworks() { return kFrameworks; }

const Framework& FindFramework(std::string_view id) {
  const auto* const at = std::find_if(kFrameworks.begin(), kFrameworks.end(),
                                      [&](const Framework& framework) { return framework.id == id; });
  return at == kFrameworks.end() ? kUnknown : *at;
}

}  // namespace vigil::identify
