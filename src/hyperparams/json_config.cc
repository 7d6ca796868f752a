#include <algorithm>

#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

bool IsOfAnyModel(std::string_view path) {
  return path == "vocab_size" || path == "transformers_version" || path == "architectures";
}

std::vector<Setting> Wanted(std::vector<Setting> settings) {
  const ConfigKind kind = KindOf(settings);
  if (kind.is_training || kind.is_adapter) return settings;
  if (kind.is_launch) {
    const auto arguments =
        std::find_if(settings.begin(), settings.end(), [](const Setting& setting) { return setting.path == "args"; });
    return CommandSettings(arguments->items, arguments->line);
  }
  std::erase_if(settings, [](const Setting& setting) { return !IsOfAnyModel(setting.path); });
  return settings;
}

}  // namespace

ConfigKind KindOf(const std::vector<Setting>& settings) {
  ConfigKind kind;
  bool has_program = false;
  bool has_arguments = false;
  for (const Setting& setting : settings) {
    const std::string_view path = setting.path;
    kind.is_adapter |= path == "peft_type";
    kind.is_model |= path == "model_type" || path == "architectures";
    kind.is_training |= path == "learning_rate" || path == "lr" || path == "max_steps" || path == "num_train_epochs" ||
                        path == "train_micro_batch_size_per_gpu" || path.starts_with("zero_optimization");
    has_program |= path == "program" || path == "codePath";
    has_arguments |= path == "args" && !setting.items.empty();
  }
  kind.is_launch = has_program && has_arguments;
  return kind;
}

std::string StateJsonConfig(std::string_view text, ingest::PartBuilder& builder) {
  std::string problem;
  StateSettings(Wanted(JsonSettings(text, &problem)), builder);
  return problem;
}

}  // namespace vigil::hyperparams
