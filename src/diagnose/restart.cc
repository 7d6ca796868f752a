// Where to restart from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/base.h"
#include "diagnose/checkpoints.h"
#include "diagnose/curve.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

std::optional<Checkpoint> LastBefore(const std::vector<Checkpoint>& known, std::int64_t step) {
  std::optional<Checkpoint> best;
  for (const Checkpoint& checkpoint : known) {
    if (checkpoint.step < step && (!best || checkpoint.step > best->step)) best = checkpoint;
  }
  return best;
}

std::string BySaveInterval(const model::Run& run, std::int64_t bad) {
  const auto every = run.FactNumber("save_steps");
  if (!every || !(*every >= 1) || *every > 1e9) return {};
  const auto interval = static_cast<std::int64_t>(*every);
  const std::int64_t step = (bad - 1) / interval * interval;
  return step <= 0 ? std::string()
                   : fmt::format("checkpoint-{} if it was kept (saved every {} steps), the last before step {}", step,
                                 interval, bad);
}

bool IsAtTheStart(const model::Run& run, std::int64_t step) {
  return step <= std::max<std::int64_t>(5, PlannedOrSeenSteps(run) / 50);
}

// The first step after which a checkpoint is not to be trusted.
std::int64_t FirstSpoiledStep(const model::Run& run, const Incident& incident) {
  if (!incident.Has("loss/overfit")) return incident.onset;
  // The best model is the one at the turn itself.
  const Course evals = LastCourse(run.Find("eval_loss"));
  std::int64_t best_step = incident.onset;
  double best = model::kNoValue;
  for (std::size_t i = 0; i < evals.size(); ++i) {
    if (!std::isfinite(evals.values[i]) || evals.values[i] >= best) continue;
    best = evals.values[i];
    best_step = evals.steps[i];
  }
  return best_step + 1;
}

std::string AfterCrash(const model::Run& run) {
  const auto last = LastBefore(KnownCheckpoints(run), std::numeric_limits<std::int64_t>::max());
  return last ? fmt::format("{}, the last one seen", last->name) : std::string();
}

// Spikes that healed, in a run that went on: nothing after them has to be thrown away.
bool HealedByItself(const Incident& incident) {
  return incident.worst() <= model::Severity::kWarning && (incident.Has("loss/spike") || incident.Has("grad/spike")) &&
         std::all_of(incident.findings.begin(), incident.findings.end(), [](const model::Finding* finding) {
           return finding->id == "loss/spike" || finding->id == "grad/spike" || IsCompanion(finding->id);
         });
}

}  // namespace

std::string RestartPoint(const model::Run& run, const Incident& incident) {
  const std::string& root = incident.root().id;
  if (root == "loss/eval-non-finite" || root == "loss/eval-break") return "not needed: the training itself looks sound";
  if (HealedByItself(incident)) return "not needed: the run recovered by itself";
  if (root.starts_with("log/") || root.starts_with("memory/") || root.starts_with("hang/")) return AfterCrash(run);
  const std::int64_t bad = FirstSpoiledStep(run, incident);
  if (bad == model::kNoStep) return {};
  if (const auto before = LastBefore(KnownCheckpoints(run), bad))
    return fmt::format("{}, the last before step {}", before->name, bad);
  if (std::string by_interval = BySaveInterval(run, bad); !by_interval.empty()) return by_interval;
  if (incident.Has("loss/overfit"))
    return fmt::format("the checkpoint of step {} or the one nearest to it, where the evaluation was best", bad - 1);
  if (IsAtTheStart(run, bad)) return fmt::format("the beginning: the trouble starts at step {}", bad);
  return fmt::format("a checkpoint from before step {}", bad);
}

}  // namespace vigil::diagnose
