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
constexpr std::array kHfTrainer = {
    Sign{.format = "trainer-state"}, Sign{.raw = {"train/learning_rate", "train/grad_norm"}},
    Sign{.raw = {"train/learning_rate", "train/epoch"}}, Sign{.raw = {"loss", "learning_rate", "epoch"}}};
constexpr std::array kVerl = {Sign{.raw_prefix = "actor/pg_loss"}, Sign{.raw_prefix = "critic/score/"}};
constexpr std::array kTorchtitan = {Sign{.raw_prefix = "loss_metrics/"}};
constexpr std::array kNemo = {Sign{.raw_prefix = "reduced_train_loss"}};
constexpr std::array kMegatron = {Sign{.raw_prefix = "lm loss"}};
constexpr std::array kStableBaselines = {Sign{.raw_prefix = "rollout/ep_"}};
constexpr std::array kOlmo = {Sign{.raw_prefix = "train/CE loss"}, Sign{.raw_prefix = "train/CrossEntropyLoss"}};

constexpr std::array kFrameworks = {
    Framework{.id = "trl", .signs = kTrl, .is_built_on_hf = true, .logs_means = true, .token_accuracy_is_sft = true},
    Framework{.id = "hf-trainer", .signs = kHfTrainer, .is_base = true, .is_built_on_hf = true},
    Framework{.id = "verl", .signs = kVerl},
    Framework{.id = "torchtitan", .signs = kTorchtitan, .is_pretrainer = true, .norm_before_clip = true},
    Framework{.id = "nemo", .signs = kNemo, .is_pretrainer = true},
    Framework{.id = "megatron", .signs = kMegatron, .is_pretrainer = true, .norm_before_clip = true},
    Framework{.id = "stable-baselines3", .signs = kStableBaselines},
    Framework{.id = "olmo", .signs = kOlmo, .is_pretrainer = true, .norm_before_clip = true},
    Framework{.id = "torch", .is_base = true},
    Framework{.id = "axolotl", .is_built_on_hf = true},
    Framework{.id = "llama-factory", .is_built_on_hf = true},
    Framework{.id = "ms-swift", .is_built_on_hf = true},
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
