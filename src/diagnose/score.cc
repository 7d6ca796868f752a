#include "diagnose/score.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "diagnose/curve.h"
#include "diagnose/score_fitted.h"

namespace vigil::diagnose {
namespace {

// What another rank's failure set off says little about why that one failed.
constexpr double kNamedByCascade = 0.5;
// A cause that leaves the root of the incident unexplained is hardly its cause; what else it leaves open counts less.
constexpr double kRootUnexplained = -1.5;
constexpr double kBlowUpUnexplained = -1.0;
constexpr double kOtherUnexplained = -0.4;
constexpr double kMostUnexplained = -2.0;
// Weights are summed as if the questions were independent, which they are not: no sum of hints makes a certainty.
constexpr double kSurestByHints = 0.95;
constexpr double kSurestOfAll = 0.99;
constexpr double kDecisive = 4;

bool Names(catalogue::Words words, std::string_view id) {
  return std::find(words.begin(), words.end(), id) != words.end();
}

// With nothing else known a message alone gives its cause the row's certainty, whatever the prior.
double WeightOf(const catalogue::SignatureRow& row) {
  const double certainty = std::clamp(row.certainty, 0.01, 0.99);
  const catalogue::CauseRow* cause = catalogue::FindCause(row.cause);
  return std::log(certainty / (1 - certainty)) - (cause == nullptr ? 0 : cause->prior);
}

// What a log message says about the cause: +, or nothing.
const model::Finding* MessageNaming(const Incident& incident, std::string_view cause, double& weight) {
  const model::Finding* naming = nullptr;
  for (const model::Finding* finding : incident.findings) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
    if (row == nullptr || row->cause != cause) continue;
    const double heavier = row->role == "root" ? WeightOf(*row) : kNamedByCascade;
    if (naming != nullptr && heavier <= weight) continue;
    naming = finding;
    weight = heavier;
  }
  return naming;
}

// A cause is a candidate when it explains any trouble of the incident. Circumstances count only where there is nothing
// else: otherwise every cause of a missing warm-up would compete for every blow-up.
bool CouldExplain(const catalogue::CauseRow& cause, const Incident& incident) {
  const bool only_companions = std::all_of(incident.findings.begin(), incident.findings.end(),
                                           [](const model::Finding* f) { return IsCompanion(f->id); });
  for (const model::Finding* finding : incident.findings) {
    if (IsCompanion(finding->id) && !only_companions) continue;
    if (Names(cause.explains, finding->id)) return true;
  }
  double weight = 0;
  return MessageNaming(incident, cause.id, weight) != nullptr;
}

// Whether a message that names the cause is the finding, or stands for it.
bool IsNamedBy(std::string_view cause, std::string_view id, const Incident& incident) {
  return std::any_of(incident.findings.begin(), incident.findings.end(), [&](const model::Finding* finding) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
    return row != nullptr && row->cause == cause && (row->id == id || row->finding == id);
  });
}

// A finding that comes several times counts once: many spikes are one open question, not many.
double UnexplainedPenalty(const catalogue::CauseRow& cause, const Incident& incident) {
  double others = 0;
  std::set<std::string_view> seen;
  for (const model::Finding* finding : incident.findings) {
    // How a lost run was ended is no question to its cause.
    const bool tail = IsMessage(*finding) && !IsMessage(incident.root());
    if (tail || IsCompanion(finding->id) || !seen.insert(finding->id).second) continue;
    if (Names(cause.explains, finding->id) || IsNamedBy(cause.id, finding->id, incident)) continue;
    if (finding == &incident.root()) {
      others += kRootUnexplained;
    } else {
      others += IsBlowUp(finding->id) ? kBlowUpUnexplained : kOtherUnexplained;
    }
  }
  return std::max(others, kRootUnexplained + kMostUnexplained);
}

// Causes ask the same questions, and some answers walk through whole series: each is found once per incident.
using Answers = std::map<std::string_view, Answer, std::less<>>;

const Answer& Ask(const catalogue::EvidenceRow& row, const RunView& run, const Incident& incident, Answers& answers) {
  const auto at = answers.find(row.id);
  if (at != answers.end()) return at->second;
  const EvidenceTest test = FindTest(row.test);
  return answers.emplace(row.id, test == nullptr ? Unknown() : test(run, incident)).first->second;
}

// What was logged at every step cannot be asked for again: the question has no answer in this run.
bool IsLogged(catalogue::Words from, const RunView& run) {
  constexpr double kEveryStep = 1.5;
  return !from.empty() && std::all_of(from.begin(), from.end(), [&](std::string_view id) {
    const model::Series* series = run.Find(id);
    return series == nullptr ? run.FindFact(id) != nullptr : IsLoggedEvery(SegmentAt(run, series, {}), kEveryStep);
  });
}

