// Coverage: which families could be judged with what the run left, taken from the rows: a check could run when the
// signal it judges was logged.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base.h"
#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

using model::CoverageState;
using model::Family;

struct Enabler {
  std::string_view signal;
  std::string_view framework;  // empty: any
  std::string_view setting;
};

// The one setting that makes a signal appear, most telling signals first.
constexpr std::array kEnablers = {
    Enabler{"loss", "", "log the training loss of every step"},
    Enabler{"grad_norm", "torch", "log what torch.nn.utils.clip_grad_norm_ returns"},
    Enabler{"grad_norm", "lightning", "log the gradient norm in on_before_optimizer_step"},
    Enabler{"grad_norm", "", "log the gradient norm before clipping (logging_steps: 1)"},
    Enabler{"lr", "lightning", "add a LearningRateMonitor callback"},
    Enabler{"lr", "", "log the learning rate of every step"},
    Enabler{"eval_loss", "hf-trainer", "eval_strategy=\"steps\" with eval_steps"},
    Enabler{"eval_loss", "trl", "eval_strategy=\"steps\" with eval_steps"},
    Enabler{"eval_loss", "axolotl", "val_set_size: 0.05"},
    Enabler{"eval_loss", "", "evaluate on held-out data every few hundred steps"},
    Enabler{"reward", "", "log the mean reward"},
    Enabler{"zero_std_share", "", "log the share of groups without reward variance (frac_reward_zero_std)"},
    Enabler{"reward_std", "", "log the deviation of the reward"},
    Enabler{"entropy", "", "log the policy's entropy"},
    Enabler{"truncated_share", "", "log the share of cut completions"},
    Enabler{"kl", "trl", "beta above 0, which also logs the KL divergence"},
    Enabler{"kl", "", "log the KL divergence from the reference"},
    Enabler{"loss_scale", "", "log the loss scale"},
    Enabler{"mem_allocated", "", "log torch.cuda.max_memory_allocated() every step"},
    Enabler{"step_time_s", "", "log the time of every step"},
    Enabler{"tokens_per_s", "", "log tokens per second"},
};

std::string EnableText(std::string_view signal, std::string_view framework) {
  for (const Enabler& enabler : kEnablers) {
    if (enabler.signal == signal && (enabler.framework.empty() || enabler.framework == framework))
      return std::string(enabler.setting);
  }
  return fmt::format("log {}", signal);
}

// How telling a signal is, for naming the one to add first.
std::size_t Rank(std::string_view signal) {
  const auto at = std::find_if(kEnablers.begin(), kEnablers.end(),
                               [&](const Enabler& enabler) { return enabler.signal == signal; });
  return static_cast<std::size_t>(at - kEnablers.begin());
}

// Signals whose absence is the rule and no gap: fp16 alone has a loss scale, preference training alone a margin, and a
// reference policy costs memory that few spend.
bool IsOptional(std::string_view signal, const model::Run& run) {
  if (signal == "loss_scale") return PrecisionOf(run) != Precision::kFp16;
  if (signal.starts_with("preference_")) return !run.InRegime("dpo");
  // One kind of memory is what a run is judged by, and few loaders time themselves.
  if (signal == "host_memory") return Logged(run, "mem_allocated");
  if (signal == "mem_allocated") return Logged(run, "host_memory");
  return signal == "data_time_s";
}

// Whether the check of that signal could run: speed is told in several ways.
bool CanBeJudged(const model::Run& run, std::string_view signal) {
  const bool is_speed = signal == "step_time_s";
  return Logged(run, signal) || (is_speed && (Logged(run, "tokens_per_s") || Logged(run, "samples_per_s")));
}

struct Checks {
  std::size_t able = 0;
  std::vector<std::string_view> missing;  // judged signals that were not logged, each once
};

Checks CountChecks(const model::Run& run, Family family) {
  Checks checks;
  for (const catalogue::FindingRow& row : catalogue::Findings()) {
    if (row.family != family || row.detector.empty() || row.signals.empty()) continue;
    const std::string_view judged = row.signals.front();
    if (CanBeJudged(run, judged)) {
      ++checks.able;
    } else if (!IsOptional(judged, run) &&
               std::find(checks.missing.begin(), checks.missing.end(), judged) == checks.missing.end()) {
      checks.missing.push_back(judged);
    }
  }
  std::stable_sort(checks.missing.begin(), checks.missing.end(),
                   [](std::string_view a, std::string_view b) { return Rank(a) < Rank(b); });
  return checks;
}

std::string Titles(const std::vector<std::string_view>& signals) {
  std::vector<std::string> titles;
  for (const std::string_view id : signals) {
    const catalogue::SignalRow* row = catalogue::FindSignal(id);
    titles.emplace_back(row == nullptr ? id : row->title);
  }
  return Join(titles, ", ");
}

