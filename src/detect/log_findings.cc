#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "detect/detectors.h"
#include "detect/log_text.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

using model::Event;
using model::EventKind;
using model::Finding;
using model::Severity;

constexpr std::string_view kFallback = "log/uncaught-exception";
constexpr std::uint32_t kChainLines = 200;  // a chained traceback ends within so many lines of its first exception
constexpr std::size_t kMostConsequences = 6;
constexpr std::size_t kMostOfAnId = 8;

enum class Role : std::uint8_t { kRoot, kCascade, kTeardown };

// An event that reports a failure, with the row that explains it.
struct Trouble {
  const Event* event = nullptr;
  const catalogue::SignatureRow* row = nullptr;
  Role role = Role::kRoot;
  std::string text;  // what to quote
};

// Troubles that belong together: one failure and what followed from it.
struct Incident {
  std::vector<Trouble> troubles;
  std::uint32_t source = 0;
  model::Position at;
};

Role RoleOf(const catalogue::SignatureRow& row) {
  if (row.role == "cascade") return Role::kCascade;
  return row.role == "teardown" ? Role::kTeardown : Role::kRoot;
}

// ---- events to troubles

// The signal that ended a process, 0 when none did: Python's code -9, a shell's 137.
std::int64_t SignalOf(std::int64_t code) {
  constexpr std::int64_t kLast = 64;
  if (code < 0) return code < -kLast ? 0 : -code;
  return code > 128 && code <= 128 + kLast ? code - 128 : 0;
}

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
    trouble.row = catalogue::FindSignature(kFallback);
  } else if (event.kind == EventKind::kExit) {
    const auto code = ParseInteger(event.name);
    if (!code) return trouble;
    trouble.row = RowOfExit(*code);
    if (SignalOf(*code) == 0) trouble.role = Role::kTeardown;
  }
  return trouble;
}

// ---- troubles to incidents

// A rank that waited in vain shows that another failed or took another branch: a root only where nothing else is known.
bool IsWaiting(std::string_view id) {
  constexpr std::array<std::string_view, 3> kWaiting = {"log/nccl-timeout", "log/collective-timeout",
                                                        "log/monitored-barrier"};
  return std::find(kWaiting.begin(), kWaiting.end(), id) != kWaiting.end();
}

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
    const Trouble trouble = TroubleOf(run.events, i);
    if (trouble.row == nullptr || !thresholds.Enabled(trouble.row->id)) continue;
    if (IsLeavingOfGuard(run, run.events[i])) continue;
    if (incidents.empty() || !Continues(incidents.back(), trouble)) {
      incidents.push_back({{}, trouble.event->place.source, trouble.event->at});
    }
    incidents.back().troubles.push_back(trouble);
  }
  return incidents;
}

// Logs of several ranks: what has no root of its own follows from one that has; roots at one step are one failure.
std::vector<Incident> JoinSources(std::vector<Incident> incidents) {
  std::vector<Incident> joined;
  std::stable_partition(incidents.begin(), incidents.end(), HasRoot);
  for (Incident& incident : incidents) {
    const auto host = std::find_if(joined.begin(), joined.end(), [&](const Incident& other) {
      if (other.source == incident.source) return false;
      return model::SamePosition(other.at, incident.at) || (!HasRoot(incident) && HasRoot(other));
    });
    if (host == joined.end()) {
      joined.push_back(std::move(incident));
    } else {
      host->troubles.insert(host->troubles.end(), incident.troubles.begin(), incident.troubles.end());
    }
  }
  return joined;
}

