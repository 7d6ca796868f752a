#include "preflight/text_rules.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "catalogue/config_rules.h"
#include "catalogue/says.h"
#include "diagnose/config.h"
#include "hyperparams/hyperparams.h"
#include "preflight/nearest_key.h"

namespace vigil::preflight {
namespace {

using configfile::Entry;
using configfile::File;
using configfile::Kind;
using configfile::Notation;
using configfile::Open;
using configfile::RemarkKind;

constexpr std::size_t kMostOfOneRule = 20;

enum class Type : std::uint8_t { kNumber, kWhole, kTruth };

struct Typed {
  std::string_view key;
  Type type;
};
// Settings whose type is the same in every framework.
constexpr std::array kTypes = {
    Typed{"lr", Type::kNumber},
    Typed{"weight_decay", Type::kNumber},
    Typed{"max_grad_norm", Type::kNumber},
    Typed{"warmup_ratio", Type::kNumber},
    Typed{"adam_epsilon", Type::kNumber},
    Typed{"adam_beta1", Type::kNumber},
    Typed{"adam_beta2", Type::kNumber},
    Typed{"momentum", Type::kNumber},
    Typed{"label_smoothing", Type::kNumber},
    Typed{"epochs", Type::kNumber},
    Typed{"temperature", Type::kNumber},
    Typed{"batch_size", Type::kWhole},
    Typed{"accumulation", Type::kWhole},
    Typed{"max_steps", Type::kWhole},
    Typed{"sequence_length", Type::kWhole},
    Typed{"num_generations", Type::kWhole},
    Typed{"lora_rank", Type::kWhole},
    Typed{"gradient_checkpointing_kwargs.use_reentrant", Type::kTruth},
    Typed{"load_in_4bit", Type::kTruth},
    Typed{"load_in_8bit", Type::kTruth},
    Typed{"load_best_model_at_end", Type::kTruth},
    Typed{"fp16", Type::kTruth},
    Typed{"sample_packing", Type::kTruth},
};

// Settings that take a word which YAML 1.1 reads as false.
constexpr std::array<std::string_view, 8> kWords = {"eval_strategy",    "evaluation_strategy", "save_strategy",
                                                    "logging_strategy", "mixed_precision",     "ddp_backend",
                                                    "report_to",        "lr_scheduler_type"};

// Whether the framework turns text into the type that a setting has.
bool ConvertsText(std::string_view framework) { return catalogue::HasConfigTrait(framework, "converts-text"); }

class TextCheck {
 public:
  TextCheck(const File& file, const model::Run& run, const catalogue::Thresholds& thresholds)
      : file_(file), run_(run), thresholds_(thresholds), role_(RoleOf(file)) {}

  TextFindings Run() {
    for (const configfile::Remark& remark : file_.remarks) TakeRemark(remark);
    const bool is_of_training = IsTraining(role_) || role_ == "deepspeed" || role_ == "accelerate";
    if (!is_of_training) return std::move(found_);
    for (const Entry& entry : file_.entries) {
      if (entry.open != Open::kNo && entry.open != Open::kSubstituted) continue;
      CheckYaml(entry);
      CheckType(entry);
    }
    CheckNames();
    return std::move(found_);
  }

  void Add(std::string_view id, const Entry* entry, std::uint32_t line, model::Statement says,
           std::string proposed = {}, std::optional<model::Severity> severity = {}) {
    const catalogue::ConfigRuleRow* rule = catalogue::FindConfigRule(id);
    if (rule == nullptr || !thresholds_.Enabled(id) || ++counts_[std::string(id)] > kMostOfOneRule) return;
    model::ConfigBreach breach;
    breach.finding.id = std::string(id);
    breach.finding.family = model::Family::kSetup;
    const model::Severity usual = severity ? *severity : diagnose::SeverityFor(*rule, run_, {});
    breach.finding.severity = thresholds_.SeverityOf(id, usual);
    breach.finding.says = std::move(says);
    model::Evidence evidence;
    evidence.path = file_.path;
    evidence.line = line;
    breach.fix.id = std::string(id);
    breach.fix.framework = run_.framework;
    breach.fix.file = file_.path;
    if (entry != nullptr) {
      evidence.says = says::ConfigStated{.setting = entry->path, .value = QuoteOf(*entry)};
      breach.fix.setting = entry->path;
      breach.fix.current = entry->text;
    }
    breach.fix.proposed = std::move(proposed);
    breach.fix.proposed_in_words = catalogue::TextOf("rule", id, "set");
    breach.finding.evidence.push_back(std::move(evidence));
    found_.breaches.push_back(std::move(breach));
  }

  TextFindings Take() { return std::move(found_); }

 private:
  model::Quote QuoteOf(const Entry& entry) const { return {entry.text, file_.path, entry.line}; }

  void TakeRemark(const configfile::Remark& remark) {
    if (remark.kind == RemarkKind::kDuplicate) {
      const Entry* entry = file_.Find(remark.path);
      return Add("config/duplicate-key", entry, remark.line, says::ConfigDuplicateKeyBroken{.remark = remark.says});
    }
    if (remark.kind == RemarkKind::kBroken)
      return Add("config/broken-file", nullptr, remark.line, says::ConfigBrokenFileBroken{.why = remark.says});
    found_.not_checked.push_back({file_.path, remark.line, remark.says});
  }

