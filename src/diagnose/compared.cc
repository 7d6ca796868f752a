#include "diagnose/compared.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "catalogue/says.h"
#include "diagnose/curve.h"
#include "stats/stats.h"

namespace vigil::diagnose {
namespace {

using catalogue::Better;
using model::Aspect;
using model::ComparedMetric;
using model::Standing;

// A median and how far it may be off.
struct Level {
  double value = model::kNoValue;
  double error = 0;   // of the value, from the noise of the points
  double spread = 0;  // of one point
  std::size_t points = 0;
};

// A median of independent points is off by this many deviations of a point, over the root of their number.
constexpr double kMedianError = 1.2533;

// A curve that is still moving spreads more than its noise: this errs on the side of calling two runs alike.
double SpreadOf(const std::vector<double>& values) {
  return values.size() < 3 ? 0 : std::max(stats::RobustSigma(values), stats::NoiseSigma(values));
}

Level LevelOf(const std::vector<double>& values) {
  Level level;
  level.points = values.size();
  if (values.empty()) return level;
  level.value = stats::Median(values);
  level.spread = SpreadOf(values);
  level.error = kMedianError * level.spread / std::sqrt(static_cast<double>(values.size()));
  return level;
}

Level LevelOf(const Stretch& stretch) { return LevelOf(FiniteValues(stretch)); }

// ---- the positions that both have

struct Common {
  Stretch run;
  Stretch reference;
  model::Position first;
  model::Position last;

