#include "formats/config_text/config_text.h"

#include <algorithm>

#include "formats/json/config_names.h"
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

// The settings before the damage: of a document that cannot be read as a whole, the longest beginning of whole lines
// that can. Where one is broken all longer ones are, but for values over several lines, so that halving finds it.
std::vector<hyperparams::Hyperparameter> ParseToDamage(std::string_view text, Parse parse, model::Statement* damage) {
  model::Statement problem;
  std::vector<hyperparams::Hyperparameter> all = parse(text, &problem);
  if (damage != nullptr) *damage = problem;
  if (!all.empty() || problem.empty()) return all;
  std::size_t whole = 0;
  std::size_t broken = text.size();
  while (broken - whole > 1) {
    const std::size_t middle = whole + (broken - whole) / 2;
    const std::size_t line_end = text.rfind('\n', middle);
    const std::size_t end = line_end == std::string_view::npos || line_end + 1 <= whole ? middle : line_end + 1;
    model::Statement here;
    std::vector<hyperparams::Hyperparameter> settings =
        end == line_end + 1 ? parse(text.substr(0, end), &here) : std::vector<hyperparams::Hyperparameter>();
    if (end == line_end + 1 && here.empty()) {
      all = std::move(settings);
      whole = end;
    } else {
      broken = middle;
    }
  }
  return all;
}

class ConfigTextReader : public ingest::Reader {
 public:
  ConfigTextReader(ingest::PartBuilder& builder, Parse parse) : builder_(builder), parse_(parse) {}

  bool NeedsWholeFile() const override { return true; }
  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    model::Statement damage;
    std::vector<hyperparams::Hyperparameter> hyperparameters = ParseToDamage(bytes, parse_, &damage);
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

// Notations that any text may happen to fit: the name must say it, and two settings of a training stand in it, or one
// where the name says that it holds settings.
int Sureness(const ingest::Probe& probe, Parse parse) {
  std::string_view head = probe.head;
  // A line that the end of the head cuts would be no setting.
  if (head.size() < probe.size_bytes) head = head.substr(0, head.rfind('\n') + 1);
  std::vector<hyperparams::Hyperparameter> hyperparameters = ParseToDamage(head, parse, nullptr);
  UnwrapWandb(hyperparameters);
  const std::size_t enough = SaysSettings(probe.path) ? 1 : 2;
  return hyperparams::CountKnown(hyperparameters) >= enough ? 70 : 0;
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