  void CheckYaml(const Entry& entry) {
    if (!entry.differs_by_version || file_.notation != Notation::kYaml) return;
    if (entry.kind == Kind::kNumber) {
      const bool converts = ConvertsText(role_);
      std::string proposed = entry.text;
      const std::size_t exponent = proposed.find_first_of("eE");
      if (proposed.find('.') == std::string::npos) proposed.insert(exponent, ".0");
      if (const std::size_t at = proposed.find_first_of("eE") + 1; proposed[at] != '-' && proposed[at] != '+')
        proposed.insert(at, "+");
      return Add("config/number-as-text", &entry, entry.line,
                 says::ConfigNumberAsTextBroken{.setting = entry.path, .value = QuoteOf(entry)}, std::move(proposed),
                 converts ? std::optional(model::Severity::kInfo) : std::nullopt);
    }
    if (std::find(kWords.begin(), kWords.end(), entry.path) == kWords.end()) return;
    Add("config/word-as-truth", &entry, entry.line,
        says::ConfigWordAsTruthBroken{
            .setting = entry.path, .value = QuoteOf(entry), .truth = entry.truth ? "true" : "false"},
        "\"" + entry.text + "\"", ConvertsText(role_) ? std::optional(model::Severity::kInfo) : std::nullopt);
  }

  // "auto" and other words that leave a setting to the framework are of any type.
  static bool IsLeft(const Entry& entry) {
    const std::string word = ToLower(entry.text);
    return hyperparams::SaysNothing(entry.text) || word == "none" || word == "auto" || word == "unsloth" ||
           word == "offload";
  }

  void CheckType(const Entry& entry) {
    if (entry.kind == Kind::kMap || entry.kind == Kind::kList || entry.kind == Kind::kNull || IsLeft(entry)) return;
    const std::string_view key = hyperparams::KeyOfHyperparameter(entry.path);
    const auto* typed = std::find_if(kTypes.begin(), kTypes.end(), [&](const Typed& each) {
      return each.key == entry.path || (!key.empty() && each.key == key);
    });
    if (typed == kTypes.end()) return;
    const auto number = ParseNumber(entry.text);
    if (typed->type == Type::kTruth) return CheckTruth(entry, number);
    if (entry.kind == Kind::kTruth && file_.notation == Notation::kCommand) return;
    if (entry.kind != Kind::kNumber && !number)
      return Add("config/wrong-type", &entry, entry.line,
                 says::ConfigWrongTypeNumber{.setting = entry.path, .value = QuoteOf(entry)});
    if (typed->type == Type::kWhole && number && std::isfinite(*number) && *number != std::floor(*number))
      return Add("config/wrong-type", &entry, entry.line,
                 says::ConfigWrongTypeWhole{.setting = entry.path, .value = QuoteOf(entry)});
    if (entry.kind == Kind::kText && number && file_.notation != Notation::kPickle && !ConvertsText(role_))
      Add("config/wrong-type", &entry, entry.line,
          says::ConfigWrongTypeQuoted{.setting = entry.path, .value = QuoteOf(entry)}, entry.text,
          model::Severity::kWarning);
  }

  void CheckTruth(const Entry& entry, std::optional<double> number) {
    const std::string word = ToLower(entry.text);
    constexpr std::array<std::string_view, 6> kTruths = {"true", "false", "yes", "no", "on", "off"};
    const bool fits = entry.kind == Kind::kTruth || (number && (*number == 0 || *number == 1)) ||
                      std::find(kTruths.begin(), kTruths.end(), word) != kTruths.end();
    if (fits) return;
    Add("config/wrong-type", &entry, entry.line,
        says::ConfigWrongTypeTruth{.setting = entry.path, .value = QuoteOf(entry)}, {}, model::Severity::kWarning);
  }

  // Names that the framework does not have. Command lines hold arguments of scripts, and pickles all there are.
  void CheckNames() {
    const catalogue::ConfigKeysRow* row = catalogue::FindConfigKeys(role_);
    if (row == nullptr || row->names.empty() || file_.notation == Notation::kCommand ||
        file_.notation == Notation::kPickle)
      return;
    const KnownKeys known(*row);
    std::vector<std::string> unknown;
    for (const Entry& entry : file_.entries) {
      if (!known.Covers(entry.path) || known.Has(entry.path)) continue;
      const std::vector<std::string> nearest = known.Nearest(entry.path);
      if (nearest.empty()) {
        unknown.push_back(entry.path);
        continue;
      }
      Add("config/unknown-key", &entry, entry.line,
          says::ConfigUnknownKeyBroken{.setting = entry.path, .framework = std::string(row->title), .nearest = nearest},
          nearest.front());
    }
    if (unknown.empty()) return;
    const auto count = static_cast<double>(unknown.size());
    if (unknown.size() > 8) unknown.resize(8);
    found_.not_checked.push_back(
        {file_.path, 0,
         says::PreflightUnknownKeys{.count = count, .framework = std::string(row->title), .names = unknown}});
  }

  const File& file_;
  const model::Run& run_;
  const catalogue::Thresholds& thresholds_;
  std::string_view role_;
  std::map<std::string, std::size_t> counts_;
  TextFindings found_;
};

}  // namespace

TextFindings CheckText(const File& file, const model::Run& run, const catalogue::Thresholds& thresholds) {
  return TextCheck(file, run, thresholds).Run();
}

model::ConfigBreach MissingFile(const File& file, const Reference& reference, const model::Run& run,
                                const catalogue::Thresholds& thresholds) {
  TextCheck check(file, run, thresholds);
  check.Add("config/missing-file", file.Find(reference.setting), reference.line,
            says::ConfigMissingFileBroken{.setting = reference.setting,
                                          .value = model::Quote(reference.path, file.path, reference.line)});
  TextFindings found = check.Take();
  return found.breaches.empty() ? model::ConfigBreach() : std::move(found.breaches.front());
}

std::vector<std::string_view> TextCheckNames() {
  return {"number-as-text", "word-as-truth", "wrong-type",  "unknown-key",
          "duplicate-key",  "broken-file",   "missing-file"};
}

}  // namespace vigil::preflight
