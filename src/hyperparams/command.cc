#include <optional>

#include "base/base.h"
#include "hyperparams/hyperparams.h"

namespace vigil::hyperparams {
namespace {

bool IsOption(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

// "model.optim.lr=1e-4" and "+trainer.devices=8", as Hydra takes them.
bool IsOverride(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || word.starts_with('-')) return false;
  constexpr std::string_view kNotInNames = " /:'\"([{$";
  return word.substr(0, equals).find_first_of(kNotInNames) == std::string_view::npos;
}

Hyperparameter WithEquals(std::string_view word, std::uint32_t line) {
  while (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  const std::size_t equals = word.find('=');
  return {std::string(word.substr(0, equals)), std::string(word.substr(equals + 1)), line};
}

// Counts of processes that a launcher is given.
struct Launch {
  std::optional<double> processes;  // on a node
  std::optional<double> nodes;

  void See(const Hyperparameter& hyperparameter) {
    std::string name = hyperparameter.path;
    for (char& c : name) {
      if (c == '-') c = '_';
    }
    if (name == "nproc_per_node" || name == "num_gpus" || name == "ntasks_per_node")
      processes = ParseNumber(hyperparameter.value);
    if (name == "nnodes" || name == "num_nodes") nodes = ParseNumber(hyperparameter.value);
  }
};

}  // namespace

std::vector<Hyperparameter> CommandHyperparameters(const std::vector<std::string>& words, std::uint32_t line) {
  std::vector<Hyperparameter> hyperparameters;
  Launch launch;
  for (std::size_t i = 0; i < words.size() && hyperparameters.size() < kMostHyperparameters; ++i) {
    const std::string_view word = words[i];
    if (!IsOption(word) && !IsOverride(word)) continue;
    if (word.find('=') != std::string_view::npos) {
      hyperparameters.push_back(WithEquals(word, line));
    } else {
      const bool has_value = i + 1 < words.size() && !words[i + 1].starts_with("--") && !words[i + 1].starts_with('+');
      hyperparameters.push_back({std::string(word.substr(2)), has_value ? words[i + 1] : "true", line});
    }
    hyperparameters.back().value.resize(std::min(hyperparameters.back().value.size(), kLongestHyperparameter));
    launch.See(hyperparameters.back());
  }
  const double ranks = launch.processes.value_or(0) * launch.nodes.value_or(1);
  if (ranks >= 1) hyperparameters.push_back({"world_size", FormatExact(ranks), line});
  return hyperparameters;
}

}  // namespace vigil::hyperparams
