// The numbers that follow from the settings of a run.
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "base/base.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"

namespace vigil::diagnose {
namespace {

PlannedNumber From(const model::Fact* fact) {
  const auto number = fact == nullptr ? std::nullopt : ParseNumber(fact->value);
  if (!number || !std::isfinite(*number)) return {};
  return {*number, {fact->place}};
}

PlannedNumber PositiveFrom(const model::Fact* fact) {
  PlannedNumber number = From(fact);
  return number.known() && number.value > 0 ? number : PlannedNumber();
}

// Of known numbers; unknown where one is not.
PlannedNumber Product(std::initializer_list<const PlannedNumber*> factors) {
  PlannedNumber product{1, {}};
  for (const PlannedNumber* factor : factors) {
    if (!factor->known()) return {};
    product.value *= factor->value;
    product.from.insert(product.from.end(), factor->from.begin(), factor->from.end());
  }
  return product;
}

PlannedNumber Ratio(const PlannedNumber& a, const PlannedNumber& b) {
  if (!a.known() || !b.known() || !(b.value > 0)) return {};
  PlannedNumber ratio = Product({&a, &b});
  ratio.value = a.value / b.value;
  return ratio;
}

PlannedNumber RanksOf(const RunView& run) {
  if (const model::Fact* given = SettingIn(run, kGivenRole, "ranks")) return From(given);
  if (const model::Fact* fact = run.FindFact("world_size")) return PositiveFrom(fact);
  if (run->ranks > 1) return {static_cast<double>(run->ranks), {}};
  return {};
}

// Ranks that share one model do not add to the batch.
PlannedNumber DataRanksOf(const RunView& run, const PlannedNumber& ranks) {
  if (!ranks.known()) return {};
  PlannedNumber shared{1, {}};
  for (const std::string_view key : {"tensor_parallel", "pipeline_parallel", "context_parallel"}) {
    const PlannedNumber degree = PositiveFrom(Stated(run, {key}));
    if (degree.known() && degree.value > 1) shared = Product({&shared, &degree});
  }
  const PlannedNumber data = Ratio(ranks, shared);
  // Degrees that do not divide the ranks are a finding, and no batch follows from them.
  return data.value >= 1 && data.value == std::floor(data.value) ? data : PlannedNumber();
}

PlannedNumber AccumulationOf(const RunView& run) {
  const model::Fact* fact = Stated(run, {"accumulation"});
  if (fact == nullptr) fact = run.FindFact("accumulation");
  PlannedNumber stated = PositiveFrom(fact);
  return stated.known() ? stated : PlannedNumber{1, {}};
}

PlannedNumber GlobalBatchOf(const RunView& run, const Plan& plan) {
  PlannedNumber stated = PositiveFrom(run.FindFact("global_batch_size"));
  if (!plan.micro_batch.known()) return stated;
  PlannedNumber product = Product({&plan.batch_of_a_rank, &plan.data_ranks});
  return product.known() ? product : stated;
}

PlannedNumber StepsOf(const RunView& run, const Plan& plan) {
  PlannedNumber stated = PositiveFrom(Stated(run, {"max_steps"}));
  if (stated.known()) return stated;
  if (run->planned_steps) return {static_cast<double>(run->planned_steps->value), {}};
  const PlannedNumber samples = PositiveFrom(Stated(run, {"train_samples"}));
  if (!samples.known() || !plan.epochs.known() || !plan.global_batch.known()) return {};
  const PlannedNumber seen = Product({&samples, &plan.epochs});
  PlannedNumber steps = Ratio(seen, plan.global_batch);
  steps.value = std::ceil(steps.value);
  return steps;
}

// A number below 1 in the place of steps is a share of them, as HF Trainer has it.
PlannedNumber StepsOrShare(PlannedNumber number, const PlannedNumber& all) {
  if (!number.known() || number.value >= 1 || number.value <= 0) return number;
  if (!all.known()) return {};
  number.value = std::ceil(number.value * all.value);
  return number;
}

PlannedNumber WarmupOf(const RunView& run, const PlannedNumber& steps) {
  PlannedNumber stated = From(Stated(run, {"warmup_steps"}));
  if (stated.known() && stated.value > 0) return StepsOrShare(stated, steps);
  const PlannedNumber ratio = From(Stated(run, {"warmup_ratio"}));
  if (!ratio.known()) return stated;
  PlannedNumber warmup = Product({&ratio, &steps});
  if (warmup.known()) warmup.value = std::ceil(warmup.value);
  return warmup;
}

PlannedNumber SaveEveryOf(const RunView& run, const PlannedNumber& steps) {
  const std::string strategy = StatedWord(run, {"save_strategy"});
  if (!strategy.empty() && strategy != "steps") return {};
  if (StatedSwitch(run, {"checkpoint.enable", "checkpoint.enable_checkpoint"}) == false) return {};
  return StepsOrShare(PositiveFrom(Stated(run, {"save_steps"})), steps);
}

// ---- the model's own configuration

double ModelNumber(const RunView& run, std::initializer_list<std::string_view> names, double otherwise) {
  for (const std::string_view name : names) {
    const PlannedNumber number = PositiveFrom(SettingIn(run, kModelRole, name));
    if (number.known()) return number.value;
    const PlannedNumber nested = PositiveFrom(SettingIn(run, kModelRole, "text_config." + std::string(name)));
    if (nested.known()) return nested.value;
  }
  return otherwise;
}

bool HasTwoMatrixMlp(const RunView& run) {
  const model::Fact* fact = SettingIn(run, kModelRole, "model_type");
  constexpr std::array<std::string_view, 12> kPlain = {"gpt2",  "gpt_neox", "gptj",        "opt",
                                                       "bloom", "falcon",   "bert",        "roberta",
                                                       "phi",   "gpt_neo",  "gpt_bigcode", "starcoder2"};
  return fact != nullptr && std::find(kPlain.begin(), kPlain.end(), fact->value) != kPlain.end();
}

bool TiesEmbeddings(const RunView& run) {
  if (const model::Fact* fact = SettingIn(run, kModelRole, "tie_word_embeddings")) return IsOn(fact);
  return HasTwoMatrixMlp(run);
}

// Weights of the matrices of a decoder, as its configuration describes it; norms and biases are below a hundredth.
PlannedNumber ParametersOf(const RunView& run) {
  const double hidden = ModelNumber(run, {"hidden_size", "n_embd", "d_model"}, 0);
  const double layers = ModelNumber(run, {"num_hidden_layers", "n_layer", "num_layers"}, 0);
  const double vocabulary = ModelNumber(run, {"vocab_size"}, 0);
  const double heads = ModelNumber(run, {"num_attention_heads", "n_head", "num_heads"}, 0);
  if (hidden <= 0 || layers <= 0 || vocabulary <= 0 || heads <= 0) return {};
  const double head = ModelNumber(run, {"head_dim"}, hidden / heads);
  const double key_heads = ModelNumber(run, {"num_key_value_heads"}, heads);
  const double inner = ModelNumber(run, {"intermediate_size", "n_inner", "ffn_dim"}, 4 * hidden);
  const double experts = ModelNumber(run, {"num_local_experts", "num_experts", "n_routed_experts"}, 1);
  const double width = experts > 1 ? ModelNumber(run, {"moe_intermediate_size"}, inner) : inner;
  const double matrices = HasTwoMatrixMlp(run) ? 2 : 3;
  const double attention = hidden * head * (2 * heads + 2 * key_heads);
  const double position = HasTwoMatrixMlp(run) ? ModelNumber(run, {"n_positions"}, 0) * hidden : 0;
  const double embedding = vocabulary * hidden * (TiesEmbeddings(run) ? 1 : 2) + position;
  PlannedNumber parameters = From(SettingIn(run, kModelRole, "vocab_size"));
  parameters.value = embedding + layers * (attention + matrices * hidden * width * experts);
  return parameters;
}

PlannedNumber VocabularyOf(const RunView& run) {
  for (const std::string_view path : {"vocab_size", "text_config.vocab_size"}) {
    if (const PlannedNumber own = PositiveFrom(SettingIn(run, kModelRole, path)); own.known()) return own;
  }
  return PositiveFrom(run.FindFact("vocab_size"));
}

double BytesOfValue(const RunView& run) {
  const Precision precision = PrecisionOf(run);
  return precision == Precision::kFp16 || precision == Precision::kBf16 ? 2 : 4;
}

// How the rates of an optimizer relate to those of Adam, as their papers give them.
struct OptimizerFactor {
  std::string_view name;
  std::string_view words;
  double low;
  double high;
};
constexpr std::array kOptimizerFactors = {
    OptimizerFactor{"lion", "Lion", 0.1, 0.34},
    OptimizerFactor{"adafactor", "Adafactor", 1, 10},
    OptimizerFactor{"galore", "GaLore", 1, 10},
};

PlannedNumber SequenceOf(const RunView& run) {
  PlannedNumber stated = PositiveFrom(Stated(run, {"sequence_length"}));
  if (stated.known()) return stated;
  // What reinforcement learning states instead: prompt and completion.
  const PlannedNumber completion = PositiveFrom(Stated(run, {"max_completion_length"}));
  PlannedNumber prompt = PositiveFrom(Stated(run, {"max_prompt_length"}));
  if (!completion.known() || !prompt.known()) return {};
  prompt.value += completion.value;
  prompt.from.insert(prompt.from.end(), completion.from.begin(), completion.from.end());
  return prompt;
}

}  // namespace

Plan PlanOf(const model::Run& planned) {
  const RunView run(planned);
  Plan plan;
  plan.ranks = RanksOf(run);
  plan.data_ranks = DataRanksOf(run, plan.ranks);
  const model::Fact* batch = Stated(run, {"batch_size"});
  plan.micro_batch = PositiveFrom(batch != nullptr ? batch : run.FindFact("batch_size"));
  plan.accumulation = AccumulationOf(run);
  plan.batch_of_a_rank = Product({&plan.micro_batch, &plan.accumulation});
  plan.global_batch = GlobalBatchOf(run, plan);
  plan.sequence_length = SequenceOf(run);
  plan.tokens_per_step = Product({&plan.global_batch, &plan.sequence_length});
  plan.epochs = PositiveFrom(Stated(run, {"epochs"}));
  plan.steps = StepsOf(run, plan);
  plan.warmup_steps = WarmupOf(run, plan.steps);
  plan.peak_lr = From(run.FindFact("lr"));
  plan.save_every = SaveEveryOf(run, plan.steps);
  plan.checkpoints = Ratio(plan.steps, plan.save_every);
  if (plan.checkpoints.known()) plan.checkpoints.value = std::floor(plan.checkpoints.value);
  plan.parameters = ParametersOf(run);
  plan.vocabulary = VocabularyOf(run);
  plan.logits_bytes = Product({&plan.micro_batch, &plan.sequence_length, &plan.vocabulary});
  if (plan.logits_bytes.known()) plan.logits_bytes.value *= BytesOfValue(run);
  return plan;
}

LrBand BandForOptimizer(const RunView& run) {
  LrBand band = UsualLr(run);
  const model::Fact* fact = Stated(run, {"optimizer"});
  const std::string name = fact == nullptr ? std::string() : ToLower(fact->value);
  if (!band.known || name.empty() || name.find("adam") != std::string::npos) return band;
  for (const OptimizerFactor& each : kOptimizerFactors) {
    if (name.find(each.name) == std::string::npos) continue;
    band.low *= each.low;
    band.high *= each.high;
    band.method = says::PreflightWithOptimizer{.method = band.method, .optimizer = std::string(each.words)};
    return band;
  }
  // Nothing is known of the rates of this optimizer.
  band.known = band.exact = false;
  return band;
}

UsualRates UsualRatesOf(const model::Run& run) {
  const LrBand band = BandForOptimizer(run);
  if (!band.known) return {};
  return {band.low, band.high, band.method};
}

}  // namespace vigil::diagnose