// The first root, of them one that did not only wait for another, and one that says who sent a SIGKILL; without one the
// first that follows from something not logged; else what the launcher says.
const Trouble* PrimaryOf(const Incident& incident) {
  const auto first = [&](const auto& fits) -> const Trouble* {
    const auto at = std::find_if(incident.troubles.begin(), incident.troubles.end(), [&](const Trouble& trouble) {
      return trouble.row->severity != Severity::kInfo && fits(trouble);
    });
    return at == incident.troubles.end() ? nullptr : &*at;
  };
  const Trouble* root = first([&](const Trouble& trouble) { return IsRealRoot(trouble, incident.troubles); });
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

// ---- incidents to findings

bool HadFinished(const model::Run& run, const Event& event) {
  if (std::is_gteq(run.axes.Compare(event.at, run.Planned()))) return true;
  return std::any_of(run.events.begin(), run.events.end(), [&](const Event& other) {
    // A trainer that says so after each epoch makes steps in between.
    return other.kind == EventKind::kExit && other.name == "finished" && other.place.source == event.place.source &&
           other.place.line < event.place.line && model::SamePosition(other.at, event.at);
  });
}

// Whether the training was started again behind the failure, in the same log, and went past it.
bool WasOvercome(const model::Run& run, const Event& event) {
  if (!event.run_went_on) return false;
  return std::any_of(run.series.begin(), run.series.end(), [&](const model::Series& series) {
    if (series.source != event.place.source || series.lines.size() != series.size()) return false;
    return std::any_of(series.segment_starts.begin(), series.segment_starts.end(), [&](std::uint32_t start) {
      return start > 0 && series.lines[start] > event.place.line &&
             std::is_lteq(run.axes.Compare(series.PositionOf(start), event.at));
    });
  });
}

// Whether the exit code or the text names that signal.
bool IsSignal(const Trouble& trouble, int signal) {
  if (trouble.event->kind != EventKind::kExit) return NamesSignal(trouble.text, signal);
  const auto code = ParseInteger(trouble.event->name);
  return code && SignalOf(*code) == signal;
}

// A closed terminal or a keystroke is nobody's fault.
bool IsHangup(const Trouble& trouble) {
  constexpr int kSighup = 1;
  constexpr int kSigint = 2;
  return trouble.row->id == "log/killed-signal" && (IsSignal(trouble, kSighup) || IsSignal(trouble, kSigint));
}

Severity SeverityOf(const model::Run& run, const Trouble& primary, const catalogue::Thresholds& thresholds) {
  const Severity base = thresholds.SeverityOf(primary.row->id, primary.row->severity);
  if (WasOvercome(run, *primary.event)) return std::min(base, Severity::kInfo);
  if (primary.event->run_went_on) {
    const bool is_fallback = primary.row->id == kFallback;
    return std::min(base, is_fallback ? Severity::kInfo : Severity::kWarning);
  }
  if (IsHangup(primary)) return std::min(base, Severity::kWarning);
  if (!HadFinished(run, *primary.event)) return base;
  // What only concerns the leaving, or what is sent away, takes nothing from the training; a save that fails does.
  constexpr std::array<std::string_view, 6> kOfLeaving = {"log/killed-signal", "log/slurm-cancelled", "log/broken-pipe",
                                                          "log/store-lost",    "log/hub-gated",       "log/abort"};
  const bool leaving = std::find(kOfLeaving.begin(), kOfLeaving.end(), primary.row->id) != kOfLeaving.end();
  return std::min(base, leaving ? Severity::kWarning : Severity::kError);
}

std::vector<std::int32_t> RanksOf(const Incident& incident, const catalogue::SignatureRow& row) {
  std::vector<std::int32_t> ranks;
  for (const Trouble& trouble : incident.troubles) {
    if (trouble.row == &row && trouble.event->rank >= 0) ranks.push_back(trouble.event->rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

// "0-7", "9": ranges, as far as a line allows.
std::vector<std::string> NamesOf(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMostParts = 8;
  std::vector<std::string> names;
  for (std::size_t i = 0, parts = 0; i < ranks.size(); ++parts) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (parts == kMostParts) {
      names.emplace_back("...");
      return names;
    }
    names.push_back(std::to_string(ranks[i]));
    if (last == i + 1) names.push_back(std::to_string(ranks[last]));
    if (last > i + 1) names.back() += "-" + std::to_string(ranks[last]);
    i = last + 1;
  }
  return names;
}

model::Statement SaysRanks(const std::vector<std::int32_t>& ranks) {
  if (ranks.empty()) return {};
  if (ranks.size() == 1) return says::LogOnRank{.rank = std::to_string(ranks.front())};
  const bool is_range = ranks.back() - ranks.front() == static_cast<std::int32_t>(ranks.size()) - 1;
  if (is_range) return says::LogOnRange{.first = std::to_string(ranks.front()), .last = std::to_string(ranks.back())};
  return says::LogOnRanks{.count = ranks.size(), .ranks = NamesOf(ranks)};
}

// Of a collective that timed out: the ranks of the run that did not complain, and so are what the others waited for.
// Empty when they are most of them, or all complained.
std::vector<std::int32_t> MissingRanks(const model::Run& run, std::string_view id,
                                       const std::vector<std::int32_t>& waiting) {
  std::vector<std::int32_t> missing;
  if (!IsWaiting(id) || waiting.empty()) return missing;
  for (std::int32_t rank = 0; rank < run.ranks; ++rank) {
    if (!std::binary_search(waiting.begin(), waiting.end(), rank)) missing.push_back(rank);
  }
  if (missing.size() >= waiting.size()) missing.clear();
  return missing;
}

// The last step that a rank logged; unknown when it logged none.
model::Position LastStepOf(const model::Run& run, std::int32_t rank) {
  model::Position last;
  for (const model::Series& series : run.series) {
    const auto label =
        std::find_if(series.labels.begin(), series.labels.end(), [](const auto& one) { return one.first == "rank"; });
    const bool is_its = label == series.labels.end() ? rank == 0 : label->second == std::to_string(rank);
    if (!is_its || series.empty() || series.axis != model::Axis::kStep) continue;
    const model::Position end = series.PositionOf(series.size() - 1);
    if (!last.known() || std::is_gt(CompareOnAxis(end, last))) last = end;
  }
  return last;
}

model::Statement SaysMissing(const model::Run& run, const std::vector<std::int32_t>& missing) {
  if (missing.empty()) return {};
  if (missing.size() > 1) return says::LogMissingSeveral{.ranks = NamesOf(missing)};
  const std::string rank = std::to_string(missing.front());
  const model::Position last = LastStepOf(run, missing.front());
  if (last.known()) return says::LogMissingOneLastSeen{.rank = rank, .last = last};
  return says::LogMissingOne{.rank = rank};
}

// One rank that waits in another collective than all the others went another way through the code.
model::Statement SaysOddRank(const Incident& incident, const catalogue::SignatureRow& row) {
  std::map<std::string, std::vector<std::int32_t>> ranks;
  for (const Trouble& trouble : incident.troubles) {
    if (trouble.row != &row || trouble.event->rank < 0) continue;
    std::vector<std::int32_t>& same = ranks[CollectiveIn(trouble.text)];
    if (std::find(same.begin(), same.end(), trouble.event->rank) == same.end()) same.push_back(trouble.event->rank);
  }
  ranks.erase("");
  if (ranks.size() != 2) return {};
  const auto& [one, few] = *ranks.begin();
  const auto& [other, many] = *std::next(ranks.begin());
  if (few.size() == many.size()) return {};
  const bool first_is_odd = few.size() == 1;
  if (!first_is_odd && many.size() != 1) return {};
  return says::LogOddRank{.rank = std::to_string(first_is_odd ? few.front() : many.front()),
                          .its = first_is_odd ? one : other,
                          .others = first_is_odd ? other : one};
}

// The text does not name who sent it: only the kernel's log does.
bool IsSigkill(const Trouble& trouble) {
  constexpr int kSigkill = 9;
  if (trouble.row->id != "log/killed-signal") return false;
  constexpr std::array<std::string_view, 4> kSigns = {"-9", "137", "SIGKILL", "Killed"};
  return IsSignal(trouble, kSigkill) ||
         std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) { return HasWord(trouble.text, sign); });
}

// What became of the run after it.
model::Statement SaysOutcome(const model::Run& run, const Event& event) {
  if (WasOvercome(run, event)) return says::LogOvercome{};
  if (event.run_went_on) return says::LogWentOn{};
  if (HadFinished(run, event)) return says::LogAfterTheEnd{};
  return {};
}

model::Statement SaysEvent(const model::Run& run, const Incident& incident, const Trouble& primary,
                           const std::vector<std::int32_t>& ranks) {
  const Event& event = *primary.event;
  model::Statement what = catalogue::TextOf("signature", primary.row->id, "title");
  if (IsSigkill(primary)) what = says::LogSigkill{};
  model::Statement at;
  if (event.at.known()) at = says::PlaceAt{.at = event.at};
  model::Statement odd;
  if (IsWaiting(primary.row->id)) odd = SaysOddRank(incident, *primary.row);
  return says::LogEvent{.what = what,
                        .ranks = SaysRanks(ranks),
                        .at = at,
                        .missing = SaysMissing(run, MissingRanks(run, primary.row->id, ranks)),
                        .odd = odd,
                        .outcome = SaysOutcome(run, event),
                        .text = model::QuoteOf(run, event)};
}

// The line of the log, with the innermost frame of its traceback where there is one.
model::Statement SaysLine(const model::Quote& text, const std::string& frame, bool follows) {
  if (frame.empty() && follows) return says::QuotedThen{.text = text};
  if (frame.empty()) return says::QuotedText{.text = text};
  if (follows) return says::QuotedThenWithFrame{.text = text, .frame = frame};
  return says::QuotedWithFrame{.text = text, .frame = frame};
}

void AddLine(const model::Run& run, const Event& event, bool follows, Finding& finding) {
  const model::Quote quote = model::QuoteOf(run, event);
  AddEvidenceAt(finding, SaysLine(quote, event.detail, follows), event.at, model::kNoValue);
  finding.evidence.back().path = quote.path;
  finding.evidence.back().line = quote.line;
}

// The other things that happened, each kind once.
void AddConsequences(const model::Run& run, const Incident& incident, const Trouble& primary, Finding& finding) {
  std::vector<const catalogue::SignatureRow*> listed = {primary.row};
  for (const Trouble& trouble : incident.troubles) {
    if (std::find(listed.begin(), listed.end(), trouble.row) != listed.end()) continue;
    if (listed.size() > kMostConsequences) return;
    listed.push_back(trouble.row);
    AddLine(run, *trouble.event, true, finding);
  }
}

Finding FindingOf(const model::Run& run, const Incident& incident, const Trouble& primary,
                  const catalogue::Thresholds& thresholds) {
  Finding finding;
  finding.id = std::string(primary.row->id);
  finding.family = primary.row->family;
  finding.severity = SeverityOf(run, primary, thresholds);
  finding.first = primary.event->at;
  finding.last = finding.first;
  finding.ranks = RanksOf(incident, *primary.row);
  finding.says = SaysEvent(run, incident, primary, finding.ranks);
  AddLine(run, *primary.event, false, finding);
  AddConsequences(run, incident, primary, finding);
  // For diagnosis, so that it need not search the text: an error about NaN may be the end of a loss that was lost
  // before.
  const bool non_finite = MentionsNonFinite(primary.text) || MentionsNonFinite(primary.row->title);
  AddMeasure(finding, "mentions_non_finite", non_finite ? 1 : 0);
  if (const auto asked = GibibytesBehind(primary.text, "Tried to allocate")) AddMeasure(finding, "asked_gib", *asked);
  if (const auto held = GibibytesBehind(primary.text, "total capacity of")) AddMeasure(finding, "capacity_gib", *held);
  return finding;
}

// What the signature stands for beside itself: "memory/oom" for a log's "CUDA out of memory".
void AddNamedFinding(const Finding& of_log, const catalogue::SignatureRow& row, const catalogue::Thresholds& thresholds,
                     std::vector<Finding>& findings) {
  const catalogue::FindingRow* named = row.finding.empty() ? nullptr : catalogue::FindFinding(row.finding);
  if (named == nullptr || !thresholds.Enabled(named->id)) return;
  Finding finding = of_log;
  finding.id = std::string(named->id);
  finding.family = named->family;
  finding.severity = std::min(of_log.severity, thresholds.SeverityOf(named->id, named->severity));
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> FindingsFromEvents(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<Finding> findings;
  for (const Incident& incident : JoinSources(GroupBySource(run, thresholds))) {
    const Trouble* primary = PrimaryOf(incident);
    if (primary == nullptr) continue;
    // What was caught again and again does not crowd out the one that ended the run.
    const Severity severity = SeverityOf(run, *primary, thresholds);
    const auto same = std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.id == primary->row->id && finding.severity == severity;
    });
    if (static_cast<std::size_t>(same) >= kMostOfAnId) continue;
    findings.push_back(FindingOf(run, incident, *primary, thresholds));
    AddNamedFinding(Finding(findings.back()), *primary->row, thresholds, findings);
  }
  return findings;
}

}  // namespace vigil::detect
