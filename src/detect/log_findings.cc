#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/base.h"
#include "catalogue/says.h"
#include "detect/detectors.h"
#include "detect/log_incidents.h"
#include "detect/log_text.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

using model::Event;
using model::EventKind;
using model::Finding;
using model::Severity;

constexpr std::size_t kMostConsequences = 6;
constexpr std::size_t kMostOfAnId = 8;

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

// What takes nothing from a run that went on: an exception that was caught, an optional package that is missing.
bool IsHarmlessWhenSurvived(const catalogue::SignatureRow& row) {
  return row.id == kFallbackSignature || row.family == model::Family::kSetup;
}

// What only concerns the leaving, or what is sent away: it takes nothing from a training that is complete.
bool IsOfLeaving(const Trouble& trouble) {
  constexpr std::array<std::string_view, 10> kRows = {
      "log/killed-signal", "log/slurm-cancelled", "log/broken-pipe",    "log/store-lost",   "log/hub-gated",
      "log/abort",         "log/hub-access",      "log/hub-rate-limit", "log/wandb-failed", "log/xet-cas"};
  if (std::find(kRows.begin(), kRows.end(), trouble.row->id) != kRows.end()) return true;
  constexpr std::array<std::string_view, 6> kSending = {"upload",       "push_to_hub",    "HTTPError",
                                                        "Unauthorized", "HfHubHTTPError", "ConnectionError"};
  return std::any_of(kSending.begin(), kSending.end(), [&](std::string_view word) {
    return trouble.text.find(word) != std::string::npos || trouble.event->detail.find(word) != std::string::npos;
  });
}

Severity SeverityOf(const model::Run& run, const Trouble& primary, const catalogue::Thresholds& thresholds) {
  const Severity base = thresholds.SeverityOf(primary.row->id, primary.row->severity);
  if (WasOvercome(run, *primary.event)) return std::min(base, Severity::kInfo);
  if (primary.event->run_went_on)
    return std::min(base, IsHarmlessWhenSurvived(*primary.row) ? Severity::kInfo : Severity::kWarning);
  // Who presses Ctrl-C knows it.
  if (primary.row->id == "log/interrupted") return std::min(base, Severity::kInfo);
  if (IsHangup(primary)) return std::min(base, Severity::kWarning);
  if (!HadFinished(run, *primary.event)) return base;
  // Behind the last step the result may still be lost, unless it is only the sending that fails.
  return std::min(base, IsOfLeaving(primary) ? Severity::kWarning : Severity::kError);
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
  finding.signature = finding.id;
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

// Whether an index error is about a label and not about a token.
bool NamesATarget(std::string_view text) {
  return text.find("Target ") != std::string_view::npos || text.find("n_classes") != std::string_view::npos;
}

// The finding that a message stands for: "memory/oom" for a log's "CUDA out of memory". Empty where it stands for
// itself.
std::string_view StandsFor(const Incident& incident, const Trouble& primary) {
  const bool ended_by_signal = primary.row->id == "log/killed-signal" || primary.row->id == "log/segfault";
  if (ended_by_signal && HasLostPeer(incident)) return "hang/dead-rank";
  // A class of a classification is no token.
  if (primary.row->id == "log/index-out-of-range" && NamesATarget(primary.text)) return {};
  return primary.row->finding;
}

// Numbers that went bad are a finding of their own, which the series may show too; all else is one finding under the
// name that the catalogue has for it.
void AddUnderItsName(Finding of_log, std::string_view name, const catalogue::Thresholds& thresholds,
                     std::vector<Finding>& findings) {
  const catalogue::FindingRow* named = name.empty() ? nullptr : catalogue::FindFinding(name);
  if (named == nullptr || !thresholds.Enabled(named->id)) return findings.push_back(std::move(of_log));
  Finding finding = of_log;
  finding.id = std::string(named->id);
  finding.family = named->family;
  finding.severity = std::min(of_log.severity, thresholds.SeverityOf(named->id, named->severity));
  const bool of_numbers = name.starts_with("loss/") || name.starts_with("grad/") || name.starts_with("numerics/");
  if (of_numbers) {
    finding.signature.clear();
    findings.push_back(std::move(of_log));
  }
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> FindingsFromEvents(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<Finding> findings;
  for (const Incident& incident : IncidentsOf(run, thresholds)) {
    const Trouble* primary = PrimaryOf(incident);
    if (primary == nullptr) continue;
    // What was caught again and again does not crowd out the one that ended the run.
    const Severity severity = SeverityOf(run, *primary, thresholds);
    const auto same = std::count_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.signature == primary->row->id && finding.severity == severity;
    });
    if (static_cast<std::size_t>(same) >= kMostOfAnId) continue;
    AddUnderItsName(FindingOf(run, incident, *primary, thresholds), StandsFor(incident, *primary), thresholds,
                    findings);
  }
  return findings;
}

}  // namespace vigil::detect