  double length() const { return static_cast<double>(last.value() - first.value()); }
};

Common CommonPart(const Stretch& run, const Stretch& reference) {
  const model::Axis axis = run.axis;
  const model::Position first(axis, std::max(run.steps.front(), reference.steps.front()));
  const model::Position last(axis, std::min(run.steps.back(), reference.steps.back()));
  return {run.Between(first, last), reference.Between(first, last), first, last};
}

// The last part of a stretch: a share of the common positions, or the few points that a level takes.
Stretch EndOf(const Stretch& stretch, const Common& common, double share, std::size_t fewest) {
  const auto from = static_cast<std::int64_t>(static_cast<double>(common.last.value()) - share * common.length());
  const Stretch end = stretch.After({stretch.axis, from});
  const std::size_t wanted = std::min(fewest, std::max<std::size_t>(1, stretch.size() / 2));
  return end.size() >= wanted ? end : stretch.Last(wanted);
}

// ---- apart or alike

bool IsWorse(double value, double reference, Better better) {
  return better == Better::kHigher ? value < reference : value > reference;
}

Standing StandingOf(double value, double reference, double noise, Better better) {
  if (std::abs(value - reference) <= noise) return Standing::kAlike;
  return IsWorse(value, reference, better) ? Standing::kWorse : Standing::kBetter;
}

double NoiseOf(const Level& run, const Level& reference, double progress, const CompareLimits& limits) {
  // Without a noise to measure, only what is far beyond the margins counts.
  const double unsure = std::min(run.points, reference.points) < 3 ? 2 : 1;
  return std::max({limits.z * std::hypot(run.error, reference.error),
                   unsure * limits.margin * std::abs(reference.value), unsure * limits.of_progress * progress});
}

ComparedMetric Named(const MetricPair& pair, Aspect aspect, const Common& common) {
  ComparedMetric metric;
  metric.signal = pair.series->signal;
  metric.labels = pair.series->labels;
  metric.aspect = aspect;
  metric.over = {common.first, common.last};
  return metric;
}

void Fill(ComparedMetric& metric, double value, double reference, double noise, Better better) {
  metric.value = value;
  metric.reference = reference;
  metric.noise = noise;
  metric.standing = StandingOf(value, reference, noise, better);
}

// The best level of a few neighbours: one lucky batch is none. Evaluations are taken as they are.
Level BestOf(const Stretch& stretch, Better better, bool is_evaluation) {
  constexpr std::size_t kNeighbours = 9;
  const std::vector<double> values = FiniteValues(stretch);
  const std::vector<double> smooth = is_evaluation ? values : stats::SmoothByMedian(values, kNeighbours);
  if (smooth.empty()) return {};
  const auto best = better == Better::kHigher ? std::max_element(smooth.begin(), smooth.end())
                                              : std::min_element(smooth.begin(), smooth.end());
  const auto at = static_cast<std::size_t>(best - smooth.begin());
  const std::size_t first = at < kNeighbours / 2 ? 0 : at - kNeighbours / 2;
  const std::size_t last = std::min(values.size(), first + kNeighbours);
  Level level = LevelOf(std::vector<double>(values.begin() + static_cast<std::ptrdiff_t>(first),
                                            values.begin() + static_cast<std::ptrdiff_t>(last)));
  level.value = *best;
  return level;
}

// ---- by what is measured

std::vector<ComparedMetric> CompareCourses(const MetricPair& pair, const Common& common, const CompareLimits& limits) {
  constexpr std::size_t kFewest = 10;
  constexpr std::size_t kFewestEvaluations = 3;
  const std::size_t fewest = limits.is_evaluation ? kFewestEvaluations : kFewest;
  const Stretch run_end = EndOf(common.run, common, limits.stretch, fewest);
  const Stretch reference_end = EndOf(common.reference, common, limits.stretch, fewest);
  const Level run = LevelOf(run_end);
  const Level reference = LevelOf(reference_end);
  ComparedMetric end = Named(pair, Aspect::kFinal, common);
  end.over.first = run_end.PositionOf(0);
  if (reference.points == 0 || pair.is_reference_lost) {
    end.reason = says::BaselineReferenceNotFinite{};
    return {end};
  }
  // A run that ends in NaN is worse than any number.
  if (pair.is_lost || run.points * 2 < run_end.size()) {
    end.value = std::nan("");
    end.reference = reference.value;
    end.standing = Standing::kWorse;
    return {end};
  }
  const Level start = LevelOf(common.reference.First(fewest));
  const double progress = std::abs(start.value - reference.value);
  Fill(end, run.value, reference.value, NoiseOf(run, reference, progress, limits), pair.better);
  const Level best_here = BestOf(common.run, pair.better, limits.is_evaluation);
  const Level best_there = BestOf(common.reference, pair.better, limits.is_evaluation);
  ComparedMetric best = Named(pair, Aspect::kBest, common);
  Fill(best, best_here.value, best_there.value, NoiseOf(best_here, best_there, progress, limits), pair.better);
  return {end, best};
}

// The first steps are slow on any machine: compilation, caches, autotuning.
Stretch Settled(const Stretch& stretch) {
  constexpr std::size_t kShare = 10;
  return stretch.Last(stretch.size() - stretch.size() / kShare - (stretch.size() > kShare ? 1 : 0));
}

std::vector<ComparedMetric> ComparePaces(const MetricPair& pair, const Common& common, const CompareLimits& limits) {
  const Level run = LevelOf(Settled(common.run));
  const Level reference = LevelOf(Settled(common.reference));
  ComparedMetric typical = Named(pair, Aspect::kTypical, common);
  if (run.points == 0 || reference.points == 0) {
    typical.reason = says::BaselineReferenceNotFinite{};
    return {typical};
  }
  Fill(typical, run.value, reference.value, NoiseOf(run, reference, 0, limits), pair.better);
  return {typical};
}

std::vector<ComparedMetric> CompareCeilings(const MetricPair& pair, const Common& common, const CompareLimits& limits) {
  ComparedMetric peak = Named(pair, Aspect::kPeak, common);
  const double run = Largest(common.run);
  const double reference = Largest(common.reference);
  if (!std::isfinite(run) || !std::isfinite(reference)) {
    peak.reason = says::BaselineReferenceNotFinite{};
    return {peak};
  }
  const double spread =
      std::hypot(stats::NoiseSigma(FiniteValues(common.run)), stats::NoiseSigma(FiniteValues(common.reference)));
  Fill(peak, run, reference, std::max(limits.z * spread, limits.margin * std::abs(reference)), pair.better);
  return {peak};
}

// ---- whether it can be compared at all

ComparedMetric NotCompared(const MetricPair& pair, model::Statement reason) {
  ComparedMetric metric;
  const model::Series& known = pair.series != nullptr ? *pair.series : *pair.other;
  metric.signal = known.signal;
  metric.labels = known.labels;
  metric.reason = std::move(reason);
  return metric;
}

std::size_t FewestPoints(Measured measured, bool is_evaluation) {
  constexpr std::size_t kForALevel = 5;
  return measured == Measured::kCourse && is_evaluation ? 1 : kForALevel;
}

}  // namespace

std::vector<ComparedMetric> CompareMetric(const MetricPair& pair, Measured measured, const CompareLimits& limits) {
  if (pair.other == nullptr || pair.other->empty()) return {NotCompared(pair, says::BaselineNotLogged{})};
  if (pair.series == nullptr || pair.series->empty()) return {NotCompared(pair, says::BaselineNotLoggedHere{})};
  if (pair.series->axis != pair.other->axis)
    return {NotCompared(pair, says::BaselineOtherAxis{.axis = std::string(model::Name(pair.series->axis)),
                                                      .other = std::string(model::Name(pair.other->axis))})};
  const Course run(pair.run, pair.series);
  const Course reference(pair.reference, pair.other);
  const Common common = CommonPart(run.View(), reference.View());
  if (model::CompareOnAxis(common.last, common.first) < 0)
    return {NotCompared(pair, says::BaselineNothingInCommon{.end = common.last, .begin = common.first})};
  const std::size_t fewest = FewestPoints(measured, limits.is_evaluation);
  if (std::min(common.run.size(), common.reference.size()) < fewest)
    return {NotCompared(pair, says::BaselineTooFew{.points = static_cast<double>(common.run.size()),
                                                   .other = static_cast<double>(common.reference.size())})};
  if (measured == Measured::kCourse) return CompareCourses(pair, common, limits);
  return measured == Measured::kPace ? ComparePaces(pair, common, limits) : CompareCeilings(pair, common, limits);
}

}  // namespace vigil::diagnose
