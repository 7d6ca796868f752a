#include "diagnose/incident.h"

#include <algorithm>
#include <array>
#include <compare>
#include <limits>
#include <numeric>
#include <tuple>

#include "base/base.h"
#include "diagnose/places.h"

namespace vigil::diagnose {
namespace {

// What kind of story a finding belongs to, and how deep in it: a lower depth is nearer to the root.
enum class Thread : std::uint8_t { kInstability, kNoLearning, kGeneralise, kResume, kRl, kCrash, kSpeed, kOther };

struct Role {
  std::string_view id;  // whole id, or a family of ids when it ends in '/'
  Thread thread;
  int depth;
};

constexpr std::array kRoles = {
    Role{"data/labels-masked", Thread::kNoLearning, 0},
    Role{"data/repeated", Thread::kOther, 0},
    Role{"data/padding", Thread::kSpeed, 0},
    Role{"data/", Thread::kInstability, 0},
    Role{"lr/schedule-break", Thread::kInstability, 1},
    Role{"lr/zero", Thread::kNoLearning, 0},
    Role{"lr/", Thread::kNoLearning, 1},
    Role{"numerics/", Thread::kInstability, 2},
    Role{"grad/zero", Thread::kNoLearning, 3},
    Role{"grad/vanishing", Thread::kNoLearning, 3},
    Role{"grad/non-finite", Thread::kInstability, 6},
    Role{"grad/", Thread::kInstability, 3},
    Role{"loss/collapse", Thread::kNoLearning, 4},
    Role{"loss/not-decreasing", Thread::kNoLearning, 5},
    Role{"loss/plateau", Thread::kNoLearning, 5},
    Role{"loss/at-chance", Thread::kNoLearning, 5},
    Role{"loss/bad-start", Thread::kNoLearning, 1},
    Role{"loss/overfit", Thread::kGeneralise, 0},
    Role{"loss/eval-non-finite", Thread::kGeneralise, 0},
    Role{"loss/eval-break", Thread::kGeneralise, 0},
    Role{"loss/eval-gap", Thread::kGeneralise, 1},
    Role{"loss/too-good", Thread::kGeneralise, 1},
    Role{"loss/forgetting", Thread::kGeneralise, 1},
    Role{"loss/seed-variance", Thread::kOther, 0},
    Role{"loss/resume-jump", Thread::kResume, 1},
    Role{"loss/non-finite", Thread::kInstability, 6},
    Role{"loss/", Thread::kInstability, 5},
    Role{"resume/", Thread::kResume, 0},
    Role{"rl/reward-flat", Thread::kRl, 0},
    Role{"rl/entropy-collapse", Thread::kRl, 1},
    Role{"rl/no-signal", Thread::kRl, 2},
    Role{"rl/", Thread::kRl, 3},
    Role{"ebft/", Thread::kRl, 3},
    Role{"probe/", Thread::kNoLearning, 1},
    Role{"log/", Thread::kCrash, 1},
    Role{"memory/", Thread::kCrash, 0},
    Role{"hang/", Thread::kCrash, 0},
    Role{"hardware/", Thread::kCrash, 0},
    Role{"throughput/data-starved", Thread::kSpeed, 0},
    Role{"throughput/straggler", Thread::kSpeed, 0},
    Role{"throughput/", Thread::kSpeed, 1},
    Role{"baseline/", Thread::kOther, 9},  // added to a run that is diagnosed already
};

// The first row that fits: whole ids stand before the families they are exceptions of.
Role RoleOf(std::string_view id) {
  for (const Role& role : kRoles) {
    if (role.id == id || (role.id.back() == '/' && id.starts_with(role.id))) return role;
  }
  return {id, Thread::kOther, 9};
}

bool IsAny(std::string_view id, std::initializer_list<std::string_view> ids) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

bool IsSpike(std::string_view id) { return IsAny(id, {"loss/spike", "grad/spike"}); }

struct Grouping {
  const RunView& run;
  const std::vector<model::Finding>& findings;
  // By how much two findings may miss each other and still be one story, and where the logged run ends; by axis.
  std::array<double, model::kAxisCount> slack = {};
  std::array<model::Position, model::kAxisCount> end = {};
  std::vector<std::size_t> parent;

