#include "import/config_text/config_text.h"

#include <algorithm>

#include "import/settings/settings.h"

namespace vigil::import {
namespace {

using Parse = std::vector<Setting> (*)(std::string_view text, std::string* problem);

// W&B writes every setting as {desc, value}, and its own below _wandb.
void UnwrapWandb(std::vector<Setting>& settings) {
  constexpr std::string_view kValue = ".value";
  const bool wrapped = std::any_of(settings.begin(), settings.end(),
                                   [](const Setting& setting) { return setting.path.starts_with("_wandb.value"); });
  if (!wrapped) return;
  std::erase_if(settings, [](const Setting& setting) { return setting.path.starts_with("_wandb"); });
  for (Setting& setting : settings) {
    const std::size_t at = setting.path.find(kValue);
    if (at != std::string::npos) setting.path.erase(at, kValue.size());
  }
}

class ConfigTextReader : public Reader {
 public:
  ConfigTextReader(PartBuilder& builder, Parse parse) : builder_(builder), parse_(parse) {}

  bool NeedsWholeFile() const override { return true; }
  Growth growth() const override { return Growth::kWrittenAnew; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    std::string problem;
    std::vector<Setting> settings = parse_(bytes, &problem);
    UnwrapWandb(settings);
    StateSettings(settings, builder_);
    if (!problem.empty()) builder_.ReportDamage(problem);
    return bytes.size();
  }

 private:
  PartBuilder& builder_;
  Parse parse_;
};

bool EndsWith(std::string_view path, std::string_view ending) {
  return path.size() > ending.size() && EqualsIgnoringCase(path.substr(path.size() - ending.size()), ending);
}

// Notations that any text may happen to fit: the name must say it, and two settings of a training stand in it.
int Sureness(const Probe& probe, Parse parse) {
  std::string_view head = probe.head;
  // A line that the end of the head cuts would be no setting.
  if (head.size() < probe.size_bytes) head = head.substr(0, head.rfind('\n') + 1);
  std::vector<Setting> settings = parse(head, nullptr);
  UnwrapWandb(settings);
  return CountKnown(settings) >= 2 ? 70 : 0;
}

}  // namespace

int RecogniseConfigYaml(const Probe& probe) {
  const bool named = EndsWith(probe.path, ".yaml") || EndsWith(probe.path, ".yml");
  return named ? Sureness(probe, YamlSettings) : 0;
}

std::unique_ptr<Reader> OpenConfigYaml(PartBuilder& builder) {
  return std::make_unique<ConfigTextReader>(builder, YamlSettings);
}

int RecogniseConfigToml(const Probe& probe) {
  return EndsWith(probe.path, ".toml") ? Sureness(probe, TomlSettings) : 0;
}

std::unique_ptr<Reader> OpenConfigToml(PartBuilder& builder) {
  return std::make_unique<ConfigTextReader>(builder, TomlSettings);
}

}  // namespace vigil::import
