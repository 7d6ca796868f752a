#include "identify/identify.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"

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

bool HasFormat(const model::Run& run, std::string_view format) {
  return std::any_of(run.sources.begin(), run.sources.end(),
                     [&](const model::Source& source) { return source.format == format; });
}

// ---- framework

// HF Trainer names `grad_norm` and `learning_rate`, in event files below `train/`.
bool LooksLikeHfTrainer(const model::Run& run) {
  if (run.framework == "hf-trainer" || HasFormat(run, "trainer-state")) return true;
  if (HasRaw(run, "train/learning_rate") && (HasRaw(run, "train/grad_norm") || HasRaw(run, "train/epoch"))) return true;
  return HasRaw(run, "loss") && HasRaw(run, "learning_rate") && HasRaw(run, "epoch");
}

// Names that only TRL's trainers log.
bool LooksLikeTrl(const model::Run& run) {
  return Has(run, "zero_std_share") || Has(run, "reward_of") || Has(run, "preference_margin") ||
         HasRawPrefix(run, "completions/") || HasRawPrefix(run, "train/completions/") ||
         HasRaw(run, "mean_token_accuracy") || HasRaw(run, "train/mean_token_accuracy") || HasRaw(run, "objective/kl");
}

std::string FrameworkOf(const model::Run& run) {
  struct Sign {
    std::string_view framework;
    std::string_view raw_prefix;
  };
  constexpr std::array<Sign, 8> kSigns = {{{"verl", "actor/pg_loss"},
                                           {"verl", "critic/score/"},
                                           {"torchtitan", "loss_metrics/"},
                                           {"nemo", "reduced_train_loss"},
                                           {"megatron", "lm loss"},
                                           {"stable-baselines3", "rollout/ep_"},
                                           {"olmo", "train/CE loss"},
                                           {"olmo", "train/CrossEntropyLoss"}}};
  const bool generic = run.framework.empty() || run.framework == "hf-trainer" || run.framework == "torch";
  if (!generic) return run.framework;
  if (LooksLikeTrl(run)) return "trl";
  if (LooksLikeHfTrainer(run)) return "hf-trainer";
  for (const Sign& sign : kSigns) {
    if (HasRawPrefix(run, sign.raw_prefix)) return std::string(sign.framework);
  }
  return run.framework;
}

// ---- regime

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
model::Regime PretrainingBySigns(const model::Run& run) {
  const double first = FirstFinite(run.Find("loss"));
  const auto vocabulary = run.FactNumber("vocab_size");
  if (vocabulary && *vocabulary > 1 && std::abs(first - std::log(*vocabulary)) < 0.7) return {"pretrain", 0.8};
  const bool pretrainer = run.framework == "megatron" || run.framework == "torchtitan" || run.framework == "olmo" ||
                          run.framework == "nemo" || run.framework == "nanogpt" || run.framework == "llm.c";
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
model::Regime AskedFor(const model::Run& run) {
  struct Stage {
    std::string_view name;
    std::string_view regime;
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
    const bool adapter = stage.regime == "sft" && UsesAdapter(run);
    return {adapter ? "lora" : std::string(stage.regime), 0.9};
  }
  return {};
}

model::Regime RegimeOf(const model::Run& run) {
  if (Has(run, "preference_margin") || Has(run, "preference_accuracy")) return {"dpo", 0.95};
  const bool critic = Has(run, "value_loss") || HasRawPrefix(run, "critic/vf_");
  const bool language = Has(run, "completion_length") || Has(run, "truncated_share");
  if (Has(run, "zero_std_share")) return {"grpo", 0.95};
  if (language && Has(run, "reward")) return critic ? model::Regime{"ppo", 0.9} : model::Regime{"grpo", 0.85};
  if (HasRaw(run, "objective/kl") || HasRaw(run, "policy/approxkl_avg")) return {"ppo", 0.9};
  if (Has(run, "reward_std") && Has(run, "kl")) return {critic ? "ppo" : "grpo", 0.7};
  if (model::Regime asked = AskedFor(run); asked.confidence > 0) return asked;
  // Rewards of games and robots: the limits for language models do not hold.
  if (Has(run, "reward")) return {};
  if (UsesAdapter(run)) return {"lora", run.FindFact("adapter") == nullptr ? 0.7 : 0.9};
  if (run.framework == "trl" && (HasRaw(run, "mean_token_accuracy") || HasRaw(run, "train/mean_token_accuracy")))
    return {"sft", 0.85};
  model::Regime pretraining = PretrainingBySigns(run);
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
void SetHfConventions(model::Run& run) {
  constexpr std::array<std::string_view, 4> kInstant = {"lr", "grad_norm", "epoch", "num_tokens"};
  for (model::Series& series : run.series) {
    const bool evaluation = series.signal.starts_with("eval_") || series.raw.starts_with("eval");
    const bool instant = std::find(kInstant.begin(), kInstant.end(), series.signal) != kInstant.end();
    const bool mean = series.signal == "loss" || run.framework == "trl";
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

// These log what torch.nn.utils.clip_grad_norm_ returns: the norm as it was before clipping.
bool LogsNormBeforeClipping(std::string_view framework) {
  constexpr std::array<std::string_view, 6> kOnes = {"torchtitan", "megatron",     "olmo",
                                                     "nanochat",   "kempnerforge", "llm-foundry"};
  return std::find(kOnes.begin(), kOnes.end(), framework) != kOnes.end();
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

bool IsBuiltOnHfTrainer(std::string_view framework) {
  constexpr std::array<std::string_view, 5> kOnes = {"hf-trainer", "trl", "axolotl", "llama-factory", "ms-swift"};
  return std::find(kOnes.begin(), kOnes.end(), framework) != kOnes.end();
}

}  // namespace

void Classify(model::Run& run) {
  run.framework = FrameworkOf(run);
  if (run.regime.confidence == 0) run.regime = RegimeOf(run);
  for (model::Series& series : run.series) {
    if (series.signal == "grad_norm" && series.clipping == model::Clipping::kUnknown)
      series.clipping = ClippingByName(series.raw);
  }
  if (IsBuiltOnHfTrainer(run.framework)) SetHfConventions(run);
  if (LogsNormBeforeClipping(run.framework)) {
    for (model::Series& series : run.series) {
      if (series.signal == "grad_norm" && series.clipping == model::Clipping::kUnknown)
        series.clipping = model::Clipping::kBefore;
    }
  }
  constexpr double kMostSteps = 1e15;
  const auto planned = run.FactNumber("max_steps");
  if (run.planned_steps == 0 && planned && *planned >= 1 && *planned < kMostSteps)
    run.planned_steps = static_cast<std::int64_t>(*planned);
}

}  // namespace vigil::identify