  double SlackOf(model::Axis axis) const { return slack[static_cast<std::size_t>(axis)]; }
  model::Position EndOf(model::Axis axis) const { return end[static_cast<std::size_t>(axis)]; }
  std::size_t Root(std::size_t index) {
    while (parent[index] != index) index = parent[index] = parent[parent[index]];
    return index;
  }
  void Join(std::size_t a, std::size_t b) { parent[Root(a)] = Root(b); }
};

model::Position LastOf(const Grouping& grouping, const model::Finding& finding) {
  return Later(grouping.run.axes(), finding.last, finding.first);
}

bool Touch(const Grouping& grouping, const model::Finding& a, const model::Finding& b) {
  if (!a.first.known() || !b.first.known()) return true;
  const model::AxisMap& axes = grouping.run.axes();
  const model::Position begin = Later(axes, a.first, b.first);
  const model::Position end = Earlier(axes, LastOf(grouping, a), LastOf(grouping, b));
  const auto gap = axes.Distance(end, begin);
  // Places on axes that nothing relates say nothing against one story.
  return !gap || gap->amount <= grouping.SlackOf(gap->axis);
}

// `first` is a change of the circumstances; what begins within the slack after it may be its effect.
bool BeginsWith(const Grouping& grouping, const model::Finding& first, const model::Finding& effect) {
  const auto delay = grouping.run.axes().Distance(first.first, effect.first);
  if (!delay) return !first.first.known() && !effect.first.known();
  const double slack = grouping.SlackOf(delay->axis);
  return delay->amount >= -slack && delay->amount <= 2 * slack;
}

// Whether a text of the log speaks of a non-finite value. The text is the trainer's, not ours.
bool SpeaksOfNonFinite(const model::Quote& quote) {
  const std::string text = ToLower(quote.text);
  return text.find("nan") != std::string::npos || text.find("inf") != std::string::npos;
}

bool SpeaksOfNonFinite(const model::Finding& finding) {
  if (finding.MeasureOr("mentions_non_finite", 0) > 0) return true;
  return std::any_of(finding.says.arguments.begin(), finding.says.arguments.end(), [](const model::Argument& argument) {
    const auto* quote = std::get_if<model::Quote>(&argument.value);
    return quote != nullptr && SpeaksOfNonFinite(*quote);
  });
}

bool LastsToTheEnd(const Grouping& grouping, const model::Finding& finding) {
  const model::Position last = LastOf(grouping, finding);
  const auto rest = grouping.run.axes().Distance(last, grouping.EndOf(last.axis()));
  // Without a series on its axis nothing shows that the run went on.
  if (!rest) return last.known() || !grouping.EndOf(last.axis()).known();
  return rest->amount <= grouping.SlackOf(rest->axis);
}

// How a lost run ends: it is stopped by hand, by its time limit, or by code that met the NaN.
bool EndsLostRun(const Grouping& grouping, const model::Finding& loss, const model::Finding& crash) {
  if (!IsBlowUp(loss.id)) return false;
  // That sampling met a NaN says nothing of where it came from. A loss that had left before does, also where it seemed
  // to come back: the weights had been thrown far away.
  if (crash.id == "log/sampling-not-finite") return true;
  if (!LastsToTheEnd(grouping, loss)) return false;
  if (IsAny(crash.id,
            {"log/interrupted", "log/killed-signal", "log/failed-exit", "log/time-limit", "log/slurm-cancelled"}))
    return true;
  return IsAny(crash.id, {"log/uncaught-exception", "log/device-assert", "log/abort", "log/cuda-error"}) &&
         SpeaksOfNonFinite(crash);
}

bool BothEnd(const model::Finding& a, const model::Finding& b) {
  return a.severity >= model::Severity::kError && b.severity >= model::Severity::kError;
}

// Memory that climbed, be it only a warning, and the end of the process for want of it.
bool LedToTheEnd(const model::Finding& climb, const model::Finding& crash) {
  return IsAny(climb.id, {"memory/leak", "memory/growth"}) && climb.severity >= model::Severity::kWarning &&
         crash.severity >= model::Severity::kError &&
         (crash.id.starts_with("memory/") || IsAny(crash.id, {"log/killed-signal", "hang/dead-rank"}));
}

bool SameThread(const Grouping& grouping, const model::Finding& a, const model::Finding& b, Thread thread) {
  switch (thread) {
    case Thread::kInstability:
      // Spikes that healed are gathered later; a schedule break belongs to what begins with it.
      if (a.id == "lr/schedule-break") return BeginsWith(grouping, a, b);
      if (b.id == "lr/schedule-break") return BeginsWith(grouping, b, a);
      return Touch(grouping, a, b);
    case Thread::kCrash:
      return (LedToTheEnd(a, b) || LedToTheEnd(b, a) || BothEnd(a, b)) && Touch(grouping, a, b);
    case Thread::kOther:
      return a.id == b.id;
    default:
      return Touch(grouping, a, b);
  }
}

bool AcrossThreads(const Grouping& grouping, const model::Finding& a, Thread ta, const model::Finding& b, Thread tb) {
  if (ta > tb) return AcrossThreads(grouping, b, tb, a, ta);
  if (tb == Thread::kCrash) return EndsLostRun(grouping, a, b);
  if (tb == Thread::kRl) {
    // Under reinforcement a zero or flat loss and zero gradients are what a missing signal looks like.
    if (ta == Thread::kNoLearning) return Touch(grouping, a, b);
    return ta == Thread::kInstability && Touch(grouping, a, b) && (IsBlowUp(a.id) || b.id == "rl/kl-blowup");
  }
  if (tb == Thread::kResume) return ta == Thread::kInstability && BeginsWith(grouping, b, a);
  if (tb == Thread::kNoLearning && ta == Thread::kInstability) {
    // A loss that collapsed to a constant beside a non-finite gradient is that NaN; one that never fell while the
    // gradients exploded is that explosion.
    return IsBlowUp(a.id) && IsAny(b.id, {"loss/not-decreasing", "loss/collapse", "grad/vanishing", "grad/zero"}) &&
           Touch(grouping, a, b);
  }
  return false;
}

// Circumstances are placed last, when it is known which incident could be their effect.
bool AreOneStory(const Grouping& grouping, const model::Finding& a, const model::Finding& b) {
  if (IsCompanion(a.id) || IsCompanion(b.id)) return false;
  const Thread ta = RoleOf(a.id).thread;
  const Thread tb = RoleOf(b.id).thread;
  return ta == tb ? SameThread(grouping, a, b, ta) : AcrossThreads(grouping, a, ta, b, tb);
}

// Where the lasting trouble of a group begins, past spikes that healed; unknown when there is nothing but those.
model::Position CoreOf(const std::vector<std::uint32_t>& members, const Grouping& grouping) {
  model::Position core;
  for (const std::uint32_t index : members) {
    const model::Finding& finding = grouping.findings[index];
    if (IsCompanion(finding.id) || IsSpike(finding.id) || !finding.first.known()) continue;
    core = Earlier(grouping.run.axes(), core, finding.first);
  }
  return core;
}

// The order of the findings of one story.
struct StoryOrder {
  const Grouping& grouping;
  model::Position core;
  model::Axis axis;  // places are compared on this one

