#include "identify/identify.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "identify/frameworks.h"
#include "identify/naming.h"

namespace vigil::identify {
namespace {

bool Has(const model::Run& run, std::string_view signal) { return run.Find(signal) != nullptr; }

bool HasRaw(const model::Run& run, std::string_view raw) {
  return std::any_of(run.series.begin(), run.series.end(),
                     [&](const model::Series& series) { return series.raw == raw; });
}

bool HasRawPrefix(const model::Run& run, std::string_view prefix) {
  return std::any_of(run.series.begin(), run.series.end(),
                     [&](const model::Series& series) { return series.raw.starts_with(prefix); });
}

// ---- framework

bool Holds(const Sign& sign, const model::Run& run) {
  const bool raw = std::all_of(sign.raw.begin(), sign.raw.end(),
                               [&](std::string_view name) { return name.empty() || HasRaw(run, name); });
  return raw && (sign.raw_prefix.empty() || HasRawPrefix(run, sign.raw_prefix)) &&
         (sign.signal.empty() || Has(run, sign.signal));
}

// What a source stated counts, unless other frameworks are built on that one and the names show which.
std::string FrameworkOf(const model::Run& run) {
  if (!run.framework.empty() && !FindFramework(run.framework).is_base) return run.framework;
  for (const Framework& framework : Frameworks()) {
    const bool shown =
        std::any_of(framework.signs.begin(), framework.signs.end(), [&](const Sign& sign) { return Holds(sign, run); });
    if (shown || (run.framework == framework.id && !framework.signs.empty())) return std::string(framework.id);
  }
  return run.framework;
}

// ---- training method

// What says so decides; a rank alone, which dumps hold also where no adapter is used, only hints at one.
bool UsesAdapter(const model::Run& run) {
  const model::Fact* const adapter = run.FindFact("adapter");
  if (adapter == nullptr) return run.FactNumber("lora_rank").value_or(0) > 0;
  const std::string value = ToLower(adapter->value);
  return !value.empty() && value != "none" && value != "null" && value != "false" && value != "0" && value != "full" &&
         value != "freeze";
}

double FirstFinite(const model::Series* series) {
  if (series == nullptr) return model::kNoValue;
  const auto at = std::find_if(series->values.begin(), series->values.end(), [](double v) { return std::isfinite(v); });
  return at == series->values.end() ? model::kNoValue : *at;
}

// A language model from scratch begins at the logarithm of its vocabulary; 7 to 12.5 is a vocabulary of 1,000 to
// 270,000.
model::TrainingMethod PretrainingBySigns(const model::Run& run) {
  const double first = FirstFinite(run.Find("loss"));
  const auto vocabulary = run.FactNumber("vocab_size");
  if (vocabulary && *vocabulary > 1 && std::abs(first - std::log(*vocabulary)) < 0.7) return {"pretrain", 0.8};
  const bool pretrainer = FindFramework(run.framework).is_pretrainer;
  const bool starts_high = first >= 7 && first <= 12.5;
  if (pretrainer) return {"pretrain", starts_high ? 0.8 : 0.5};
  if (starts_high) return {"pretrain", 0.4};
  return {};
}

// The model's own config names its class.
bool IsCausalLanguageModel(const model::Run& run) {
  const model::Fact* const classes = run.FindFact("architectures");
  return classes != nullptr && classes->value.find("ForCausalLM") != std::string::npos;
}

// What the framework was asked for: LLaMA-Factory's `stage`, axolotl's `rl`.
model::TrainingMethod AskedFor(const model::Run& run) {
  struct Stage {
    std::string_view name;
    std::string_view method;
  };
  constexpr std::array<Stage, 8> kStages = {{{"pt", "pretrain"},
                                             {"pretrain", "pretrain"},
                                             {"sft", "sft"},
                                             {"dpo", "dpo"},
                                             {"ipo", "dpo"},
                                             {"ppo", "ppo"},
                                             {"grpo", "grpo"},
                                             {"gdpo", "grpo"}}};
  const model::Fact* const asked = run.FindFact("training_stage");
  if (asked == nullptr) return {};
  for (const Stage& stage : kStages) {
    if (ToLower(asked->value) != stage.name) continue;
    const bool adapter = stage.method == "sft" && UsesAdapter(run);
    return {adapter ? "lora" : std::string(stage.method), 0.9};
  }
  return {};
}

model::TrainingMethod MethodOf(const model::Run& run) {
  if (Has(run, "preference_margin") || Has(run, "preference_accuracy")) return {"dpo", 0.95};
  const bool critic = Has(run, "value_loss") || HasRawPrefix(run, "critic/vf_");
  const bool language = Has(run, "completion_length") || Has(run, "truncated_share");
  if (Has(run, "zero_std_share")) return {"grpo", 0.95};
  if (language && Has(run, "reward"))
    return critic ? model::TrainingMethod{"ppo", 0.9} : model::TrainingMethod{"grpo", 0.85};
  if (HasRaw(run, "objective/kl") || HasRaw(run, "policy/approxkl_avg")) return {"ppo", 0.9};
  if (Has(run, "reward_std") && Has(run, "kl")) return {critic ? "ppo" : "grpo", 0.7};
  if (model::TrainingMethod asked = AskedFor(run); asked.confidence > 0) return asked;
  // Rewards of games and robots: the limits for language models do not hold.
  if (Has(run, "reward")) return {};
  if (UsesAdapter(run)) return {"lora", run.FindFact("adapter") == nullptr ? 0.7 : 0.9};
  if (FindFramework(run.framework).token_accuracy_is_sft &&
      (HasRaw(run, "mean_token_accuracy") || HasRaw(run, "train/mean_token_accuracy")))
    return {"sft", 0.85};
  model::TrainingMethod pretraining = PretrainingBySigns(run);
  if (pretraining.confidence > 0) return pretraining;
  // LLaMA-Factory says how it tunes. HF Trainer also trains classifiers and vision models: a loss alone does not tell.
  const model::Fact* const tuning = run.FindFact("adapter");
  if (tuning != nullptr && tuning->raw_key == "finetuning_type") return {"sft", 0.7};
  if (IsCausalLanguageModel(run)) return {"sft", 0.6};
  return {};
}

// ---- how values were taken

// HF Trainer logs the mean of the loss over the steps since the line before, and TRL's trainers so their own metrics;
// learning rate and gradient norm (taken before clipping) are those of the last step.
void SetHfConventions(const Framework& framework, model::Run& run) {
  constexpr std::array<std::string_view, 4> kInstant = {"lr", "grad_norm", "epoch", "num_tokens"};
  for (model::Series& series : run.series) {
    const bool evaluation = series.signal.starts_with("eval_") || series.raw.starts_with("eval");
    const bool instant = std::find(kInstant.begin(), kInstant.end(), series.signal) != kInstant.end();
    const bool mean = series.signal == "loss" || framework.logs_means;
    if (series.aggregation == model::Aggregation::kUnknown) {
      if (evaluation || instant || (mean && series.LoggingInterval() <= 1)) {
        series.aggregation = model::Aggregation::kInstant;
      } else if (mean) {
        series.aggregation = model::Aggregation::kMean;
      }
    }
    if (series.signal == "grad_norm" && series.clipping == model::Clipping::kUnknown)
      series.clipping = model::Clipping::kBefore;
  }
}

// Where the name itself says whether the norm was taken before or after clipping.
model::Clipping ClippingByName(std::string_view raw) {
  constexpr std::array<std::string_view, 5> kBefore = {"before_clip", "pre_clip", "preclip", "unclipped",
                                                       "before clip"};
  constexpr std::array<std::string_view, 5> kAfter = {"after_clip", "post_clip", "postclip", "clipped", "after clip"};
  const std::string name = ToLower(raw);
  const auto holds = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (std::any_of(kBefore.begin(), kBefore.end(), holds)) return model::Clipping::kBefore;
  return std::any_of(kAfter.begin(), kAfter.end(), holds) ? model::Clipping::kAfter : model::Clipping::kUnknown;
}

std::string_view SettingsFileOf(const Framework& framework, const model::TrainingMethod& method) {
  for (const ConfigClass& config : framework.config_classes) {
    if (method.name == config.method && method.confidence >= model::kMethodKnown) return config.name;
  }
  return framework.settings_file;
}

}  // namespace

bool SaysMore(std::string_view framework, std::string_view other) {
  if (framework.empty() || other.empty()) return other.empty();
  return FindFramework(other).is_base && !FindFramework(framework).is_base;
}

model::FrameworkProfile ProfileOf(std::string_view framework, const model::TrainingMethod& method) {
  const Framework& row = FindFramework(framework);
  return {.settings_of = std::string(row.settings_of),
          .settings_file = std::string(SettingsFileOf(row, method)),
          .bf16_value = std::string(row.bf16_value),
          .default_clip_norm = row.default_clip_norm,
          .defaults_to_adam = row.defaults_to_adam,
          .drops_non_finite = row.drops_non_finite,
          .takes_part_epochs = row.takes_part_epochs,
          .trains_on_tokens = row.trains_on_tokens,
          .has_user_loop = row.has_user_loop};
}

void Classify(model::Run& run) {
  SettleNames(run);
  run.framework = FrameworkOf(run);
  const Framework& framework = FindFramework(run.framework);
  if (run.method.confidence == 0) run.method = MethodOf(run);
  run.profile = ProfileOf(run.framework, run.method);
  for (model::Series& series : run.series) {
    if (series.signal == "grad_norm" && series.clipping == model::Clipping::kUnknown)
      series.clipping = ClippingByName(series.raw);
  }
  if (framework.is_built_on_hf) SetHfConventions(framework, run);
  if (framework.norm_before_clip) {
    for (model::Series& series : run.series) {
      if (series.signal == "grad_norm" && series.clipping == model::Clipping::kUnknown)
        series.clipping = model::Clipping::kBefore;
    }
  }
  constexpr double kMostSteps = 1e15;
  const auto planned = run.FactNumber("max_steps");
  if (!run.planned_steps && planned && *planned >= 1 && *planned < kMostSteps)
    run.planned_steps = model::StepAt(static_cast<std::int64_t>(*planned));
}

}  // namespace vigil::identify
