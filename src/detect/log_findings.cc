#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>

#include "base/base.h"
#include "detect/detect.h"

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

// An event that tells of a failure, with the row that explains it.
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
  std::int64_t step = model::kNoStep;
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
  const Event& told = events[exception];
  for (std::size_t i = exception + 1; i < events.size(); ++i) {
    const Event& later = events[i];
    if (later.place.source != told.place.source || later.place.line > told.place.line + kChainLines) return false;
    if (later.rank != told.rank) continue;
    if (later.kind == EventKind::kException) return false;
    if (later.kind != EventKind::kSignature) continue;
    const catalogue::SignatureRow* row = catalogue::FindSignature(later.name);
    const bool same_line = later.place.line == told.place.line;
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

// Who waited in vain tells that another failed or went astray: a root only where nothing else is told.
bool IsWaiting(std::string_view id) {
  constexpr std::array<std::string_view, 3> kWaiting = {"log/nccl-timeout", "log/collective-timeout",
                                                        "log/monitored-barrier"};
  return std::find(kWaiting.begin(), kWaiting.end(), id) != kWaiting.end();
}

// Whether `later` came behind `earlier`, as far as lines and times tell.
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
  return trouble.role == Role::kTeardown || incident.step == trouble.event->step;
}

// The guard that stopped a run has said why: how the process left says nothing beside it.
bool IsLeavingOfGuard(const model::Run& run, const Event& event) {
  return event.kind == EventKind::kExit && std::any_of(run.events.begin(), run.events.end(),
                                                       [](const Event& other) { return other.name == "guard/stop"; });
}

std::vector<Incident> GroupBySource(const model::Run& run, const catalogue::Settings& settings) {
  std::vector<Incident> incidents;
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    const Trouble trouble = TroubleOf(run.events, i);
    if (trouble.row == nullptr || !settings.Enabled(trouble.row->id)) continue;
    if (IsLeavingOfGuard(run, run.events[i])) continue;
    if (incidents.empty() || !Continues(incidents.back(), trouble)) {
      incidents.push_back({{}, trouble.event->place.source, trouble.event->step});
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
      return other.step == incident.step || (!HasRoot(incident) && HasRoot(other));
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
// first that follows from something not seen; else what the launcher says.
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
    if (const Trouble* told = first([&](const Trouble& trouble) { return trouble.role == role; })) return told;
  }
  return nullptr;
}

// ---- incidents to findings

bool HadFinished(const model::Run& run, const Event& event) {
  if (run.planned_steps > 0 && event.step >= run.planned_steps) return true;
  return std::any_of(run.events.begin(), run.events.end(), [&](const Event& other) {
    // A trainer that says so after each epoch makes steps in between.
    return other.kind == EventKind::kExit && other.name == "finished" && other.place.source == event.place.source &&
           other.place.line < event.place.line && other.step == event.step;
  });
}

// Whether the training was started again behind the failure, in the same log, and went past it.
bool WasOvercome(const model::Run& run, const Event& event) {
  if (!event.run_went_on) return false;
  return std::any_of(run.series.begin(), run.series.end(), [&](const model::Series& series) {
    if (series.source != event.place.source || series.lines.size() != series.size()) return false;
    return std::any_of(series.segment_starts.begin(), series.segment_starts.end(), [&](std::uint32_t start) {
      return start > 0 && series.lines[start] > event.place.line && series.steps[start] <= event.step;
    });
  });
}

// A closed terminal or a keystroke is nobody's fault.
bool IsHangup(const Trouble& trouble) {
  return trouble.row->id == "log/killed-signal" &&
         (trouble.text.ends_with("got signal: 1") || trouble.text.ends_with("got signal: 2") ||
          trouble.text.find("Received 1 death signal") != std::string::npos ||
          trouble.text.find("Received 2 death signal") != std::string::npos);
}

Severity SeverityOf(const model::Run& run, const Trouble& primary, const catalogue::Settings& settings) {
  const Severity base = settings.SeverityOf(primary.row->id, primary.row->severity);
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

// "0-7, 9": ranges, as far as a line allows.
std::string ListOf(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMostParts = 8;
  std::string list;
  std::size_t parts = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (parts++ == kMostParts) return list + ", ...";
    if (!list.empty()) list += ", ";
    list += std::to_string(ranks[i]);
    if (last != i) list += (last == i + 1 ? ", " : "-") + std::to_string(ranks[last]);
    i = last + 1;
  }
  return list;
}

