// Config rules that the stated settings of a run decide.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"
#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/facts.h"
#include "diagnose/places.h"

namespace vigil::diagnose {
namespace {

// Only where it is stated: a trainer without the setting may clip in its code.
std::optional<Breach> NoClipping(const RunView& run) {
  const Clipping clipping = ClippingOf(run);
  if (clipping.state != Clip::kOff || !clipping.stated) return std::nullopt;
  return Breach{.says = says::ConfigNoClippingBroken{}, .fact = run.FindFact("max_grad_norm"), .proposed = "1.0"};
}

std::optional<Breach> NoWarmup(const RunView& run) {
  const auto steps = run.FactNumber("warmup_steps");
  const auto ratio = run.FactNumber("warmup_ratio");
  // Both count steps, whatever the metrics of the run are counted on.
  const double planned = EndOf(run, model::Axis::kStep).length();
  if ((!steps && !ratio) || planned < 100) return std::nullopt;
  const double share = std::max(ratio.value_or(0), steps.value_or(0) < 1 ? steps.value_or(0) : *steps / planned);
  if (share >= 0.01) return std::nullopt;
  return Breach{
      .says = says::ConfigNoWarmupBroken{.share = share, .planned = model::Extent{model::Axis::kStep, planned}},
      .fact = run.FindFact(steps ? "warmup_steps" : "warmup_ratio"),
      .proposed = steps ? FormatExact(std::round(planned * 0.05)) : "0.05"};
}

// Nobody means a rate so far above what the method takes; a slip of the exponent is.
constexpr double kBeyondAllUse = 100;

// Three times beyond the range, because ranges are habits; and only for a known method, because they differ by orders
// of magnitude.
std::optional<Breach> LrOutsideBand(const RunView& run) {
  const auto lr = run.FactNumber("lr");
  const LrBand band = BandForOptimizer(run);
  if (!lr || !band.exact || !(*lr > 0) || (*lr <= 3 * band.high && *lr >= band.low / 3)) return std::nullopt;
  return Breach{.says = says::ConfigLrBandBroken{.lr = *lr, .low = band.low, .high = band.high, .method = band.method},
                .fact = run.FindFact("lr"),
                .grave = *lr > kBeyondAllUse * band.high,
                .proposed = FormatExact(*lr > band.high ? band.high : band.low)};
}

// A policy can collapse within a few steps, so that a coarse log shows only the ruin.
std::optional<Breach> SparseLogging(const RunView& run) {
  const auto every = run.FactNumber("logging_steps");
  if (!IsReinforcement(run) || !every || !(*every > 1)) return std::nullopt;
  return Breach{.says = says::ConfigSparseLoggingBroken{.every = model::Extent{model::Axis::kStep, *every}},
                .fact = run.FindFact("logging_steps"),
                .proposed = "1"};
}

// Few completions alone are a choice; they are a problem where most groups come out all alike.
std::optional<Breach> FewGenerations(const RunView& run) {
  const auto count = run.FactNumber("num_generations");
  const double without = Median(FiniteValues(LastCourse(run, "zero_std_share").View()));
  if (!count || !(*count < 16) || !(without > 0.5)) return std::nullopt;
  return Breach{.says = says::ConfigFewGenerationsBroken{.completions = *count, .share = without},
                .fact = run.FindFact("num_generations"),
                .proposed = "16"};
}

// TRL generates for so many micro batches at once: the accumulation of gradients unless it is stated.
double MicroBatchesPerGeneration(const RunView& run) {
  const auto stated = StatedNumber(run, {"steps_per_generation", "trl.steps_per_generation"});
  return std::max(1.0, stated ? *stated : run.FactNumber("accumulation").value_or(1));
}

// Trainers refuse such a batch, or drop the rest of it without a word. More ranks than are known may make it fit.
std::optional<Breach> GenerationsIndivisible(const RunView& run) {
  const auto count = run.FactNumber("num_generations");
  const auto batch = run.FactNumber("batch_size");
  if (!count || !batch || !(*count >= 1) || !(*batch >= 1) || *count > 1e6 || *batch > 1e9) return std::nullopt;
  const PlannedNumber ranks = PlanOf(*run).data_ranks;
  const double known_ranks = ranks.known() ? ranks.value : std::max(1, run->ranks);
  const auto stated = StatedNumber(run, {"generation_batch_size", "trl.generation_batch_size"});
  const double all = stated ? *stated : *batch * MicroBatchesPerGeneration(run) * known_ranks;
  if (std::fmod(all, *count) == 0) return std::nullopt;
  const bool is_sure = ranks.known() || stated.has_value();
  return Breach{.says = says::ConfigGenerationsIndivisibleBroken{.batch = all, .completions = *count},
                .fact = run.FindFact("num_generations"),
                .other = run.FindFact("batch_size"),
                .severity = is_sure ? std::nullopt : std::optional(model::Severity::kWarning)};
}

// An adapter is small: the decay of pretraining pulls it back to nothing.
std::optional<Breach> WeightDecayHigh(const RunView& run) {
  const auto decay = run.FactNumber("weight_decay");
  if (!decay || !(*decay > 0.1) || (!run.HasMethod("lora") && run.FindFact("adapter") == nullptr)) return std::nullopt;
  return Breach{.says = says::ConfigWeightDecayHighBroken{.decay = *decay},
                .fact = run.FindFact("weight_decay"),
                .proposed = "0.01"};
}

bool IsOff(const model::Fact& fact) {
  const std::string word = ToLower(Trim(fact.value));
  const auto number = ParseNumber(word);
  return word == "no" || word == "none" || word == "false" || (number && *number == 0) || word.ends_with(".no");
}

// Evaluation that was done anyway, by other means, breaks no rule.
std::optional<Breach> NoEval(const RunView& run) {
  if (Logged(run, "eval_loss") || Logged(run, "eval_accuracy") || IsReinforcement(run)) return std::nullopt;
  for (const std::string_view key : {"eval_strategy", "evaluation_strategy", "val_set_size"}) {
    const model::Fact* fact = FindSetting(run, key);
    if (fact != nullptr && IsOff(*fact))
      return Breach{.says = says::ConfigNoEvalBroken{.setting = key, .value = QuoteOf(run, *fact)}, .fact = fact};
  }
  return std::nullopt;
}

// GPUs of compute capability 8.0 and above.
constexpr std::array<std::string_view, 10> kBf16Gpus = {"A100", "A10G", "A40", "A6000",  "H100",
                                                        "H200", "B200", "L40", "RTX 30", "RTX 40"};

// The name of the GPU stands in settings of trackers and launchers, under keys that differ.
bool NamesBf16Gpu(const RunView& run) {
  for (const model::Fact& fact : run->facts) {
    if (ToLower(fact.raw_key).find("gpu") == std::string::npos &&
        ToLower(fact.raw_key).find("device") == std::string::npos)
      continue;
    for (const std::string_view gpu : kBf16Gpus) {
      if (fact.value.find(gpu) != std::string::npos) return true;
    }
  }
  return false;
}

std::optional<Breach> Fp16OnBf16Hardware(const RunView& run) {
  if (PrecisionOf(run) != Precision::kFp16 || !NamesBf16Gpu(run)) return std::nullopt;
  return Breach{.says = says::ConfigFp16OnBf16HardwareBroken{},
                .fact = FindSetting(run, run.FindFact("fp16") != nullptr ? "fp16" : "precision")};
}

std::optional<Breach> NanHidden(const RunView& run) {
  // Only where it is stated: every run of that trainer has it by default, and a note on every run is noise.
  const auto filter = FactSwitch(run, "nan_filter");
  if (!filter || !*filter) return std::nullopt;
  return Breach{.says = says::ConfigNanHiddenBroken{}, .fact = run.FindFact("nan_filter"), .proposed = "false"};
}

// It costs nothing until the first restart, and then cannot be repaired.
std::optional<Breach> NoCheckpointState(const RunView& run) {
  const auto only = FactSwitch(run, "save_only_model");
  if (!only || !*only) return std::nullopt;
  return Breach{
      .says = says::ConfigNoCheckpointStateBroken{}, .fact = FindSetting(run, "save_only_model"), .proposed = "false"};
}

constexpr std::array kChecks = {
    NamedCheck{"no-clipping", NoClipping},
    NamedCheck{"no-warmup", NoWarmup},
    NamedCheck{"lr-band", LrOutsideBand},
    NamedCheck{"sparse-logging", SparseLogging},
    NamedCheck{"few-generations", FewGenerations},
    NamedCheck{"generations-indivisible", GenerationsIndivisible},
    NamedCheck{"weight-decay-high", WeightDecayHigh},
    NamedCheck{"no-eval", NoEval},
    NamedCheck{"fp16-on-bf16-hardware", Fp16OnBf16Hardware},
    NamedCheck{"nan-hidden", NanHidden},
    NamedCheck{"no-checkpoint-state", NoCheckpointState},
};

}  // namespace

std::span<const NamedCheck> RunChecks() { return kChecks; }

}  // namespace vigil::diagnose