void Weigh(Candidate& candidate, const RunView& run, const Incident& incident, Answers& answers) {
  for (const catalogue::EvidenceWeight& weight : candidate.cause->evidence) {
    const catalogue::EvidenceRow* row = catalogue::FindEvidence(weight.evidence);
    if (row == nullptr) continue;
    const Answer& answer = Ask(*row, run, incident, answers);
    if (answer.verdict == Verdict::kMoot) continue;
    if (answer.verdict == Verdict::kUnknown && IsLogged(row->from, run)) continue;
    if (answer.verdict == Verdict::kUnknown) {
      candidate.unanswered.push_back(
          {row->id, row->needs, catalogue::TextOf("evidence", row->id, "needs"), weight.if_true, weight.if_false});
    } else {
      candidate.answered.push_back({row, answer, answer.verdict == Verdict::kYes ? weight.if_true : weight.if_false});
    }
  }
}

// A message weighs like evidence, and shows the line of the log that it stands on.
void WeighMessage(Candidate& candidate, const Incident& incident) {
  double weight = 0;
  const model::Finding* finding = MessageNaming(incident, candidate.cause->id, weight);
  if (finding == nullptr) return;
  Weighed said{nullptr, AsFound(*finding), weight};
  if (!finding->evidence.empty()) {
    said.answer.evidence.path = finding->evidence.front().path;
    said.answer.evidence.line = finding->evidence.front().line;
  }
  candidate.answered.push_back(std::move(said));
}

// The strongest evidence first, because the first line is what a person reads.
void Sum(Candidate& candidate, const Incident& incident) {
  candidate.score = candidate.cause->prior + UnexplainedPenalty(*candidate.cause, incident);
  for (const Weighed& weighed : candidate.answered) {
    candidate.score += weighed.weight;
    candidate.support += std::max(0.0, weighed.weight);
  }
  std::stable_sort(candidate.answered.begin(), candidate.answered.end(),
                   [](const Weighed& a, const Weighed& b) { return std::abs(a.weight) > std::abs(b.weight); });
}

bool HasDecisiveSupport(const Candidate& candidate) {
  return std::any_of(candidate.answered.begin(), candidate.answered.end(),
                     [](const Weighed& weighed) { return weighed.weight >= kDecisive; });
}

// Shares against each other and against "none of these", whose log odds are 0 by definition.
void Normalise(std::vector<Candidate>& candidates) {
  double highest = 0;
  for (const Candidate& candidate : candidates) highest = std::max(highest, candidate.score);
  double total = std::exp(-highest);
  for (const Candidate& candidate : candidates) total += std::exp(candidate.score - highest);
  for (Candidate& candidate : candidates) {
    const double cap = HasDecisiveSupport(candidate) ? kSurestOfAll : kSurestByHints;
    candidate.confidence = std::min(cap, std::exp(candidate.score - highest) / total);
  }
}

// A question that was not asked for a cause would not move it.
double UnansweredWeight(const Candidate& candidate, std::string_view id, bool if_true) {
  for (const OpenQuestion& question : candidate.unanswered) {
    if (question.id == id) return if_true ? question.if_true : question.if_false;
  }
  return 0;
}

// How far an answer would move two candidates apart. One that speaks for neither only rules out what is unlikely
// anyway.
double Apart(double first, double second) { return std::abs(first - second) * (std::max(first, second) > 0 ? 1 : 0.4); }

}  // namespace

std::vector<Candidate> ScoreByRows(const RunView& run, const Incident& incident) {
  std::vector<Candidate> candidates;
  Answers answers;
  for (const catalogue::CauseRow& cause : catalogue::Causes()) {
    if (!CouldExplain(cause, incident)) continue;
    Candidate& candidate = candidates.emplace_back();
    candidate.cause = &cause;
    Weigh(candidate, run, incident, answers);
    WeighMessage(candidate, incident);
    Sum(candidate, incident);
  }
  return candidates;
}

std::vector<Candidate> ScoreCauses(const Examined& examined, const Incident& incident) {
  std::vector<Candidate> candidates = ScoreByRows(examined.run, incident);
  ScoreByModel(examined, incident, candidates);
  Normalise(candidates);
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  return candidates;
}

// Both lists of open questions are searched: one may matter for only one of the two causes.
const OpenQuestion* Separator(const Candidate& first, const Candidate& second) {
  // An answer must be able to move the two apart by more than a hint does.
  double widest = 0.8;
  const OpenQuestion* best = nullptr;
  for (const Candidate* candidate : {&first, &second}) {
    for (const OpenQuestion& open : candidate->unanswered) {
      const double apart =
          std::max(Apart(UnansweredWeight(first, open.id, true), UnansweredWeight(second, open.id, true)),
                   Apart(UnansweredWeight(first, open.id, false), UnansweredWeight(second, open.id, false)));
      if (apart <= widest) continue;
      widest = apart;
      best = &open;
    }
  }
  return best;
}

}  // namespace vigil::diagnose
