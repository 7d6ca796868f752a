#include "formats/config_text/config_text.h"

#include <algorithm>

#include "hyperparams/hyperparams.h"

namespace vigil::formats {
namespace {

using Parse = std::vector<hyperparams::Hyperparameter> (*)(std::string_view text, model::Statement* damage);

// W&B writes every setting as {desc, value}, and its own below _wandb.
void UnwrapWandb(std::vector<hyperparams::Hyperparameter>& hyperparameters) {
  constexpr std::string_view kValue = ".value";
  const bool wrapped = std::any_of(hyperparameters.begin(), hyperparameters.end(),
                                   [](const hyperparams::Hyperparameter& hyperparameter) {
                                     return hyperparameter.path.starts_with("_wandb.value");
                                   });
  if (!wrapped) return;
  std::erase_if(hyperparameters, [](const hyperparams::Hyperparameter& hyperparameter) {
    return hyperparameter.path.starts_with("_wandb");
  });
  for (hyperparams::Hyperparameter& hyperparameter : hyperparameters) {
    const std::size_t at = hyperparameter.path.find(kValue);
    if (at != std::string::npos) hyperparameter.path.erase(at, kValue.size());
  }
}

class ConfigTextReader : public ingest::Reader {
 public:
  ConfigTextReader(ingest::PartBuilder& builder, Parse parse) : builder_(builder), parse_(parse) {}

  bool NeedsWholeFile() const override { return true; }
  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    model::Statement damage;
    std::vector<hyperparams::Hyperparameter> hyperparameters = parse_(bytes, &damage);
    UnwrapWandb(hyperparameters);
    hyperparams::StateHyperparameters(hyperparameters, builder_);
    if (!damage.empty()) builder_.ReportDamage(damage);
    return bytes.size();
  }

 private:
  ingest::PartBuilder& builder_;
  Parse parse_;
};

bool EndsWith(std::string_view path, std::string_view ending) {
  return path.size() > ending.size() && EqualsIgnoringCase(path.substr(path.size() - ending.size()), ending);
}

// Notations that any text may happen to fit: the name must say it, and two settings of a training stand in it.
int Sureness(const ingest::Probe& probe, Parse parse) {
  std::string_view head = probe.head;
  // A line that the end of the head cuts would be no setting.
  if (head.size() < probe.size_bytes) head = head.substr(0, head.rfind('\n') + 1);
  std::vector<hyperparams::Hyperparameter> hyperparameters = parse(head, nullptr);
  UnwrapWandb(hyperparameters);
  return hyperparams::CountKnown(hyperparameters) >= 2 ? 70 : 0;
}

}  // namespace

int RecogniseConfigYaml(const ingest::Probe& probe) {
  const bool named = EndsWith(probe.path, ".yaml") || EndsWith(probe.path, ".yml");
  return named ? Sureness(probe, hyperparams::YamlHyperparameters) : 0;
}

std::unique_ptr<ingest::Reader> OpenConfigYaml(ingest::PartBuilder& builder) {
  return std::make_unique<ConfigTextReader>(builder, hyperparams::YamlHyperparameters);
}

int RecogniseConfigToml(const ingest::Probe& probe) {
  return EndsWith(probe.path, ".toml") ? Sureness(probe, hyperparams::TomlHyperparameters) : 0;
}

std::unique_ptr<ingest::Reader> OpenConfigToml(ingest::PartBuilder& builder) {
  return std::make_unique<ConfigTextReader>(builder, hyperparams::TomlHyperparameters);
}

}  // namespace vigil::formats
