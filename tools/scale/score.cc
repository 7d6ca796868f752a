#include "scale/score.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnose/diagnose.h"

namespace vigil::scale {
namespace {

using model::Severity;

constexpr std::string_view kInterruptedFault = "crash-interrupted";

bool Contains(const std::vector<std::string>& list, const std::string& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Whether anything in the files shows the fault. Faults of time and memory are labelled by what was measured of them,
// and a crash by its message.
bool IsShown(const Record& record) {
  const Label& label = record.label;
  return label.effect.has_value() || record.crashed || !label.is_seen_in_known || !label.seen_in.empty();
}

CauseAnswer AnswerOf(const Label& label, const Verdict& verdict) {
  if (label.causes.empty()) return CauseAnswer::kNotAsked;
  if (verdict.causes.empty()) return CauseAnswer::kNone;
  const NamedCause& first = verdict.causes.front();
  if (Contains(label.causes, first.cause)) return CauseAnswer::kRight;
  const bool is_in_pair = std::any_of(first.rivals.begin(), first.rivals.end(),
                                      [&](const std::string& rival) { return Contains(label.causes, rival); });
  if (is_in_pair) return CauseAnswer::kInPair;
  return first.cause == diagnose::kUnknownCause ? CauseAnswer::kUnknown : CauseAnswer::kWrong;
}

void ScoreFinding(const Label& label, const FoundThing& finding, Score& score) {
  if (finding.severity < Severity::kWarning) return;
  if (finding.severity >= Severity::kError) score.errors.push_back(finding.id);
  score.has_warning = true;
  if (!Contains(label.findings, finding.id)) return;
  score.is_found = true;
  if (finding.first < 0 || label.onset < 0) return;
  const std::int64_t delay = finding.first - label.onset;
  score.delay = score.delay ? std::min(*score.delay, delay) : delay;
}

void CountCause(CauseAnswer cause, Tally& tally) {
  tally.causes += cause != CauseAnswer::kNotAsked ? 1 : 0;
  tally.cause_right += cause == CauseAnswer::kRight ? 1 : 0;
  tally.cause_in_pair += cause == CauseAnswer::kInPair ? 1 : 0;
  tally.cause_wrong += cause == CauseAnswer::kWrong ? 1 : 0;
  tally.cause_unknown += cause == CauseAnswer::kUnknown ? 1 : 0;
  tally.cause_none += cause == CauseAnswer::kNone ? 1 : 0;
}

void CountFatal(const Score& score, Tally& tally) {
  ++tally.fatal;
  tally.found += score.is_found ? 1 : 0;
  tally.fatal_with_error += score.has_error ? 1 : 0;
  if (score.delay) tally.delays.push_back(*score.delay);
  CountCause(score.cause, tally);
}

void CountHealthy(const Score& score, Tally& tally) {
  ++tally.healthy;
  tally.healthy_errors += score.has_error ? 1 : 0;
  tally.healthy_warned += score.has_warning ? 1 : 0;
  tally.healthy_steps += score.steps;
  for (const std::string& id : score.errors) ++tally.healthy_error_ids[id];
}

// Every count, so that sums cannot forget one.
constexpr std::array kCounts = {
    &Tally::runs,           &Tally::left_out,       &Tally::interrupted,      &Tally::interrupted_found,
    &Tally::fatal,          &Tally::found,          &Tally::fatal_with_error, &Tally::causes,
    &Tally::cause_right,    &Tally::cause_in_pair,  &Tally::cause_wrong,      &Tally::cause_unknown,
    &Tally::cause_none,     &Tally::weak,           &Tally::weak_found,       &Tally::healthy,
    &Tally::healthy_errors, &Tally::healthy_warned, &Tally::harmless,         &Tally::harmless_errors,
    &Tally::harmless_found};

}  // namespace

Asked AskedOf(const Record& record) {
  if (record.label.fault == kInterruptedFault) return Asked::kInterrupted;
  switch (record.label.kind) {
    case Class::kHealthy:
      return Asked::kSilence;
    case Class::kHarmless:
      return Asked::kNoError;
    case Class::kWeak:
      return Asked::kEitherWay;
    case Class::kFatal:
      return IsShown(record) ? Asked::kFinding : Asked::kNothing;
    case Class::kNotLearned:
    case Class::kTwinNotLearned:
      break;
  }
  return Asked::kNothing;
}

Score ScoreOf(const Record& record, const Verdict& verdict) {
  Score score;
  score.asked = AskedOf(record);
  score.steps = verdict.steps;
  for (const FoundThing& finding : verdict.findings) ScoreFinding(record.label, finding, score);
  score.has_error = !score.errors.empty();
  score.has_warning = score.has_warning && !score.has_error;
  score.cause = AnswerOf(record.label, verdict);
  if (!verdict.causes.empty()) {
    score.cause_name = verdict.causes.front().cause;
    score.confidence = verdict.causes.front().confidence;
  }
  return score;
}

void Tally::Add(const Score& score) {
  if (score.asked == Asked::kNothing) {
    ++left_out;
    return;
  }
  ++runs;
  switch (score.asked) {
    case Asked::kSilence:
      return CountHealthy(score, *this);
    case Asked::kFinding:
      return CountFatal(score, *this);
    case Asked::kNoError:
      ++harmless;
      harmless_errors += score.has_error ? 1 : 0;
      harmless_found += score.is_found ? 1 : 0;
      return;
    case Asked::kEitherWay:
      ++weak;
      weak_found += score.is_found ? 1 : 0;
      return;
    case Asked::kInterrupted:
      ++interrupted;
      interrupted_found += score.is_found ? 1 : 0;
      return;
    case Asked::kNothing:
      return;
  }
}

void Tally::Add(const Tally& other) {
  for (const auto count : kCounts) this->*count += other.*count;
  healthy_steps += other.healthy_steps;
  delays.insert(delays.end(), other.delays.begin(), other.delays.end());
  for (const auto& [id, count] : other.healthy_error_ids) healthy_error_ids[id] += count;
}

std::optional<std::int64_t> QuantileOf(std::vector<std::int64_t> values, double share) {
  if (values.empty()) return std::nullopt;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

void Calibration::Add(const Score& score) {
  const bool is_harmed = score.asked == Asked::kFinding || score.asked == Asked::kEitherWay;
  const bool is_named =
      score.cause == CauseAnswer::kRight || score.cause == CauseAnswer::kWrong || score.cause == CauseAnswer::kInPair;
  // "unknown" states no cause, whatever rivals it names.
  if (!is_harmed || !is_named || score.cause_name == diagnose::kUnknownCause) return;
  const double place = std::clamp(score.confidence * 10, 0.0, 9.0);
  Bin& bin = bins[static_cast<std::size_t>(place)];
  ++bin.cases;
  bin.right += score.cause == CauseAnswer::kRight ? 1 : 0;
  bin.confidence_sum += score.confidence;
}

void Calibration::Add(const Calibration& other) {
  for (std::size_t i = 0; i < bins.size(); ++i) {
    bins[i].cases += other.bins[i].cases;
    bins[i].right += other.bins[i].right;
    bins[i].confidence_sum += other.bins[i].confidence_sum;
  }
}

int Calibration::cases() const {
  int count = 0;
  for (const Bin& bin : bins) count += bin.cases;
  return count;
}

std::optional<double> Calibration::ExpectedError() const {
  if (cases() == 0) return std::nullopt;
  double sum = 0;
  for (const Bin& bin : bins) sum += std::abs(bin.confidence_sum - bin.right);
  return sum / cases();
}

}  // namespace vigil::scale
