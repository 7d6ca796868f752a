// What a configuration file is for, by the names in it.
#include <algorithm>
#include <array>

#include "hyperparams/hyperparams.h"
#include "preflight/preflight.h"

namespace vigil::preflight {
namespace {

using configfile::Entry;
using configfile::File;
using configfile::Kind;
using configfile::Notation;

bool HasAny(const File& file, std::initializer_list<std::string_view> paths) {
  return std::any_of(paths.begin(), paths.end(), [&](std::string_view path) { return file.Find(path) != nullptr; });
}

std::string_view RoleOfPickle(const File& file) {
  if (file.made_by.starts_with("trl.")) return "trl";
  if (file.made_by.starts_with("axolotl.")) return "axolotl";
  if (file.made_by.starts_with("llamafactory.")) return "llama-factory";
  return file.entries.empty() ? "" : "hf-trainer";
}

bool IsDeepspeed(const File& file) {
  if (file.HasSection("zero_optimization") || file.Find("train_micro_batch_size_per_gpu") != nullptr) return true;
  return file.Find("train_batch_size") != nullptr && (file.HasSection("optimizer") || file.HasSection("fp16"));
}

bool IsModel(const File& file) {
  return HasAny(file, {"model_type", "architectures"}) &&
         HasAny(file, {"hidden_size", "n_embd", "vocab_size", "text_config", "d_model"});
}

bool IsTorchtitan(const File& file) {
  return file.HasSection("training") && (file.HasSection("parallelism") || file.HasSection("job")) &&
         HasAny(file, {"training.steps", "training.seq_len", "training.local_batch_size"});
}

// Settings that only a training has.
bool Trains(const File& file) {
  return HasAny(file, {"learning_rate", "num_train_epochs", "max_steps", "per_device_train_batch_size",
                       "micro_batch_size", "num_epochs", "gradient_accumulation_steps", "optimizer", "do_train"});
}

bool IsTrl(const File& file) {
  return HasAny(file,
                {"num_generations", "max_completion_length", "dataset_name", "max_prompt_length", "dataset_text_field",
                 "use_peft", "loss_type", "num_ppo_epochs", "reward_funcs", "packing", "use_vllm"});
}

// Enough known settings of a training, whoever reads them.
bool LooksLikeTraining(const File& file) {
  std::size_t known = 0;
  for (const Entry& entry : file.entries) {
    if (entry.kind == Kind::kMap || entry.kind == Kind::kList || entry.kind == Kind::kNull) continue;
    known += hyperparams::KeyOfHyperparameter(entry.path).empty() ? 0 : 1;
  }
  return known >= 3;
}

struct Sign {
  std::string_view role;
  bool (*holds)(const File& file);
};
// The more special ones first.
constexpr std::array kSigns = {
    Sign{"deepspeed", IsDeepspeed},
    Sign{"tokenizer", [](const File& file) { return HasAny(file, {"tokenizer_class", "added_tokens_decoder"}); }},
    Sign{"axolotl", [](const File& file) { return file.Find("base_model") != nullptr && Trains(file); }},
    Sign{"llama-factory",
         [](const File& file) {
           const bool second = file.Find("train_dataset") != nullptr && HasAny(file, {"dist_config", "kernel_config"});
           return (HasAny(file, {"stage", "finetuning_type", "template"}) || second) && Trains(file);
         }},
    Sign{"model", IsModel},
    Sign{"accelerate",
         [](const File& file) { return HasAny(file, {"compute_environment", "distributed_type"}) && !Trains(file); }},
    Sign{"torchtitan", IsTorchtitan},
    Sign{"kempnerforge", [](const File& file) { return file.HasSection("train") && file.HasSection("distributed"); }},
    Sign{"verl", [](const File& file) { return file.HasSection("actor_rollout_ref"); }},
    Sign{"lightning",
         [](const File& file) {
           return file.HasSection("trainer") &&
                  (file.HasSection("model") || file.HasSection("data") || file.Find("seed_everything") != nullptr);
         }},
    Sign{"trl", [](const File& file) { return IsTrl(file) && Trains(file); }},
    Sign{"hf-trainer",
         [](const File& file) {
           return HasAny(file, {"per_device_train_batch_size", "num_train_epochs"}) ||
                  (file.Find("learning_rate") != nullptr && file.Find("output_dir") != nullptr);
         }},
    Sign{"training", LooksLikeTraining},
};

}  // namespace

std::string_view RoleOf(const File& file) {
  if (file.notation == Notation::kPickle) return RoleOfPickle(file);
  for (const Sign& sign : kSigns) {
    if (sign.holds(file)) return sign.role;
  }
  return {};
}

bool IsTraining(std::string_view role) {
  return !role.empty() && role != "deepspeed" && role != "accelerate" && role != "model" && role != "tokenizer";
}

std::vector<Reference> ReferencesOf(const File& file) {
  std::vector<Reference> references;
  for (const std::string_view path : {"deepspeed", "deepspeed_config", "deepspeed_config.deepspeed_config_file",
                                      "fsdp_config", "config_file", "accelerate_config"}) {
    const Entry* entry = file.Find(path);
    if (entry == nullptr || entry->kind != Kind::kText || entry->open == configfile::Open::kVariable ||
        entry->open == configfile::Open::kTemplate)
      continue;
    const std::string_view name = entry->text;
    if (name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml"))
      references.push_back({entry->path, entry->text, entry->line});
  }
  return references;
}

}  // namespace vigil::preflight