  // Spikes are one finding from the first to the last: those long before the trouble are its background.
  bool IsBackground(const model::Finding& finding) const {
    if (IsCompanion(finding.id)) return true;
    if (!IsSpike(finding.id)) return false;
    const auto ahead = grouping.run.axes().Distance(finding.first, core);
    return ahead && ahead->amount > 4 * grouping.SlackOf(ahead->axis);
  }
  // The blow-up before what never learned, then the earlier, then the more basic; messages of the end last.
  bool operator()(std::uint32_t a, std::uint32_t b) const {
    return Key(grouping.findings[a]) < Key(grouping.findings[b]);
  }

  std::tuple<bool, bool, bool, std::int64_t, int> Key(const model::Finding& finding) const {
    const Role role = RoleOf(finding.id);
    const bool passive = role.thread == Thread::kNoLearning && role.depth >= 4;
    // One axis for all gives an order that holds together; what has no place on it comes last.
    const auto place = grouping.run.axes().To(axis, finding.first).ValueOn(axis);
    return {IsBackground(finding), IsMessage(finding), passive,
            place.value_or(std::numeric_limits<std::int64_t>::max()), role.depth};
  }
};

// The axis of the first member that has a place.
// Findings come most severe first, so it is the axis of the worst.
model::Axis AxisOf(const std::vector<std::uint32_t>& members, const std::vector<model::Finding>& findings) {
  for (const std::uint32_t index : members) {
    if (findings[index].first.known()) return findings[index].first.axis();
  }
  return model::Axis::kStep;
}

void Complete(Incident& incident, const Grouping& grouping) {
  const model::AxisMap& axes = grouping.run.axes();
  const StoryOrder order{grouping, CoreOf(incident.indices, grouping), AxisOf(incident.indices, grouping.findings)};
  std::stable_sort(incident.indices.begin(), incident.indices.end(), order);
  const bool alone = incident.indices.size() == 1;
  for (const std::uint32_t index : incident.indices) {
    const model::Finding& finding = grouping.findings[index];
    incident.findings.push_back(&finding);
    incident.last = Later(axes, incident.last, LastOf(grouping, finding));
    if (!finding.first.known() || (order.IsBackground(finding) && !alone)) continue;
    incident.onset = Earlier(axes, incident.onset, finding.first);
  }
}

bool OnlySpikes(const std::vector<std::uint32_t>& members, const std::vector<model::Finding>& findings) {
  return std::all_of(members.begin(), members.end(), [&](std::uint32_t index) { return IsSpike(findings[index].id); });
}

using Members = std::vector<std::vector<std::uint32_t>>;

// Spikes that healed, however far apart, are one incident: that they keep coming is itself the news.
void GatherSpikes(Members& groups, const std::vector<model::Finding>& findings) {
  std::vector<std::uint32_t> spikes;
  std::erase_if(groups, [&](const std::vector<std::uint32_t>& members) {
    if (!OnlySpikes(members, findings)) return false;
    spikes.insert(spikes.end(), members.begin(), members.end());
    return true;
  });
  if (!spikes.empty()) groups.push_back(std::move(spikes));
}

// How far into the run a finding begins, 0..1; above 1 when its place or the length of the run is not known.
double ShareOfRun(const RunView& run, const model::Finding& finding) {
  constexpr double kUnknownShare = 2;
  const double length = finding.first.known() ? EndOf(run, finding.first.axis()).length() : 0;
  return length > 0 ? static_cast<double>(finding.first.value()) / length : kUnknownShare;
}

// The incident that a companion may have led to: the first that begins early, when the schedule is what is odd.
std::vector<std::uint32_t>* HostOf(Members& groups, const Grouping& grouping) {
  std::vector<std::uint32_t>* host = nullptr;
  double earliest = 0.1;
  for (auto& members : groups) {
    for (const std::uint32_t index : members) {
      const model::Finding& finding = grouping.findings[index];
      const Thread thread = RoleOf(finding.id).thread;
      if (thread != Thread::kInstability && thread != Thread::kNoLearning) continue;
      const double share = ShareOfRun(grouping.run, finding);
      if (share > earliest) continue;
      earliest = share;
      host = &members;
    }
  }
  return host;
}

// Every pair is looked at: stories join through their middle, so that the order of findings must not matter.
Members JoinStories(Grouping& grouping) {
  const auto& findings = grouping.findings;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    for (std::size_t j = i + 1; j < findings.size(); ++j) {
      if (AreOneStory(grouping, findings[i], findings[j])) grouping.Join(i, j);
    }
  }
  Members groups;
  std::vector<std::size_t> group_of(findings.size(), findings.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].id.starts_with("config/") || IsCompanion(findings[i].id)) continue;
    std::size_t& group = group_of[grouping.Root(i)];
    if (group == findings.size()) {
      group = groups.size();
      groups.emplace_back();
    }
    groups[group].push_back(static_cast<std::uint32_t>(i));
  }
  return groups;
}

