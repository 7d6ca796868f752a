// What the whole run says about its findings, by the fitted model: trouble that no detector sees, and findings that are
// no trouble.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "diagnose/bounds.h"
#include "diagnose/bounds_not_learned.h"
#include "diagnose/curve.h"
#include "diagnose/diagnose.h"
#include "diagnose/facts.h"
#include "diagnose/score_fitted.h"

namespace vigil::diagnose {
namespace {

// Chosen with each task held out: 2% of healthy runs reach the first, next to none the second (doc/accuracy.md).
constexpr double kSuspect = 0.45;
constexpr double kSure = 0.93;
constexpr double kSuspectWithFact = 0.25;
// A circumstance is blamed where harm is this likely.
constexpr double kHarmed = 0.6;
// A run that is this likely to be sound is not blamed with an error for the course of its loss; from the second on not
// with a warning either.
constexpr double kSound = 0.5;
constexpr double kSurelySound = 0.7;
// Fewer points show no course.
constexpr std::size_t kFewestPoints = 4;

// What the detectors conclude from the course of a curve, as opposed to a value that is NaN, zero or out of range.
bool IsCourse(const model::Finding& finding) {
  constexpr std::array<std::string_view, 9> kCourses = {"loss/not-decreasing", "loss/plateau",   "loss/divergence",
                                                        "loss/oscillation",    "loss/collapse",  "grad/explosion",
                                                        "grad/vanishing",      "rl/reward-flat", "loss/eval-break"};
  if (finding.MeasureOr(kByBound, 0) > 0) return false;
  return finding.MeasureOr("early", 0) > 0 || std::find(kCourses.begin(), kCourses.end(), finding.id) != kCourses.end();
}

bool HasCourse(const RunDigest& digest) {
  constexpr std::array<std::string_view, 4> kSignals = {"loss", "eval_loss", "reward", "accuracy"};
  return std::any_of(kSignals.begin(), kSignals.end(), [&](std::string_view signal) {
    const Digest* course = digest.Of(signal);
    return course != nullptr && course->points >= kFewestPoints;
  });
}

// What a bound alone says (a bad start, a result that is too good) leaves open how the run went on.
bool IsTrouble(const model::Finding& finding) {
  if (finding.id == "loss/bad-start" || finding.id == "loss/too-good") return false;
  return finding.severity >= model::Severity::kWarning && IsAboutLearning(finding) && !IsCompanion(finding.id);
}

// ---- a symptom for what no detector saw

std::optional<double> ValueOf(const Examined& examined, std::string_view id) {
  const auto at = std::find_if(examined.measures.begin(), examined.measures.end(),
                               [&](const Measured& measured) { return measured.row->id == id; });
  return at == examined.measures.end() ? std::nullopt : std::optional(at->value);
}

bool IsNearOne(std::optional<double> ratio) { return ratio && *ratio > 0.93 && *ratio < 1.08; }

// By the cause where it has a symptom of its own, else by what the curves look like. That the start was bad is said
// once.
std::string_view SymptomOf(std::string_view cause, const Examined& examined, bool has_bad_start) {
  const auto is = [&](std::initializer_list<std::string_view> causes) {
    return std::find(causes.begin(), causes.end(), cause) != causes.end();
  };
  if (is({"leakage"})) return "loss/too-good";
  if (is({"overfitting", "wrong-mode"})) return "loss/overfit";
  if (ValueOf(examined, "is-preference").value_or(0) > 0) {
    return ValueOf(examined, "margin-level").value_or(0) > 1 ? "rl/preference-degenerate" : "rl/preference-no-signal";
  }
  if (examined.digest.IsReinforcement()) {
    if (ValueOf(examined, "zero-variance-share").value_or(0) > 0.8) return "rl/no-signal";
    if (ValueOf(examined, "entropy-left").value_or(0) > 0.9 && !is({"mode-collapse"})) return "rl/entropy-high";
    return "rl/reward-flat";
  }
  if (!has_bad_start && ValueOf(examined, "loss-first-over-chance").value_or(0) > 1.5) return "loss/bad-start";
  if (ValueOf(examined, "loss-end-over-best").value_or(1) > 1.6) return "loss/divergence";
  if (ValueOf(examined, "loss-fall").value_or(1) < 0.02) return "loss/not-decreasing";
  if (IsNearOne(ValueOf(examined, "eval-end-over-chance")) || IsNearOne(ValueOf(examined, "loss-end-over-chance")) ||
      IsNearOne(ValueOf(examined, "eval-accuracy-over-chance")))
    return "loss/at-chance";
  return "loss/plateau";
}

// The series that the finding is about: the first of these that was logged.
const model::Series* SubjectOf(const RunView& run) {
  for (const std::string_view signal : {"loss", "reward", "eval_loss", "accuracy"}) {
    if (Logged(run, signal)) return run.Find(signal);
  }
  return nullptr;
}

model::Finding MakeSuspicion(const RunView& run, double trouble) {
  model::Finding finding;
  finding.severity = model::Severity::kWarning;
  finding.measures = {{"suspected", 1}, {"trouble", trouble}};
  if (const model::Series* subject = SubjectOf(run)) {
    finding.signal = subject->signal;
    finding.labels = subject->labels;
    finding.first = subject->PositionOf(0);
    finding.last = subject->PositionOf(subject->size() - 1);
  }
  return finding;
}

// A setting that nobody uses: with it less of the curve has to speak.
bool IsSettledBySettings(const Examined& examined) {
  constexpr std::array<std::string_view, 5> kTests = {"optimizer-setting-odd", "objective-setting-odd",
                                                      "decay-outweighs-learning", "clip-limit-low",
                                                      "lr-beyond-all-use"};
  const model::Finding none = MakeSuspicion(examined.run, 0);
  const Incident incident = SuspectedIncident(none);
  return std::any_of(kTests.begin(), kTests.end(), [&](std::string_view name) {
    const EvidenceTest test = FindTest(name);
    return test != nullptr && test(examined.run, incident).verdict == Verdict::kYes;
  });
}

// A score that the training is for rose by more than it varies: whatever the loss does, the run learns. Of a reward
// that is logged while training, the model has measures of its own.
bool RewardRose(const RunDigest& digest) {
  const Digest* reward = digest.IsReinforcement() ? nullptr : digest.Of("eval_reward");
  if (reward == nullptr || reward->size() < kFewestPoints) return false;
  return reward->Level(0.75, 1) - reward->Level(0, 0.1) > 2 * reward->noise + 1e-9 * reward->scale;
}

// The model was fitted to runs that begin with nothing. One that begins with a trained model gains little, and as long
// as it gains there is nothing to suspect.
bool GainsAsTrained(const RunDigest& digest) {
  const Digest* loss = digest.IsReinforcement() ? nullptr : digest.Of("loss");
  return loss != nullptr && BeginsTrained(digest) && FellBeyondNoise(*loss);
}

// How likely trouble must be before it is reported. What a run that goes on has not reached yet is no sign of trouble,
// and the losses of two sides that play against each other hardly are.
double BarOf(const Examined& examined, bool ended) {
  constexpr double kNever = 2;
  if (IsSettledBySettings(examined) && ended) return kSuspectWithFact;
  if (RewardRose(examined.digest) || GainsAsTrained(examined.digest)) return kNever;
  return ended && !IsAdversarial(examined.run) && !BeginsLate(examined.digest) ? kSuspect : kSure;
}

// What speaks most for trouble, of what means anything to a reader; else what speaks for the cause.
std::vector<model::Evidence> ReasonsOf(const Examined& examined, const Candidate& best) {
  constexpr double kWorthAReason = 0.2;
  constexpr std::size_t kMostReasons = 3;
  std::vector<std::pair<double, const Measured*>> order;
  for (const Measured& measured : examined.measures) {
    const auto row = static_cast<std::size_t>(measured.row - catalogue::Measures().data());
    const double weight = examined.model.trouble[FeatureSpace::Get().OfMeasure(row, measured.level)];
    if (weight >= kWorthAReason && !measured.row->quiet) order.emplace_back(weight, &measured);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<model::Evidence> reasons;
  reasons.reserve(order.size() + best.answered.size());
  for (const auto& [weight, measured] : order)
    reasons.push_back(Yes(SaysMeasured(*measured), {}, measured->value).evidence);
  for (const Weighed& weighed : best.answered) reasons.push_back(weighed.answer.evidence);
  if (reasons.size() > kMostReasons) reasons.resize(kMostReasons);
  return reasons;
}

// Returns how likely it is that something is wrong.
double Suspect(const Examined& examined, std::vector<model::Finding>& findings, const catalogue::Thresholds& thresholds,
               bool ended) {
  model::Finding finding = MakeSuspicion(examined.run, 0);
  finding.id = "loss/plateau";
  const Incident incident = SuspectedIncident(finding);
  const double trouble = examined.model.Trouble(InquiryOf(examined, incident, {}).columns);
  if (trouble < BarOf(examined, ended)) return trouble;
  std::vector<Candidate> candidates;
  ScoreByModel(examined, incident, candidates);
  const auto best = std::max_element(candidates.begin(), candidates.end(),
                                     [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  const bool has_bad_start = std::any_of(findings.begin(), findings.end(),
                                         [](const model::Finding& one) { return one.id == "loss/bad-start"; });
  const std::string_view id = SymptomOf(best->cause->id, examined, has_bad_start);
  const catalogue::FindingRow* row = catalogue::FindFinding(id);
  std::vector<model::Evidence> reasons = ReasonsOf(examined, *best);
  if (row == nullptr || !thresholds.Enabled(id) || reasons.empty()) return trouble;
  finding.id = id;
  finding.family = row->family;
  finding.measures.back().value = trouble;
  // The losses of two sides that play against each other do not say whether either learns.
  if (trouble >= kSure && ended && !IsAdversarial(examined.run))
    finding.severity = thresholds.SeverityOf(id, row->severity);
  finding.says = {std::string(id) + ".suspected", {{"why", std::vector<model::Statement>{reasons.front().says}}}};
  finding.evidence = std::move(reasons);
  findings.push_back(std::move(finding));
  return trouble;
}

// ---- a finding that is no trouble

// A circumstance (no warm-up, a rate out of range) beside a run that learns is worth a note.
void ClearCircumstances(double trouble, std::vector<model::Finding>& findings) {
  if (trouble >= kHarmed) return;
  for (model::Finding& finding : findings) {
    if (IsCompanion(finding.id)) finding.severity = std::min(finding.severity, model::Severity::kInfo);
  }
}

double SoundnessOf(const Examined& examined, const Incident& incident) {
  return 1 - examined.model.Trouble(InquiryOf(examined, incident, {}).columns);
}

// Held-out data were judged better at the end than ever before, and much better than at first: whatever the training
// loss is a sum of, the model learned.
bool EvaluationSaysSound(const RunDigest& digest) {
  const Digest* accuracy = digest.Of("eval_accuracy");
  if (accuracy == nullptr || accuracy->size() < kFewestPoints) return false;
  const double best = *std::max_element(accuracy->values.begin(), accuracy->values.end());
  return accuracy->end > best - 0.02 && accuracy->end > accuracy->values.front() + 0.1;
}

void ClearSoundRun(const Examined& examined, std::vector<model::Finding>& findings) {
  for (const Incident& incident : GroupIncidents(examined.run, findings)) {
    if (incident.worst() == model::Severity::kFatal || !IsAboutLearning(incident.root())) continue;
    const bool course = std::all_of(incident.findings.begin(), incident.findings.end(), [](const model::Finding* one) {
      return one->severity < model::Severity::kError || IsCourse(*one);
    });
    const bool judged_sound = course && EvaluationSaysSound(examined.digest);
    const double sound = judged_sound ? 1 : course ? SoundnessOf(examined, incident) : 0;
    if (sound < kSound) continue;
    const model::Severity most = sound < kSurelySound ? model::Severity::kWarning : model::Severity::kInfo;
    for (const std::uint32_t index : incident.indices) {
      // Training that looks sound takes nothing back from held-out data that broke: it is no error, and no secret.
      const bool is_held_out = findings[index].id == "loss/eval-break";
      const model::Severity allowed = is_held_out ? std::max(most, model::Severity::kWarning) : most;
      if (IsCourse(findings[index])) findings[index].severity = std::min(findings[index].severity, allowed);
    }
  }
}

// The losses of two sides that play against each other need not fall: their course alone is no error.
void ClearAdversarial(const RunDigest& digest, std::vector<model::Finding>& findings) {
  if (!IsAdversarial(digest.run())) return;
  for (model::Finding& finding : findings) {
    if (IsCourse(finding)) finding.severity = std::min(finding.severity, model::Severity::kWarning);
  }
}

// Where the loss was guessed from the way it goes, its course is no more certain than that.
void ClearGuessed(const model::Run& run, std::vector<model::Finding>& findings) {
  const bool guessed = std::any_of(run.sources.begin(), run.sources.end(), [](const model::Source& source) {
    return std::any_of(source.notes.begin(), source.notes.end(), [](const model::Statement& note) {
      return note.id == "note/learned-form" || note.id == "note/plain-numbers";
    });
  });
  if (!guessed) return;
  for (model::Finding& finding : findings) {
    if (finding.signal == "loss" && (IsCourse(finding) || finding.MeasureOr(kByBound, 0) > 0))
      finding.severity = std::min(finding.severity, model::Severity::kWarning);
  }
}

void SortBySeverity(std::vector<model::Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(),
                   [](const model::Finding& a, const model::Finding& b) { return a.severity > b.severity; });
}

}  // namespace

void Review(const model::Run& run, std::vector<model::Finding>& findings, const catalogue::Thresholds& thresholds,
            bool ended, const FittedModel& model) {
  const RunView view(run);
  const RunDigest digest(view);
  if (model.empty() || !HasCourse(digest)) return;
  std::vector<model::Finding> bounded = FindByBounds(digest, findings, thresholds, ended);
  std::move(bounded.begin(), bounded.end(), std::back_inserter(findings));
  ClearAdversarial(digest, findings);
  ClearGuessed(run, findings);
  const Examined examined{view, digest, MeasureRun(digest), model};
  if (std::any_of(findings.begin(), findings.end(), IsTrouble)) {
    ClearSoundRun(examined, findings);
    if (std::none_of(findings.begin(), findings.end(), IsTrouble)) ClearCircumstances(0, findings);
  } else {
    ClearCircumstances(Suspect(examined, findings, thresholds, ended), findings);
  }
  SortBySeverity(findings);
}

Features FeaturesOf(const model::Run& run, const std::vector<model::Finding>& findings,
                    const std::vector<std::string>& causes) {
  FittedModel model;
  model.causes = causes;
  const RunView view(run);
  const RunDigest digest(view);
  const Examined examined{view, digest, MeasureRun(digest), model};
  const std::vector<Incident> incidents = GroupIncidents(view, findings);
  const Incident* worst = nullptr;
  for (const Incident& incident : incidents) {
    if (incident.worst() < model::Severity::kWarning || !IsAboutLearning(incident.root()) ||
        IsCompanion(incident.root().id))
      continue;
    if (worst == nullptr || incident.worst() > worst->worst()) worst = &incident;
  }
  model::Finding suspicion = MakeSuspicion(view, 0);
  suspicion.id = "loss/plateau";
  Inquiry inquiry = worst == nullptr ? InquiryOf(examined, SuspectedIncident(suspicion), {})
                                     : InquiryOf(examined, *worst, ScoreByRows(view, *worst));
  return {std::move(inquiry.columns), std::move(inquiry.offsets)};
}

}  // namespace vigil::diagnose
