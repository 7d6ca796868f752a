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

// The last of the checkpoints that can be resumed from; with a limit, of those before it. One that the run's map cannot
// place before the limit is not offered: it may hold the damage. Of a copy without weights the names are all there is.
std::optional<Checkpoint> LastOf(const RunView& run, std::optional<Position> limit = std::nullopt) {
  std::optional<Checkpoint> best;
  for (const Checkpoint& checkpoint : KnownCheckpoints(run)) {
    if (limit && !std::is_lt(run.axes().Compare(checkpoint.at, *limit))) continue;
    if (checkpoint.IsThere() && !checkpoint.IsComplete() && !checkpoint.is_stripped) continue;
    if (!best || std::is_gt(run.axes().Compare(checkpoint.at, best->at))) best = checkpoint;
  }
  return best;
}

// The last before the limit that is there and not whole, where it is later than the one that is.
std::optional<Checkpoint> LastIncomplete(const RunView& run, Position after, std::optional<Position> limit) {
  std::optional<Checkpoint> last;
  for (const Checkpoint& checkpoint : KnownCheckpoints(run)) {
    if (!checkpoint.IsThere() || checkpoint.IsComplete() || checkpoint.is_stripped) continue;
    if (limit && !std::is_lt(run.axes().Compare(checkpoint.at, *limit))) continue;
    if (after.known() && !std::is_gt(run.axes().Compare(checkpoint.at, after))) continue;
    if (!last || std::is_gt(run.axes().Compare(checkpoint.at, last->at))) last = checkpoint;
  }
  return last;
}

RestartAdvice From(const Checkpoint& checkpoint, model::Statement says) {
  return {std::move(says), checkpoint.path.empty() ? checkpoint.folder : checkpoint.path, true};
}

RestartAdvice LastBefore(const RunView& run, const Checkpoint& checkpoint, Position bad) {
  if (checkpoint.folder.empty())
    return From(checkpoint, says::RestartLastBeforeSaved{.saved = checkpoint.at, .bad = bad});
  if (const auto broken = LastIncomplete(run, checkpoint.at, bad))
    return From(checkpoint,
                says::RestartPastIncomplete{
                    .checkpoint = checkpoint.folder, .bad = bad, .broken = broken->folder, .missing = broken->missing});
  return From(checkpoint, says::RestartLastBefore{.checkpoint = checkpoint.folder, .bad = bad});
}

// Checkpoints are there, and none of them helps: all are too late, or lack what a restart needs.
RestartAdvice NoneHelps(const RunView& run, Position bad) {
  std::vector<Checkpoint> there = KnownCheckpoints(run);
  std::erase_if(there, [](const Checkpoint& checkpoint) { return !checkpoint.IsThere(); });
  if (there.empty()) return {};
  if (const auto broken = LastIncomplete(run, {}, bad))
    return {says::RestartNoneWhole{.checkpoint = broken->folder, .missing = broken->missing, .bad = bad}, {}, true};
  std::vector<std::string> names;
  names.reserve(there.size());
  for (const Checkpoint& checkpoint : there) names.push_back(checkpoint.folder);
  constexpr std::size_t kMostNames = 5;
  if (names.size() > kMostNames)
    names.erase(names.begin() + 1, names.end() - static_cast<std::ptrdiff_t>(kMostNames) + 1);
  return {says::RestartNoneEarly{.checkpoints = names, .bad = bad}, {}, true};
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

RestartAdvice AfterCrash(const RunView& run) {
  const auto last = LastOf(run);
  const auto broken = LastIncomplete(run, last ? last->at : Position(), std::nullopt);
  if (!last && !broken) return {};
  if (!last) return {says::RestartLastIncomplete{.checkpoint = broken->folder, .missing = broken->missing}, {}, true};
  if (last->folder.empty()) return From(*last, says::RestartLastSeenSaved{.saved = last->at});
  if (broken)
    return From(*last, says::RestartBeforeIncomplete{
                           .checkpoint = last->folder, .broken = broken->folder, .missing = broken->missing});
  return From(*last, says::RestartLastSeen{.checkpoint = last->folder});
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

// The last checkpoint before the place, else what is known of when they were saved.
RestartAdvice Before(const RunView& run, Position bad) {
  if (const auto before = LastOf(run, bad)) return LastBefore(run, *before, bad);
  if (RestartAdvice none = NoneHelps(run, bad); !none.says.empty()) return none;
  return {BySaveInterval(run, bad), {}, true};
}

RestartAdvice BeforeOverfit(const RunView& run, Position best) {
  RestartAdvice before = Before(run, Position(best.axis(), best.value() + 1));
  return before.says.empty() ? RestartAdvice{says::RestartBestEval{.best = best}, {}, true} : before;
}

}  // namespace

RestartAdvice RestartPoint(const RunView& run, const Incident& incident) {
  const model::Finding& root = incident.root();
  if (root.id == "loss/eval-non-finite" || root.id == "loss/eval-break") return {says::RestartEvalOnly{}, {}, false};
  // Slow steps are as good as fast ones.
  if (root.family == model::Family::kThroughput && !IsCrash(root)) return {};
  if (HealedByItself(incident)) return {says::RestartRecovered{}, {}, false};
  if (IsCrash(root)) return AfterCrash(run);
  if (incident.Has("loss/overfit")) {
    const Position best = BestEvaluation(run);
    if (best.known()) return BeforeOverfit(run, best);
    if (incident.onset.known()) return BeforeOverfit(run, incident.onset);
  }
  const Position bad = incident.onset;
  if (!bad.known()) return {};
  if (RestartAdvice before = Before(run, bad); !before.says.empty()) return before;
  if (IsAtTheStart(run, bad)) return {says::RestartBeginning{.bad = bad}, {}, true};
  return {says::RestartBefore{.bad = bad}, {}, true};
}

}  // namespace vigil::diagnose