std::string RankWords(const std::vector<std::int32_t>& ranks) {
  if (ranks.empty()) return {};
  if (ranks.size() == 1) return fmt::format(" on rank {}", ranks.front());
  const bool is_range = ranks.back() - ranks.front() == static_cast<std::int32_t>(ranks.size()) - 1;
  if (is_range) return fmt::format(" on ranks {}-{}", ranks.front(), ranks.back());
  return fmt::format(" on {} ranks ({})", ranks.size(), ListOf(ranks));
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

// The last step that the lines of a rank tell, kNoStep when they tell none.
std::int64_t LastStepOf(const model::Run& run, std::int32_t rank) {
  std::int64_t last = model::kNoStep;
  for (const model::Series& series : run.series) {
    const auto label =
        std::find_if(series.labels.begin(), series.labels.end(), [](const auto& one) { return one.first == "rank"; });
    const bool is_its = label == series.labels.end() ? rank == 0 : label->second == std::to_string(rank);
    if (is_its && !series.empty() && series.axis == model::Axis::kStep) last = std::max(last, series.steps.back());
  }
  return last;
}

std::string MissingWords(const model::Run& run, const std::vector<std::int32_t>& missing) {
  if (missing.empty()) return {};
  const std::int64_t last = missing.size() == 1 ? LastStepOf(run, missing.front()) : model::kNoStep;
  return fmt::format("; {} {} did not arrive{}", missing.size() == 1 ? "rank" : "ranks", ListOf(missing),
                     last < 0 ? "" : fmt::format(" (its last line is of step {})", last));
}

// The collective that a watchdog's line names: "8841 ALLREDUCE", empty when it names none.
std::string CollectiveOf(std::string_view text) {
  const auto word = [&](std::string_view lead) {
    const std::size_t at = text.find(lead);
    if (at == std::string_view::npos) return std::string_view();
    const std::string_view rest = text.substr(at + lead.size());
    return rest.substr(0, rest.find_first_of(",) "));
  };
  const std::string_view number = word("SeqNum=");
  return number.empty() ? std::string() : fmt::format("{} {}", number, word("OpType="));
}

// One rank that waits in another collective than all the others went another way through the code.
std::string OddRankWords(const Incident& incident, const catalogue::SignatureRow& row) {
  std::map<std::string, std::vector<std::int32_t>> ranks;
  for (const Trouble& trouble : incident.troubles) {
    if (trouble.row != &row || trouble.event->rank < 0) continue;
    std::vector<std::int32_t>& same = ranks[CollectiveOf(trouble.text)];
    if (std::find(same.begin(), same.end(), trouble.event->rank) == same.end()) same.push_back(trouble.event->rank);
  }
  ranks.erase("");
  if (ranks.size() != 2) return {};
  const auto& [one, few] = *ranks.begin();
  const auto& [other, many] = *std::next(ranks.begin());
  if (few.size() == many.size()) return {};
  const bool first_is_odd = few.size() == 1;
  if (!first_is_odd && many.size() != 1) return {};
  return fmt::format("; rank {} was in collective {}, the others in {}", first_is_odd ? few.front() : many.front(),
                     first_is_odd ? one : other, first_is_odd ? other : one);
}

// Whether the sign stands in the text by itself, and not within a longer number or word.
bool StandsAlone(std::string_view text, std::string_view sign) {
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  for (std::size_t at = text.find(sign); at != std::string_view::npos; at = text.find(sign, at + 1)) {
    const std::size_t end = at + sign.size();
    if ((at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

// Nothing but the kernel's log tells who sent it.
bool IsSigkill(const Trouble& trouble) {
  if (trouble.row->id != "log/killed-signal") return false;
  constexpr std::array<std::string_view, 6> kSigns = {"-9",     "137",           "SIGKILL",
                                                      "Killed", "got signal: 9", "9 death signal"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return StandsAlone(trouble.text, sign); });
}

std::string MessageOf(const model::Run& run, const Incident& incident, const Trouble& primary,
                      const std::vector<std::int32_t>& ranks) {
  const Event& event = *primary.event;
  std::string message(IsSigkill(primary) ? "killed by SIGKILL: the OOM killer, the scheduler or a person (dmesg tells)"
                                         : primary.row->title);
  message += RankWords(ranks);
  if (event.step >= 0) message += fmt::format(" at step {}", event.step);
  message += MissingWords(run, MissingRanks(run, primary.row->id, ranks));
  if (IsWaiting(primary.row->id)) message += OddRankWords(incident, *primary.row);
  if (WasOvercome(run, event)) {
    message += "; a later start got past it";
  } else if (event.run_went_on) {
    message += "; the run went on";
  } else if (HadFinished(run, event)) {
    message += ", after the training was complete";
  }
  return message + ": " + primary.text;
}

model::Evidence EvidenceOf(const model::Run& run, const Trouble& trouble, std::string_view lead) {
  model::Evidence evidence;
  evidence.text = fmt::format("{}{}", lead, trouble.text);
  if (!trouble.event->detail.empty()) evidence.text += fmt::format(" ({})", trouble.event->detail);
  evidence.step = trouble.event->step;
  const model::Place& place = trouble.event->place;
  if (place.source < run.sources.size()) evidence.path = run.sources[place.source].path;
  evidence.line = place.line;
  return evidence;
}

// The other things that happened, each kind once.
void AddConsequences(const model::Run& run, const Incident& incident, const Trouble& primary, Finding& finding) {
  std::vector<const catalogue::SignatureRow*> told = {primary.row};
  for (const Trouble& trouble : incident.troubles) {
    if (std::find(told.begin(), told.end(), trouble.row) != told.end()) continue;
    if (told.size() > kMostConsequences) return;
    told.push_back(trouble.row);
    finding.evidence.push_back(EvidenceOf(run, trouble, "then: "));
  }
}

// "Tried to allocate 96.00 MiB" -> GiB.
void AddGibibytes(std::string_view text, std::string_view words, std::string_view name, Finding& finding) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return;
  const std::string_view rest = Trim(text.substr(at + words.size()));
  std::size_t used = 0;
  const auto value = ParseNumberPrefix(rest, used);
  const std::string_view unit = Trim(rest.substr(std::min(used, rest.size())));
  if (!value) return;
  if (unit.starts_with("GiB")) finding.measures.push_back({std::string(name), *value});
  if (unit.starts_with("MiB")) finding.measures.push_back({std::string(name), *value / 1024});
}

Finding FindingOf(const model::Run& run, const Incident& incident, const Trouble& primary,
                  const catalogue::Settings& settings) {
  Finding finding;
  finding.id = std::string(primary.row->id);
  finding.family = primary.row->family;
  finding.severity = SeverityOf(run, primary, settings);
  finding.first_step = primary.event->step;
  finding.last_step = primary.event->step;
  finding.ranks = RanksOf(incident, *primary.row);
  finding.message = MessageOf(run, incident, primary, finding.ranks);
  finding.evidence.push_back(EvidenceOf(run, primary, ""));
  AddConsequences(run, incident, primary, finding);
  AddGibibytes(primary.text, "Tried to allocate", "asked_gib", finding);
  AddGibibytes(primary.text, "total capacity of", "capacity_gib", finding);
  return finding;
}

// What the signature stands for beside itself: "memory/oom" for a log's "CUDA out of memory".
void AddNamedFinding(const Finding& of_log, const catalogue::SignatureRow& row, const catalogue::Settings& settings,
                     std::vector<Finding>& findings) {
  const catalogue::FindingRow* named = row.finding.empty() ? nullptr : catalogue::FindFinding(row.finding);
  if (named == nullptr || !settings.Enabled(named->id)) return;
  Finding finding = of_log;
  finding.id = std::string(named->id);
  finding.family = named->family;
  finding.severity = std::min(of_log.severity, settings.SeverityOf(named->id, named->severity));
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> FindingsFromEvents(const model::Run& run, const catalogue::Settings& settings) {
  std::vector<Finding> findings;
  for (const Incident& incident : JoinSources(GroupBySource(run, settings))) {
    const Trouble* primary = PrimaryOf(incident);
    if (primary == nullptr) continue;
    // What was caught again and again does not crowd out the one that ended the run.
    const Severity severity = SeverityOf(run, *primary, settings);
    const auto same = std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.id == primary->row->id && finding.severity == severity;
    });
    if (static_cast<std::size_t>(same) >= kMostOfAnId) continue;
    findings.push_back(FindingOf(run, incident, *primary, settings));
    AddNamedFinding(Finding(findings.back()), *primary->row, settings, findings);
  }
  return findings;
}

}  // namespace vigil::detect