void PlaceCompanions(Members& groups, const Grouping& grouping) {
  for (std::size_t i = 0; i < grouping.findings.size(); ++i) {
    if (!IsCompanion(grouping.findings[i].id)) continue;
    std::vector<std::uint32_t>* host = HostOf(groups, grouping);
    if (host == nullptr) {
      groups.push_back({static_cast<std::uint32_t>(i)});
    } else {
      host->push_back(static_cast<std::uint32_t>(i));
    }
  }
}

}  // namespace

const model::Finding* Incident::Find(std::string_view id) const {
  const auto at = std::find_if(findings.begin(), findings.end(), [&](const model::Finding* f) { return f->id == id; });
  return at == findings.end() ? nullptr : *at;
}

std::size_t Incident::Count(std::string_view id) const {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [&](const model::Finding* f) { return f->id == id; }));
}

model::Severity Incident::worst() const {
  model::Severity worst = model::Severity::kInfo;
  for (const model::Finding* finding : findings) worst = std::max(worst, finding->severity);
  return worst;
}

bool Incident::IsPassive() const {
  return IsAny(root().id, {"loss/plateau", "loss/not-decreasing", "loss/collapse", "loss/at-chance"});
}

bool Incident::HasBlowUp() const {
  return std::any_of(findings.begin(), findings.end(), [](const model::Finding* finding) {
    return IsBlowUp(finding->id) || IsSpike(finding->id) ||
           IsAny(finding->id, {"loss/oscillation", "grad/unstable", "numerics/loss-scale-collapse"});
  });
}

