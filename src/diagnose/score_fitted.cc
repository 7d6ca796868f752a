#include "diagnose/score_fitted.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/evidence.h"
#include "diagnose/facts.h"

namespace vigil::diagnose {
namespace {

// A feature that holds: its column, and the answer that stands behind it. A finding has no answer of its own.
struct Held {
  std::size_t column = 0;
  Answer answer;
  bool is_quiet = false;  // says nothing to a reader
};

bool IsSuspected(const Incident& incident) {
  return incident.findings.size() == 1 && incident.root().MeasureOr("suspected", 0) > 0;
}

// What a detector found about a policy has rows that know more than the few tiny policies that the model saw.
bool IsPolicyMatter(const Incident& incident) {
  return !IsSuspected(incident) && incident.root().id.starts_with("rl/");
}

// Whether the files show what the cause is made of (fp16, labels that can be masked, a weight decay).
bool IsShown(const catalogue::CauseRow& cause, const RunView& run, const Incident& incident) {
  return cause.shown_by.empty() || std::any_of(cause.shown_by.begin(), cause.shown_by.end(), [&](std::string_view id) {
           const catalogue::EvidenceRow* row = catalogue::FindEvidence(id);
           const EvidenceTest test = row == nullptr ? nullptr : FindTest(row->test);
           return test != nullptr && test(run, incident).verdict == Verdict::kYes;
         });
}

// What the rows say for a cause. One that does not explain this incident has that against it.
double OffsetOf(const catalogue::CauseRow* row, const std::vector<Candidate>& by_rows) {
  constexpr double kFarthest = 6;
  constexpr double kNotExplained = -5;
  if (row == nullptr) return 0;
  const auto at =
      std::find_if(by_rows.begin(), by_rows.end(), [&](const Candidate& candidate) { return candidate.cause == row; });
  return kTrustInRows * (at == by_rows.end() ? kNotExplained : std::clamp(at->score, -kFarthest, kFarthest));
}

void HoldMeasures(const Examined& examined, std::vector<Held>& held) {
  const std::span<const catalogue::MeasureRow> rows = catalogue::Measures();
  for (const Measured& measured : examined.measures) {
    const auto row = static_cast<std::size_t>(measured.row - rows.data());
    held.push_back({FeatureSpace::Get().OfMeasure(row, measured.level), Yes(SaysMeasured(measured), {}, measured.value),
                    measured.row->quiet});
  }
}

void HoldFindings(const Incident& incident, std::vector<Held>& held) {
  const std::span<const catalogue::FindingRow> rows = catalogue::Findings();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (incident.Has(rows[i].id)) held.push_back({FeatureSpace::Get().OfFinding(i), {}});
  }
}

// A setting that settles a question keeps the weight that its row gives it: no fit may take it back.
bool Settles(std::string_view test) {
  const std::span<const NamedTest> settling = SettingTests();
  return std::any_of(settling.begin(), settling.end(), [&](const NamedTest& named) { return named.name == test; });
}

void HoldAnswers(const Examined& examined, const Incident& incident, std::vector<Held>& held) {
  const std::span<const catalogue::EvidenceRow> rows = catalogue::EvidenceTests();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EvidenceTest test = FindTest(rows[i].test);
    if (test == nullptr || Settles(rows[i].test)) continue;
    Answer answer = test(examined.run, incident);
    if (answer.verdict != Verdict::kYes && answer.verdict != Verdict::kNo) continue;
    // That something is not so is a reason only where a row says so.
    const bool yes = answer.verdict == Verdict::kYes;
    held.push_back({FeatureSpace::Get().OfEvidence(i, yes), std::move(answer), !yes});
  }
}

std::vector<Held> HeldBy(const Examined& examined, const Incident& incident) {
  std::vector<Held> held;
  HoldMeasures(examined, held);
  if (IsSuspected(incident)) return held;
  HoldFindings(incident, held);
  HoldAnswers(examined, incident, held);
  return held;
}

// Shares of the causes, "nothing is wrong" left out.
std::vector<double> SharesOf(std::span<const double> scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  double total = 0;
  std::vector<double> shares;
  for (const double score : scores) total += shares.emplace_back(std::exp(score - highest));
  for (double& share : shares) share /= total;
  return shares;
}

// How much a column says for a cause against the others, each as likely as it is: what all of them predict says
// nothing.
double SaysFor(const FittedModel& model, std::size_t column, std::size_t cause, std::span<const double> shares) {
  double others = 0;
  double total = 1e-9;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (i == cause) continue;
    others += shares[i] * model.Weight(column, i);
    total += shares[i];
  }
  return model.Weight(column, cause) - others / total;
}

