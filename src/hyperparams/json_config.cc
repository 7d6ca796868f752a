#include <algorithm>

#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

bool IsOfAnyModel(std::string_view path) {
  return path == "vocab_size" || path == "transformers_version" || path == "architectures";
}

std::vector<Hyperparameter> Wanted(std::vector<Hyperparameter> hyperparameters) {
  const ConfigKind kind = KindOf(hyperparameters);
  if (kind.is_training || kind.is_adapter) return hyperparameters;
  if (kind.is_launch) {
    const auto arguments =
        std::find_if(hyperparameters.begin(), hyperparameters.end(),
                     [](const Hyperparameter& hyperparameter) { return hyperparameter.path == "args"; });
    return CommandHyperparameters(arguments->items, arguments->line);
  }
  std::erase_if(hyperparameters,
                [](const Hyperparameter& hyperparameter) { return !IsOfAnyModel(hyperparameter.path); });
  return hyperparameters;
}

}  // namespace

ConfigKind KindOf(const std::vector<Hyperparameter>& hyperparameters) {
  ConfigKind kind;
  bool has_program = false;
  bool has_arguments = false;
  for (const Hyperparameter& hyperparameter : hyperparameters) {
    const std::string_view path = hyperparameter.path;
    kind.is_adapter |= path == "peft_type";
    kind.is_model |= path == "model_type" || path == "architectures";
    kind.is_training |= path == "learning_rate" || path == "lr" || path == "max_steps" || path == "num_train_epochs" ||
                        path == "train_micro_batch_size_per_gpu" || path.starts_with("zero_optimization");
    has_program |= path == "program" || path == "codePath";
    has_arguments |= path == "args" && !hyperparameter.items.empty();
  }
  kind.is_launch = has_program && has_arguments;
  return kind;
}

model::Statement StateJsonConfig(std::string_view text, ingest::PartBuilder& builder) {
  model::Statement damage;
  StateHyperparameters(Wanted(JsonHyperparameters(text, &damage)), builder);
  return damage;
}

}  // namespace vigil::hyperparams
