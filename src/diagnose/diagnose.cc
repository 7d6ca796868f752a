#include "diagnose/diagnose.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <tuple>

#include "catalogue/says.h"
#include "diagnose/cost.h"
#include "diagnose/incident.h"
#include "diagnose/launch.h"
#include "diagnose/places.h"
#include "diagnose/remedy.h"
#include "diagnose/score.h"

namespace vigil::diagnose {
namespace {

// Below this share a cause is a guess and is not named alone.
constexpr double kNamed = 0.4;
// With its rivals it is, where it is one in a few and they hold most of what is likely.
constexpr double kNamedWithRivals = 0.3;
constexpr double kMostOfAll = 0.6;
constexpr double kWorthNaming = 0.12;
// Evidence worth at least one clear hint must speak for a cause before it is named.
constexpr double kLeastSupport = 1.0;
// A rival with at least this share of the leader's confidence is not excluded.
constexpr double kRivalShare = 0.15;
constexpr double kLeastRival = 0.07;
constexpr std::size_t kMostRivals = 3;
// Hints weaker than this are not worth a line.
constexpr double kWorthALine = 0.25;
// What is no trouble by itself is blamed only where the evidence that it did harm is clear.
constexpr double kHarmIsShown = 0.6;
constexpr std::size_t kMostMissing = 4;
constexpr double kWorthLogging = 0.8;

// The candidates beside the first that the evidence does not exclude.
std::span<const Candidate> RivalsOf(const std::vector<Candidate>& candidates) {
  std::size_t end = std::min<std::size_t>(1, candidates.size());
  const auto is_rival = [&](const Candidate& candidate) {
    return candidate.confidence >= kRivalShare * candidates[0].confidence && candidate.confidence >= kLeastRival;
  };
  while (end < candidates.size() && end <= kMostRivals && is_rival(candidates[end])) ++end;
  return std::span(candidates).subspan(std::min<std::size_t>(1, end), end == 0 ? 0 : end - 1);
}

// The strongest statement for the cause, empty when there is none.
model::Statement BestSupport(const Candidate& candidate) {
  for (const Weighed& weighed : candidate.answered) {
    if (weighed.weight >= kWorthALine && !weighed.answer.evidence.says.empty()) return weighed.answer.evidence.says;
  }
  return {};
}

// A cause is named when it is more than a guess, or when it and its rivals together are: then all of them are named.
// Below certainty a reason that can be stated must speak for it; that others are less likely is none.
bool IsNamed(const std::vector<Candidate>& candidates) {
  if (candidates.empty() || candidates[0].support < kLeastSupport) return false;
  if (candidates[0].confidence >= kNamed) return true;
  if (BestSupport(candidates[0]).empty()) return false;
  double together = candidates[0].confidence;
  for (const Candidate& rival : RivalsOf(candidates)) together += rival.confidence;
  return candidates[0].confidence >= kNamedWithRivals && together >= kMostOfAll;
}

model::Statement TitleOf(const Candidate& candidate) {
  return catalogue::TextOf("cause", candidate.cause->id, "title");
}

// A cause without advice on what to do next says nothing.
model::Statement NextOf(const Candidate& candidate) {
  return candidate.cause->next.empty() ? model::Statement() : catalogue::TextOf("cause", candidate.cause->id, "next");
}

void AddEvidence(model::Diagnosis& diagnosis, const Candidate& candidate) {
  for (const Weighed& weighed : candidate.answered) {
    if (weighed.weight >= kWorthALine) diagnosis.supporting.push_back(weighed.answer.evidence);
    if (weighed.weight <= -kWorthALine) diagnosis.opposing.push_back(weighed.answer.evidence);
  }
}

// Several questions may need the same metric: it is asked for once, by what the row says, not by its id.
bool IsAskedFor(const model::Diagnosis& diagnosis, std::string_view needs) {
  return std::any_of(diagnosis.missing.begin(), diagnosis.missing.end(),
                     [&](const model::Statement& missing) { return catalogue::FindTemplate(missing.id) == needs; });
}

void AddMissing(model::Diagnosis& diagnosis, const Candidate& candidate) {
  std::vector<const OpenQuestion*> order;
  order.reserve(candidate.unanswered.size());
  for (const OpenQuestion& question : candidate.unanswered) order.push_back(&question);
  // A question is worth asking for what it can say for a cause; that something unlikely is not so is no news.
  const auto size = [](const OpenQuestion* question) {
    return std::max(question->if_true, 0.0) + 0.5 * std::abs(question->if_false);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const OpenQuestion* a, const OpenQuestion* b) { return size(a) > size(b); });
  for (const OpenQuestion* question : order) {
    if (size(question) < kWorthLogging || diagnosis.missing.size() >= kMostMissing) return;
    if (!question->needs.empty() && !IsAskedFor(diagnosis, question->needs))
      diagnosis.missing.push_back(question->asks);
  }
}

// What would tell two causes apart: the sentence written for the pair, else what the open question that moves them
// apart most needs, else what to do about the second.
model::Statement TellApart(const Candidate& first, const Candidate& second) {
  if (const catalogue::PairRow* pair = catalogue::FindPair(first.cause->id, second.cause->id))
    return catalogue::TextOf("pair", pair->id, "tell_apart");
  const OpenQuestion* separator = Separator(first, second);
  if (separator != nullptr && !separator->needs.empty()) return says::ApartNeeds{.needs = separator->asks};
  if (!second.cause->next.empty()) return NextOf(second);
  return says::ApartNothing{};
}

void AddRival(model::Diagnosis& diagnosis, const Candidate& rival, const Candidate& other) {
  diagnosis.rivals.push_back({std::string(rival.cause->id), rival.confidence, TellApart(other, rival)});
}

model::Statement Summary(const Candidate& best) {
  const model::Statement why = BestSupport(best);
  return why.empty() ? TitleOf(best) : model::Statement(says::SummaryBecause{.cause = TitleOf(best), .why = why});
}

// What helps against the rival too is worth a try before anything invasive.
void AddRemedyOf(model::Diagnosis& diagnosis, const Candidate& rival, const RunView& run, const Incident& incident) {
  for (model::Remedy& remedy : RemediesFor(*rival.cause, run, incident)) {
    const bool known = std::any_of(diagnosis.remedies.begin(), diagnosis.remedies.end(),
                                   [&](const model::Remedy& r) { return r.id == remedy.id; });
    if (known) continue;
    diagnosis.remedies.push_back(std::move(remedy));
    return;
  }
}

bool HasValue(const model::Remedy& remedy) { return !remedy.setting.empty() && !remedy.proposed.empty(); }

// The advice of a message goes first, but for a value that was computed from this run.
void AddRemedies(model::Diagnosis& diagnosis, std::vector<model::Remedy> remedies) {
  const bool computed = !remedies.empty() && HasValue(remedies.front());
  diagnosis.remedies.insert(computed ? diagnosis.remedies.begin() : diagnosis.remedies.end(),
                            std::make_move_iterator(remedies.begin()), std::make_move_iterator(remedies.end()));
}

void Name(model::Diagnosis& diagnosis, const std::vector<Candidate>& candidates, const RunView& run,
          const Incident& incident) {
  const Candidate& best = candidates[0];
  diagnosis.cause = best.cause->id;
  diagnosis.confidence = best.confidence;
  diagnosis.summary = Summary(best);
  diagnosis.next = NextOf(best);
  AddEvidence(diagnosis, best);
  AddMissing(diagnosis, best);
  AddRemedies(diagnosis, RemediesFor(*best.cause, run, incident));
  const std::span<const Candidate> rivals = RivalsOf(candidates);
  for (const Candidate& rival : rivals) AddRival(diagnosis, rival, best);
  if (rivals.empty()) return;
  const Candidate& rival = rivals.front();
  diagnosis.summary = says::SummaryOrRival{.cause = diagnosis.summary,
                                           .rival = TitleOf(rival),
                                           .rival_id = rival.cause->id,
                                           .tell_apart = diagnosis.rivals.front().tell_apart};
  AddMissing(diagnosis, rival);
  AddRemedyOf(diagnosis, rival, run, incident);
}

// What is set far from all use goes first: it stands in the files, while the causes that are left are guesses. Then the
// first remedy of each of them, the likeliest first: trying them is one way to decide.
void OfferOf(model::Diagnosis& diagnosis, std::span<const Candidate> candidates, const RunView& run,
             const Incident& incident) {
  std::vector<model::Remedy> far = SetBack(run, incident);
  std::move(far.begin(), far.end(), std::back_inserter(diagnosis.remedies));
  for (const Candidate& candidate : candidates) {
    const std::size_t before = diagnosis.remedies.size();
    AddRemedyOf(diagnosis, candidate, run, incident);
    if (diagnosis.remedies.size() == before) continue;
    model::Remedy& added = diagnosis.remedies.back();
    added.reason = says::ReasonIfCause{.cause = candidate.cause->id, .reason = added.reason};
  }
}

// Two candidates that are worth a name although neither is named.
void LeaveBetween(model::Diagnosis& diagnosis, const std::vector<Candidate>& candidates) {
  const Candidate& first = candidates[0];
  const Candidate& second = candidates[1];
  // Of what is undecided the first is a rival as well.
  AddRival(diagnosis, first, second);
  AddRival(diagnosis, second, first);
  const std::span<const Candidate> rivals = RivalsOf(candidates);
  if (rivals.size() > 1) AddRival(diagnosis, rivals[1], first);
  diagnosis.summary = says::SummaryBetween{.first = TitleOf(first),
                                           .first_id = first.cause->id,
                                           .second = TitleOf(second),
                                           .second_id = second.cause->id,
                                           .tell_apart = TellApart(first, second)};
  const OpenQuestion* separator = Separator(first, second);
  diagnosis.next = separator == nullptr
                       ? NextOf(first)
                       : model::Statement(says::NextSeparate{
                             .first = first.cause->id, .second = second.cause->id, .needs = separator->asks});
  AddMissing(diagnosis, first);
  AddMissing(diagnosis, second);
}

// What the finding says, else the title of its row.
model::Statement WhatIsFound(const model::Finding& finding) {
  if (!finding.says.empty()) return finding.says;
  const std::string_view kind = catalogue::FindSignature(finding.id) != nullptr ? "signature" : "finding";
  return catalogue::TextOf(kind, finding.id, "title");
}

void LeaveOpen(model::Diagnosis& diagnosis, const std::vector<Candidate>& candidates, const RunView& run,
               const Incident& incident) {
  diagnosis.cause = kUnknownCause;
  diagnosis.confidence = 0;
  // Candidates that nothing speaks for are only a list of all there is: naming them would be noise.
  const bool worth_naming = !candidates.empty() && candidates[0].confidence >= kWorthNaming;
  if (worth_naming) OfferOf(diagnosis, std::span(candidates).first(1 + RivalsOf(candidates).size()), run, incident);
  if (worth_naming && candidates.size() > 1) return LeaveBetween(diagnosis, candidates);
  if (worth_naming) {
    diagnosis.rivals.push_back({std::string(candidates[0].cause->id), candidates[0].confidence, NextOf(candidates[0])});
    diagnosis.summary = says::SummaryWhether{.cause = TitleOf(candidates[0]), .id = candidates[0].cause->id};
    diagnosis.next = NextOf(candidates[0]);
  } else if (IsMessage(incident.root())) {
    diagnosis.summary = WhatIsFound(incident.root());  // an error message speaks for itself
  } else {
    diagnosis.summary = says::SummaryNoCause{.found = WhatIsFound(incident.root())};
  }
  if (!candidates.empty()) AddMissing(diagnosis, candidates[0]);
  if (diagnosis.next.empty() && !diagnosis.missing.empty())
    diagnosis.next = says::NextLearnMore{.needs = diagnosis.missing.front()};
}

// A broken setting belongs to what it broke.
model::Family FamilyOf(const Incident& incident, const std::vector<Candidate>& candidates) {
  const model::Family family = incident.root().family;
  return family == model::Family::kSetup && IsNamed(candidates) ? candidates[0].cause->family : family;
}

// A known message carries its own advice; it stands in where the cause has none.
void AdviseByMessage(model::Diagnosis& diagnosis, const RunView& run, const Incident& incident) {
  if (!diagnosis.remedies.empty()) return;
  for (const model::Finding* finding : incident.findings) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
    if (row == nullptr || row->fix.empty() || IsEndOnly(*finding, incident)) continue;
    diagnosis.remedies.push_back({std::string(row->id), run->framework, {}, {}, {}, {}});
    return;
  }
}

