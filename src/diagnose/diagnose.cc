#include "diagnose/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "base/base.h"
#include "diagnose/incident.h"
#include "diagnose/remedy.h"
#include "diagnose/score.h"

namespace vigil::diagnose {
namespace {

// Below this share a cause is a guess and is not named.
constexpr double kNamed = 0.4;
constexpr double kNamedInPair = 0.3;
constexpr double kPair = 0.55;
constexpr double kWorthNaming = 0.2;
// Evidence worth at least one clear hint must speak for a cause before it is named.
constexpr double kLeastSupport = 1.0;
// A rival with at least this share of the leader's confidence is not excluded.
constexpr double kRivalShare = 0.4;
// Hints weaker than this are not worth a line.
constexpr double kWorthTelling = 0.25;
// What is no trouble by itself is blamed only where the evidence that it did harm is clear.
constexpr double kHarmIsShown = 0.6;
constexpr std::size_t kMostMissing = 4;
constexpr double kWorthLogging = 0.8;

// A cause is named when it is more than a guess, or when it and its rival together are: then both are named.
bool IsNamed(const std::vector<Candidate>& candidates) {
  if (candidates.empty() || candidates[0].support < kLeastSupport) return false;
  const double first = candidates[0].confidence;
  const double second = candidates.size() > 1 ? candidates[1].confidence : 0;
  return first >= kNamed || (first >= kNamedInPair && first + second >= kPair);
}

const Candidate* RivalOf(const std::vector<Candidate>& candidates) {
  if (candidates.size() < 2) return nullptr;
  const Candidate& second = candidates[1];
  return second.confidence >= kRivalShare * candidates[0].confidence && second.confidence >= 0.1 ? &second : nullptr;
}

// A title in the middle of a sentence.
std::string InSentence(std::string_view title) {
  std::string text(title);
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z')
    text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

// The strongest line for the cause, empty when there is none.
std::string_view BestSupport(const Candidate& candidate) {
  for (const Weighed& weighed : candidate.answered) {
    if (weighed.weight >= kWorthTelling) return weighed.answer.evidence.text;
  }
  return {};
}

void TellEvidence(model::Diagnosis& diagnosis, const Candidate& candidate) {
  for (const Weighed& weighed : candidate.answered) {
    if (weighed.weight >= kWorthTelling) diagnosis.supporting.push_back(weighed.answer.evidence);
    if (weighed.weight <= -kWorthTelling) diagnosis.opposing.push_back(weighed.answer.evidence);
  }
}

void TellMissing(model::Diagnosis& diagnosis, const Candidate& candidate) {
  std::vector<std::size_t> order(candidate.unanswered.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  // A question is worth asking for what it can say for a cause; that something unlikely is not so is no news.
  const auto size = [&](std::size_t i) {
    const catalogue::EvidenceWeight& weight = candidate.unanswered_weights[i];
    return std::max(weight.if_true, 0.0) + 0.5 * std::abs(weight.if_false);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  for (const std::size_t i : order) {
    if (size(i) < kWorthLogging || diagnosis.missing.size() >= kMostMissing) return;
    std::string needs(candidate.unanswered[i]->needs);
    if (needs.empty() ||
        std::find(diagnosis.missing.begin(), diagnosis.missing.end(), needs) != diagnosis.missing.end())
      continue;
    diagnosis.missing.push_back(std::move(needs));
  }
}

std::string TellApart(const Candidate& first, const Candidate& second) {
  const catalogue::EvidenceRow* separator = Separator(first, second);
  if (separator != nullptr && !separator->needs.empty()) return fmt::format("{} would tell", separator->needs);
  return second.cause->next.empty() ? std::string("more of the same logs would not tell")
                                    : fmt::format("to tell: {}", InSentence(second.cause->next));
}

void Name(model::Diagnosis& diagnosis, const std::vector<Candidate>& candidates, const model::Run& run,
          const Incident& incident) {
  const Candidate& best = candidates[0];
  const Candidate* rival = RivalOf(candidates);
  diagnosis.cause = best.cause->id;
  diagnosis.confidence = best.confidence;
  const std::string_view why = BestSupport(best);
  diagnosis.summary = why.empty() ? std::string(best.cause->title) : fmt::format("{}: {}", best.cause->title, why);
  diagnosis.next = best.cause->next;
  TellEvidence(diagnosis, best);
  TellMissing(diagnosis, best);
  for (model::Remedy& remedy : RemediesFor(*best.cause, run, incident)) diagnosis.remedies.push_back(std::move(remedy));
  if (rival == nullptr) return;
  diagnosis.rival = rival->cause->id;
  diagnosis.rival_confidence = rival->confidence;
  diagnosis.summary += fmt::format(". Cannot be told apart for sure from \"{}\" ({}); {}",
                                   InSentence(rival->cause->title), rival->cause->id, TellApart(best, *rival));
  TellMissing(diagnosis, *rival);
  // What helps against the rival too is worth a try before anything invasive.
  for (model::Remedy& remedy : RemediesFor(*rival->cause, run, incident)) {
    const bool known = std::any_of(diagnosis.remedies.begin(), diagnosis.remedies.end(),
                                   [&](const model::Remedy& r) { return r.id == remedy.id; });
    if (known) continue;
    diagnosis.remedies.push_back(std::move(remedy));
    break;
  }
}

// Two candidates that are worth a name although neither is named.
void LeaveBetween(model::Diagnosis& diagnosis, const Candidate& first, const Candidate& second) {
  diagnosis.summary =
      fmt::format("The evidence does not name a cause: cannot tell \"{}\" ({}) and \"{}\" ({}) apart; {}",
                  InSentence(first.cause->title), first.cause->id, InSentence(second.cause->title), second.cause->id,
                  TellApart(first, second));
  const catalogue::EvidenceRow* separator = Separator(first, second);
  diagnosis.next = separator != nullptr
                       ? fmt::format("To tell {} from {}: {}.", first.cause->id, second.cause->id, separator->needs)
                       : std::string(first.cause->next);
  TellMissing(diagnosis, first);
  TellMissing(diagnosis, second);
}

void LeaveOpen(model::Diagnosis& diagnosis, const std::vector<Candidate>& candidates, const Incident& incident) {
  diagnosis.cause = kUnknownCause;
  diagnosis.confidence = 0;
  const std::string& what = incident.root().message;
  // Candidates that nothing speaks for are only a list of all there is: naming them would be noise.
  const bool worth_naming = !candidates.empty() && candidates[0].confidence >= kWorthNaming;
  if (worth_naming && candidates.size() > 1) return LeaveBetween(diagnosis, candidates[0], candidates[1]);
  if (worth_naming) {
    diagnosis.summary = fmt::format("The evidence does not decide whether {} ({})",
                                    InSentence(candidates[0].cause->title), candidates[0].cause->id);
    diagnosis.next = candidates[0].cause->next;
  } else {
    // An error message speaks for itself.
    const bool message = incident.root().id.starts_with("log/") && !what.empty();
    diagnosis.summary =
        message ? what
                : fmt::format("{}: the evidence does not name a cause", what.empty() ? incident.root().id : what);
  }
  if (!candidates.empty()) TellMissing(diagnosis, candidates[0]);
  if (diagnosis.next.empty() && !diagnosis.missing.empty())
    diagnosis.next = fmt::format("To learn more: {}.", diagnosis.missing.front());
}

model::Family FamilyOf(const Incident& incident, const std::vector<Candidate>& candidates) {
  const model::Family family = incident.root().family;
  return family == model::Family::kSetup && IsNamed(candidates) ? candidates[0].cause->family : family;
}

// A known message carries its own advice; it stands in where the cause has none.
void AdviseByMessage(model::Diagnosis& diagnosis, const model::Run& run, const Incident& incident) {
  if (!diagnosis.remedies.empty()) return;
  for (const model::Finding* finding : incident.findings) {
    const catalogue::SignatureRow* row = catalogue::FindSignature(finding->id);
    if (row == nullptr || row->fix.empty()) continue;
    diagnosis.remedies.push_back({std::string(row->id), std::string(row->fix), run.framework, {}, {}, {}, {}});
    return;
  }
}

model::Diagnosis DiagnoseIncident(const model::Run& run, const Incident& incident) {
  const std::vector<Candidate> candidates = ScoreCauses(run, incident);
  model::Diagnosis diagnosis;
  diagnosis.family = FamilyOf(incident, candidates);
  diagnosis.first_step = incident.onset;
  diagnosis.last_step = incident.last;
  diagnosis.findings = incident.indices;
  diagnosis.restart = RestartPoint(run, incident);
  // A message that is the failure itself knows best what to do about it.
  if (incident.root().id.starts_with("log/") || catalogue::FindSignature(incident.findings.back()->id) != nullptr)
    diagnosis.remedies = FixesOfMessages(incident);
  if (IsNamed(candidates)) {
    Name(diagnosis, candidates, run, incident);
  } else {
    LeaveOpen(diagnosis, candidates, incident);
  }
  AdviseByMessage(diagnosis, run, incident);
  return diagnosis;
}

// The run as the incident saw it: of each signal the series with the labels of its root (a rank, an evaluation set),
// where there is one.
model::Run WithSeriesOf(const model::Run& run, const model::Labels& labels) {
  model::Run seen;
  seen.name = run.name;
  seen.sources = run.sources;
  seen.framework = run.framework;
  seen.regime = run.regime;
  seen.ranks = run.ranks;
  seen.planned_steps = run.planned_steps;
  seen.events = run.events;
  seen.facts = run.facts;
  seen.artifacts = run.artifacts;
  seen.batches = run.batches;
  const auto is_labelled = [&](const model::Series& series) { return series.labels == labels && !series.empty(); };
  std::set<std::string_view> signals;
  for (const model::Series& series : run.series) {
    if (is_labelled(series)) signals.insert(series.signal);
  }
  for (const model::Series& series : run.series) {
    if (is_labelled(series) || !signals.contains(series.signal)) seen.series.push_back(series);
  }
  return seen;
}

bool IsOneOfSeveral(const model::Run& run, const model::Finding& root) {
  return !root.labels.empty() && std::count_if(run.series.begin(), run.series.end(), [&](const model::Series& series) {
                                   return series.signal == root.signal;
                                 }) > 1;
}

// A circumstance alone is told as a finding; it becomes a diagnosis only when the evidence shows that it did harm.
bool IsWorthDiagnosing(const Incident& incident) {
  return incident.worst() >= model::Severity::kWarning && !incident.findings.empty();
}

// What has no cause and needs none: a circumstance that did no harm, a run that was stopped by hand.
bool IsWorthLeavingOpen(const Incident& incident) {
  const model::Finding& root = incident.root();
  const bool harmless_message = root.id.starts_with("log/") && root.severity <= model::Severity::kWarning;
  return !IsCompanion(root.id) && !harmless_message;
}

}  // namespace

std::vector<model::Diagnosis> Diagnose(const model::Run& run, const std::vector<model::Finding>& findings,
                                       const catalogue::Settings&) {
  struct Ranked {
    model::Severity severity;
    model::Diagnosis diagnosis;
  };
  std::vector<Ranked> ranked;
  for (const Incident& incident : GroupIncidents(run, findings)) {
    if (!IsWorthDiagnosing(incident)) continue;
    const model::Finding& root = incident.root();
    model::Diagnosis diagnosis = IsOneOfSeveral(run, root) ? DiagnoseIncident(WithSeriesOf(run, root.labels), incident)
                                                           : DiagnoseIncident(run, incident);
    if (diagnosis.cause == kUnknownCause && !IsWorthLeavingOpen(incident)) continue;
    if (IsCompanion(incident.root().id) && diagnosis.confidence < kHarmIsShown) continue;
    ranked.push_back({incident.worst(), std::move(diagnosis)});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::make_tuple(b.severity, b.diagnosis.confidence, a.diagnosis.first_step) <
           std::make_tuple(a.severity, a.diagnosis.confidence, b.diagnosis.first_step);
  });
  std::vector<model::Diagnosis> diagnoses;
  diagnoses.reserve(ranked.size());
  for (Ranked& one : ranked) diagnoses.push_back(std::move(one.diagnosis));
  return diagnoses;
}

}  // namespace vigil::diagnose
