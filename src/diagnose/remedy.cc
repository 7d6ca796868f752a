#include "diagnose/remedy.h"

#include <algorithm>
#include <array>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

// ---- in whose words

bool HasRawKey(const RunView& run, std::string_view raw_key) {
  return std::any_of(run->facts.begin(), run->facts.end(),
                     [&](const model::Fact& fact) { return fact.raw_key == raw_key; });
}

// Settings in the words of one framework, and the class or file that takes them.
struct Words {
  const catalogue::RemedySetting* setting = nullptr;
  std::string_view framework;
  std::string_view file;
};

// Its own words, those of the trainer it is built on, or anybody's.
Words WordsOf(const catalogue::RemedyRow& row, const RunView& run) {
  const std::string_view framework = SettingsFramework(run);
  if (const auto* own = catalogue::FindRemedySetting(row, framework)) return {own, framework, own->file};
  const model::FrameworkProfile& profile = run->profile;
  if (const auto* base = catalogue::FindRemedySetting(row, profile.settings_of))
    return {base, framework, profile.settings_file};
  if (const auto* any = catalogue::FindRemedySetting(row, "*")) return {any, "*", any->file};
  return {nullptr, framework, {}};
}

// The setting as a config file of the run has it: the user's own name and file.
const model::Fact* StatedInConfig(const RunView& run, std::string_view key) {
  const auto at = std::find_if(run->facts.begin(), run->facts.end(), [&](const model::Fact& fact) {
    return !key.empty() && fact.key == key && fact.place.source < run->sources.size() &&
           run->sources[fact.place.source].is_config;
  });
  return at == run->facts.end() ? nullptr : &*at;
}

std::string FileName(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

// Programs write switches in their own way.
std::string InWords(const catalogue::RemedySetting& setting, const std::string& proposed) {
  if (setting.value.empty()) return proposed;
  // A row with a value of its own is a switch or a name: what is proposed is only whether to use it.
  return std::string(setting.value);
}

std::string Filled(std::string_view text, std::string_view place, std::string_view value) {
  std::string filled(text);
  const std::size_t at = filled.find(place);
  return at == std::string::npos ? filled : filled.replace(at, place.size(), value);
}

void FillSetting(model::Remedy& remedy, const catalogue::RemedyRow& row, const RunView& run) {
  const Words words = WordsOf(row, run);
  remedy.framework = words.framework;
  if (words.setting == nullptr) return;
  remedy.setting = words.setting->setting;
  remedy.file = words.file;
  if (remedy.proposed_in_words.empty()) remedy.proposed = InWords(*words.setting, remedy.proposed);
  remedy.code = Filled(words.setting->code, "{value}", remedy.proposed);
  for (const std::string_view pair : words.setting->also) {
    const std::size_t equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    // What the run does not have on need not be switched off.
    if (FactSwitch(run, catalogue::InterpretFact(key)).value_or(false))
      remedy.also.push_back({std::string(key), "True", std::string(pair.substr(equals + 1))});
  }
}

// A config of the run that holds the setting says how the user calls it, and where.
void NameAsStated(model::Remedy& remedy, const catalogue::RemedyRow& row, const RunView& run) {
  const model::Fact* stated = StatedInConfig(run, row.fact);
  if (stated == nullptr || remedy.proposed.empty()) return;
  remedy.setting = stated->raw_key;
  remedy.file = FileName(run->sources[stated->place.source].path);
  remedy.code.clear();
}

void AddAlso(model::Remedy& remedy, const std::vector<ProposedToo>& also, const RunView& run) {
  for (const ProposedToo& too : also) {
    const catalogue::RemedyRow* row = catalogue::FindRemedy(too.remedy);
    if (row == nullptr) continue;
    const Words words = WordsOf(*row, run);
    const model::Fact* stated = StatedInConfig(run, row->fact);
    const std::string setting = stated != nullptr          ? stated->raw_key
                                : words.setting == nullptr ? std::string()
                                                           : std::string(words.setting->setting);
    if (!setting.empty()) remedy.also.push_back({setting, too.current, too.proposed});
  }
}

// ---- its words

model::Statement EffectOf(const catalogue::RemedyRow& row, const Incident& incident) {
  model::Statement effect = catalogue::TextOf("remedy", row.id, "effect");
  const std::string& metric = incident.root().signal;
  if (metric.empty() || !incident.onset.known()) return effect;
  return says::EffectWatch{.effect = effect, .metric = metric, .at = incident.onset};
}

// Without code for a value the advice of the row is all there is; code that finds the setting in place takes it back.
std::optional<model::Remedy> Apply(const catalogue::RemedyRow& row, const RunView& run, const Incident& incident) {
  const bool applies = std::all_of(row.when.begin(), row.when.end(),
                                   [&](std::string_view name) { return Applies(name, run, incident); });
  if (!applies) return std::nullopt;
  model::Remedy remedy;
  remedy.id = row.id;
  remedy.reason = catalogue::TextOf("remedy", row.id, "reason");
  remedy.effect = EffectOf(row, incident);
  const Propose propose = row.proposal.empty() ? nullptr : FindProposal(row.proposal);
  std::optional<Proposal> proposal;
  if (propose != nullptr) {
    proposal = propose(run, incident);
    if (!proposal) return std::nullopt;
    remedy.current = proposal->current;
    remedy.proposed = proposal->proposed;
    remedy.proposed_in_words = proposal->in_words;
    if (!proposal->reason.empty()) remedy.reason = proposal->reason;
  }
  FillSetting(remedy, row, run);
  NameAsStated(remedy, row, run);
  if (proposal) AddAlso(remedy, proposal->also, run);
  return remedy;
}

// ---- settings that no run is trained with

// A stated value outside of these limits is far from all that is usual, whatever else the run shows.
struct FarFrom {
  std::string_view remedy;
  std::string_view fact;
  double least;
  double most;
};
constexpr double kNoLimit = 1e300;
constexpr std::array kFarFrom = {
    FarFrom{"usual-discount", "discount", 0.8, 0.9999},
    FarFrom{"lower-entropy-bonus", "entropy_coefficient", 0, 0.5},
    FarFrom{"raise-temperature", "temperature", 0.3, 2},
    FarFrom{"plain-temperature", "temperature", 0.01, 50},
    FarFrom{"raise-clip", "max_grad_norm", 0.005, kNoLimit},
    FarFrom{"less-dropout", "dropout", 0, 0.8},
    FarFrom{"less-smoothing", "label_smoothing", 0, 0.5},
    FarFrom{"default-epsilon", "adam_epsilon", 0, 1e-3},
    FarFrom{"default-betas", "adam_beta1", 0, 0.98},
    FarFrom{"default-momentum", "momentum", 0, 0.98},
    FarFrom{"moderate-weight-decay", "weight_decay", 0, 2},
};

// More would bury the first, which is most often the right one.
constexpr std::size_t kMostFixes = 2;

// Whether the message is not known to mean another cause.
bool Fits(const catalogue::SignatureRow& row, std::string_view cause) {
  return cause.empty() || row.cause.empty() || row.cause == cause;
}

}  // namespace

