#include "detect/log_incidents.h"

#include <algorithm>
#include <array>

#include "base/base.h"

namespace vigil::detect {
namespace {

using model::Event;
using model::EventKind;
using model::Severity;

constexpr std::uint32_t kChainLines = 200;  // a chained traceback ends within so many lines of its first exception

Role RoleOf(const catalogue::SignatureRow& row) {
  if (row.role == "cascade") return Role::kCascade;
  return row.role == "teardown" ? Role::kTeardown : Role::kRoot;
}

// ---- events to troubles

// The row of a process's exit code; code 1 and its kin only say that something failed.
const catalogue::SignatureRow* RowOfExit(std::int64_t code) {
  struct Signal {
    std::int64_t number;
    std::string_view row;
  };
  constexpr std::array<Signal, 5> kSignals = {{{4, "log/illegal-instruction"},
                                               {6, "log/abort"},
                                               {7, "log/deepspeed-exit-7"},
                                               {8, "log/floating-point-exception"},
                                               {11, "log/segfault"}}};
  const std::int64_t signal = SignalOf(code);
  for (const Signal& known : kSignals) {
    if (known.number == signal) return catalogue::FindSignature(known.row);
  }
  return catalogue::FindSignature(signal > 0 ? "log/killed-signal" : "log/failed-exit");
}

// Whether a signature of the same rank, in the exception's own text or in what was raised from it, says more.
bool IsExplained(const std::vector<Event>& events, std::size_t exception) {
  const Event& raised = events[exception];
  for (std::size_t i = exception + 1; i < events.size(); ++i) {
    const Event& later = events[i];
    if (later.place.source != raised.place.source || later.place.line > raised.place.line + kChainLines) return false;
    if (later.rank != raised.rank) continue;
    if (later.kind == EventKind::kException) return false;
    if (later.kind != EventKind::kSignature) continue;
    const catalogue::SignatureRow* row = catalogue::FindSignature(later.name);
    const bool same_line = later.place.line == raised.place.line;
    if (row != nullptr && (same_line || RoleOf(*row) != Role::kTeardown)) return true;
  }
  return false;
}

Trouble TroubleOf(const std::vector<Event>& events, std::size_t index) {
  const Event& event = events[index];
  Trouble trouble{&event, nullptr, Role::kRoot, event.text};
  if (event.kind == EventKind::kSignature) {
    trouble.row = catalogue::FindSignature(event.name);
    if (trouble.row != nullptr) trouble.role = RoleOf(*trouble.row);
  } else if (event.kind == EventKind::kException && !IsExplained(events, index)) {
    trouble.row = catalogue::FindSignature(kFallbackSignature);
  } else if (event.kind == EventKind::kExit) {
    const auto code = ParseInteger(event.name);
    if (!code) return trouble;
    trouble.row = RowOfExit(*code);
    if (SignalOf(*code) == 0) trouble.role = Role::kTeardown;
  }
  return trouble;
}

// Whether an index error is about entries of a vocabulary or about classes: by its own words, as those of embeddings
// and losses are, or because the run trains on tokens. Else the table may be any, the list of samples for one.
bool IsAboutTokens(const model::Run& run, std::string_view text) {
  constexpr std::array<std::string_view, 7> kWords = {"in self",  "srcIndex",  "token",  "vocab",
                                                      "mbedding", "n_classes", "Target "};
  const bool named = std::any_of(kWords.begin(), kWords.end(),
                                 [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
  return named || run.profile.trains_on_tokens || run.FindFact("vocab_size") != nullptr;
}

// What is known about tokens says nothing of other tables: then the exception stands for itself.
void NameByTheRun(const model::Run& run, Trouble& trouble) {
  if (trouble.row != nullptr && trouble.row->id == "log/index-out-of-range" && !IsAboutTokens(run, trouble.text))
    trouble.row = catalogue::FindSignature(kFallbackSignature);
}

// ---- troubles to incidents

// Whether `later` came behind `earlier`, as far as lines and times show it.
bool CameBehind(const Event& later, const Event& earlier) {
  if (later.place.source == earlier.place.source) return later.place.line > earlier.place.line;
  return later.time > earlier.time;  // false where one is not known
}

// A root that is not itself what became of the waiting.
bool IsRealRoot(const Trouble& trouble, const std::vector<Trouble>& all) {
  if (trouble.role != Role::kRoot || IsWaiting(trouble.row->id)) return false;
  return std::none_of(all.begin(), all.end(), [&](const Trouble& other) {
    return IsWaiting(other.row->id) && CameBehind(*trouble.event, *other.event);
  });
}

bool HasRoot(const Incident& incident) {
  return std::any_of(incident.troubles.begin(), incident.troubles.end(),
                     [&](const Trouble& trouble) { return IsRealRoot(trouble, incident.troubles); });
}

// Steps were made between two failures of different step; of the same step, the second follows from the first. What the
// launcher clears up always belongs to the failure before it.
bool Continues(const Incident& incident, const Trouble& trouble) {
  if (incident.source != trouble.event->place.source) return false;
  return trouble.role == Role::kTeardown || model::SamePosition(incident.at, trouble.event->at);
}

// The guard that stopped a run has said why: how the process left says nothing beside it.
bool IsLeavingOfGuard(const model::Run& run, const Event& event) {
  return event.kind == EventKind::kExit && std::any_of(run.events.begin(), run.events.end(), [](const Event& other) {
           return other.name == model::kGuardStopped;
         });
}

std::vector<Incident> GroupBySource(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<Incident> incidents;
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    Trouble trouble = TroubleOf(run.events, i);
    NameByTheRun(run, trouble);
    if (trouble.row == nullptr || !thresholds.Enabled(trouble.row->id)) continue;
    if (IsLeavingOfGuard(run, run.events[i])) continue;
    if (incidents.empty() || !Continues(incidents.back(), trouble)) {
      incidents.push_back({{}, trouble.event->place.source, trouble.event->at});
    }
    incidents.back().troubles.push_back(trouble);
  }
  return incidents;
}

// What only shows how a process left: the message that came with it says why.
bool IsMannerOfLeaving(const Trouble& trouble) { return trouble.row->id == "log/abort"; }

// The reason that a C++ program gives when it aborts.
bool GivesReason(const Trouble& trouble) { return Trim(trouble.text).starts_with("what()"); }

// Whether both report the same crash: one program may write it to its own log and to the console.
bool IsSameCrash(const Incident& a, const Incident& b) {
  const Trouble* of_a = PrimaryOf(a);
  const Trouble* of_b = PrimaryOf(b);
  return of_a != nullptr && of_b != nullptr && of_a->row == of_b->row && !of_a->text.empty() &&
         of_a->text == of_b->text;
}

// Logs of several ranks: what has no root of its own follows from one that has; roots at one step are one failure.
std::vector<Incident> JoinSources(std::vector<Incident> incidents) {
  std::vector<Incident> joined;
  std::stable_partition(incidents.begin(), incidents.end(), HasRoot);
  for (Incident& incident : incidents) {
    const auto host = std::find_if(joined.begin(), joined.end(), [&](const Incident& other) {
      if (other.source == incident.source) return false;
      return model::SamePosition(other.at, incident.at) || (!HasRoot(incident) && HasRoot(other)) ||
             IsSameCrash(other, incident);
    });
    if (host == joined.end()) {
      joined.push_back(std::move(incident));
    } else {
      host->troubles.insert(host->troubles.end(), incident.troubles.begin(), incident.troubles.end());
    }
  }
  return joined;
}

}  // namespace

std::int64_t SignalOf(std::int64_t code) {
  constexpr std::int64_t kLast = 64;
  if (code < 0) return code < -kLast ? 0 : -code;
  return code > 128 && code <= 128 + kLast ? code - 128 : 0;
}

bool IsWaiting(std::string_view id) {
  constexpr std::array<std::string_view, 4> kWaiting = {"log/nccl-timeout", "log/collective-timeout",
                                                        "log/monitored-barrier", "log/gloo-timeout"};
  return std::find(kWaiting.begin(), kWaiting.end(), id) != kWaiting.end();
}

bool HasLostPeer(const Incident& incident) {
  return std::any_of(incident.troubles.begin(), incident.troubles.end(), [](const Trouble& trouble) {
    return trouble.role == Role::kCascade && trouble.row->cause == "rank-died";
  });
}

// The first root, of them one that did not only wait for another, one that gives the reason of an abort, and one that
// says who sent a SIGKILL; without one the first that follows from something not logged; else what the launcher says.
const Trouble* PrimaryOf(const Incident& incident) {
  const auto first = [&](const auto& fits) -> const Trouble* {
    const auto at = std::find_if(incident.troubles.begin(), incident.troubles.end(), [&](const Trouble& trouble) {
      return trouble.row->severity != Severity::kInfo && fits(trouble);
    });
    return at == incident.troubles.end() ? nullptr : &*at;
  };
  const auto is_root = [&](const Trouble& trouble) { return IsRealRoot(trouble, incident.troubles); };
  const Trouble* root = first(is_root);
  if (root != nullptr && IsMannerOfLeaving(*root)) {
    const Trouble* reason =
        first([&](const Trouble& trouble) { return is_root(trouble) && !IsMannerOfLeaving(trouble); });
    if (reason == nullptr) reason = first(GivesReason);
    if (reason != nullptr) return reason;
  }
  if (root != nullptr && root->row->id == "log/killed-signal") {
    const Trouble* sender = first([](const Trouble& trouble) { return trouble.row->id == "log/host-oom-kill"; });
    if (sender != nullptr) return sender;
  }
  if (root != nullptr) return root;
  for (const Role role : {Role::kRoot, Role::kCascade, Role::kTeardown}) {
    if (const Trouble* found = first([&](const Trouble& trouble) { return trouble.role == role; })) return found;
  }
  return nullptr;
}

std::vector<Incident> IncidentsOf(const model::Run& run, const catalogue::Thresholds& thresholds) {
  return JoinSources(GroupBySource(run, thresholds));
}

}  // namespace vigil::detect