// Where to go on from, what to leave out, how to start it, and what to run next.
void AdviseOnRestart(model::Diagnosis& diagnosis, const RunView& run, const Incident& incident) {
  RestartAdvice restart = RestartPoint(run, incident);
  diagnosis.restart = std::move(restart.says);
  diagnosis.skip = DataToSkip(run, incident, diagnosis.cause);
  // Where the cause is left open no change is certain enough to start over with.
  const bool is_named = diagnosis.cause != kUnknownCause;
  const model::Remedy* change = is_named ? FirstChange(diagnosis.remedies) : nullptr;
  if (restart.is_needed) diagnosis.restart_command = CommandFor(run, {change, restart.checkpoint});
  diagnosis.next_command = NextCommandFor(run, incident, diagnosis, restart.checkpoint);
}

// The incident has one axis: that of its onset.
void Place(model::Diagnosis& diagnosis, const RunView& run, const Incident& incident) {
  if (!incident.onset.known() && !incident.last.known()) return;
  diagnosis.first = incident.onset;
  diagnosis.last = incident.onset.known() ? run.axes().To(incident.onset.axis(), incident.last) : incident.last;
}

model::Diagnosis DiagnoseIncident(const RunView& run, const FittedModel& model, const Incident& incident) {
  const RunDigest digest(run);
  const std::vector<Candidate> candidates = ScoreCauses({run, digest, MeasureRun(digest), model}, incident);
  model::Diagnosis diagnosis;
  diagnosis.family = FamilyOf(incident, candidates);
  Place(diagnosis, run, incident);
  diagnosis.findings = incident.indices;
  diagnosis.cost = CostOf(run, incident);
  // A message that is the failure itself knows best what to do about it, where it does not mean another cause.
  if (IsMessage(incident.root()) || catalogue::SignatureOf(*incident.findings.back()) != nullptr)
    diagnosis.remedies = FixesOfMessages(incident, IsNamed(candidates) ? candidates[0].cause->id : std::string_view());
  if (IsNamed(candidates)) {
    Name(diagnosis, candidates, run, incident);
  } else {
    AdviseByMessage(diagnosis, run, incident);
    LeaveOpen(diagnosis, candidates, run, incident);
  }
  AdviseByMessage(diagnosis, run, incident);
  AdviseOnRestart(diagnosis, run, incident);
  return diagnosis;
}

