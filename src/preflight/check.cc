// A plan checked: the numbers that follow from it, the rules it breaks, and what could not be looked at.
#include <algorithm>
#include <array>

#include "catalogue/says.h"
#include "diagnose/config.h"
#include "preflight/planned.h"
#include "preflight/preflight.h"
#include "preflight/text_rules.h"

namespace vigil::preflight {
namespace {

using diagnose::Plan;
using diagnose::PlannedNumber;

// The setting at a place, by its name there.
model::SettingPlace SettingAt(const model::Run& run, const model::Place& place) {
  model::SettingPlace at;
  if (place.source < run.sources.size()) at.path = run.sources[place.source].path;
  at.line = place.line;
  const auto fact = std::find_if(run.facts.begin(), run.facts.end(), [&](const model::Fact& each) {
    return each.place.source == place.source && each.place.line == place.line;
  });
  if (fact != run.facts.end()) at.setting = fact->raw_key;
  return at;
}

class Values {
 public:
  explicit Values(const model::Run& run) : run_(run) {}

  void Add(std::string_view name, const PlannedNumber& number, model::Statement says) {
    model::DerivedValue value;
    value.name = std::string(name);
    value.value = number.value;
    value.says = std::move(says);
    for (const model::Place& place : number.from) {
      model::SettingPlace at = SettingAt(run_, place);
      if (!at.path.empty()) value.from.push_back(std::move(at));
    }
    values_.push_back(std::move(value));
  }

  std::vector<model::DerivedValue> Take() { return std::move(values_); }