model::Position Incident::FirstOf(const model::AxisMap& axes, std::initializer_list<std::string_view> ids) const {
  model::Position first;
  for (const model::Finding* finding : findings) {
    if (finding->first.known() && IsAny(finding->id, ids)) first = Earlier(axes, first, finding->first);
  }
  return first;
}

bool IsBlowUp(std::string_view id) {
  return IsAny(id, {"loss/divergence", "loss/non-finite", "grad/non-finite", "grad/explosion"});
}

bool IsCompanion(std::string_view id) { return IsAny(id, {"lr/no-warmup", "lr/out-of-range", "grad/always-clipped"}); }

bool IsAboutLearning(const model::Finding& finding) {
  if (IsMessage(finding)) return false;
  const Thread thread = RoleOf(finding.id).thread;
  return thread == Thread::kInstability || thread == Thread::kNoLearning || thread == Thread::kGeneralise ||
         thread == Thread::kRl;
}

Incident SuspectedIncident(const model::Finding& suspected) {
  Incident incident;
  incident.findings = {&suspected};
  incident.indices = {0};
  incident.onset = suspected.first;
  incident.last = suspected.last;
  return incident;
}

bool IsMessage(const model::Finding& finding) { return !finding.signature.empty() || finding.id.starts_with("log/"); }

std::vector<Incident> GroupIncidents(const RunView& run, const std::vector<model::Finding>& findings) {
  Grouping grouping{run, findings, {}, {}, {}};
  for (std::size_t i = 0; i < model::kAxisCount; ++i) {
    const auto axis = static_cast<model::Axis>(i);
    grouping.slack[i] = SlackOn(run, axis).amount;
    grouping.end[i] = LastSeen(run, axis);
  }
  grouping.parent.resize(findings.size());
  std::iota(grouping.parent.begin(), grouping.parent.end(), std::size_t{0});
  Members groups = JoinStories(grouping);
  GatherSpikes(groups, findings);
  PlaceCompanions(groups, grouping);
  std::vector<Incident> incidents;
  for (auto& members : groups) {
    Incident incident;
    incident.indices = std::move(members);
    Complete(incident, grouping);
    incidents.push_back(std::move(incident));
  }
  return incidents;
}

}  // namespace vigil::diagnose
