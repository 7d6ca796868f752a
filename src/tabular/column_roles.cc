#include "tabular/column_roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "base/base.h"
#include "catalogue/catalogue.h"

namespace vigil::tabular {
namespace {

// Order is priority. The first group counts optimizer steps of the whole run; names of the second may begin again with
// each epoch; the third counts steps of an environment, of which one update takes many; `_step` of W&B counts calls of
// its log function, often several a step.
constexpr std::array<std::string_view, 61> kStepNames = {
    "train/global_step",
    "trainer/global_step",
    "training/global_step",
    "global_step",
    "global_steps",
    "current_steps",
    "num_updates",
    "train/num_updates",
    "optimizer_step",
    "optimizer_steps",
    "opt_step",
    "step",
    "steps",
    "train_step",
    "train_steps",
    "train/step",
    "training_step",
    "training/step",
    "trainer/step",
    "current_step",
    "iteration",
    "iterations",
    "iter",
    "iters",
    "it",
    "train/iter",
    "train/iteration",
    "training_iteration",
    "time/iterations",
    "n_iter",
    "num_iter",
    "num_iters",
    "current_iteration",
    "update",
    "updates",
    "train/update",
    "n_updates",
    "itr",
    "iter_num",
    "iter_no",
    "iteration_num",
    "global_iter",
    "global_iteration",
    "num_iterations",
    "step_num",
    "step_no",
    "num_steps",
    "n_steps",
    "upd",
    "batch_num",
    "batch_idx",
    "t",
    "num_env_steps",
    "env_steps",
    "timestep",
    "timesteps",
    "time/total_timesteps",
    "total_timesteps",
    "timesteps_total",
    "num_timesteps",
    "_step",
};
constexpr std::size_t kWholeRunNames = 11;  // of kStepNames, from the front
// Words that count steps in log text only: as the name of a column they mean other things too.
constexpr std::array<std::string_view, 10> kStepWords = {"batch", "batches", "batch_id", "minibatch", "episode",
                                                         "frame", "#",       "s",        "b",         "rollout"};

struct NamedRole {
  std::string_view name;
  ColumnRole role;
};

constexpr std::array<NamedRole, 65> kRoles = {{
    {"epoch", ColumnRole::kEpoch},
    {"epochs", ColumnRole::kEpoch},
    {"ep", ColumnRole::kEpoch},
    {"train/epoch", ColumnRole::kEpoch},
    {"training/epoch", ColumnRole::kEpoch},
    {"trainer/epoch", ColumnRole::kEpoch},
    {"current_epoch", ColumnRole::kEpoch},
    {"tokens", ColumnRole::kTokens},
    {"tokens_seen", ColumnRole::kTokens},
    {"num_tokens", ColumnRole::kTokens},
    {"total_tokens", ColumnRole::kTokens},
    {"consumed_tokens", ColumnRole::kTokens},
    {"n_tokens_seen", ColumnRole::kTokens},
    {"num_input_tokens_seen", ColumnRole::kTokens},
    {"train/num_input_tokens_seen", ColumnRole::kTokens},
    {"train/tokens_seen", ColumnRole::kTokens},
    {"samples", ColumnRole::kSamples},
    {"samples_seen", ColumnRole::kSamples},
    {"num_samples", ColumnRole::kSamples},
    {"consumed_samples", ColumnRole::kSamples},
    {"consumed_train_samples", ColumnRole::kSamples},
    {"examples_seen", ColumnRole::kSamples},
    {"total_steps", ColumnRole::kPlannedSteps},
    {"max_steps", ColumnRole::kPlannedSteps},
    {"train_runtime", ColumnRole::kRunTime},
    {"train_loss", ColumnRole::kMeanLoss},
    {"_timestamp", ColumnRole::kTime},
    {"timestamp", ColumnRole::kTime},
    {"wall_time", ColumnRole::kTime},
    {"walltime", ColumnRole::kTime},
    {"time", ColumnRole::kTime},
    {"ts", ColumnRole::kTime},
    {"rank", ColumnRole::kRank},
    {"global_rank", ColumnRole::kRank},
    {"split", ColumnRole::kSplit},
    {"phase", ColumnRole::kSplit},
    {"mode", ColumnRole::kSplit},
    {"stage", ColumnRole::kSplit},
    {"metric", ColumnRole::kMetricName},
    {"tag", ColumnRole::kMetricName},
    {"metric_name", ColumnRole::kMetricName},
    {"name", ColumnRole::kMetricName},
    {"key", ColumnRole::kMetricName},
    {"variable", ColumnRole::kMetricName},
    {"variant", ColumnRole::kMetricVariant},
    {"value", ColumnRole::kMetricValue},
    {"metric_value", ColumnRole::kMetricValue},
    {"val", ColumnRole::kMetricValue},
    {"batch_hash", ColumnRole::kFingerprint},
    {"batch_fingerprint", ColumnRole::kFingerprint},
    {"batch", ColumnRole::kFingerprint},
    {"batch_id", ColumnRole::kFingerprint},
    {"data_hash", ColumnRole::kFingerprint},
    {"data_fingerprint", ColumnRole::kFingerprint},
    {"local_rank", ColumnRole::kBookkeeping},
    {"_runtime", ColumnRole::kBookkeeping},
    {"_wandb/runtime", ColumnRole::kBookkeeping},
    {"percentage", ColumnRole::kBookkeeping},
    {"elapsed_time", ColumnRole::kBookkeeping},
    {"remaining_time", ColumnRole::kBookkeeping},
    {"pid", ColumnRole::kBookkeeping},
    {"tid", ColumnRole::kBookkeeping},
    {"seed", ColumnRole::kBookkeeping},
    {"seq_id", ColumnRole::kBookkeeping},
    {"world_size", ColumnRole::kBookkeeping},
}};

std::string Fold(std::string_view name) {
  std::string folded = ToLower(Trim(name));
  std::replace_if(folded.begin(), folded.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return folded;
}

std::unordered_map<std::string_view, ColumnUse> Build() {
  std::unordered_map<std::string_view, ColumnUse> uses;
  // Priorities leave room below for the words of log text.
  int priority = static_cast<int>(kStepNames.size() + kStepWords.size());
  for (const std::string_view name : kStepNames) uses.emplace(name, ColumnUse{ColumnRole::kStep, priority--});
  // Of several columns of another role the one that comes first in the table counts.
  priority = static_cast<int>(kRoles.size());
  for (const NamedRole& known : kRoles) uses.emplace(known.name, ColumnUse{known.role, priority--});
  return uses;
}

// Built once, from constant rows, and never changed.
const std::unordered_map<std::string_view, ColumnUse>& Uses() {
  static const auto uses = Build();
  return uses;
}

// "progress/step": a counter below a name that says nothing about it. Every counter with a name of its own goes before.
ColumnUse UseOfLeaf(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos || name.find('/', slash + 1) != std::string_view::npos) return {};
  const std::string leaf = Fold(name.substr(slash + 1));
  const catalogue::SplitName place = catalogue::TakeApart(name.substr(0, slash));
  if (place.is_eval || !place.quantity.empty()) return {};
  if (leaf == "step" || leaf == "global_step") return {ColumnRole::kStep, 1};
  return leaf == "epoch" ? ColumnUse{ColumnRole::kEpoch, 1} : ColumnUse();
}

}  // namespace

ColumnUse UseOfColumn(std::string_view name) {
  if (const auto at = Uses().find(Fold(name)); at != Uses().end()) return at->second;
  if (const ColumnUse counter = UseOfLeaf(name); counter.role != ColumnRole()) return counter;
  const auto meaning = catalogue::Interpret(name);
  if (!meaning) return {};
  if (meaning->signal == "loss") return {ColumnRole::kLoss, 0};
  if (meaning->signal == "lr") return {ColumnRole::kLearningRate, 0};
  if (meaning->signal == "epoch") return {ColumnRole::kEpoch, 0};
  return {};
}

std::span<const std::string_view> StepNames() { return kStepNames; }

int StepPriority(std::string_view name) {
  const auto at = Uses().find(Fold(name));
  return at != Uses().end() && at->second.role == ColumnRole::kStep ? at->second.priority : 0;
}

int StepWordPriority(std::string_view word) {
  if (const int priority = StepPriority(word); priority != 0) return priority;
  const auto* const at = std::find(kStepWords.begin(), kStepWords.end(), Fold(word));
  return static_cast<int>(kStepWords.end() - at);
}

bool CountsWholeRun(std::string_view step_name) {
  const auto* const end = kStepNames.begin() + kWholeRunNames;
  return std::find(kStepNames.begin(), end, Fold(step_name)) != end;
}

bool IsEvaluationSplit(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"val",  "valid",      "validate", "validation", "validating",
                                                      "eval", "evaluation", "test",     "dev"};
  return std::find(kWords.begin(), kWords.end(), Fold(text)) != kWords.end();
}

std::optional<std::uint64_t> ParseFingerprint(std::string_view text) {
  constexpr std::size_t kFewestDigits = 8;
  constexpr std::size_t kDigitsKept = 16;
  if (text.starts_with("0x")) text.remove_prefix(2);
  if (text.size() < kFewestDigits || text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return std::nullopt;
  return ParseHex(text.substr(0, kDigitsKept));
}

}  // namespace vigil::tabular
