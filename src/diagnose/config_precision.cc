// Precision, checkpointing of activations, and the schedule of the learning rate.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/config_rules.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"

namespace vigil::diagnose {
namespace {

std::optional<Breach> TwoPrecisions(const RunView& run) {
  const model::Fact* fp16 = Stated(run, {"fp16"});
  const model::Fact* bf16 = Stated(run, {"bf16"});
  if (!IsOn(fp16) || !IsOn(bf16)) return std::nullopt;
  return Breach{.says = says::ConfigTwoPrecisionsBroken{}, .fact = fp16, .other = bf16, .proposed = "false"};
}

Breach PrecisionBreach(const RunView& run, const model::Fact& fact, const model::Fact& other) {
  return {.says = says::ConfigPrecisionDiffersBroken{.setting = NameOf(fact),
                                                     .value = QuoteOf(run, fact),
                                                     .other = NameOf(other),
                                                     .contrary = QuoteOf(run, other)},
          .fact = &fact,
          .other = &other};
}

// In accelerate's file the arguments of the trainer win.
std::optional<Breach> PrecisionDiffers(const RunView& run) {
  const model::Fact* fp16 = Stated(run, {"fp16"});
  const model::Fact* bf16 = Stated(run, {"bf16"});
  const model::Fact* deep_fp16 = DeepspeedSetting(run, "fp16.enabled");
  const model::Fact* deep_bf16 = DeepspeedSetting(run, "bf16.enabled");
  if (IsOn(bf16) && IsOn(deep_fp16)) return PrecisionBreach(run, *deep_fp16, *bf16);
  if (IsOn(fp16) && IsOn(deep_bf16)) return PrecisionBreach(run, *deep_bf16, *fp16);
  const model::Fact* mixed = SettingIn(run, kAccelerateRole, "mixed_precision");
  if (mixed == nullptr) return std::nullopt;
  const std::string word = ToLower(Trim(mixed->value));
  const model::Fact* contrary = word == "fp16" && IsOn(bf16) ? bf16 : word == "bf16" && IsOn(fp16) ? fp16 : nullptr;
  if (contrary == nullptr) return std::nullopt;
  Breach breach = PrecisionBreach(run, *mixed, *contrary);
  breach.severity = model::Severity::kWarning;
  return breach;
}

const model::Fact* CheckpointingFact(const RunView& run) {
  const model::Fact* fact = Stated(run, {"gradient_checkpointing"});
  if (fact == nullptr) return nullptr;
  const std::string word = ToLower(Trim(fact->value));
  return IsOn(fact) || word == "unsloth" || word == "offload" ? fact : nullptr;
}

const model::Fact* ReentrantFact(const RunView& run) {
  return Stated(run, {"gradient_checkpointing_kwargs.use_reentrant", "use_reentrant", "use_reentrant_gc"});
}

std::optional<Breach> ReentrantNeeded(const RunView& run) {
  const model::Fact* reentrant = ReentrantFact(run);
  if (CheckpointingFact(run) == nullptr || reentrant == nullptr || SwitchOf(*reentrant) != false) return std::nullopt;
  const bool strided = StatedWord(run, {"ebft.mode"}) == "strided" || IsOn(Stated(run, {"ebft.strided"}));
  const bool flex =
      IsOn(Stated(run, {"flex_attention"})) || StatedWord(run, {"attn_implementation"}).starts_with("flex");
  model::Statement reason;
  if (UsesZero3(run)) reason = says::ConfigReentrantNeededZero3{};
  if (strided && flex) reason = says::ConfigReentrantNeededEbft{};
  if (reason.empty()) return std::nullopt;
  return Breach{.says = says::ConfigReentrantNeededBroken{.reason = reason},
                .fact = reentrant,
                .other = UsesZero3(run) ? ZeroStageFact(run) : nullptr,
                .proposed = "true"};
}

std::optional<Breach> ReentrantDefault(const RunView& run) {
  const model::Fact* checkpointing = CheckpointingFact(run);
  if (checkpointing == nullptr || ReentrantFact(run) != nullptr || UsesZero3(run)) return std::nullopt;
  return Breach{.says = says::ConfigReentrantDefaultBroken{},
                .fact = checkpointing,
                .proposed = "false",
                .setting = "gradient_checkpointing_kwargs.use_reentrant"};
}

std::optional<Breach> CacheWithCheckpointing(const RunView& run) {
  const model::Fact* cache = Stated(run, {"use_cache"});
  if (!IsOn(cache) || CheckpointingFact(run) == nullptr) return std::nullopt;
  return Breach{.says = says::ConfigCacheWithCheckpointingBroken{},
                .fact = cache,
                .other = CheckpointingFact(run),
                .proposed = "false"};
}

// ---- schedule

std::optional<Breach> TwoWarmups(const RunView& run) {
  const auto steps = StatedNumber(run, {"warmup_steps"});
  const auto ratio = StatedNumber(run, {"warmup_ratio"});
  if (!steps || !ratio || !(*steps > 0) || !(*ratio > 0)) return std::nullopt;
  // Where both are refused another rule says so.
  if (catalogue::HasConfigTrait(run->framework, "excludes-twins")) return std::nullopt;
  return Breach{.says = says::ConfigTwoWarmupsBroken{.steps = *steps, .ratio = *ratio},
                .fact = Stated(run, {"warmup_ratio"}),
                .other = Stated(run, {"warmup_steps"})};
}

std::optional<Breach> WarmupLonger(const RunView& run) {
  const Plan plan = PlanOf(*run);
  if (!plan.warmup_steps.known() || !plan.steps.known() || plan.warmup_steps.value < plan.steps.value / 2 ||
      plan.warmup_steps.value < 2)
    return std::nullopt;
  const model::Fact* steps = Stated(run, {"warmup_steps"});
  const bool by_steps = steps != nullptr && ParseNumber(steps->value).value_or(0) > 0;
  const bool is_whole = plan.warmup_steps.value >= plan.steps.value;
  return Breach{
      .says = says::ConfigWarmupLongerBroken{.warmup = model::Extent{model::Axis::kStep, plan.warmup_steps.value},
                                             .steps = model::Extent{model::Axis::kStep, plan.steps.value}},
      .fact = by_steps ? steps : Stated(run, {"warmup_ratio"}),
      .other = Stated(run, {"max_steps"}),
      .proposed = by_steps ? FormatExact(std::max(1.0, std::round(plan.steps.value * 0.05))) : "0.05",
      .severity = is_whole ? std::nullopt : std::optional(model::Severity::kWarning)};
}

std::optional<Breach> WarmupIgnored(const RunView& run) {
  const model::Fact* schedule = Stated(run, {"lr_scheduler_type", "lr_scheduler"});
  const model::Fact* warmup = Stated(run, {"warmup_steps"});
  if (warmup == nullptr || !(ParseNumber(warmup->value).value_or(0) > 0)) warmup = Stated(run, {"warmup_ratio"});
  if (schedule == nullptr || warmup == nullptr || !(ParseNumber(warmup->value).value_or(0) > 0)) return std::nullopt;
  const std::string word = ToLower(Trim(schedule->value));
  if (word != "constant" && !word.ends_with(".constant")) return std::nullopt;
  return Breach{.says = says::ConfigWarmupIgnoredBroken{.setting = NameOf(*warmup), .value = QuoteOf(run, *warmup)},
                .fact = schedule,
                .other = warmup,
                .proposed = "constant_with_warmup"};
}

constexpr std::array kPrecision = {
    NamedCheck{"two-precisions", TwoPrecisions},
    NamedCheck{"precision-differs", PrecisionDiffers},
    NamedCheck{"reentrant-needed", ReentrantNeeded},
    NamedCheck{"reentrant-default", ReentrantDefault},
    NamedCheck{"cache-with-checkpointing", CacheWithCheckpointing},
};
constexpr std::array kSchedule = {
    NamedCheck{"two-warmups", TwoWarmups},
    NamedCheck{"warmup-longer", WarmupLonger},
    NamedCheck{"warmup-ignored", WarmupIgnored},
};

}  // namespace

std::span<const NamedCheck> PrecisionChecks() { return kPrecision; }
std::span<const NamedCheck> ScheduleChecks() { return kSchedule; }

}  // namespace vigil::diagnose