// A user's own loop around DeepSpeed or accelerate is known by the keys of its config files.
std::string_view SettingsFramework(const RunView& run) {
  if (catalogue::FindLaunch(run->framework) != nullptr) return run->framework;
  if (HasRawKey(run, "train_micro_batch_size_per_gpu") || HasRawKey(run, "fp16.enabled") ||
      HasRawKey(run, "bf16.enabled") || HasRawKey(run, "optimizer.params.lr"))
    return "deepspeed";
  if (HasRawKey(run, "mixed_precision") && HasRawKey(run, "num_processes")) return "accelerate";
  return run->framework;
}

// A message that is no failure (a run stopped by hand) only ended what went wrong before it.
bool IsEndOnly(const model::Finding& finding, const Incident& incident) {
  return finding.severity <= model::Severity::kWarning && &finding != &incident.root();
}

// What could be the root goes first: the failures it set off go away with it.
std::vector<model::Remedy> FixesOfMessages(const Incident& incident, std::string_view cause) {
  std::vector<model::Remedy> fixes;
  for (const bool roots : {true, false}) {
    for (const model::Finding* finding : incident.findings) {
      const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
      if (row == nullptr || row->fix.empty() || (row->role == "root") != roots || fixes.size() >= kMostFixes) continue;
      if (IsEndOnly(*finding, incident)) continue;
      const bool known =
          std::any_of(fixes.begin(), fixes.end(), [&](const model::Remedy& fix) { return fix.id == row->id; });
      if (known || !Fits(*row, cause)) continue;
      model::Remedy& fix = fixes.emplace_back();
      fix.id = row->id;
      fix.framework = "*";
    }
  }
  return fixes;
}

std::optional<model::Remedy> RemedyFor(std::string_view id, const RunView& run, const Incident& incident) {
  const catalogue::RemedyRow* row = catalogue::FindRemedy(id);
  return row == nullptr ? std::nullopt : Apply(*row, run, incident);
}

std::vector<model::Remedy> SetBack(const RunView& run, const Incident& incident) {
  std::vector<model::Remedy> remedies;
  for (const FarFrom& far : kFarFrom) {
    const auto stated = run.FactNumber(far.fact);
    if (!stated || (*stated >= far.least && *stated <= far.most)) continue;
    if (auto remedy = RemedyFor(far.remedy, run, incident)) remedies.push_back(std::move(*remedy));
  }
  return remedies;
}

std::vector<model::Remedy> RemediesFor(const catalogue::CauseRow& cause, const RunView& run, const Incident& incident) {
  std::vector<model::Remedy> remedies;
  for (const std::string_view id : cause.remedies) {
    if (auto remedy = RemedyFor(id, run, incident)) remedies.push_back(std::move(*remedy));
  }
  return remedies;
}

}  // namespace vigil::diagnose