// Questions about a kind of training that this run is not are no questions to it.
bool Concerns(const catalogue::MeasureRow& row, const Examined& examined) {
  const auto about = [&](std::initializer_list<std::string_view> names) {
    return std::any_of(row.from.begin(), row.from.end(), [&](std::string_view name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    });
  };
  const RunView& run = examined.run;
  if (about({"reward", "reward_std", "zero_std_share", "truncated_share", "completion_length", "entropy", "kl",
             "policy_kl", "value_loss", "eval_reward", "max_completion_length", "num_generations",
             "entropy_coefficient", "discount", "kl_coefficient", "temperature"}))
    return examined.digest.IsReinforcement();
  if (about({"preference_margin", "preference_accuracy", "preference_chosen", "eval_preference_accuracy",
             "preference_logp_chosen"}))
    return Logged(run, "preference_margin");
  if (about({"discriminator_loss", "generator_loss"})) return Logged(run, "discriminator_loss");
  if (about({"loss_scale"})) return PrecisionOf(run) == Precision::kFp16;
  return true;
}

// What is there already cannot be asked for.
bool IsThere(const catalogue::MeasureRow& row, const RunView& run) {
  return std::all_of(row.from.begin(), row.from.end(),
                     [&](std::string_view name) { return Logged(run, name) || run.FindFact(name) != nullptr; });
}

void AddOpen(Candidate& candidate, std::size_t cause, const Examined& examined) {
  const std::span<const catalogue::MeasureRow> rows = catalogue::Measures();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (IsThere(rows[i], examined.run) || !Concerns(rows[i], examined)) continue;
    OpenQuestion question{rows[i].id, rows[i].needs, catalogue::TextOf("measure", rows[i].id, "needs"), 0, 0};
    for (std::size_t level = 0; level <= rows[i].levels.size(); ++level) {
      const double weight = examined.model.Weight(FeatureSpace::Get().OfMeasure(i, level), cause);
      question.if_true = std::max(question.if_true, weight);
      question.if_false = std::min(question.if_false, weight);
    }
    if (question.if_true > 0 || question.if_false < 0) candidate.unanswered.push_back(std::move(question));
  }
}

// Questions that the rows weigh were answered before.
bool IsSaid(const Candidate& candidate, const Answer& answer) {
  return std::any_of(candidate.answered.begin(), candidate.answered.end(), [&](const Weighed& weighed) {
    return weighed.answer.evidence.says.id == answer.evidence.says.id;
  });
}

void AddAnswered(Candidate& candidate, std::size_t cause, const std::vector<Held>& held, std::span<const double> shares,
                 const FittedModel& model) {
  // What weighs less than this is a line that nobody would give as a reason.
  constexpr double kWorthAReason = 0.5;
  for (const Held& feature : held) {
    const double weight = SaysFor(model, feature.column, cause, shares);
    candidate.support += std::max(0.0, weight);
    if (std::abs(weight) < kWorthAReason || feature.is_quiet) continue;
    if (!feature.answer.evidence.says.empty() && !IsSaid(candidate, feature.answer))
      candidate.answered.push_back({nullptr, feature.answer, weight});
  }
  std::stable_sort(candidate.answered.begin(), candidate.answered.end(), [](const Weighed& a, const Weighed& b) {
    // What a row asks for is what a person would look at first.
    if ((a.row != nullptr) != (b.row != nullptr)) return a.row != nullptr;
    return std::abs(a.weight) > std::abs(b.weight);
  });
  // A dozen facts are a reason; all hundred are a table.
  constexpr std::size_t kMostFacts = 12;
  if (candidate.answered.size() > kMostFacts) candidate.answered.resize(kMostFacts);
}

// Log odds that the cause of what was found is one of those that the model knows.
constexpr double kAmongThese = 3.2;
constexpr double kTiny = 1e-30;

// A cause that is a thousand times less likely than the first needs no reasons.
constexpr double kWorthReasons = 1e-3;

}  // namespace

// The place in the sentence has a type, which is the unit of the value.
model::Statement SaysMeasured(const Measured& measured) {
  std::string id(measured.row->id);
  id.append(".seen");
  const std::string_view text = catalogue::FindTemplate(id);
  model::Unit unit = model::Unit::kPlain;
  if (text.find("{value:percent}") != std::string_view::npos) unit = model::Unit::kShare;
  if (text.find("{value:count}") != std::string_view::npos) unit = model::Unit::kCount;
  return {std::move(id), {{"value", model::Quantity{measured.value, unit}}}};
}

