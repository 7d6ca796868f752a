#include <algorithm>

#include "detect/detectors.h"

namespace vigil::detect {
namespace {

double LevelOf(const std::vector<double>& means, bool at_end) {
  const std::size_t count = std::min(means.size(), std::max<std::size_t>(3, means.size() / 10));
  const auto wanted = static_cast<std::ptrdiff_t>(count);
  return at_end ? stats::Median({means.end() - wanted, means.end()})
                : stats::Median({means.begin(), means.begin() + wanted});
}

// A detector counts on the axis of the series it judges, and the engine says which that is (see PutOnAxis).
model::Position CountOnLead(std::int64_t count) {
  return count == model::kNoStep ? model::Position() : model::Position(model::Axis::kStep, count);
}

}  // namespace

void PutOnAxis(model::Finding& finding, model::Axis axis) {
  const auto put = [&](model::Position& position) {
    if (position.known()) position = model::Position(axis, position.value());
  };
  put(finding.first);
  put(finding.last);
  for (model::Evidence& evidence : finding.evidence) put(evidence.at);
}

model::Finding MakeFinding(std::int64_t first, std::int64_t last, model::Statement says) {
  model::Finding finding;
  finding.severity = kFromRow;
  finding.first = CountOnLead(first);
  finding.last = CountOnLead(last);
  finding.says = std::move(says);
  return finding;
}

void AddEvidence(model::Finding& finding, model::Statement says, std::int64_t at, double value, std::uint32_t line) {
  model::Evidence evidence;
  evidence.at = CountOnLead(at);
  evidence.value = value;
  evidence.line = line;
  evidence.says = std::move(says);
  finding.evidence.push_back(std::move(evidence));
}

void AddMeasure(model::Finding& finding, std::string name, double value) {
  finding.measures.push_back({std::move(name), value});
}

bool IsReinforcementLearning(const model::Run& run) {
  return run.HasMethod("grpo") || run.HasMethod("ppo") || run.Find("reward") != nullptr ||
         run.Find("reward_of") != nullptr;
}

bool IsLanguagePolicy(const model::Run& run) {
  constexpr std::array<std::string_view, 4> kOfCompletions = {"completion_length", "truncated_share", "zero_std_share",
                                                              "reward_of"};
  return run.HasMethod("grpo") || run.HasMethod("ppo") ||
         std::any_of(kOfCompletions.begin(), kOfCompletions.end(),
                     [&](std::string_view signal) { return run.Find(signal) != nullptr; });
}

bool UsesLossScaler(const model::Run& run) {
  if (run.Find("loss_scale") != nullptr) return true;
  const model::Fact* fp16 = run.FindFact("fp16");
  if (fp16 != nullptr && (EqualsIgnoringCase(fp16->value, "true") || fp16->value == "1")) return true;
  const model::Fact* precision = run.FindFact("precision");
  if (precision == nullptr) return false;
  const std::string stated = ToLower(precision->value);
  const auto has = [&](std::string_view word) { return stated.find(word) != std::string::npos; };
  return has("16") && !has("bf16") && !has("bfloat16");
}

std::int64_t PlannedEnd(const model::Run& run, model::Axis axis, std::int64_t last_seen) {
  const model::Position planned = run.axes.To(axis, run.Planned());
  return planned.known() ? std::max(planned.value(), last_seen) : last_seen;
}

bool StaysAtItsStart(const stats::BucketHistory& entropy) {
  constexpr double kSame = 0.99;
  const std::vector<double> means = entropy.Means();
  if (means.size() < 3) return false;
  const double start = LevelOf(means, false);
  const auto third = static_cast<std::ptrdiff_t>(means.size() / 3);
  return start > 0 && stats::Median({means.end() - third, means.end()}) > kSame * start;
}

double LossCourse::StartLevel() const { return LevelOf(history_.Means(), false); }
double LossCourse::EndLevel() const { return LevelOf(history_.Means(), true); }

double LossCourse::BestLevel() const {
  const std::vector<double> smooth = stats::SmoothByMedian(history_.Means(), 3);
  return smooth.empty() ? 0 : *std::min_element(smooth.begin(), smooth.end());
}

bool LossCourse::Improved(double by_share) const {
  if (points() < 4) return false;
  const std::vector<double> means = history_.Means();
  const double gain = StartLevel() - EndLevel();
  // Levels are medians of a few points: what their noise alone can give is no gain.
  const auto level_points = static_cast<double>(std::max<std::size_t>(3, means.size() / 10));
  const double chance = 3 * stats::NoiseSigma(means) / std::sqrt(level_points);
  return gain > std::max(by_share * std::abs(StartLevel()), chance);
}

bool LossCourse::EndedNearBest(double within_share) const {
  return points() >= 4 && EndLevel() <= BestLevel() + within_share * std::abs(BestLevel());
}

}  // namespace vigil::detect
