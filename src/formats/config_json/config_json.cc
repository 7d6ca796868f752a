#include "formats/config_json/config_json.h"

#include <algorithm>
#include <array>

#include "catalogue/catalogue.h"
#include "codec/codec.h"
#include "formats/json/config_names.h"
#include "formats/json/looks.h"
#include "hyperparams/hyperparams.h"
#include "tabular/column_roles.h"

namespace vigil::formats {
namespace {

constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

class ConfigJsonReader : public ingest::Reader {
 public:
  explicit ConfigJsonReader(ingest::PartBuilder& builder) : builder_(builder) {}

  ingest::Growth growth() const override { return ingest::Growth::kRewritten; }
  bool NeedsWholeFile() const override { return true; }

  std::size_t Consume(std::string_view bytes, bool last) override {
    if (!last) return 0;
    const model::Statement damage = hyperparams::StateJsonConfig(bytes, builder_);
    if (!damage.empty()) builder_.ReportDamage(damage);
    return bytes.size();
  }

 private:
  ingest::PartBuilder& builder_;
};

// One object and nothing behind it: a file of rows would have more.
bool IsOneObject(std::string_view text) {
  codec::JsonScanner scanner(text);
  if (scanner.Next() != codec::JsonToken::kObjectBegin) return false;
  if (scanner.SkipTo(0) != codec::JsonToken::kObjectEnd) return false;
  return FromFirstCharacter(text.substr(scanner.consumed())).empty();
}

// Whether the name counts what was trained. Some names of the step are those of a planned number of steps, too.
bool IsStep(std::string_view name) {
  return name == "epoch" || (tabular::StepPriority(name) != 0 && catalogue::InterpretFact(name).empty());
}

// What a row of metrics has and a config has not.
bool HasMetrics(const std::vector<hyperparams::Hyperparameter>& hyperparameters) {
  return std::any_of(hyperparameters.begin(), hyperparameters.end(), [](const hyperparams::Hyperparameter& each) {
    if (IsStep(each.path) || each.path.find("loss") != std::string::npos) return true;
    const auto meaning = catalogue::Interpret(each.path);
    return meaning && meaning->signal != "lr";
  });
}

}  // namespace

int RecogniseConfigJson(const ingest::Probe& probe) {
  const std::string_view text = FromFirstCharacter(probe.head);
  if (!text.starts_with('{') || probe.size_bytes > kMostBytes) return 0;
  const std::vector<hyperparams::Hyperparameter> hyperparameters = hyperparams::JsonHyperparameters(text);
  const hyperparams::ConfigKind kind = hyperparams::KindOf(hyperparameters);
  if (kind.is_adapter || kind.is_launch) return 60;
  const std::size_t known = hyperparams::CountKnown(hyperparameters);
  if (kind.is_model && !kind.is_training) return known >= 1 ? 60 : 0;
  const bool settings_only = !HasMetrics(hyperparameters) && IsOneObject(text);
  // A single row of known numbers looks like metrics, too: few are enough where the name says what they are.
  const std::size_t enough = settings_only && SaysSettings(probe.path) ? 1 : settings_only ? 2 : 3;
  if (!kind.is_training || known < enough) return 0;
  return settings_only ? 92 : 40;
}

std::unique_ptr<ingest::Reader> OpenConfigJson(ingest::PartBuilder& builder) {
  return std::make_unique<ConfigJsonReader>(builder);
}

}  // namespace vigil::formats