// Labels of the only series of a metric say nothing: its run is the whole run.
bool IsOneOfSeveral(const model::Run& run, const model::Finding& root) {
  return !root.labels.empty() && std::count_if(run.series.begin(), run.series.end(), [&](const model::Series& series) {
                                   return series.signal == root.signal;
                                 }) > 1;
}

// A circumstance alone is reported as a finding; it becomes a diagnosis only when the evidence shows that it did harm.
bool IsWorthDiagnosing(const Incident& incident) {
  return incident.worst() >= model::Severity::kWarning && !incident.findings.empty();
}

// What has no cause and needs none: a circumstance that did no harm, a run that was stopped by hand.
bool IsWorthLeavingOpen(const Incident& incident) {
  const model::Finding& root = incident.root();
  const bool harmless_message = IsMessage(root) && root.severity <= model::Severity::kWarning;
  return !IsCompanion(root.id) && !harmless_message;
}

}  // namespace

std::vector<model::Diagnosis> Diagnose(const model::Run& run, const std::vector<model::Finding>& findings,
                                       const catalogue::Thresholds&, const FittedModel& model) {
  struct Ranked {
    model::Severity severity;
    std::int64_t place;
    model::Diagnosis diagnosis;
  };
  const model::Axis axis = model::MainAxis(run);
  std::vector<Ranked> ranked;
  for (const Incident& incident : GroupIncidents(run, findings)) {
    if (!IsWorthDiagnosing(incident)) continue;
    const model::Finding& root = incident.root();
    const RunView view = IsOneOfSeveral(run, root) ? RunView(run, root.labels) : RunView(run);
    model::Diagnosis diagnosis = DiagnoseIncident(view, model, incident);
    if (diagnosis.cause == kUnknownCause && !IsWorthLeavingOpen(incident)) continue;
    if (IsCompanion(incident.root().id) && diagnosis.confidence < kHarmIsShown) continue;
    // One axis for all, so that the order holds together; what has no place on it comes first.
    const auto place = run.axes.To(axis, diagnosis.first).ValueOn(axis);
    ranked.push_back({incident.worst(), place.value_or(model::kNoStep), std::move(diagnosis)});
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::make_tuple(b.severity, b.diagnosis.confidence, a.place) <
           std::make_tuple(a.severity, a.diagnosis.confidence, b.place);
  });
  std::vector<model::Diagnosis> diagnoses;
  diagnoses.reserve(ranked.size());
  for (Ranked& one : ranked) diagnoses.push_back(std::move(one.diagnosis));
  return diagnoses;
}

}  // namespace vigil::diagnose