namespace {

Inquiry InquiryOf(const std::vector<Held>& held, const Examined& examined, const Incident& incident,
                  const std::vector<Candidate>& by_rows) {
  Inquiry inquiry;
  for (const Held& feature : held) inquiry.columns.push_back(feature.column);
  for (const std::string& cause : examined.model.causes) {
    const catalogue::CauseRow* row = catalogue::FindCause(cause);
    const bool shown = row == nullptr || IsShown(*row, examined.run, incident);
    const double by_row = IsSuspected(incident) ? 0 : OffsetOf(row, by_rows);
    inquiry.offsets.push_back(shown ? by_row : std::min(by_row, kNotShown));
  }
  return inquiry;
}

Candidate& CandidateOf(std::vector<Candidate>& candidates, const catalogue::CauseRow* cause) {
  const auto at = std::find_if(candidates.begin(), candidates.end(),
                               [&](const Candidate& candidate) { return candidate.cause == cause; });
  if (at != candidates.end()) return *at;
  candidates.emplace_back().cause = cause;
  return candidates.back();
}

}  // namespace

Inquiry InquiryOf(const Examined& examined, const Incident& incident, const std::vector<Candidate>& by_rows) {
  return InquiryOf(HeldBy(examined, incident), examined, incident, by_rows);
}

std::vector<double> ScoresOf(const FittedModel& model, const Inquiry& inquiry) {
  std::vector<double> scores = model.Score(inquiry.columns);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] += inquiry.offsets[i];
  return scores;
}

namespace {

// Causes that nothing in the files distinguishes but what the rows ask: what the model says for one holds for the
// other.
struct Alike {
  std::string_view fitted;
  std::string_view other;
};
constexpr std::array kAlike = {Alike{"bad-sample", "layer-numerics"}, Alike{"lr-too-high", "no-clipping"},
                               Alike{"bad-schedule", "scheduler-not-saved"},
                               Alike{"bad-schedule", "optimizer-not-saved"}};

// A message that names its cause, or one answer that weighs more than any curve can: the rows have decided.
bool IsSettled(const Incident& incident, const std::vector<Candidate>& by_rows) {
  constexpr double kSettles = 3;
  constexpr double kLead = 1;
  const bool named = std::any_of(incident.findings.begin(), incident.findings.end(), [](const model::Finding* finding) {
    const catalogue::SignatureRow* row = catalogue::SignatureOf(*finding);
    return row != nullptr && !row->cause.empty();
  });
  if (named) return true;
  const Candidate* best = nullptr;
  double second = -1e9;
  for (const Candidate& candidate : by_rows) {
    if (best == nullptr || candidate.score > best->score) {
      second = best == nullptr ? second : best->score;
      best = &candidate;
    } else {
      second = std::max(second, candidate.score);
    }
  }
  if (best == nullptr || best->score - second < kLead) return false;
  return std::any_of(best->answered.begin(), best->answered.end(), [](const Weighed& weighed) {
    return weighed.answer.verdict == Verdict::kYes && weighed.weight >= kSettles;
  });
}

// Of a run without a course there is nothing that the model has weights for.
bool HasMeasures(const Examined& examined) {
  constexpr std::size_t kFewestMeasures = 6;
  return examined.measures.size() >= kFewestMeasures;
}

const Candidate* FindCandidate(const std::vector<Candidate>& candidates, std::string_view cause) {
  const auto at = std::find_if(candidates.begin(), candidates.end(),
                               [&](const Candidate& candidate) { return candidate.cause->id == cause; });
  return at == candidates.end() ? nullptr : &*at;
}

void ScoreAlike(const std::vector<Candidate>& by_rows, std::vector<Candidate>& candidates) {
  for (const Alike& alike : kAlike) {
    const Candidate* before = FindCandidate(by_rows, alike.fitted);
    const Candidate* after = FindCandidate(candidates, alike.fitted);
    const Candidate* other = FindCandidate(by_rows, alike.other);
    if (before == nullptr || after == nullptr || other == nullptr) continue;
    CandidateOf(candidates, other->cause).score = after->score + kTrustInRows * (other->score - before->score);
  }
}

}  // namespace

void ScoreByModel(const Examined& examined, const Incident& incident, std::vector<Candidate>& candidates) {
  const FittedModel& model = examined.model;
  if (model.empty() || !IsAboutLearning(incident.root()) || IsPolicyMatter(incident)) return;
  if (!HasMeasures(examined) || IsSettled(incident, candidates)) return;
  const std::vector<Candidate> by_rows = candidates;
  const std::vector<Held> held = HeldBy(examined, incident);
  const std::vector<double> scores = ScoresOf(model, InquiryOf(held, examined, incident, by_rows));
  const std::vector<double> shares = SharesOf(scores);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const catalogue::CauseRow* cause = catalogue::FindCause(model.causes[i]);
    if (cause == nullptr) continue;
    Candidate& candidate = CandidateOf(candidates, cause);
    candidate.score = std::log(std::max(shares[i], kTiny)) + kAmongThese;
    if (shares[i] < kWorthReasons) continue;
    AddAnswered(candidate, i, held, shares, model);
    AddOpen(candidate, i, examined);
  }
  ScoreAlike(by_rows, candidates);
}

}  // namespace vigil::diagnose