 private:
  const model::Run& run_;
  std::vector<model::DerivedValue> values_;
};

model::Extent Steps(double count) { return {model::Axis::kStep, count}; }

void AddBatch(const Plan& plan, Values& values) {
  if (plan.global_batch.known() && plan.micro_batch.known() && plan.data_ranks.known()) {
    values.Add("global_batch", plan.global_batch,
               says::PreflightBatch{.batch = plan.global_batch.value,
                                    .micro = plan.micro_batch.value,
                                    .accumulation = plan.accumulation.value,
                                    .ranks = plan.data_ranks.value});
  } else if (plan.global_batch.known()) {
    values.Add("global_batch", plan.global_batch, says::PreflightBatchStated{.batch = plan.global_batch.value});
  } else if (plan.batch_of_a_rank.known()) {
    values.Add("batch_of_a_rank", plan.batch_of_a_rank,
               says::PreflightBatchOfARank{.batch = plan.batch_of_a_rank.value,
                                           .micro = plan.micro_batch.value,
                                           .accumulation = plan.accumulation.value});
  }
}

void AddTokens(const Plan& plan, Values& values) {
  if (!plan.sequence_length.known()) return;
  if (plan.tokens_per_step.known()) {
    values.Add("tokens_per_step", plan.tokens_per_step,
               says::PreflightTokens{.tokens = plan.tokens_per_step.value,
                                     .batch = plan.global_batch.value,
                                     .length = plan.sequence_length.value});
  } else if (plan.batch_of_a_rank.known()) {
    PlannedNumber tokens = plan.batch_of_a_rank;
    tokens.value *= plan.sequence_length.value;
    tokens.from.insert(tokens.from.end(), plan.sequence_length.from.begin(), plan.sequence_length.from.end());
    values.Add("tokens_per_step_of_a_rank", tokens, says::PreflightTokensOfARank{.tokens = tokens.value});
  }
}

void AddLength(const Plan& plan, Values& values) {
  if (plan.steps.known()) {
    values.Add("steps", plan.steps, says::PreflightSteps{.steps = Steps(plan.steps.value)});
  } else if (plan.epochs.known()) {
    values.Add("epochs", plan.epochs, says::PreflightEpochs{.epochs = plan.epochs.value});
  }
  if (!plan.warmup_steps.known()) return;
  const bool has_share = plan.steps.known() && plan.steps.value > 0;
  const model::Statement share =
      has_share ? model::Statement(says::PreflightWarmupShare{.share = plan.warmup_steps.value / plan.steps.value})
                : model::Statement();
  values.Add("warmup_steps", plan.warmup_steps,
             says::PreflightWarmup{.warmup = Steps(plan.warmup_steps.value), .share = share});
}

void AddRate(const model::Run& run, const Plan& plan, Values& values) {
  if (!plan.peak_lr.known()) return;
  const diagnose::UsualRates usual = diagnose::UsualRatesOf(run);
  const model::Statement range =
      model::IsNoValue(usual.low)
          ? model::Statement()
          : model::Statement(says::PreflightRateUsual{.low = usual.low, .high = usual.high, .method = usual.method});
  values.Add("peak_lr", plan.peak_lr, says::PreflightRate{.lr = plan.peak_lr.value, .usual = range});
}

void AddCheckpoints(const Plan& plan, Values& values) {
  if (!plan.save_every.known()) return;
  const model::Statement count = plan.checkpoints.known()
                                     ? model::Statement(says::PreflightCheckpointCount{.count = plan.checkpoints.value})
                                     : model::Statement();
  values.Add("save_every", plan.save_every,
             says::PreflightCheckpoints{.every = Steps(plan.save_every.value), .count = count});
}

void AddModel(const Plan& plan, Values& values) {
  if (plan.parameters.known())
    values.Add("parameters", plan.parameters, says::PreflightParameters{.count = plan.parameters.value / 1e9});
  if (plan.logits_bytes.known())
    values.Add("logits_bytes", plan.logits_bytes,
               says::PreflightLogits{.bytes = plan.logits_bytes.value,
                                     .batch = plan.micro_batch.value,
                                     .length = plan.sequence_length.value,
                                     .vocabulary = plan.vocabulary.value});
}

std::vector<model::DerivedValue> ValuesOf(const model::Run& run) {
  const Plan plan = diagnose::PlanOf(run);
  Values values(run);
  AddBatch(plan, values);
  AddTokens(plan, values);
  AddLength(plan, values);
  AddRate(run, plan, values);
  AddCheckpoints(plan, values);
  AddModel(plan, values);
  return values.Take();
}

// What the files leave open and a number or a rule would need.
void NameWhatIsMissing(const Group& group, const model::Run& run, model::PlannedRun& planned) {
  const Plan plan = diagnose::PlanOf(run);
  const bool is_training = IsTraining(RoleOf(*group.training));
  const auto say = [&](model::Statement says) { planned.not_checked.push_back({{}, 0, std::move(says)}); };
  if (!is_training) return say(says::PreflightAlone{.role = std::string(RoleOf(*group.training))});
  if (!plan.ranks.known()) say(says::PreflightNoRanks{});
  if (!plan.steps.known()) say(says::PreflightNoSteps{});
  if (!plan.vocabulary.known()) say(says::PreflightNoModel{});
  if (run.method.confidence < model::kMethodKnown) say(says::PreflightNoMethod{});
}

}  // namespace

model::PlannedRun Check(const Group& group, const catalogue::Thresholds& thresholds, const Options& options) {
  const model::Run run = PlannedRunOf(group, options);
  model::PlannedRun planned;
  planned.name = group.training->path;
  planned.framework = run.framework;
  planned.method = run.method;
  planned.values = ValuesOf(run);
  planned.breaches = diagnose::JudgeConfig(run, thresholds, diagnose::ConfigScope::kPlanned);
  std::vector<const configfile::File*> files = {group.training};
  files.insert(files.end(), group.beside.begin(), group.beside.end());
  for (const configfile::File* file : files) {
    planned.files.push_back({file->path, std::string(RoleOf(*file))});
    TextFindings found = CheckText(*file, run, thresholds);
    std::move(found.breaches.begin(), found.breaches.end(), std::back_inserter(planned.breaches));
    std::move(found.not_checked.begin(), found.not_checked.end(), std::back_inserter(planned.not_checked));
  }
  if (group.ran != nullptr) planned.files.push_back({group.ran->path, std::string(diagnose::kRanRole)});
  for (const Reference& reference : group.missing) {
    model::ConfigBreach breach = MissingFile(*group.training, reference, run, thresholds);
    if (!breach.finding.id.empty()) planned.breaches.push_back(std::move(breach));
  }
  NameWhatIsMissing(group, run, planned);
  std::stable_sort(planned.breaches.begin(), planned.breaches.end(),
                   [](const model::ConfigBreach& a, const model::ConfigBreach& b) {
                     return a.finding.severity > b.finding.severity;
                   });
  return planned;
}

}  // namespace vigil::preflight
