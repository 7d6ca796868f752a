#include "preflight/planned.h"

#include <algorithm>
#include <array>

#include "catalogue/config_rules.h"
#include "diagnose/config.h"
#include "hyperparams/hyperparams.h"
#include "identify/identify.h"

namespace vigil::preflight {
namespace {

using configfile::Entry;
using configfile::File;
using configfile::Kind;
using configfile::Open;

bool IsKnown(const Entry& entry) {
  return entry.kind != Kind::kMap && entry.kind != Kind::kNull &&
         (entry.open == Open::kNo || entry.open == Open::kSubstituted);
}

std::string ValueOf(const Entry& entry) {
  if (entry.kind == Kind::kTruth) return entry.truth ? "true" : "false";
  if (entry.kind == Kind::kNumber) return FormatExact(entry.number);
  return entry.text;
}

// The plain items of a list, as one value.
std::string ItemsOf(const File& file, const Entry& list) {
  std::vector<std::string> items;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(list.items, 64); ++i) {
    const Entry* item = file.Find(list.path + "." + std::to_string(i));
    if (item != nullptr && IsKnown(*item) && item->kind != Kind::kList) items.push_back(ValueOf(*item));
  }
  return items.empty() ? "[]" : Join(items, ", ");
}

bool IsItem(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('.') + 1);
  return path.find('.') != std::string_view::npos && !last.empty() &&
         std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<hyperparams::Hyperparameter> SettingsOf(const File& file) {
  std::vector<hyperparams::Hyperparameter> settings;
  for (const Entry& entry : file.entries) {
    if (!IsKnown(entry) || IsItem(entry.path)) continue;
    settings.push_back({entry.path, entry.kind == Kind::kList ? ItemsOf(file, entry) : ValueOf(entry), entry.line});
  }
  return settings;
}

// Of a model's own configuration only this is about the training too: its dropout or data type are not the run's.
bool IsOfAnyModel(std::string_view path) { return path == "vocab_size" || path == "architectures"; }

std::string KeyOf(std::string_view role, const hyperparams::KeyContext& context,
                  const hyperparams::Hyperparameter& setting) {
  const bool is_foreign = role == diagnose::kModelRole || role == diagnose::kTokenizerRole;
  if (is_foreign && !IsOfAnyModel(setting.path)) return std::string(role) + "." + setting.path;
  if (hyperparams::SaysNothing(setting.value)) return setting.path;
  const std::string_view key = context.KeyOf(setting);
  if (role == diagnose::kRanRole) return "ran." + std::string(key.empty() ? setting.path : key);
  return key.empty() ? setting.path : std::string(key);
}

void AddFile(const File& file, std::string_view role, model::Run& run) {
  const auto source = static_cast<std::uint32_t>(run.sources.size());
  model::Source added;
  added.path = file.path;
  added.format = role;
  run.sources.push_back(std::move(added));
  const std::vector<hyperparams::Hyperparameter> settings = SettingsOf(file);
  const hyperparams::KeyContext context(settings);
  for (const hyperparams::Hyperparameter& setting : settings)
    run.facts.push_back({KeyOf(role, context, setting), setting.value, setting.path, {source, setting.line}});
}

// ---- ranks

std::optional<double> NumberIn(const File& file, std::initializer_list<std::string_view> paths) {
  for (const std::string_view path : paths) {
    const Entry* entry = file.Find(path);
    if (entry != nullptr && entry->kind == Kind::kNumber) return entry->number;
  }
  return std::nullopt;
}

// What launchers and Lightning are given: processes on a node, and nodes.
void AddLaunch(const File& file, model::Run& run) {
  if (run.FindFact("world_size") != nullptr) return;
  const auto processes = NumberIn(file, {"nproc_per_node", "num_gpus", "trainer.devices", "trainer.n_gpus_per_node"});
  const double nodes = NumberIn(file, {"nnodes", "num_nodes", "trainer.num_nodes", "trainer.nnodes"}).value_or(1);
  if (!processes || !(*processes >= 1) || !(nodes >= 1)) return;
  run.facts.push_back({"world_size", FormatExact(*processes * nodes), "world_size", {0, 0}});
}

void AddGiven(const Options& options, model::Run& run) {
  if (!options.ranks && !options.device_bytes) return;
  const auto source = static_cast<std::uint32_t>(run.sources.size());
  model::Source given;
  given.format = std::string(diagnose::kGivenRole);
  run.sources.push_back(std::move(given));
  if (options.ranks) run.facts.push_back({"given.ranks", FormatExact(*options.ranks), "ranks", {source, 0}});
  const std::string memory(diagnose::kDeviceMemory);
  if (options.device_bytes) run.facts.push_back({memory, FormatExact(*options.device_bytes), memory, {source, 0}});
}

// ---- framework and method

struct MethodWord {
  std::string_view word;
  std::string_view method;
};
constexpr std::array kMethodWords = {
    MethodWord{"grpo", "grpo"}, MethodWord{"rloo", "grpo"}, MethodWord{"dpo", "dpo"},
    MethodWord{"ppo", "ppo"},   MethodWord{"sft", "sft"},
};

// The class of the arguments, or the script that is started: "GRPOConfig", "trl dpo", "examples/scripts/sft.py".
std::string_view MethodOfProgram(const File& file) {
  const std::string made_by = ToLower(file.made_by.substr(file.made_by.rfind('.') + 1));
  const std::string text = file.notation == configfile::Notation::kCommand ? ToLower(file.text) : std::string();
  for (const MethodWord& each : kMethodWords) {
    const std::string word(each.word);
    if (made_by == word + "config") return each.method;
    if (text.find(word + ".py") != std::string::npos || text.find("trl " + word) != std::string::npos)
      return each.method;
  }
  return {};
}

bool StatesUnknownStage(const model::Run& run) {
  constexpr std::array<std::string_view, 9> kKnown = {"pt",  "pretrain", "sft",  "dpo", "ipo",
                                                      "ppo", "grpo",     "gdpo", "ebft"};
  const model::Fact* stage = run.FindFact("training_stage");
  if (stage == nullptr || hyperparams::SaysNothing(stage->value)) return false;
  const std::string word = ToLower(stage->value);
  return word != "false" && std::find(kKnown.begin(), kKnown.end(), word) == kKnown.end();
}

bool HasKeyBelow(const File& file, std::string_view section) {
  return file.HasSection(section) || file.Find(section) != nullptr;
}

model::TrainingMethod MethodOf(const File& file, const model::Run& run) {
  const bool adapter = run.method.name == "lora" && run.method.confidence >= model::kMethodKnown;
  if (const std::string_view method = MethodOfProgram(file); !method.empty())
    return {method == "sft" && adapter ? "lora" : std::string(method), 0.9};
  if (StatesUnknownStage(run)) return {};
  if (run.FindFact("num_generations") != nullptr && run.method.name != "ebft") return {"grpo", 0.8};
  const model::Fact* family = run.FindFact("model.name");
  // A diffusion model in a framework for language models.
  if (family != nullptr && ToLower(family->value).find("flux") != std::string::npos) return {};
  if (run.method.confidence >= model::kMethodKnown) return run.method;
  const bool states_data = catalogue::HasConfigTrait(run.framework, "states-data");
  if (states_data && HasKeyBelow(file, "pretraining_dataset")) return {"pretrain", 0.7};
  if (states_data && HasKeyBelow(file, "datasets")) return {"sft", 0.7};
  if (catalogue::HasConfigTrait(run.framework, "pretrains")) return {"pretrain", 0.6};
  return run.method;
}

}  // namespace

model::Run PlannedRunOf(const Group& group, const Options& options) {
  model::Run run;
  run.name = group.training->path;
  const std::string_view role = RoleOf(*group.training);
  AddFile(*group.training, role, run);
  for (const File* file : group.beside) AddFile(*file, RoleOf(*file), run);
  if (group.ran != nullptr) AddFile(*group.ran, diagnose::kRanRole, run);
  AddLaunch(*group.training, run);
  AddGiven(options, run);
  if (IsTraining(role) && role != "training") run.framework = std::string(role);
  identify::Classify(run);
  if (IsTraining(role) && role != "training") run.framework = std::string(role);
  run.method = MethodOf(*group.training, run);
  run.profile = identify::ProfileOf(run.framework, run.method);
  return run;
}

}  // namespace vigil::preflight
