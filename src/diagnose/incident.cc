#include "diagnose/incident.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>

#include "diagnose/curve.h"

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
    Role{"loss/bad-start", Thread::kNoLearning, 1},
    Role{"loss/overfit", Thread::kGeneralise, 0},
    Role{"loss/eval-non-finite", Thread::kGeneralise, 0},
    Role{"loss/eval-break", Thread::kGeneralise, 0},
    Role{"loss/eval-gap", Thread::kGeneralise, 1},
    Role{"loss/too-good", Thread::kGeneralise, 1},
    Role{"loss/forgetting", Thread::kGeneralise, 1},
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
};

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
  const model::Run& run;
  const std::vector<model::Finding>& findings;
  double slack = 0;  // steps by which two findings may miss each other and still be one story
  std::int64_t end = 0;
  std::vector<std::size_t> parent;

  std::size_t Root(std::size_t index) {
    while (parent[index] != index) index = parent[index] = parent[parent[index]];
    return index;
  }
  void Join(std::size_t a, std::size_t b) { parent[Root(a)] = Root(b); }
};

bool Touch(const Grouping& grouping, const model::Finding& a, const model::Finding& b) {
  if (a.first_step == model::kNoStep || b.first_step == model::kNoStep) return true;
  const double gap =
      static_cast<double>(std::max(a.first_step, b.first_step) -
                          std::min(std::max(a.last_step, a.first_step), std::max(b.last_step, b.first_step)));
  return gap <= grouping.slack;
}

// `first` is a change of the circumstances; what begins within the slack after it may be its effect.
bool BeginsWith(const Grouping& grouping, const model::Finding& first, const model::Finding& effect) {
  const double delay = static_cast<double>(effect.first_step - first.first_step);
  return delay >= -grouping.slack && delay <= 2 * grouping.slack;
}

bool SpeaksOfNonFinite(const model::Finding& finding) {
  const std::string text = ToLower(finding.message);
  return text.find("nan") != std::string::npos || text.find("inf") != std::string::npos;
}

bool LastsToTheEnd(const Grouping& grouping, const model::Finding& finding) {
  return static_cast<double>(grouping.end - std::max(finding.last_step, finding.first_step)) <= grouping.slack;
}

// How a lost run ends: it is stopped by hand, by its time limit, or by code that met the NaN.
bool EndsLostRun(const Grouping& grouping, const model::Finding& loss, const model::Finding& crash) {
  if (!IsBlowUp(loss.id) || !LastsToTheEnd(grouping, loss)) return false;
  if (IsAny(crash.id,
            {"log/interrupted", "log/killed-signal", "log/failed-exit", "log/time-limit", "log/slurm-cancelled"}))
    return true;
  return IsAny(crash.id, {"log/uncaught-exception", "log/device-assert", "log/abort", "log/cuda-error"}) &&
         SpeaksOfNonFinite(crash);
}