// A run without rewards, pairs or a method that has them is no reinforcement learning.
bool IsMatterForRl(const model::Run& run) {
  return IsReinforcement(run) || run.InRegime("dpo") || Logged(run, "preference_margin");
}

model::Coverage CoverBySignals(const model::Run& run, Family family, const Checks& checks) {
  if (checks.able > 0 && checks.missing.empty())
    return {family, CoverageState::kChecked, fmt::format("{} checks had their signals", checks.able), ""};
  const std::string enable = checks.missing.empty() ? "" : EnableText(checks.missing.front(), run.framework);
  if (checks.able > 0)
    return {family, CoverageState::kPartly, fmt::format("not logged: {}", Titles(checks.missing)), enable};
  return {family, CoverageState::kBlind, fmt::format("not logged: {}", Titles(checks.missing)), enable};
}

struct Elsewhere {
  Family family;
  std::string_view what;
  std::string_view enable;
};

// Families that error messages speak of too, or alone: what is to be said where no signal was logged.
constexpr std::array kByMessages = {
    Elsewhere{Family::kMemory, "memory use over time",
              "log torch.cuda.max_memory_allocated() every step, and keep the log of every rank"},
    Elsewhere{Family::kThroughput, "time per step", "log tokens per second and the time of every step"},
    Elsewhere{Family::kHang, "what each rank waits for",
              "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1, and the log of every rank"},
    Elsewhere{Family::kEval, "scores on tasks",
              "log the scores of a reference checkpoint and of this run at the same steps"},
};

model::Coverage CoverByMessages(const model::Run& run, Family family) {
  const auto at =
      std::find_if(kByMessages.begin(), kByMessages.end(), [&](const Elsewhere& row) { return row.family == family; });
  const std::string what(at == kByMessages.end() ? "" : at->what);
  const std::string enable(at == kByMessages.end() ? "" : at->enable);
  if (HasLogText(run) && family != Family::kEval && family != Family::kThroughput)
    return {family, CoverageState::kPartly, fmt::format("error messages in the log only, not {}", what), enable};
  return {family, CoverageState::kBlind, fmt::format("nothing read shows {}", what), enable};
}

bool HasMessages(Family family) {
  return std::any_of(kByMessages.begin(), kByMessages.end(),
                     [&](const Elsewhere& row) { return row.family == family; });
}

model::Coverage CoverSetup(const model::Run& run) {
  const bool text = HasLogText(run);
  const bool config = !run.facts.empty();
  if (text && config) return {Family::kSetup, CoverageState::kChecked, "settings and log text were read", ""};
  if (text)
    return {Family::kSetup, CoverageState::kPartly, "log text was read, but no settings",
            "keep the config or print the arguments at the start"};
  if (config)
    return {Family::kSetup, CoverageState::kPartly, "settings were read, but no log text",
            "keep what the run printed (2>&1 | tee run.log)"};
  return {Family::kSetup, CoverageState::kBlind, "neither settings nor log text were read",
          "keep what the run printed (2>&1 | tee run.log)"};
}

model::Coverage CoverResume(const model::Run& run) {
  const model::Series* loss = run.Find("loss");
  const bool restarted = loss != nullptr && loss->segment_starts.size() > 1;
  const bool said = std::any_of(run.events.begin(), run.events.end(), [](const model::Event& event) {
    return event.kind == model::EventKind::kResume && event.step > 0;
  });
  if (loss == nullptr || loss->empty())
    return {Family::kResume, CoverageState::kBlind, "no loss to compare across restarts",
            EnableText("loss", run.framework)};
  if (restarted || said) return {Family::kResume, CoverageState::kChecked, "the loss was compared across restarts", ""};
  return {Family::kResume, CoverageState::kPartly, "no restart was seen; what the checkpoints hold was not read",
          "resume once from a checkpoint, on purpose"};
}

}  // namespace

std::vector<model::Coverage> Cover(const model::Run& run) {
  std::vector<model::Coverage> coverage;
  for (int i = 0; i <= static_cast<int>(Family::kSetup); ++i) {
    const auto family = static_cast<Family>(i);
    if (family == Family::kRl && !IsMatterForRl(run)) continue;
    if (family == Family::kSetup) {
      coverage.push_back(CoverSetup(run));
    } else if (family == Family::kResume) {
      coverage.push_back(CoverResume(run));
    } else if (const Checks checks = CountChecks(run, family);
               checks.able > 0 || (!checks.missing.empty() && !HasMessages(family))) {
      coverage.push_back(CoverBySignals(run, family, checks));
    } else {
      coverage.push_back(CoverByMessages(run, family));
    }
  }
  return coverage;
}

}  // namespace vigil::diagnose
