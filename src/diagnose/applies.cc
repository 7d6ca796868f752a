// The conditions under which a remedy is offered: what the run must have for it to make sense.
#include <algorithm>
#include <array>

#include "base/base.h"
#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/facts.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

bool HasAdapter(const RunView& run, const Incident& /*incident*/) {
  if (run.HasMethod("lora")) return true;
  const model::Fact* adapter = run.FindFact("adapter");
  if (adapter != nullptr) return FactSwitch(run, "adapter").value_or(true) && ToLower(adapter->value) != "full";
  return run.FactNumber("lora_rank").value_or(0) > 0;
}

bool HasNoAdapter(const RunView& run, const Incident& incident) { return !HasAdapter(run, incident); }

bool IsRl(const RunView& run, const Incident& /*incident*/) { return IsReinforcement(run); }

bool IsNotRl(const RunView& run, const Incident& /*incident*/) { return !IsReinforcement(run); }

// A policy that is trained from another one, which a penalty can hold it to.
bool HasReference(const RunView& run, const Incident& /*incident*/) {
  return run.HasMethod("grpo") || run.HasMethod("ppo") || run.HasMethod("dpo") || Logged(run, "kl") ||
         run.FindFact("kl_coefficient") != nullptr;
}

bool HasNoReference(const RunView& run, const Incident& incident) { return !HasReference(run, incident); }

bool IsOfTokens(const RunView& run, const Incident& /*incident*/) { return IsLanguageModel(run); }

bool HasAdam(const RunView& run, const Incident& /*incident*/) { return UsesAdam(run); }

bool HasSeveralRanks(const RunView& run, const Incident& /*incident*/) { return run->ranks > 1; }

// Host memory is named by what was found; all else about memory is the device's.
bool IsDeviceMemory(const RunView& /*run*/, const Incident& incident) {
  return std::none_of(incident.findings.begin(), incident.findings.end(), [](const model::Finding* finding) {
    return finding->id.starts_with("memory/host") || finding->signal == "host_memory" ||
           finding->signature == "log/host-oom-kill" || finding->signature.starts_with("log/dataloader");
  });
}

// Silence is not a statement: trainers load in the main process unless configured otherwise.
bool HasWorkers(const RunView& run, const Incident& /*incident*/) {
  return run.FactNumber("data_workers").value_or(0) > 0;
}

bool Accumulates(const RunView& run, const Incident& /*incident*/) {
  return run.FactNumber("accumulation").value_or(2) > 1;
}

bool IsNonFinite(const RunView& /*run*/, const Incident& incident) {
  return incident.Has("loss/non-finite") || incident.Has("grad/non-finite") || incident.Has("data/non-finite");
}

// The highest rate before the trouble: what was asked for, else what was logged.
double RateBefore(const RunView& run, const Incident& incident) {
  if (const auto stated = run.FactNumber("lr"); stated && *stated > 0) return *stated;
  if (!incident.onset.known()) return model::kNoValue;
  const Course rates = LastCourse(run, "lr");
  return Largest(rates.View().Before(incident.onset));
}

// A break of the schedule that took the rate well above all it had before.
bool HasRateJumped(const RunView& run, const Incident& incident) {
  constexpr double kJump = 3;
  return incident.Has("lr/schedule-break") && PeakLr(run) > kJump * RateBefore(run, incident);
}

bool HasOnset(const RunView& /*run*/, const Incident& incident) { return incident.onset.known(); }

// Trainers zero gradients and divide by the accumulation themselves.
bool HasOwnLoop(const RunView& run, const Incident& /*incident*/) {
  return run->framework.empty() || run->profile.has_user_loop;
}

// Weights that were loaded are not to be initialised.
bool IsFromScratch(const RunView& run, const Incident& incident) {
  return !HasAdapter(run, incident) && !run.HasMethod("sft") && !run.HasMethod("grpo") && !run.HasMethod("dpo");
}

struct Condition {
  std::string_view name;
  bool (*holds)(const RunView& run, const Incident& incident);
};

constexpr std::array kConditions = {
    Condition{"adapter", HasAdapter},
    Condition{"no-adapter", HasNoAdapter},
    Condition{"reinforcement", IsRl},
    Condition{"no-reinforcement", IsNotRl},
    Condition{"has-reference", HasReference},
    Condition{"no-reference", HasNoReference},
    Condition{"language-model", IsOfTokens},
    Condition{"adam", HasAdam},
    Condition{"several-ranks", HasSeveralRanks},
    Condition{"device-memory", IsDeviceMemory},
    Condition{"has-workers", HasWorkers},
    Condition{"accumulates", Accumulates},
    Condition{"has-onset", HasOnset},
    Condition{"non-finite", IsNonFinite},
    Condition{"rate-jumped", HasRateJumped},
    Condition{"own-loop", HasOwnLoop},
    Condition{"from-scratch", IsFromScratch},
};

}  // namespace

bool Applies(std::string_view condition, const RunView& run, const Incident& incident) {
  const auto at = std::find_if(kConditions.begin(), kConditions.end(),
                               [&](const Condition& known) { return known.name == condition; });
  return at != kConditions.end() && at->holds(run, incident);
}

std::vector<std::string_view> ConditionNames() {
  std::vector<std::string_view> names;
  names.reserve(kConditions.size());
  for (const Condition& condition : kConditions) names.push_back(condition.name);
  return names;
}

}  // namespace vigil::diagnose
