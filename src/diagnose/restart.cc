// Where to restart from.
#include <algorithm>
#include <cmath>
#include <compare>
#include <optional>

#include "catalogue/says.h"
#include "diagnose/checkpoints.h"
#include "diagnose/curve.h"
#include "diagnose/places.h"
#include "diagnose/remedy.h"

namespace vigil::diagnose {
namespace {

using model::Axis;
using model::Position;

// The last of the checkpoints; with a limit, of those before it. One that the run's map cannot place before the limit
// is not offered: it may hold the damage.
std::optional<Checkpoint> LastOf(const RunView& run, std::optional<Position> limit = std::nullopt) {
  std::optional<Checkpoint> best;
  for (const Checkpoint& checkpoint : KnownCheckpoints(run)) {
    if (limit && !std::is_lt(run.axes().Compare(checkpoint.at, *limit))) continue;
    if (!best || std::is_gt(run.axes().Compare(checkpoint.at, best->at))) best = checkpoint;
  }
  return best;
}

model::Statement LastBefore(const Checkpoint& checkpoint, Position bad) {
  if (checkpoint.folder.empty()) return says::RestartLastBeforeSaved{.saved = checkpoint.at, .bad = bad};
  return says::RestartLastBefore{.checkpoint = checkpoint.folder, .bad = bad};
}

// The first step that may be bad. A point of another axis stands for all steps since the point before it.
std::optional<std::int64_t> FirstBadStep(const RunView& run, Position bad) {
  if (bad.axis() == Axis::kStep) return bad.value();
  const Position before = run.axes().To(Axis::kStep, Position(bad.axis(), bad.value() - 1));
  if (!before.known()) return std::nullopt;
  return before.value() + 1;
}

// `save_steps` counts steps: without a way from the place of the trouble to a step it promises nothing.
model::Statement BySaveInterval(const RunView& run, Position bad) {
  const auto every = run.FactNumber("save_steps");
  const auto bad_step = FirstBadStep(run, bad);
  if (!bad_step || !every || !(*every >= 1) || *every > 1e9) return {};
  const auto interval = static_cast<std::int64_t>(*every);
  const std::int64_t saved = (*bad_step - 1) / interval * interval;
  if (saved <= 0) return {};
  return says::RestartByInterval{.checkpoint = "checkpoint-" + std::to_string(saved),
                                 .interval = model::Extent{Axis::kStep, static_cast<double>(interval)},
                                 .bad = bad};
}

bool IsAtTheStart(const RunView& run, Position at) {
  const double few = at.axis() == Axis::kEpoch ? 1 : 5;
  return static_cast<double>(at.value()) <= std::max(few, std::floor(EndOf(run, at.axis()).length() / 50));
}

// The best model of an overfit run is the one at the turn itself; unknown where no evaluation was logged.
Position BestEvaluation(const RunView& run) {
  const Course evals = LastCourse(run, "eval_loss");
  Position best_at;
  double best = model::kNoValue;
  for (std::size_t i = 0; i < evals.size(); ++i) {
    if (!std::isfinite(evals.values[i]) || evals.values[i] >= best) continue;
    best = evals.values[i];
    best_at = evals.PositionOf(i);
  }
  return best_at;
}

model::Statement AfterCrash(const RunView& run) {
  const auto last = LastOf(run);
  if (!last) return {};
  if (last->folder.empty()) return says::RestartLastSeenSaved{.saved = last->at};
  return says::RestartLastSeen{.checkpoint = last->folder};
}

// Spikes that healed, in a run that went on: nothing after them has to be thrown away.
bool HealedByItself(const Incident& incident) {
  return incident.worst() <= model::Severity::kWarning && (incident.Has("loss/spike") || incident.Has("grad/spike")) &&
         std::all_of(incident.findings.begin(), incident.findings.end(), [](const model::Finding* finding) {
           return finding->id == "loss/spike" || finding->id == "grad/spike" || IsCompanion(finding->id);
         });
}

// What was lost is not the weights but the process: it goes on from the last checkpoint there is.
bool IsCrash(const model::Finding& root) {
  return IsMessage(root) || root.id.starts_with("memory/") || root.id.starts_with("hang/");
}

model::Statement BeforeOverfit(const RunView& run, Position best) {
  const Position bad(best.axis(), best.value() + 1);
  if (const auto before = LastOf(run, bad)) return LastBefore(*before, bad);
  if (model::Statement by_interval = BySaveInterval(run, bad); !by_interval.empty()) return by_interval;
  return says::RestartBestEval{.best = best};
}

}  // namespace

model::Statement RestartPoint(const RunView& run, const Incident& incident) {
  const model::Finding& root = incident.root();
  if (root.id == "loss/eval-non-finite" || root.id == "loss/eval-break") return says::RestartEvalOnly{};
  if (HealedByItself(incident)) return says::RestartRecovered{};
  if (IsCrash(root)) return AfterCrash(run);
  if (incident.Has("loss/overfit")) {
    const Position best = BestEvaluation(run);
    if (best.known()) return BeforeOverfit(run, best);
    if (incident.onset.known()) return BeforeOverfit(run, incident.onset);
  }
  const Position bad = incident.onset;
  if (!bad.known()) return {};
  if (const auto before = LastOf(run, bad)) return LastBefore(*before, bad);
  if (model::Statement by_interval = BySaveInterval(run, bad); !by_interval.empty()) return by_interval;
  if (IsAtTheStart(run, bad)) return says::RestartBeginning{.bad = bad};
  return says::RestartBefore{.bad = bad};
}

}  // namespace vigil::diagnose
