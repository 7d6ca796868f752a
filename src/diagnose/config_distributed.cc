// Several ranks: DeepSpeed, FSDP, accelerate, degrees of parallelism, and files that are used together.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"

namespace vigil::diagnose {
namespace {

std::optional<double> NumberOf(const model::Fact* fact) {
  return fact == nullptr ? std::nullopt : ParseNumber(fact->value);
}

// The DeepSpeed file against itself and the ranks, or torchtitan's global batch.
std::optional<Breach> EffectiveBatch(const RunView& run) {
  const Plan plan = PlanOf(*run);
  const model::Fact* whole = DeepspeedSetting(run, "train_batch_size");
  const auto stated = NumberOf(whole);
  const auto own_micro = NumberOf(DeepspeedSetting(run, "train_micro_batch_size_per_gpu"));
  const auto own_accumulation = NumberOf(DeepspeedSetting(run, "gradient_accumulation_steps"));
  if (stated && plan.data_ranks.known() && (own_micro || plan.micro_batch.known())) {
    const double micro = own_micro ? *own_micro : plan.micro_batch.value;
    const double accumulation = own_accumulation ? *own_accumulation : plan.accumulation.value;
    const double product = micro * accumulation * plan.data_ranks.value;
    if (product == *stated) return std::nullopt;
    return Breach{.says = says::ConfigEffectiveBatchBroken{.setting = NameOf(*whole),
                                                           .stated = *stated,
                                                           .micro = micro,
                                                           .accumulation = accumulation,
                                                           .ranks = plan.data_ranks.value,
                                                           .product = product},
                  .fact = whole,
                  .proposed = FormatExact(product)};
  }
  const model::Fact* global = Stated(run, {"training.global_batch_size"});
  const auto titan = NumberOf(global);
  if (!titan || !(*titan > 0) || !plan.micro_batch.known() || !plan.data_ranks.known()) return std::nullopt;
  const double rank_batch = plan.micro_batch.value * plan.data_ranks.value;
  if (std::fmod(*titan, rank_batch) == 0) return std::nullopt;
  return Breach{.says = says::ConfigEffectiveBatchIndivisible{.setting = NameOf(*global),
                                                              .stated = *titan,
                                                              .micro = plan.micro_batch.value,
                                                              .ranks = plan.data_ranks.value},
                .fact = global,
                .proposed = FormatExact(std::ceil(*titan / rank_batch) * rank_batch)};
}

// A DeepSpeed setting, and the arguments that HF Trainer compares it with.
struct Pair {
  std::string_view deepspeed;
  std::string_view trainer;
};
constexpr std::array kPairs = {
    Pair{"train_micro_batch_size_per_gpu", "batch_size"},
    Pair{"gradient_accumulation_steps", "accumulation"},
    Pair{"gradient_clipping", "max_grad_norm"},
    Pair{"optimizer.params.lr", "lr"},
    Pair{"optimizer.params.weight_decay", "weight_decay"},
    Pair{"optimizer.params.eps", "adam_epsilon"},
    Pair{"scheduler.params.warmup_max_lr", "lr"},
    Pair{"scheduler.params.warmup_num_steps", "warmup_steps"},
    Pair{"scheduler.params.total_num_steps", "max_steps"},
};

bool SameNumber(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

std::vector<Breach> DeepspeedDiffers(const RunView& run) {
  std::vector<Breach> breaches;
  for (const Pair& pair : kPairs) {
    const model::Fact* deep = DeepspeedSetting(run, pair.deepspeed);
    const model::Fact* own = Stated(run, {pair.trainer});
    const auto a = NumberOf(deep);
    const auto b = NumberOf(own);
    if (!a || !b || SameNumber(*a, *b) || deep == own) continue;
    breaches.push_back({.says = says::ConfigDeepspeedDiffersBroken{.setting = NameOf(*deep),
                                                                   .value = QuoteOf(run, *deep),
                                                                   .other = NameOf(*own),
                                                                   .contrary = QuoteOf(run, *own)},
                        .fact = deep,
                        .other = own,
                        .proposed = "auto"});
  }
  return breaches;
}

std::optional<Breach> DeepspeedSingleGpu(const RunView& run) {
  const Plan plan = PlanOf(*run);
  const model::Fact* deepspeed = DeepspeedFact(run);
  if (deepspeed == nullptr || !plan.ranks.known() || plan.ranks.value != 1) return std::nullopt;
  // Offloading is a reason of its own: the memory of the host.
  if (DeepspeedSetting(run, "zero_optimization.offload_optimizer.device") != nullptr ||
      DeepspeedSetting(run, "zero_optimization.offload_param.device") != nullptr)
    return std::nullopt;
  return Breach{.says = says::ConfigDeepspeedSingleGpuBroken{}, .fact = deepspeed};
}

std::optional<Breach> DeepspeedAndFsdp(const RunView& run) {
  const model::Fact* deepspeed = DeepspeedFact(run);
  const model::Fact* fsdp = FsdpFact(run);
  if (deepspeed == nullptr || fsdp == nullptr) return std::nullopt;
  return Breach{.says = says::ConfigDeepspeedAndFsdpBroken{.setting = NameOf(*deepspeed), .other = NameOf(*fsdp)},
                .fact = deepspeed,
                .other = fsdp};
}

const model::Fact* FsdpVersion(const RunView& run) {
  return FsdpFact(run) == nullptr ? nullptr : FsdpSetting(run, "version");
}

std::optional<Breach> Fsdp1(const RunView& run) {
  const model::Fact* version = FsdpVersion(run);
  if (version == nullptr || NumberOf(version) != 1) return std::nullopt;
  return Breach{.says = says::ConfigFsdp1Broken{}, .fact = version, .proposed = "2"};
}

std::optional<Breach> FsdpVersionsMixed(const RunView& run) {
  const model::Fact* version = FsdpVersion(run);
  if (version == nullptr || NumberOf(version) != 2) return std::nullopt;
  for (const std::string_view old : {"sharding_strategy", "use_orig_params", "backward_prefetch",
                                     "backward_prefetch_policy", "forward_prefetch", "sync_module_states"}) {
    const model::Fact* fact = FsdpSetting(run, old);
    if (fact == nullptr) continue;
    return Breach{
        .says = says::ConfigFsdpVersionsMixedBroken{.setting = NameOf(*fact)}, .fact = fact, .other = version};
  }
  return std::nullopt;
}

std::optional<Breach> FsdpAsyncPrefetch(const RunView& run) {
  const model::Fact* prefetch = Stated(run, {"async_prefetch", "trl.async_prefetch"});
  if (!IsOn(prefetch) || FsdpFact(run) == nullptr) return std::nullopt;
  return Breach{.says = says::ConfigFsdpAsyncPrefetchBroken{.setting = NameOf(*prefetch)},
                .fact = prefetch,
                .other = FsdpFact(run),
                .proposed = "false"};
}

std::optional<Breach> EightBitSharded(const RunView& run) {
  const model::Fact* optimizer = Stated(run, {"optimizer"});
  if (optimizer == nullptr) return std::nullopt;
  const std::string name = ToLower(optimizer->value);
  const bool eight = name.find("8bit") != std::string::npos && name.find("torch_") == std::string::npos;
  if (!eight || (FsdpFact(run) == nullptr && !UsesZero3(run))) return std::nullopt;
  // The optimizer holds the states of the adapter only, which are small and whole on each rank.
  if (UsesAdapter(run)) return std::nullopt;
  return Breach{.says = says::Config8bitOptimizerShardedBroken{.optimizer = QuoteOf(run, *optimizer),
                                                               .sharding = UsesZero3(run) ? "ZeRO-3" : "FSDP"},
                .fact = optimizer,
                .other = UsesZero3(run) ? ZeroStageFact(run) : FsdpFact(run),
                .proposed = "adamw_torch_fused"};
}

// ---- degrees

struct Degree {
  std::string_view name;
  std::string_view titan;
  std::string_view forge;
};
constexpr std::array kDegrees = {
    Degree{"replicate", "parallelism.data_parallel_replicate_degree", "distributed.dp_replicate"},
    Degree{"shard", "parallelism.data_parallel_shard_degree", "distributed.dp_shard"},
    Degree{"tensor", "parallelism.tensor_parallel_degree", "distributed.tp"},
    Degree{"pipeline", "parallelism.pipeline_parallel_degree", "distributed.pp"},
    Degree{"context", "parallelism.context_parallel_degree", "distributed.cp"},
};

std::optional<Breach> ParallelDegrees(const RunView& run) {
  const Plan plan = PlanOf(*run);
  if (!plan.ranks.known()) return std::nullopt;
  double product = 1;
  bool is_open = false;
  std::vector<std::string> names;
  const model::Fact* last = nullptr;
  for (const Degree& degree : kDegrees) {
    const model::Fact* fact = Stated(run, {degree.titan, degree.forge});
    const auto value = NumberOf(fact);
    if (!value) continue;
    last = fact;
    is_open = is_open || *value < 0;
    if (*value < 0) continue;
    product *= std::max(1.0, *value);
    names.push_back(std::string(degree.name) + " " + FormatExact(*value));
  }
  if (last == nullptr) return std::nullopt;
  // Silence about sharding means all ranks that are left.
  is_open = is_open || Stated(run, {kDegrees[1].titan, kDegrees[1].forge}) == nullptr;
  const bool fits = is_open ? std::fmod(plan.ranks.value, product) == 0 : product == plan.ranks.value;
  if (fits) return std::nullopt;
  return Breach{
      .says = says::ConfigParallelDegreesBroken{.degrees = names, .product = product, .ranks = plan.ranks.value},
      .fact = last};
}

std::optional<Breach> PipelineMicrobatches(const RunView& run) {
  // Elsewhere the accumulation gives the microbatches.
  const model::Fact* stages_fact = Stated(run, {"parallelism.pipeline_parallel_degree"});
  const auto stages = NumberOf(stages_fact);
  const Plan plan = PlanOf(*run);
  if (!stages || !(*stages > 1) || !plan.micro_batch.known()) return std::nullopt;
  const model::Fact* fact = Stated(run, {"parallelism.pipeline_parallel_microbatch_size"});
  const double micro = std::max(1.0, NumberOf(fact).value_or(1));
  const model::Fact* batch = Stated(run, {"batch_size"});
  if (std::fmod(plan.micro_batch.value, micro) != 0)
    return Breach{.says = says::ConfigPipelineMicrobatchesIndivisible{.batch = plan.micro_batch.value, .micro = micro},
                  .fact = batch,
                  .other = fact,
                  .proposed = FormatExact(std::ceil(plan.micro_batch.value / micro) * micro)};
  const double count = plan.micro_batch.value / micro;
  if (count >= *stages) return std::nullopt;
  return Breach{.says = says::ConfigPipelineMicrobatchesFew{.count = count, .stages = *stages},
                .fact = batch,
                .other = stages_fact,
                .proposed = FormatExact(*stages * micro),
                .severity = model::Severity::kWarning};
}

std::string_view RoleOf(const RunView& run, const model::Fact& fact) {
  return fact.place.source < run->sources.size() ? std::string_view(run->sources[fact.place.source].format)
                                                 : std::string_view();
}

bool SameValue(const model::Fact& first, const model::Fact& second) {
  const auto a = ParseNumber(first.value);
  const auto b = ParseNumber(second.value);
  return a && b ? SameNumber(*a, *b) : ToLower(Trim(first.value)) == ToLower(Trim(second.value));
}

// A fact of that key in another file that has another value. DeepSpeed's file has a rule of its own, which says more.
const model::Fact* ContraryOf(const RunView& run, const model::Fact& first, std::string_view key) {
  const std::string ran = "ran." + std::string(key);
  for (const model::Fact& fact : run->facts) {
    const std::string_view role = RoleOf(run, fact);
    const bool is_same_setting = fact.key == key || fact.key == ran;
    if (!is_same_setting || fact.place.source == first.place.source || role == kDeepspeedRole || role == kModelRole)
      continue;
    if (!SameValue(first, fact)) return &fact;
  }
  return nullptr;
}

std::vector<Breach> FilesDisagree(const RunView& run) {
  constexpr std::array<std::string_view, 12> kKeys = {
      "lr",           "batch_size",    "accumulation", "max_steps",       "epochs",    "warmup_steps",
      "weight_decay", "max_grad_norm", "lora_rank",    "num_generations", "optimizer", "sequence_length"};
  std::vector<Breach> breaches;
  for (const std::string_view key : kKeys) {
    const model::Fact* first = Stated(run, {key});
    const model::Fact* contrary = first == nullptr ? nullptr : ContraryOf(run, *first, key);
    if (contrary == nullptr) continue;
    breaches.push_back({.says = says::ConfigFilesDisagreeBroken{.setting = NameOf(*first),
                                                                .value = QuoteOf(run, *first),
                                                                .other = NameOf(*contrary),
                                                                .contrary = QuoteOf(run, *contrary),
                                                                .path = run->sources[contrary->place.source].path},
                        .fact = first,
                        .other = contrary});
  }
  return breaches;
}

constexpr std::array kChecks = {
    NamedCheck{"effective-batch", EffectiveBatch},
    NamedCheck{"deepspeed-differs", DeepspeedDiffers},
    NamedCheck{"deepspeed-single-gpu", DeepspeedSingleGpu},
    NamedCheck{"deepspeed-and-fsdp", DeepspeedAndFsdp},
    NamedCheck{"fsdp1", Fsdp1},
    NamedCheck{"fsdp-versions-mixed", FsdpVersionsMixed},
    NamedCheck{"fsdp-async-prefetch", FsdpAsyncPrefetch},
    NamedCheck{"8bit-optimizer-sharded", EightBitSharded},
    NamedCheck{"parallel-degrees", ParallelDegrees},
    NamedCheck{"pipeline-microbatches", PipelineMicrobatches},
    NamedCheck{"files-disagree", FilesDisagree},
};

}  // namespace

std::span<const NamedCheck> DistributedChecks() { return kChecks; }

}  // namespace vigil::diagnose
