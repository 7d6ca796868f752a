// When a run evaluates, saves and logs.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/base.h"
#include "catalogue/config_rules.h"
#include "catalogue/says.h"
#include "diagnose/config_checks.h"

namespace vigil::diagnose {
namespace {

bool IsOffWord(std::string_view word) { return word == "no" || word == "false" || word.ends_with(".no"); }

// "IntervalStrategy.STEPS" is how older dumps write it.
std::string Strategy(const RunView& run, std::initializer_list<std::string_view> names) {
  const std::string word = StatedWord(run, names);
  return word.substr(word.rfind('.') == std::string::npos ? 0 : word.rfind('.') + 1);
}

bool LoadsBest(const RunView& run) { return StatedSwitch(run, {"load_best_model_at_end"}).value_or(false); }

// What is not stated is the default of the trainer: no evaluation, a checkpoint every some steps.
std::optional<Breach> BestModelStrategy(const RunView& run) {
  if (!LoadsBest(run)) return std::nullopt;
  std::string eval = Strategy(run, {"eval_strategy", "evaluation_strategy"});
  std::string save = Strategy(run, {"save_strategy"});
  // axolotl makes them of its own settings.
  if (Stated(run, {"evals_per_epoch", "saves_per_epoch"}) != nullptr) return std::nullopt;
  if (eval.empty() && Stated(run, {"eval_steps"}) != nullptr) eval = "steps";
  if (eval.empty()) eval = "no";
  if (save.empty()) save = "steps";
  if (eval == save || save == "best") return std::nullopt;
  return Breach{.says = says::ConfigBestModelStrategyBroken{.eval = eval, .save = save},
                .fact = Stated(run, {"load_best_model_at_end"}),
                .other = Stated(run, {"save_strategy", "eval_strategy", "evaluation_strategy"}),
                .proposed = eval == "no" ? save : eval,
                .setting = eval == "no" ? "eval_strategy" : "save_strategy"};
}

std::optional<Breach> BestModelSteps(const RunView& run) {
  const auto save = StatedNumber(run, {"save_steps"});
  const auto eval = StatedNumber(run, {"eval_steps"});
  const std::string strategy = Strategy(run, {"save_strategy"});
  if (!LoadsBest(run) || !save || !eval || !(*save > 0) || !(*eval > 0)) return std::nullopt;
  if (!strategy.empty() && strategy != "steps") return std::nullopt;
  const double ratio = *save / *eval;
  if ((*save < 1) != (*eval < 1) || std::abs(ratio - std::round(ratio)) < 1e-9) return std::nullopt;
  return Breach{.says = says::ConfigBestModelStepsBroken{.save = *save, .eval = *eval},
                .fact = Stated(run, {"save_steps"}),
                .other = Stated(run, {"eval_steps"}),
                .proposed = FormatExact(std::max(1.0, std::round(ratio)) * *eval)};
}

// The setting that asks for an evaluation, or null.
const model::Fact* EvaluationFact(const RunView& run) {
  const model::Fact* strategy = Stated(run, {"eval_strategy", "evaluation_strategy"});
  if (strategy != nullptr) return IsOffWord(ToLower(Trim(strategy->value))) ? nullptr : strategy;
  const model::Fact* every = Stated(run, {"eval_steps", "evals_per_epoch"});
  return every != nullptr && ParseNumber(every->value).value_or(0) > 0 ? every : nullptr;
}

std::optional<Breach> EvalWithoutData(const RunView& run) {
  const model::Fact* asks = EvaluationFact(run);
  const model::Fact* share = Stated(run, {"val_set_size", "val_size"});
  if (asks == nullptr || share == nullptr || ParseNumber(share->value).value_or(1) != 0) return std::nullopt;
  for (const model::Fact& fact : run->facts) {
    constexpr std::array<std::string_view, 4> kData = {"test_datasets", "eval_dataset", "eval_datasets",
                                                       "eval_dataset_names"};
    for (const std::string_view data : kData) {
      if (fact.raw_key.starts_with(data)) return std::nullopt;
    }
  }
  return Breach{.says = says::ConfigEvalWithoutDataBroken{.setting = NameOf(*asks),
                                                          .value = QuoteOf(run, *asks),
                                                          .data = NameOf(*share),
                                                          .share = QuoteOf(run, *share)},
                .fact = asks,
                .other = share,
                .proposed = "0.05",
                .setting = std::string(NameOf(*share)),
                // axolotl passes over this one.
                .severity = NameOf(*asks) == "evals_per_epoch" ? std::optional(model::Severity::kInfo) : std::nullopt};
}

// Settings of axolotl of which only one may be there.
std::vector<Breach> ExclusiveSettings(const RunView& run) {
  constexpr std::array<std::array<std::string_view, 2>, 3> kPairs = {
      {{"evals_per_epoch", "eval_steps"}, {"saves_per_epoch", "save_steps"}, {"warmup_ratio", "warmup_steps"}}};
  std::vector<Breach> breaches;
  if (!catalogue::HasConfigTrait(run->framework, "excludes-twins")) return breaches;
  for (const auto& pair : kPairs) {
    const model::Fact* first = Stated(run, {pair[0]});
    const model::Fact* second = Stated(run, {pair[1]});
    if (first == nullptr || second == nullptr || ParseNumber(first->value).value_or(0) == 0 ||
        ParseNumber(second->value).value_or(0) == 0)
      continue;
    breaches.push_back(
        {.says = says::ConfigExclusiveSettingsBroken{.setting = NameOf(*first), .other = NameOf(*second)},
         .fact = first,
         .other = second});
  }
  return breaches;
}

std::optional<Breach> StepsAndEpochs(const RunView& run) {
  const auto steps = StatedNumber(run, {"max_steps"});
  const auto epochs = StatedNumber(run, {"epochs"});
  if (!steps || !epochs || !(*steps > 0) || !(*epochs > 0)) return std::nullopt;
  return Breach{.says = says::ConfigStepsAndEpochsBroken{.steps = *steps, .epochs = *epochs},
                .fact = Stated(run, {"max_steps"}),
                .other = Stated(run, {"epochs"})};
}

std::optional<Breach> OneCheckpoint(const RunView& run) {
  const auto limit = StatedNumber(run, {"save_total_limit"});
  if (!limit || *limit != 1) return std::nullopt;
  return Breach{.says = says::ConfigOneCheckpointBroken{}, .fact = Stated(run, {"save_total_limit"}), .proposed = "2"};
}

// A tenth of the steps, of which people write round numbers.
double RoundInterval(double steps) {
  const double tenth = std::max(1.0, steps / 10);
  const double magnitude = std::pow(10, std::floor(std::log10(tenth)));
  return std::floor(tenth / magnitude) * magnitude;
}

std::optional<Breach> CheckpointCadence(const RunView& run) {
  constexpr double kLongRun = 1000;
  constexpr double kMostKept = 200;
  const Plan plan = PlanOf(*run);
  if (!plan.steps.known() || !plan.save_every.known()) return std::nullopt;
  const model::Fact* fact = Stated(run, {"save_steps"});
  const model::Extent steps{model::Axis::kStep, plan.steps.value};
  if (plan.save_every.value > plan.steps.value) {
    const bool is_long = plan.steps.value >= kLongRun;
    return Breach{
        .says = says::ConfigCheckpointCadenceNever{.every = model::Extent{model::Axis::kStep, plan.save_every.value},
                                                   .steps = steps},
        .fact = fact,
        .grave = is_long,
        .proposed = FormatExact(RoundInterval(plan.steps.value))};
  }
  const bool all_kept = Stated(run, {"save_total_limit", "checkpoint.keep_latest_k"}) == nullptr;
  if (!all_kept || plan.checkpoints.value <= kMostKept) return std::nullopt;
  return Breach{.says = says::ConfigCheckpointCadenceMany{.count = plan.checkpoints.value}, .fact = fact};
}

std::optional<Breach> LoggingOff(const RunView& run) {
  const model::Fact* strategy = Stated(run, {"logging_strategy"});
  if (strategy != nullptr && IsOffWord(ToLower(Trim(strategy->value))))
    return Breach{
        .says = says::ConfigLoggingOffOff{.value = QuoteOf(run, *strategy)}, .fact = strategy, .proposed = "steps"};
  const auto every = StatedNumber(run, {"logging_steps"});
  const Plan plan = PlanOf(*run);
  if (!every || !plan.steps.known() || !(*every > plan.steps.value)) return std::nullopt;
  return Breach{.says = says::ConfigLoggingOffNever{.every = model::Extent{model::Axis::kStep, *every},
                                                    .steps = model::Extent{model::Axis::kStep, plan.steps.value}},
                .fact = Stated(run, {"logging_steps"}),
                .proposed = FormatExact(std::max(1.0, std::floor(plan.steps.value / 100)))};
}

// Where a list of trackers is stated and empty; silence is the default of the trainer, which takes what is installed.
std::optional<Breach> NoTracker(const RunView& run) {
  const model::Fact* report = Stated(run, {"report_to"});
  if (report == nullptr) return std::nullopt;
  const std::string word = ToLower(Trim(report->value));
  if (word != "none" && word != "[]" && word != "null") return std::nullopt;
  if (StatedSwitch(run, {"use_tensorboard", "use_wandb", "use_mlflow", "plot_loss"}).value_or(false))
    return std::nullopt;
  return Breach{.says = says::ConfigNoTrackerBroken{.setting = NameOf(*report), .value = QuoteOf(run, *report)},
                .fact = report,
                .proposed = "tensorboard"};
}

std::optional<Breach> NoDeterminism(const RunView& run) {
  const model::Fact* wanted = Stated(run, {"full_determinism", "trainer.deterministic", "training.deterministic",
                                           "debug.deterministic", "deterministic"});
  if (!IsOn(wanted)) return std::nullopt;
  if (IsOn(Stated(run, {"trainer.benchmark", "cudnn_benchmark"})))
    return Breach{.says = says::ConfigNoDeterminismBenchmark{.setting = NameOf(*wanted)},
                  .fact = Stated(run, {"trainer.benchmark", "cudnn_benchmark"}),
                  .proposed = "false"};
  // HF Trainer has a seed of 42 by default.
  const model::Fact* seed = Stated(run, {"seed", "training.seed", "debug.seed", "seed_everything", "train.seed"});
  if (seed != nullptr || NameOf(*wanted) == "full_determinism") return std::nullopt;
  return Breach{.says = says::ConfigNoDeterminismBroken{.setting = NameOf(*wanted), .missing = "seed"}, .fact = wanted};
}

constexpr std::array kChecks = {
    NamedCheck{"best-model-strategy", BestModelStrategy},
    NamedCheck{"best-model-steps", BestModelSteps},
    NamedCheck{"eval-without-data", EvalWithoutData},
    NamedCheck{"steps-and-epochs", StepsAndEpochs},
    NamedCheck{"one-checkpoint", OneCheckpoint},
    NamedCheck{"checkpoint-cadence", CheckpointCadence},
    NamedCheck{"logging-off", LoggingOff},
    NamedCheck{"no-tracker", NoTracker},
    NamedCheck{"no-determinism", NoDeterminism},
    NamedCheck{"exclusive-settings", ExclusiveSettings},
};

}  // namespace

std::span<const NamedCheck> StrategyChecks() { return kChecks; }

}  // namespace vigil::diagnose
