// diagnose/config: rules about the settings of a run, judged before it starts (a planned run, made of its configuration
// files) or after it (what a run stated of itself); and the numbers that follow from the settings. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "catalogue/catalogue.h"
#include "catalogue/config_rules.h"
#include "model/finding.h"
#include "model/preflight.h"
#include "model/run.h"

namespace vigil::diagnose {

// What a source of a planned run is (model::Source::format): the training itself, or a file that it is used with.
inline constexpr std::string_view kDeepspeedRole = "deepspeed";
inline constexpr std::string_view kAccelerateRole = "accelerate";
inline constexpr std::string_view kModelRole = "model";
inline constexpr std::string_view kTokenizerRole = "tokenizer";
// What a run of this configuration wrote down of its own (training_args.bin); its keys begin with "ran.".
inline constexpr std::string_view kRanRole = "ran";
// A fact that was given on the command line of vigil: the ranks and the memory of a device.
inline constexpr std::string_view kGivenRole = "given";
inline constexpr std::string_view kDeviceMemory = "device_memory_bytes";

// A number that follows from settings, with the places it was taken from. Unknown where one of them is.
struct PlannedNumber {
  double value = model::kNoValue;
  std::vector<model::Place> from;
  bool known() const { return !model::IsNoValue(value); }
};

struct Plan {
  PlannedNumber ranks;       // processes
  PlannedNumber data_ranks;  // those that see different data: without tensor, pipeline and context parallelism
  PlannedNumber micro_batch;
  PlannedNumber accumulation;
  PlannedNumber global_batch;     // samples in a step of all ranks
  PlannedNumber batch_of_a_rank;  // micro batch times accumulation
  PlannedNumber sequence_length;
  PlannedNumber tokens_per_step;  // at most: sequences may be shorter
  PlannedNumber steps;
  PlannedNumber epochs;
  PlannedNumber warmup_steps;
  PlannedNumber peak_lr;
  PlannedNumber save_every;   // steps
  PlannedNumber checkpoints;  // in the whole run
  PlannedNumber parameters;   // from the model's own configuration
  PlannedNumber vocabulary;
  PlannedNumber logits_bytes;  // of one micro batch, in the precision of the run
};
Plan PlanOf(const model::Run& planned);

// The learning rates that are usual for the method of the run; low and high are kNoValue where nothing is usual.
struct UsualRates {
  double low = model::kNoValue;
  double high = model::kNoValue;
  model::Statement method;
};
UsualRates UsualRatesOf(const model::Run& run);

enum class ConfigScope : std::uint8_t {
  kRun,      // what a run stated: defaults among it, and nothing that the trainer refused. Never above `warning`.
  kPlanned,  // what was written for a run that has not begun
};

// Worst first. Severities are those of the rows for the training method of the run, with what the user changed.
std::vector<model::ConfigBreach> JudgeConfig(const model::Run& run, const catalogue::Thresholds& thresholds,
                                             ConfigScope scope);
// For findings that are made elsewhere: the severity of a rule for the method of a run.
model::Severity SeverityFor(const catalogue::ConfigRuleRow& rule, const model::Run& run,
                            const catalogue::Thresholds& thresholds);

}  // namespace vigil::diagnose
