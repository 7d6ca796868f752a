// Adapters, packing, and what the model's own configuration says about sequences and memory.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/config_rules.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"

namespace vigil::diagnose {
namespace {

std::optional<double> NumberOf(const model::Fact* fact) {
  return fact == nullptr ? std::nullopt : ParseNumber(fact->value);
}

// ---- adapters

// LLaMA-Factory and TRL have targets by default.
std::optional<Breach> LoraNoTargets(const RunView& run) {
  const model::Fact* adapter = Stated(run, {"adapter"});
  if (!catalogue::HasConfigTrait(run->framework, "needs-targets") || adapter == nullptr || !UsesAdapter(run))
    return std::nullopt;
  if (Stated(run, {"lora_target_modules", "lora_target_linear", "peft_layers_to_transform", "lora_target_parameters",
                   "peft_target_modules", "lora_model_dir"}) != nullptr)
    return std::nullopt;
  const bool is_lora = ToLower(adapter->value).find("lora") != std::string::npos;
  if (!is_lora) return std::nullopt;
  return Breach{
      .says = says::ConfigLoraNoTargetsBroken{}, .fact = adapter, .proposed = "true", .setting = "lora_target_linear"};
}

std::optional<Breach> LoraScale(const RunView& run) {
  const auto rank = StatedNumber(run, {"lora_rank"});
  const model::Fact* alpha_fact = Stated(run, {"lora_alpha", "lora.alpha", "peft.lora_alpha"});
  const auto alpha = NumberOf(alpha_fact);
  if (!rank || !alpha || !(*rank > 0) || !UsesAdapter(run) || IsOn(Stated(run, {"peft_use_rslora", "use_rslora"})))
    return std::nullopt;
  const double scale = *alpha / *rank;
  if (scale >= 0.125 && scale <= 8) return std::nullopt;
  return Breach{.says = says::ConfigLoraScaleBroken{.alpha = *alpha, .rank = *rank, .scale = scale},
                .fact = alpha_fact,
                .other = Stated(run, {"lora_rank"}),
                .proposed = FormatExact(2 * *rank)};
}

const model::Fact* FourBit(const RunView& run) { return Stated(run, {"load_in_4bit"}); }
const model::Fact* EightBit(const RunView& run) { return Stated(run, {"load_in_8bit"}); }

std::optional<Breach> QuantizedWithoutAdapter(const RunView& run) {
  const model::Fact* quantized = IsOn(FourBit(run)) ? FourBit(run) : EightBit(run);
  if (!IsOn(quantized) || UsesAdapter(run) || IsReinforcement(run)) return std::nullopt;
  // Without the name of the adapter only a trainer that takes it from its configuration can have none.
  if (!catalogue::HasConfigTrait(run->framework, "states-adapter")) return std::nullopt;
  if (Stated(run, {"lora_model_dir", "adapter_name_or_path", "relora"}) != nullptr) return std::nullopt;
  return Breach{.says = says::ConfigQuantizedWithoutAdapterBroken{.setting = NameOf(*quantized)},
                .fact = quantized,
                .proposed = "false"};
}

std::optional<Breach> TwoQuantizations(const RunView& run) {
  if (!IsOn(FourBit(run)) || !IsOn(EightBit(run))) return std::nullopt;
  return Breach{
      .says = says::ConfigTwoQuantizationsBroken{}, .fact = EightBit(run), .other = FourBit(run), .proposed = "false"};
}

std::optional<Breach> QloraNotQuantized(const RunView& run) {
  const model::Fact* adapter = Stated(run, {"adapter"});
  if (!catalogue::HasConfigTrait(run->framework, "refuses-qlora-unquantized") || adapter == nullptr ||
      ToLower(Trim(adapter->value)) != "qlora")
    return std::nullopt;
  const model::Fact* four = FourBit(run);
  const model::Fact* wrong = IsOn(EightBit(run)) ? EightBit(run) : four;
  if (wrong == nullptr || (wrong == four && SwitchOf(*four) != false)) return std::nullopt;
  // Weights that are quantized already are loaded as they are.
  if (Stated(run, {"gptq", "quantize_moe_experts"}) != nullptr) return std::nullopt;
  return Breach{.says = says::ConfigQloraNotQuantizedBroken{.setting = NameOf(*wrong), .value = QuoteOf(run, *wrong)},
                .fact = wrong,
                .other = adapter,
                .proposed = "true",
                .setting = "load_in_4bit"};
}

// ---- packing

const model::Fact* PackingFact(const RunView& run) {
  const model::Fact* fact = Stated(run, {"sample_packing", "packing", "neat_packing"});
  return IsOn(fact) ? fact : nullptr;
}

bool KeepsSamplesApart(std::string_view attention) {
  constexpr std::array<std::string_view, 9> kApart = {"flash",    "fa2",  "fa3",  "fa4", "flex",
                                                      "xformers", "sage", "sdpa", "auto"};
  return std::any_of(kApart.begin(), kApart.end(),
                     [&](std::string_view name) { return attention.find(name) != std::string_view::npos; });
}

std::optional<Breach> PackingWithoutFlash(const RunView& run) {
  const model::Fact* packing = PackingFact(run);
  if (packing == nullptr || catalogue::HasConfigTrait(run->framework, "separates-packed")) return std::nullopt;
  for (const std::string_view name : {"flash_attention", "flash_attn", "flex_attention", "xformers_attention",
                                      "sdp_attention", "sage_attention", "s2_attention", "shift_attn", "use_kernels"}) {
    if (IsOn(Stated(run, {name}))) return std::nullopt;
  }
  const model::Fact* chosen = Stated(run, {"attn_implementation", "flash_attn"});
  if (chosen != nullptr && KeepsSamplesApart(ToLower(chosen->value))) return std::nullopt;
  if (chosen == nullptr) chosen = IsOn(Stated(run, {"eager_attention"})) ? Stated(run, {"eager_attention"}) : nullptr;
  if (chosen == nullptr)
    return Breach{.says = says::ConfigPackingWithoutFlashUnset{}, .fact = packing, .severity = model::Severity::kInfo};
  if (ToLower(Trim(chosen->value)) == "none" || ToLower(Trim(chosen->value)) == "null") return std::nullopt;
  return Breach{
      .says = says::ConfigPackingWithoutFlashBroken{.setting = NameOf(*chosen), .value = QuoteOf(run, *chosen)},
      .fact = chosen,
      .other = packing};
}

std::optional<Breach> PackingSmallEval(const RunView& run) {
  const model::Fact* share_fact = Stated(run, {"val_set_size"});
  const auto share = NumberOf(share_fact);
  if (!IsOn(Stated(run, {"sample_packing"})) || Stated(run, {"eval_sample_packing"}) != nullptr || !share ||
      !(*share > 0) || *share > 0.01)
    return std::nullopt;
  return Breach{.says = says::ConfigPackingSmallEvalBroken{.share = *share},
                .fact = share_fact,
                .proposed = "false",
                .setting = "eval_sample_packing"};
}

std::optional<Breach> PackingByLength(const RunView& run) {
  const model::Fact* grouped = Stated(run, {"group_by_length"});
  if (PackingFact(run) == nullptr || !IsOn(grouped)) return std::nullopt;
  return Breach{.says = says::ConfigPackingByLengthBroken{.setting = NameOf(*grouped)},
                .fact = grouped,
                .other = PackingFact(run),
                .proposed = "false"};
}

// ---- the model and its tokenizer

const model::Fact* ModelSetting(const RunView& run, std::string_view name) {
  if (const model::Fact* fact = SettingIn(run, kModelRole, name)) return fact;
  return SettingIn(run, kModelRole, "text_config." + std::string(name));
}

bool ScalesPositions(const RunView& run) {
  return std::any_of(run->facts.begin(), run->facts.end(), [](const model::Fact& fact) {
    return fact.raw_key.find("rope_scaling") != std::string::npos ||
           fact.raw_key.find("rope_type") != std::string::npos || fact.raw_key == "sliding_window";
  });
}

std::optional<Breach> SequenceBeyondModel(const RunView& run) {
  const Plan plan = PlanOf(*run);
  const model::Fact* most_fact = ModelSetting(run, "max_position_embeddings");
  const auto most = NumberOf(most_fact != nullptr ? most_fact : ModelSetting(run, "n_positions"));
  if (!plan.sequence_length.known() || !most || !(plan.sequence_length.value > *most) || ScalesPositions(run))
    return std::nullopt;
  const model::Fact* length = Stated(run, {"sequence_length", "max_completion_length"});
  return Breach{.says = says::ConfigSequenceBeyondModelBroken{.length = plan.sequence_length.value, .most = *most},
                .fact = length,
                .other = most_fact,
                .proposed = FormatExact(*most)};
}

std::optional<Breach> CompletionBeyondContext(const RunView& run) {
  const auto completion = StatedNumber(run, {"max_completion_length", "trl.max_completion_length"});
  const auto prompt = StatedNumber(run, {"max_prompt_length"});
  const model::Fact* context = Stated(run, {"vllm_max_model_length", "vllm_max_model_len", "vllm.max_model_len"});
  if (context == nullptr) context = ModelSetting(run, "max_position_embeddings");
  const auto most = NumberOf(context);
  if (!completion || !most || *completion + prompt.value_or(0) <= *most) return std::nullopt;
  return Breach{
      .says =
          says::ConfigCompletionBeyondContextBroken{
              .prompt = prompt.value_or(0), .completion = *completion, .setting = NameOf(*context), .most = *most},
      .fact = Stated(run, {"max_completion_length", "trl.max_completion_length"}),
      .other = context,
      .proposed = FormatExact(std::max(1.0, *most - prompt.value_or(0)))};
}

// Where the trainer counts prompts the completions of each come on top.
std::optional<Breach> LogitsTooLarge(const RunView& run) {
  const Plan plan = PlanOf(*run);
  const auto memory = NumberOf(SettingIn(run, kGivenRole, kDeviceMemory));
  if (!plan.logits_bytes.known() || !memory) return std::nullopt;
  const model::Fact* batch = Stated(run, {"batch_size"});
  if (2 * plan.logits_bytes.value > *memory) {
    const double fits = std::floor(plan.micro_batch.value * *memory / (4 * plan.logits_bytes.value));
    return Breach{.says = says::ConfigLogitsTooLargeBroken{.bytes = plan.logits_bytes.value, .memory = *memory},
                  .fact = batch,
                  .proposed = FormatExact(std::max(1.0, fits))};
  }
  const double completions = StatedNumber(run, {"num_generations"}).value_or(1);
  const double all = plan.logits_bytes.value * completions;
  if (!(completions > 1) || 2 * all <= *memory) return std::nullopt;
  return Breach{.says =
                    says::ConfigLogitsTooLargeGenerations{
                        .completions = completions, .batch = plan.micro_batch.value, .bytes = all, .memory = *memory},
                .fact = batch,
                .proposed = FormatExact(std::max(1.0, std::floor(plan.micro_batch.value / 4)))};
}

std::optional<Breach> DimsNotMultiple(const RunView& run) {
  constexpr double kTile = 8;
  for (const std::string_view name : {"vocab_size", "hidden_size", "intermediate_size", "n_embd"}) {
    const model::Fact* fact = ModelSetting(run, name);
    const auto value = NumberOf(fact);
    if (!value || !(*value > 1) || std::fmod(*value, kTile) == 0) continue;
    return Breach{.says = says::ConfigDimsNotMultipleBroken{.setting = NameOf(*fact), .value = *value, .wanted = kTile},
                  .fact = fact,
                  .proposed = FormatExact(std::ceil(*value / 64) * 64)};
  }
  return std::nullopt;
}

std::optional<Breach> NoPadToken(const RunView& run) {
  if (!HasRole(run, kTokenizerRole) || PackingFact(run) != nullptr) return std::nullopt;
  for (const model::Fact& fact : run->facts) {
    if (fact.raw_key == "pad_token" || fact.raw_key.starts_with("pad_token.") ||
        fact.raw_key == "special_tokens.pad_token")
      return std::nullopt;
  }
  const model::Fact* any = SettingIn(run, kTokenizerRole, "tokenizer_class");
  return Breach{.says = says::ConfigNoPadTokenBroken{}, .fact = any, .setting = "special_tokens.pad_token"};
}

std::optional<Breach> VocabMismatch(const RunView& run) {
  const auto size = NumberOf(ModelSetting(run, "vocab_size"));
  if (!size) return std::nullopt;
  constexpr std::string_view kAdded = "added_tokens_decoder.";
  double highest = -1;
  const model::Fact* at = nullptr;
  for (const model::Fact& fact : run->facts) {
    if (!fact.raw_key.starts_with(kAdded)) continue;
    const std::string_view rest = std::string_view(fact.raw_key).substr(kAdded.size());
    const auto id = ParseNumber(rest.substr(0, rest.find('.')));
    if (!id || !(*id > highest)) continue;
    highest = *id;
    at = &fact;
  }
  if (at == nullptr || highest < *size) return std::nullopt;
  return Breach{.says = says::ConfigVocabMismatchBroken{.id = highest, .size = *size},
                .fact = at,
                .other = ModelSetting(run, "vocab_size")};
}

constexpr std::array kAdapter = {
    NamedCheck{"lora-no-targets", LoraNoTargets},
    NamedCheck{"lora-scale", LoraScale},
    NamedCheck{"quantized-without-adapter", QuantizedWithoutAdapter},
    NamedCheck{"two-quantizations", TwoQuantizations},
    NamedCheck{"qlora-not-quantized", QloraNotQuantized},
    NamedCheck{"packing-without-flash", PackingWithoutFlash},
    NamedCheck{"packing-small-eval", PackingSmallEval},
    NamedCheck{"packing-by-length", PackingByLength},
};
constexpr std::array kMemory = {
    NamedCheck{"sequence-beyond-model", SequenceBeyondModel},
    NamedCheck{"completion-beyond-context", CompletionBeyondContext},
    NamedCheck{"logits-too-large", LogitsTooLarge},
    NamedCheck{"dims-not-multiple", DimsNotMultiple},
    NamedCheck{"no-pad-token", NoPadToken},
    NamedCheck{"vocab-mismatch", VocabMismatch},
};

}  // namespace

std::span<const NamedCheck> AdapterChecks() { return kAdapter; }
std::span<const NamedCheck> MemoryChecks() { return kMemory; }

}  // namespace vigil::diagnose
