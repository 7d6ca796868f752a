#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/catalogue.h"
#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

// Sections that say no more than that the hyperparameter is about the training.
bool IsTransparent(std::string_view section) {
  constexpr std::array<std::string_view, 25> kSections = {
      "train",     "training",   "trainer", "training_args", "train_args", "training_arguments", "optimizer", "optim",
      "optimiser", "scheduler",  "params",  "lr_scheduler",  "args",       "arguments",          "hparams",   "config",
      "metrics",   "checkpoint", "logging", "init_args",     "algorithm",  "actor_rollout_ref",  "actor",     "rollout",
      "trl"};
  return std::find(kSections.begin(), kSections.end(), section) != kSections.end();
}

bool Has(const std::vector<Hyperparameter>& hyperparameters, std::string_view path) {
  return std::any_of(hyperparameters.begin(), hyperparameters.end(),
                     [&](const Hyperparameter& hyperparameter) { return hyperparameter.path == path; });
}

bool HasSection(const std::vector<Hyperparameter>& hyperparameters, std::string_view section) {
  return std::any_of(hyperparameters.begin(), hyperparameters.end(), [&](const Hyperparameter& hyperparameter) {
    return hyperparameter.path.size() > section.size() && hyperparameter.path.starts_with(section) &&
           hyperparameter.path[section.size()] == '.';
  });
}

// The framework whose own words these are; empty when several share them.
std::string_view FrameworkOf(const std::vector<Hyperparameter>& hyperparameters) {
  const auto has = [&](std::string_view path) { return Has(hyperparameters, path); };
  if (has("base_model") && (has("micro_batch_size") || has("sequence_len"))) return "axolotl";
  if (has("stage") && (has("finetuning_type") || has("template"))) return "llama-factory";
  if (has("training.steps") && has("training.local_batch_size")) return "torchtitan";
  if (has("train.max_steps") && has("distributed.dp_shard")) return "kempnerforge";
  if (HasSection(hyperparameters, "actor_rollout_ref")) return "verl";
  return {};
}

// Lightning gives the model and the data the arguments of their classes.
void PassClassArguments(std::string_view& path) {
  constexpr std::array<std::string_view, 2> kSections = {"model.init_args.", "data.init_args."};
  for (const std::string_view section : kSections) {
    if (!path.starts_with(section)) continue;
    return path.remove_prefix(section.size());
  }
}

const Hyperparameter* Find(const std::vector<Hyperparameter>& hyperparameters, std::string_view path) {
  const auto at = std::find_if(hyperparameters.begin(), hyperparameters.end(),
                               [&](const Hyperparameter& s) { return s.path == path; });
  return at == hyperparameters.end() ? nullptr : &*at;
}

// Lightning's devices and nodes.
void StateRanks(const std::vector<Hyperparameter>& hyperparameters, ingest::PartBuilder& builder) {
  const Hyperparameter* const devices = Find(hyperparameters, "trainer.devices");
  if (devices == nullptr || Has(hyperparameters, "world_size")) return;
  const Hyperparameter* const nodes = Find(hyperparameters, "trainer.num_nodes");
  const double ranks =
      ParseNumber(devices->value).value_or(0) * (nodes == nullptr ? 1 : ParseNumber(nodes->value).value_or(0));
  if (ranks >= 1) builder.AddFact("world_size", FormatExact(ranks), devices->line);
}

}  // namespace

KeyContext::KeyContext(const std::vector<Hyperparameter>& hyperparameters)
    : is_deepspeed_(Has(hyperparameters, "train_micro_batch_size_per_gpu") ||
                    HasSection(hyperparameters, "zero_optimization")),
      is_trainer_(Has(hyperparameters, "per_device_train_batch_size") ||
                  Has(hyperparameters, "gradient_accumulation_steps")) {}

std::string_view KeyContext::KeyOf(const Hyperparameter& hyperparameter) const {
  // Of all processes together in DeepSpeed, of one process elsewhere.
  if (is_deepspeed_ && hyperparameter.path == "train_batch_size") return "global_batch_size";
  // The samples of TRL's trainers; in a model's own configuration that of its generations, by default 20.
  constexpr double kOfGenerations = 20;
  if (is_trainer_ && hyperparameter.path == "max_length" &&
      ParseNumber(hyperparameter.value).value_or(0) > kOfGenerations)
    return "sequence_length";
  return KeyOfHyperparameter(hyperparameter.path);
}

bool SaysNothing(std::string_view value) {
  return value == "auto" || value == "null" || value == "None" || value == "~" || value.empty();
}

std::string_view KeyOfHyperparameter(std::string_view path) {
  PassClassArguments(path);
  for (;;) {
    if (const std::string_view key = catalogue::InterpretFact(path); !key.empty()) return key;
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos || !IsTransparent(path.substr(0, dot))) return {};
    path.remove_prefix(dot + 1);
  }
}

std::size_t CountKnown(const std::vector<Hyperparameter>& hyperparameters) {
  return static_cast<std::size_t>(
      std::count_if(hyperparameters.begin(), hyperparameters.end(), [](const Hyperparameter& hyperparameter) {
        return !KeyOfHyperparameter(hyperparameter.path).empty() && !SaysNothing(hyperparameter.value);
      }));
}

void StateHyperparameters(const std::vector<Hyperparameter>& hyperparameters, ingest::PartBuilder& builder) {
  const KeyContext context(hyperparameters);
  for (const Hyperparameter& hyperparameter : hyperparameters) {
    const std::string_view key = context.KeyOf(hyperparameter);
    if (key.empty() || SaysNothing(hyperparameter.value)) continue;
    builder.AddFact(hyperparameter.path, hyperparameter.value, hyperparameter.line);
    // A name below a section is known by the section alone.
    builder.part().facts.back().key = std::string(key);
  }
  StateRanks(hyperparameters, builder);
  if (builder.part().framework.empty()) builder.part().framework = std::string(FrameworkOf(hyperparameters));
}

}  // namespace vigil::hyperparams