bool SameThread(const Grouping& grouping, const model::Finding& a, const model::Finding& b, Thread thread) {
  switch (thread) {
    case Thread::kInstability:
      // Spikes that healed are gathered later; a schedule break belongs to what begins with it.
      if (a.id == "lr/schedule-break") return BeginsWith(grouping, a, b);
      if (b.id == "lr/schedule-break") return BeginsWith(grouping, b, a);
      return Touch(grouping, a, b);
    case Thread::kCrash:
      return a.severity >= model::Severity::kError && b.severity >= model::Severity::kError && Touch(grouping, a, b);
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

bool AreOneStory(const Grouping& grouping, const model::Finding& a, const model::Finding& b) {
  if (IsCompanion(a.id) || IsCompanion(b.id)) return false;
  const Thread ta = RoleOf(a.id).thread;
  const Thread tb = RoleOf(b.id).thread;
  return ta == tb ? SameThread(grouping, a, b, ta) : AcrossThreads(grouping, a, ta, b, tb);
}

// The first step of the lasting trouble in a group, past spikes that healed; kNoStep when there is nothing but those.
std::int64_t CoreStep(const std::vector<std::uint32_t>& members, const std::vector<model::Finding>& findings) {
  std::int64_t core = model::kNoStep;
  for (const std::uint32_t index : members) {
    const model::Finding& finding = findings[index];
    if (IsCompanion(finding.id) || IsSpike(finding.id) || finding.first_step == model::kNoStep) continue;
    if (core == model::kNoStep || finding.first_step < core) core = finding.first_step;
  }
  return core;
}

// In what order a story is told.
struct Telling {
  const std::vector<model::Finding>& findings;
  std::int64_t core;
  double slack;

  // Spikes are one finding from the first to the last: those long before the trouble are its background.
  bool IsBackground(const model::Finding& finding) const {
    if (IsCompanion(finding.id)) return true;
    return IsSpike(finding.id) && core != model::kNoStep && static_cast<double>(core - finding.first_step) > 4 * slack;
  }
  // The blow-up before what never learned, then the earlier, then the more basic; messages of the end last.
  bool operator()(std::uint32_t a, std::uint32_t b) const { return Key(findings[a]) < Key(findings[b]); }

  std::tuple<bool, bool, bool, std::int64_t, int> Key(const model::Finding& finding) const {
    const Role role = RoleOf(finding.id);
    const bool passive = role.thread == Thread::kNoLearning && role.depth >= 4;
    const bool message = finding.id.starts_with("log/");
    const std::int64_t step =
        finding.first_step == model::kNoStep ? std::numeric_limits<std::int64_t>::max() : finding.first_step;
    return {IsBackground(finding), message, passive, step, role.depth};
  }
};

void Complete(Incident& incident, const std::vector<model::Finding>& findings, double slack) {
  const Telling telling{findings, CoreStep(incident.indices, findings), slack};
  std::stable_sort(incident.indices.begin(), incident.indices.end(), telling);
  const bool alone = incident.indices.size() == 1;
  for (const std::uint32_t index : incident.indices) {
    const model::Finding& finding = findings[index];
    incident.findings.push_back(&finding);
    incident.last = std::max({incident.last, finding.last_step, finding.first_step});
    if (finding.first_step == model::kNoStep || (telling.IsBackground(finding) && !alone)) continue;
    if (incident.onset == model::kNoStep || finding.first_step < incident.onset) incident.onset = finding.first_step;
  }
}

bool OnlySpikes(const std::vector<std::uint32_t>& members, const std::vector<model::Finding>& findings) {
  return std::all_of(members.begin(), members.end(), [&](std::uint32_t index) { return IsSpike(findings[index].id); });
}

using Members = std::vector<std::vector<std::uint32_t>>;

// Spikes that healed, however far apart, are told once: that they keep coming is itself the news.
void GatherSpikes(Members& groups, const std::vector<model::Finding>& findings) {
  std::vector<std::uint32_t> spikes;
  std::erase_if(groups, [&](const std::vector<std::uint32_t>& members) {
    if (!OnlySpikes(members, findings)) return false;
    spikes.insert(spikes.end(), members.begin(), members.end());
    return true;
  });
  if (!spikes.empty()) groups.push_back(std::move(spikes));
}

// The incident that a companion may have led to: the first that begins early, when the schedule is what is odd.
std::vector<std::uint32_t>* HostOf(Members& groups, const Grouping& grouping) {
  std::vector<std::uint32_t>* host = nullptr;
  std::int64_t earliest = PlannedOrSeenSteps(grouping.run) / 10;
  for (auto& members : groups) {
    for (const std::uint32_t index : members) {
      const model::Finding& finding = grouping.findings[index];
      const Thread thread = RoleOf(finding.id).thread;
      if (thread != Thread::kInstability && thread != Thread::kNoLearning) continue;
      if (finding.first_step == model::kNoStep || finding.first_step > earliest) continue;
      earliest = finding.first_step;
      host = &members;
    }
  }
  return host;
}

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

// Findings that miss each other by a few logged points, or by a hundredth of the run, are still one story.
double SlackOf(const model::Run& run, std::int64_t end) {
  const model::Series* loss = run.Find("loss");
  const double interval = loss == nullptr ? 1 : std::max(1.0, IntervalOf(*loss));
  return std::max({5.0, 3 * interval, static_cast<double>(end) / 100});
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

bool Incident::IsPassive() const { return IsAny(root().id, {"loss/plateau", "loss/not-decreasing", "loss/collapse"}); }

bool Incident::HasBlowUp() const {
  return std::any_of(findings.begin(), findings.end(), [](const model::Finding* finding) {
    return IsBlowUp(finding->id) || IsSpike(finding->id) ||
           IsAny(finding->id, {"loss/oscillation", "grad/unstable", "numerics/loss-scale-collapse"});
  });
}

std::int64_t Incident::FirstStepOf(std::initializer_list<std::string_view> ids) const {
  std::int64_t first = model::kNoStep;
  for (const model::Finding* finding : findings) {
    if (finding->first_step == model::kNoStep || !IsAny(finding->id, ids)) continue;
    if (first == model::kNoStep || finding->first_step < first) first = finding->first_step;
  }
  return first;
}

bool IsBlowUp(std::string_view id) {
  return IsAny(id, {"loss/divergence", "loss/non-finite", "grad/non-finite", "grad/explosion"});
}

bool IsCompanion(std::string_view id) { return IsAny(id, {"lr/no-warmup", "lr/out-of-range", "grad/always-clipped"}); }

std::vector<Incident> GroupIncidents(const model::Run& run, const std::vector<model::Finding>& findings) {
  Grouping grouping{run, findings, 0, std::max<std::int64_t>(LastStep(run), 0), {}};
  grouping.slack = SlackOf(run, grouping.end);
  grouping.parent.resize(findings.size());
  std::iota(grouping.parent.begin(), grouping.parent.end(), std::size_t{0});
  Members groups = JoinStories(grouping);
  GatherSpikes(groups, findings);
  PlaceCompanions(groups, grouping);
  std::vector<Incident> incidents;
  for (auto& members : groups) {
    Incident incident;
    incident.indices = std::move(members);
    Complete(incident, findings, grouping.slack);
    incidents.push_back(std::move(incident));
  }
  return incidents;
}

}  // namespace vigil::diagnose
