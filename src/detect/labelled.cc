// Findings that come from comparing series of one metric by their label: reward functions, evaluation sets.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "catalogue/says.h"
#include "detect/detectors.h"
#include "detect/whole_run.h"

namespace vigil::detect {
namespace {

using model::Finding;
using model::Series;

std::vector<const Series*> LabelledBy(const model::Run& run, std::string_view signal, std::string_view key,
                                      double fewest) {
  std::vector<const Series*> labelled;
  for (const Series& series : run.series) {
    if (series.signal == signal && !model::FindLabel(series.labels, key).empty() &&
        static_cast<double>(series.size()) >= fewest)
      labelled.push_back(&series);
  }
  return labelled;
}

// ---- a reward function that never gives anything else

bool IsConstant(const Series& series) {
  const auto [low, high] = std::minmax_element(series.values.begin(), series.values.end());
  return std::isfinite(*low) && *high - *low <= 1e-9 * std::max(1.0, std::abs(*high));
}

void FindDeadRewards(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<Finding>& out) {
  constexpr std::string_view kId = "rl/reward-dead";
  if (!thresholds.Enabled(kId)) return;
  const auto functions = LabelledBy(run, "reward_of", "reward", std::max(2.0, thresholds.Threshold(kId, "min_points")));
  const bool others_move =
      std::any_of(functions.begin(), functions.end(), [](const Series* one) { return !IsConstant(*one); });
  if (!others_move) return;
  for (const Series* function : functions) {
    if (!IsConstant(*function)) continue;
    const double value = function->values.front();
    Finding finding =
        FindingOfRow(kId, thresholds, {function->PositionOf(0), function->PositionOf(function->size() - 1)},
                     says::RlRewardDeadConstant{.function = std::string(model::FindLabel(function->labels, "reward")),
                                                .value = value,
                                                .points = static_cast<double>(function->size())});
    // A form that every answer has earns its constant; one that no answer ever has earns nothing.
    if (value != 0) finding.severity = std::min(finding.severity, model::Severity::kInfo);
    finding.signal = function->signal;
    finding.labels = function->labels;
    AddMeasure(finding, "value", value);
    out.push_back(std::move(finding));
  }
}

// ---- one evaluation set that is given up for another

struct Change {
  const Series* set = nullptr;
  double start = 0;
  double end = 0;
  double relative = 0;  // from start to end
};

std::optional<Change> ChangeOf(const Series& set) {
  std::vector<double> values;
  std::copy_if(set.values.begin(), set.values.end(), std::back_inserter(values),
               [](double v) { return std::isfinite(v); });
  if (values.size() < 4) return std::nullopt;
  const std::size_t few = std::max<std::size_t>(2, values.size() / 5);
  const double start = stats::Mean(std::span(values).first(few));
  const double end = stats::Mean(std::span(values).last(few));
  // What evaluations differ by from one to the next says nothing.
  if (!(start > 0) || std::abs(end - start) < 3 * stats::NoiseSigma(values)) return Change{&set, start, end, 0};
  return Change{&set, start, end, end / start - 1};
}

bool IsTuning(const model::Run& run) { return run.HasMethod("sft") || run.HasMethod("lora") || run.HasMethod("dpo"); }

void FindForgetting(const model::Run& run, const catalogue::Thresholds& thresholds, std::vector<Finding>& out) {
  constexpr std::string_view kId = "loss/forgetting";
  if (!thresholds.Enabled(kId) || !IsTuning(run)) return;
  std::optional<Change> rising;
  std::optional<Change> falling;
  for (const Series* set : LabelledBy(run, "eval_loss", "dataset", thresholds.Threshold(kId, "min_evals"))) {
    const auto change = ChangeOf(*set);
    if (!change) continue;
    if (!rising || change->relative > rising->relative) rising = change;
    if (!falling || change->relative < falling->relative) falling = change;
  }
  if (!rising || rising->relative < thresholds.Threshold(kId, "rise") ||
      falling->relative > -thresholds.Threshold(kId, "fall"))
    return;
  const auto name = [](const Change& change) { return std::string(model::FindLabel(change.set->labels, "dataset")); };
  const model::Position last = rising->set->PositionOf(rising->set->size() - 1);
  Finding finding =
      FindingOfRow(kId, thresholds, {rising->set->PositionOf(0), last},
                   says::LossForgettingRises{
                       .before = name(*rising), .start = rising->start, .end = rising->end, .tuned = name(*falling)});
  finding.signal = "eval_loss";
  finding.labels = rising->set->labels;
  AddEvidenceAt(finding,
                says::LossForgettingFalls{.tuned = name(*falling), .start = falling->start, .end = falling->end}, last,
                falling->end);
  AddMeasure(finding, "rise", rising->relative);
  out.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> FindingsAcrossLabels(const model::Run& run, const catalogue::Thresholds& thresholds) {
  std::vector<Finding> findings;
  FindDeadRewards(run, thresholds, findings);
  FindForgetting(run, thresholds, findings);
  return findings;
}

}  // namespace vigil::detect
